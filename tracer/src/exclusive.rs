//! Lock for short work of one thread at a time. Waiting is bounded, since the thread that has the lock may be stopped.

use crate::blocking::Blocked;
use crate::{threads, tls};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) struct Exclusive {
    /// Number of the thread that has the lock, or 0.
    owner: AtomicUsize,
    most_waits: u32,
}

impl Exclusive {
    /// `most_waits`: maximum number of attempts to get the lock; from the 100th on they are 1 ms apart.
    pub(crate) const fn new(most_waits: u32) -> Self {
        Self { owner: AtomicUsize::new(0), most_waits }
    }

    /// Runs `work` while no other thread has the lock, with signals blocked: a handler would wait for the code that it has interrupted, also
    /// that of SIGABRT. `None` if another thread takes too long, or if a handler of a synchronous signal has interrupted this very work.
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

    /// Releases the lock in a forked child if another thread had it: that thread does not exist in the child.
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
