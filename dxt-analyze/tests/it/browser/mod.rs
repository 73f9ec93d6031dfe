//! Tests of the report page in a real browser, opened as a file or served by `serve`, by pointer and by keyboard. Skipped without Chromium.

pub(crate) mod driver;
mod names;
mod page;
mod paper;
mod served;
mod several;
mod timeline;
mod wide;

use std::path::Path;

/// JavaScript that returns two values: true if the page fits the window, and a list of figures with a wrong size or with misplaced or
/// overlapping texts.
const DRAWINGS_FIT: &str = "const out = [];
                 for (const svg of document.querySelectorAll('svg.figure')) {
                   const box = svg.getBoundingClientRect();
                   if (box.width < Math.min(innerWidth, 1240) * 0.8 || box.right > innerWidth || box.height < 150) out.push(`${box.width} x ${box.height}`);
                   const words = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
                   words.forEach(([text, at], number) => {
                     if (at.left < box.left - 2 || at.right > box.right + 2 || at.bottom > box.bottom + 1) out.push(text);
                     words.slice(number + 1).forEach(([other, of]) => { if (at.left < of.right && of.left < at.right && at.top + 3 < of.bottom && of.top + 3 < at.bottom) out.push(`${text} on ${other}`); });
                   });
                 }
                 return [document.documentElement.scrollWidth <= innerWidth, out.slice(0, 5)]";

/// Writes a synthetic trace and returns its path.
fn synth(folder: &Path, args: &[&str]) -> String {
    let path = folder.join("synth.dxt").display().to_string();
    dxt_synth::run(["dxt-synth"].iter().chain(args).chain(&["-o", &path])).unwrap();
    path
}

/// Writes the report page of a trace; returns the page's address.
fn page_of(folder: &Path, trace: &str) -> String {
    let page = folder.join("report.html").display().to_string();
    let output = crate::common::run(&["report", trace, "-o", &page]);
    // Exit code 3 means that the page was written, but the trace is incomplete.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    format!("file://{page}")
}
