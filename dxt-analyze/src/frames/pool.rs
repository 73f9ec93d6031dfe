//! Thread pool of the library. A forked process would wait forever for threads that only its parent has: each process makes its own pool.

use anyhow::{Context, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Arc, Mutex, PoisonError};

/// Pool, with the id of its process.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

fn of_this_process() -> Result<Arc<ThreadPool>> {
    let here = std::process::id();
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match pool.take() {
        Some((process, made)) if process == here => Ok(Arc::clone(&pool.insert((here, made)).1)),
        before => {
            // Threads of the parent's pool do not exist here, so they cannot be stopped.
            std::mem::forget(before);
            let made = ThreadPoolBuilder::new().thread_name(|number| format!("dxt-{number}")).build();
            let made = Arc::new(made.context("failed to start threads")?);
            Ok(Arc::clone(&pool.insert((here, made)).1))
        }
    }
}

/// Runs `work` on this process's threads: one per processor, or `RAYON_NUM_THREADS`.
///
/// # Errors
/// If the threads cannot be started.
pub fn within<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    Ok(of_this_process()?.install(work))
}
