//! Processes items in parallel; their results are consumed in order.

use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum bytes of finished results that wait for an earlier result; beyond that, threads block until their result fits.
const WAITING_BYTES: usize = 256 << 20;

/// State shared by the threads of a queue: next item, results not consumed yet, running threads.
struct Pending<T> {
    /// Index of the next item that a thread takes for processing.
    next: usize,
    /// Index of the next item whose result is to be consumed.
    wanted: usize,
    /// Results not consumed yet: by item index, (result, its size in bytes).
    done: BTreeMap<usize, (T, usize)>,
    bytes: usize,
    /// Number of worker threads that have not ended.
    working: usize,
    stopped: bool,
}

struct Queue<T> {
    state: Mutex<Pending<T>>,
    changed: Condvar,
}

impl<T> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, Pending<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, Pending<T>>) -> MutexGuard<'a, Pending<T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard whose drop reports the end of a thread, even after a panic.
struct Ends<'a, T>(&'a Queue<T>);

impl<T> Drop for Ends<'_, T> {
    fn drop(&mut self) {
        self.0.lock().working -= 1;
        self.0.changed.notify_all();
    }
}

/// Calls `make` for each of `count` items on `threads` threads, and passes the results in order to `take`. `make` also returns the size of
/// its result in bytes. A slow item blocks later items only if their finished results take too much memory.
///
/// # Errors
/// Returns the error of `take`; no new items are started after it.
pub(crate) fn in_order<T: Send>(
    count: usize,
    threads: usize,
    make: impl Fn(usize) -> (T, usize) + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let threads = threads.clamp(1, count.max(1));
    let (done, bytes, stopped) = (BTreeMap::new(), 0, false);
    let state = Pending { next: 0, wanted: 0, done, bytes, working: threads, stopped };
    let queue = Queue { state: Mutex::new(state), changed: Condvar::new() };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let _ends = Ends(&queue);
                work(&queue, count, &make);
            });
        }
        let mut state = queue.lock();
        while state.wanted < count {
            let wanted = state.wanted;
            let Some((result, bytes)) = state.done.remove(&wanted) else {
                if state.working == 0 {
                    break;
                }
                state = queue.wait(state);
                continue;
            };
            state.bytes -= bytes;
            state.wanted += 1;
            drop(state);
            queue.changed.notify_all();
            let taken = take(result);
            state = queue.lock();
            if taken.is_err() {
                state.stopped = true;
                queue.changed.notify_all();
                return taken;
            }
        }
        Ok(())
    })
}

fn work<T>(queue: &Queue<T>, count: usize, make: impl Fn(usize) -> (T, usize)) {
    loop {
        let mut state = queue.lock();
        let number = state.next;
        if number >= count || state.stopped {
            return;
        }
        state.next += 1;
        drop(state);
        let (result, bytes) = make(number);
        let mut state = queue.lock();
        // The thread with the next result to be consumed never waits.
        while state.bytes > 0 && state.bytes + bytes > WAITING_BYTES && state.wanted != number && !state.stopped {
            state = queue.wait(state);
        }
        state.bytes += bytes;
        state.done.insert(number, (result, bytes));
        drop(state);
        queue.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_come_in_order_whatever_their_size() {
        for (threads, bytes) in [(1, 1), (4, 1), (4, WAITING_BYTES), (64, WAITING_BYTES / 2)] {
            let mut taken = Vec::new();
            let make = |number: usize| {
                std::thread::sleep(std::time::Duration::from_micros((number as u64 * 7919) % 300));
                (number, bytes)
            };
            let all = in_order(200, threads, make, |number| {
                taken.push(number);
                Ok(())
            });
            assert!(all.is_ok() && taken == (0..200).collect::<Vec<usize>>(), "{threads} {bytes}");
        }
        assert!(in_order(0, 4, |number| (number, 1), |_| Ok(())).is_ok());
    }

    #[test]
    fn a_failure_ends_it() {
        let begun = AtomicUsize::new(0);
        let make = |number| {
            begun.fetch_add(1, Ordering::Relaxed);
            (number, WAITING_BYTES)
        };
        let result = in_order(1000, 4, make, |number| if number == 3 { anyhow::bail!("full") } else { Ok(()) });
        assert!(result.is_err() && begun.load(Ordering::Relaxed) < 20);
    }
}
