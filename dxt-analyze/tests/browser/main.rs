//! The page in a real browser: opened from disk and from `serve`, zoomed, filtered, clicked, by pointer and by keys. Skipped, and
//! said to be, where there is no Chromium.
#![expect(clippy::unwrap_used, reason = "tests end where something fails")]

#[path = "../common/mod.rs"]
mod common;
mod driver;
mod names;
mod page;
mod paper;
mod served;
mod timeline;
mod wide;

use std::path::Path;

/// A synthetic trace.
fn synth(folder: &Path, args: &[&str]) -> String {
    let path = folder.join("synth.dxt").display().to_string();
    dxt_synth::run(["dxt-synth"].iter().chain(args).chain(&["-o", &path])).unwrap();
    path
}

/// The page of a trace; its address.
fn page_of(folder: &Path, trace: &str) -> String {
    let page = folder.join("report.html").display().to_string();
    let output = common::run(&["report", trace, "-o", &page]);
    // 3: done, and the trace lacks something.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    format!("file://{page}")
}
