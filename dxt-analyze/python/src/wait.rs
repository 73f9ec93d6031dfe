//! Waiting for work on another thread, while other Python threads run; a signal handler may end the wait.

use crate::errors::{DxtError, raised};
use anyhow::Result;
use pyo3::prelude::*;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Maximum delay, while waiting, before a signal is handled.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// Runs `work` on another thread and waits for its result. Returns at once if a signal handler raises an exception; the result is then discarded.
pub(crate) fn wait<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut answer) = sync_channel(1);
    let work = move || {
        // Sending fails if the caller was interrupted and no longer waits.
        let _ = sender.send(work());
    };
    py.detach(|| std::thread::Builder::new().name("dxt".into()).spawn(work))?;
    loop {
        let (receiver, next) = py.detach(move || {
            let next = answer.recv_timeout(PATIENCE);
            (answer, next)
        });
        answer = receiver;
        match next {
            Ok(done) => return done.map_err(|error| raised(&error)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(DxtError::new_err("dxt-analyze met a defect of its own; standard error says where"));
            }
        }
    }
}
