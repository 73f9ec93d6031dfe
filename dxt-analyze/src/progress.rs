//! What is said on standard error beside errors: how far long work has come, as a bar where that is a terminal, else as a line at each
//! tenth; and remarks. Nothing with `--quiet`.

use crate::scan::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Segments below which no bar is shown: about a fifth of a second's work.
const LONG: u64 = 5_000_000;

/// Whether a bar is being shown: there is room for one, and a scan inside a longer piece of work has none of its own.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on only errors are said.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Says something on standard error, unless it is to be quiet; as `println!`.
macro_rules! say {
    ($($word:tt)*) => {
        if !$crate::progress::is_quiet() {
            eprintln!($($word)*);
        }
    };
}
pub(crate) use say;

/// Whether only errors are said.
#[must_use]
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// A bar, or nothing.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    shown: bool,
    lines: Option<Lines>,
}

/// Lines where there is no terminal.
#[derive(Debug)]
struct Lines {
    what: String,
    steps: u64,
    done: AtomicU64,
}

impl Lines {
    /// The tenth that is reached by `more` steps, if it is another one than before.
    fn reached(&self, more: u64) -> Option<u64> {
        let before = self.done.fetch_add(more, Ordering::Relaxed);
        let tenth = |done: u64| (u128::from(done.min(self.steps)) * 10 / u128::from(self.steps.max(1))) as u64;
        let now = tenth(before.saturating_add(more));
        (now > tenth(before)).then_some(now)
    }
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
        if !std::io::stderr().is_terminal() {
            return Self::hidden();
        }
        Self::shown(jobs, "reading", "{msg} {bar:30} {human_pos} of {human_len} jobs  {eta} left")
    }

    fn shown(steps: u64, what: &str, template: &str) -> Self {
        if is_quiet() || SHOWN.swap(true, Ordering::Relaxed) {
            return Self::hidden();
        }
        if !std::io::stderr().is_terminal() {
            let lines = Lines { what: what.to_owned(), steps, done: AtomicU64::new(0) };
            return Self { bar: ProgressBar::hidden(), shown: true, lines: Some(lines) };
        }
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(8));
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Self { bar, shown: true, lines: None }
    }

    /// No bar.
    #[must_use]
    pub fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), shown: false, lines: None }
    }
}

impl Progress for Bar {
    fn advance(&self, segments: u64) {
        self.bar.inc(segments);
        if let Some(lines) = &self.lines
            && let Some(tenth) = lines.reached(segments)
        {
            eprintln!("{}: {tenth}0 %", lines.what);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tenth_is_said_once_and_never_more_than_all() {
        let lines = Lines { what: String::new(), steps: 1000, done: AtomicU64::new(0) };
        let said: Vec<Option<u64>> = [99, 1, 50, 450, 400, 5].map(|more| lines.reached(more)).to_vec();
        assert_eq!(said, [None, Some(1), None, Some(6), Some(10), None]);
    }
}
