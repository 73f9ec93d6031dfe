//! A progress bar on standard error, when that is a terminal and the work is long.

use crate::scan::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

/// Segments below which no bar is shown: about a fifth of a second's work.
const LONG: u64 = 5_000_000;

/// Whether a bar is being shown: there is room for one, and a scan inside a longer piece of work has none of its own.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// No bars in this process from now on: of a library, standard error is its caller's.
pub fn never() {
    SHOWN.store(true, Ordering::Relaxed);
}

/// A bar, or nothing.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    shown: bool,
}

impl Bar {
    /// For `segments` of work called `what`.
    #[must_use]
    pub fn new(segments: u64, what: &str) -> Self {
        if segments < LONG {
            return Self::hidden();
        }
        Self::shown(segments, what, "{msg} {bar:30} {percent:>3} %  {human_pos} segments  {eta} left")
    }

    /// For `jobs` jobs, each a step.
    #[must_use]
    pub fn jobs(jobs: u64) -> Self {
        Self::shown(jobs, "reading", "{msg} {bar:30} {human_pos} of {human_len} jobs  {eta} left")
    }

    fn shown(steps: u64, what: &str, template: &str) -> Self {
        if !std::io::stderr().is_terminal() || SHOWN.swap(true, Ordering::Relaxed) {
            return Self::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(8));
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Self { bar, shown: true }
    }

    /// No bar.
    #[must_use]
    pub fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), shown: false }
    }
}

impl Progress for Bar {
    fn advance(&self, segments: u64) {
        self.bar.inc(segments);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if self.shown {
            SHOWN.store(false, Ordering::Relaxed);
        }
    }
}
