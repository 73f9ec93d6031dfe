//! The threads on which a library works. A process that was forked has none of its parent's, and would wait for them for ever: so each
//! process has a pool of its own, made when it first needs one.

use anyhow::{Context, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, PoisonError};

/// The pool of the process with this id.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

fn of_this_process() -> Result<Arc<ThreadPool>> {
    let here = std::process::id();
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match pool.take() {
        Some((process, made)) if process == here => Ok(Arc::clone(&pool.insert((here, made)).1)),
        before => {
            // Its threads are not here to be told that they are no longer needed.
            std::mem::forget(before);
            let made = ThreadPoolBuilder::new().thread_name(|number| format!("dxt-{number}")).build();
            let made = Arc::new(made.context("failed to start threads")?);
            Ok(Arc::clone(&pool.insert((here, made)).1))
        }
    }
}

/// Does `work` on the threads of this process: one per processor, or as many as `RAYON_NUM_THREADS` says.
///
/// # Errors
/// If they cannot be started.
pub fn within<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    Ok(of_this_process()?.install(work))
}
