//! Progress and remarks on standard error. Long work shows a progress bar on a terminal, else one line per 10 % from the third second on;
//! `--quiet` suppresses both.
//! [`now`] returns the progress for display elsewhere, such as a web page.

pub use dxt_base::progress::{be_quiet, is_quiet, say, tell};

use crate::scan::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Minimum number of segments to scan for a progress bar to appear: about 0.2 s of work.
const LONG: u64 = 5_000_000;

/// Minimum time since the begin of the work for lines about its progress.
const SHORT: Duration = Duration::from_secs(2);

/// True while a progress bar is shown. Only one bar fits on the screen, so a scan that is a part of longer work shows none.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Work in progress, with or without a progress bar.
static NOW: Place = Place(Mutex::new(None));

/// Returns the name and the progress, in percent, of the current work; `None` if there is none.
#[must_use]
pub fn now() -> Option<(String, u64)> {
    NOW.look()
}

#[derive(Debug)]
struct Work {
    what: String,
    steps: u64,
    done: AtomicU64,
    began: Instant,
}

impl Work {
    /// Returns the number of completed parts, of `parts` equal parts of the work, after `done` steps.
    fn parts(&self, done: u64, parts: u64) -> u64 {
        (u128::from(done.min(self.steps)) * u128::from(parts) / u128::from(self.steps.max(1))) as u64
    }

    /// Adds `more` completed steps. Returns the number of completed tenths of the work if that number has changed.
    fn reached(&self, more: u64) -> Option<u64> {
        let before = self.done.fetch_add(more, Ordering::Relaxed);
        let now = self.parts(before.saturating_add(more), 10);
        (now > self.parts(before, 10)).then_some(now)
    }
}

/// Slot for the work in progress; nested work does not replace it.
#[derive(Debug)]
struct Place(Mutex<Option<Arc<Work>>>);

impl Place {
    fn held(&self) -> MutexGuard<'_, Option<Arc<Work>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the current work, unless other work is already in progress.
    fn begin(&self, work: &Arc<Work>) {
        self.held().get_or_insert_with(|| Arc::clone(work));
    }

    fn end(&self, work: &Arc<Work>) {
        self.held().take_if(|held| Arc::ptr_eq(held, work));
    }

    fn look(&self) -> Option<(String, u64)> {
        let work = self.held().clone()?;
        Some((work.what.clone(), work.parts(work.done.load(Ordering::Relaxed), 100)))
    }
}

/// Progress bar of long work on standard error; hidden if the work is short.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    shown: bool,
    /// True to print lines instead of a bar, because standard error is no terminal.
    lines: bool,
    work: Arc<Work>,
}

impl Bar {
    /// Creates a progress bar for `segments` segments of the work called `what`; hidden if the work is short.
    #[must_use]
    pub fn new(segments: u64, what: &str) -> Self {
        let hidden = Self::hidden(segments, what);
        if segments < LONG {
            return hidden;
        }
        hidden.shown("{msg} {bar:30} {percent:>3} %  {human_pos} segments  {eta} left")
    }

    /// Creates a progress bar with one step per job.
    #[must_use]
    pub fn jobs(jobs: u64) -> Self {
        let hidden = Self::hidden(jobs, "reading");
        if !std::io::stderr().is_terminal() {
            return hidden;
        }
        hidden.shown("{msg} {bar:30} {human_pos} of {human_len} jobs  {eta} left")
    }

    fn shown(mut self, template: &str) -> Self {
        if is_quiet() || SHOWN.swap(true, Ordering::Relaxed) {
            return self;
        }
        self.shown = true;
        if !std::io::stderr().is_terminal() {
            self.lines = true;
            return self;
        }
        self.bar = ProgressBar::with_draw_target(Some(self.work.steps), ProgressDrawTarget::stderr_with_hz(8));
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        self.bar.set_message(self.work.what.clone());
        self
    }

    fn hidden(steps: u64, what: &str) -> Self {
        let work = Arc::new(Work { what: what.to_owned(), steps, done: AtomicU64::new(0), began: Instant::now() });
        NOW.begin(&work);
        Self { bar: ProgressBar::hidden(), shown: false, lines: false, work }
    }
}

impl Progress for Bar {
    fn advance(&self, segments: u64) {
        self.bar.inc(segments);
        let reached = self.work.reached(segments);
        if let Some(tenth) = reached.filter(|_| self.lines && self.work.began.elapsed() >= SHORT) {
            tell(format_args!("{}: {tenth}0 %", self.work.what));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        NOW.end(&self.work);
        self.bar.finish_and_clear();
        if self.shown {
            SHOWN.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(steps: u64) -> Arc<Work> {
        Arc::new(Work { what: steps.to_string(), steps, done: AtomicU64::new(0), began: Instant::now() })
    }

    #[test]
    fn each_tenth_is_said_once_and_never_more_than_all() {
        let work = work(1000);
        let said: Vec<Option<u64>> = [99, 1, 50, 450, 400, 5].map(|more| work.reached(more)).to_vec();
        assert_eq!(said, [None, Some(1), None, Some(6), Some(10), None]);
    }

    #[test]
    fn what_is_reported_is_the_outermost_work_while_it_lasts() {
        let (place, outer, inner) = (Place(Mutex::new(None)), work(200), work(0));
        assert_eq!(place.look(), None);
        place.begin(&outer);
        place.begin(&inner);
        outer.reached(3);
        inner.reached(1);
        assert_eq!(place.look(), Some(("200".into(), 1)));
        place.end(&inner);
        outer.reached(500);
        assert_eq!(place.look(), Some(("200".into(), 100)));
        place.end(&outer);
        place.begin(&inner);
        assert_eq!(place.look(), Some(("0".into(), 0)));
    }
}
