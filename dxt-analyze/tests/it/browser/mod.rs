//! The page in a real browser: opened from disk and from `serve`, zoomed, filtered, clicked, by pointer and by keys. Skipped, and
//! said to be, where there is no Chromium.
#![expect(clippy::unwrap_used, reason = "tests end where something fails")]

pub(crate) mod driver;
mod names;
mod page;
mod paper;
mod served;
mod several;
mod timeline;
mod wide;

use std::path::Path;

/// Whether the page is no wider than the window, and what is wrong with its figures: the drawing, and the words in it, none of which may lie on
/// another's.
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

/// A synthetic trace.
fn synth(folder: &Path, args: &[&str]) -> String {
    let path = folder.join("synth.dxt").display().to_string();
    dxt_synth::run(["dxt-synth"].iter().chain(args).chain(&["-o", &path])).unwrap();
    path
}

/// The page of a trace; its address.
fn page_of(folder: &Path, trace: &str) -> String {
    let page = folder.join("report.html").display().to_string();
    let output = crate::common::run(&["report", trace, "-o", &page]);
    // 3: done, and the trace lacks something.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    format!("file://{page}")
}
