//! Lock for short work of one thread at a time. Waiting for the lock is bounded, since the thread that holds the lock may be stopped.

use crate::blocking::Blocked;
use crate::{threads, tls};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) struct Exclusive {
    /// Number (`tls::number`) of the thread that holds the lock, or 0.
    owner: AtomicUsize,
    most_waits: u32,
}

impl Exclusive {
    /// Creates a free lock. `most_waits`: maximum number of attempts to take the lock; from the 100th on they are 1 ms apart.
    pub(crate) const fn new(most_waits: u32) -> Self {
        Self { owner: AtomicUsize::new(0), most_waits }
    }

    /// Runs `work` while holding the lock, with signals blocked (also SIGABRT): a handler would wait for the code that it interrupted.
    /// Returns `None` if another thread holds the lock for too long, or if a handler of a synchronous signal interrupted this thread's own
    /// `work`.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let me = tls::number();
        let _blocked = Blocked::all();
        let mut waited = 0;
        while let Err(other) = self.owner.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
            waited += 1;
            if other == me || waited > self.most_waits {
                return None;
            }
            if waited < 100 { threads::give_way() } else { threads::pause(1_000_000) }
        }
        let result = work();
        self.owner.store(0, Ordering::Release);
        Some(result)
    }

    /// Releases the lock in a forked child if another thread held it: that thread does not exist in the child.
    pub(crate) fn after_fork(&self) {
        if self.owner.load(Ordering::Relaxed) != tls::number() {
            self.owner.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_has_the_lock_and_nobody_waits_for_long() {
        let lock = Exclusive::new(3);
        assert_eq!(lock.run(|| lock.run(|| ())), Some(None));
        let elsewhere = || std::thread::scope(|scope| scope.spawn(|| lock.run(|| ())).join().unwrap());
        assert_eq!((lock.run(elsewhere), elsewhere()), (Some(None), Some(())));
    }
}
