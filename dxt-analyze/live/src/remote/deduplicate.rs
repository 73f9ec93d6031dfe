//! Deduplication of calls read from a NATS stream, which may contain a call twice. Events also get shared copies of equal processes and targets.

use crate::about::{Process, Target};
use crate::event::Event;
use rustc_hash::FxHasher;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, RandomState};
use std::sync::Arc;

/// Maximum number of recent call ids remembered (some 10 MB), since a duplicate follows soon, if at all.
const MOST_NAMES: usize = 1 << 18;
/// Maximum number of processes, and of targets (operation and file), of which events share copies.
const MOST_SHARED: usize = 1 << 14;

/// Recent call ids, and the processes and targets (operation and file) of which events share copies.
#[derive(Default)]
pub(super) struct Known {
    /// Hashes of the recent call ids. Ids with equal hashes count as one id; with [`MOST_NAMES`] ids, the chance of a wrong match is some
    /// 10^-8.
    names: HashSet<u64, BuildHasherDefault<FxHasher>>,
    order: VecDeque<u64>,
    /// Random key of the hashes, unknown to writers of the stream, so that nobody can construct collisions.
    secret: RandomState,
    processes: HashMap<u64, Arc<Process>>,
    targets: HashMap<u64, Arc<Target>>,
}

impl Known {
    /// True if no recent call has the id `name`. Remembers the id.
    pub(super) fn is_new(&mut self, name: &str) -> bool {
        let number = self.secret.hash_one(name);
        let is_new = self.names.insert(number);
        if is_new {
            self.order.push_back(number);
            if self.order.len() > MOST_NAMES {
                let _ = self.order.pop_front().map(|oldest| self.names.remove(&oldest));
            }
        }
        is_new
    }

    /// Returns the event with its process and target (operation and file) replaced by the shared copies.
    pub(super) fn shared(&mut self, event: Event) -> Event {
        let (process, target) = (&event.process, &event.target);
        let process_key =
            self.secret.hash_one((process.pid, process.started, process.spool, process.rank, &process.node));
        let target_key =
            self.secret.hash_one((process_key, &target.file, target.layer, &target.op, target.errno, target.nested));
        Event {
            process: share(&mut self.processes, process_key, &event.process),
            target: share(&mut self.targets, target_key, &event.target),
            ..event
        }
    }
}

fn share<T: PartialEq>(all: &mut HashMap<u64, Arc<T>>, key: u64, one: &Arc<T>) -> Arc<T> {
    if let Some(known) = all.get(&key).filter(|known| *known == one) {
        return known.clone();
    }
    if all.len() >= MOST_SHARED {
        all.clear();
    }
    all.insert(key, one.clone());
    one.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_new_once() {
        let mut known = Known::default();
        assert!(known.is_new("a") && known.is_new("b") && !known.is_new("a"));
        (0..MOST_NAMES).for_each(|name| assert!(known.is_new(&name.to_string())));
        assert!(known.is_new("a"), "long ago");
        assert_eq!((known.names.len(), known.order.len()), (MOST_NAMES, MOST_NAMES));
    }
}
