//! A progress bar on standard error, when that is a terminal and the work is long.

use crate::scan::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// Segments below which no bar is shown: about a fifth of a second's work.
const LONG: u64 = 5_000_000;

/// A bar, or nothing.
#[derive(Debug)]
pub struct Bar(ProgressBar);

impl Bar {
    /// For `segments` of work called `what`.
    #[must_use]
    pub fn new(segments: u64, what: &str) -> Self {
        if segments < LONG || !std::io::stderr().is_terminal() {
            return Self::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(segments), ProgressDrawTarget::stderr_with_hz(8));
        let style = ProgressStyle::with_template("{msg} {bar:30} {percent:>3} %  {human_pos} segments  {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Self(bar)
    }

    /// No bar.
    #[must_use]
    pub fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }
}

impl Progress for Bar {
    fn advance(&self, segments: u64) {
        self.0.inc(segments);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
