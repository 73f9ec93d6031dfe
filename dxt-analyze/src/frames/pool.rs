//! Thread pool for use as a library. A child of fork(2) would wait forever for threads that exist only in its parent: each process creates its pool.

use anyhow::{Context, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, PoisonError};

/// Thread pool and id of the process that created it.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

fn of_this_process() -> Result<Arc<ThreadPool>> {
    let here = std::process::id();
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match pool.take() {
        Some((process, made)) if process == here => Ok(Arc::clone(&pool.insert((here, made)).1)),
        before => {
            // The threads of the parent's pool do not exist in this process, so the pool must not try to stop them.
            std::mem::forget(before);
            let made = ThreadPoolBuilder::new().thread_name(|number| format!("dxt-{number}")).build();
            let made = Arc::new(made.context("failed to start threads")?);
            Ok(Arc::clone(&pool.insert((here, made)).1))
        }
    }
}

/// Runs `work` on this process's thread pool, which has one thread per processor or `RAYON_NUM_THREADS` threads.
///
/// # Errors
/// Fails if the threads cannot be started.
pub fn within<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    Ok(of_this_process()?.install(work))
}
