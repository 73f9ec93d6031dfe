//! Tracks partly written stripes, and if several processes write them. A write that covers a whole stripe shares it with no other writer
//! (unless the bytes themselves overlap), so each write adds at most two stripes: its first and its last. The table of stripes is bounded
//! by sampling, see [`crate::shared::sampled_table`].

use crate::limits::FOLLOWED_STRIPES;
use crate::model::{FileId, ProcessId};
use crate::shared::followed_in_order::FollowedInOrder;
use crate::shared::sampled_table::{Followed as Hashed, Key, Value};

/// Stripe of a file, identified by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StripeKey {
    /// File with the stripe, as an index into the run's files.
    pub file: FileId,
    /// File offset of the stripe's first byte.
    pub start: u64,
}

impl Key for StripeKey {
    fn parts(self) -> (u64, u64) {
        (self.file.0.into(), self.start)
    }
}

/// Processes and nodes that wrote a part of a stripe, and totals over their writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writers {
    /// One of the processes that wrote a part of the stripe.
    pub process: ProcessId,
    /// True if more than one process wrote a part of the stripe.
    pub several: bool,
    /// Node of one of the processes that wrote a part of the stripe.
    pub node: u32,
    /// True if processes on more than one node wrote a part of the stripe.
    pub several_nodes: bool,
    /// Number of writes that cover a part of the stripe.
    pub writes: u64,
    /// Time in writes that cover a part of the stripe, ns.
    pub time_ns: u64,
}

/// Totals over contested stripes, of which several processes wrote a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContestedSums {
    /// Number of stripes that more than one process wrote in part.
    pub stripes: u64,
    /// Number of stripes that processes on more than one node wrote in part.
    pub between_nodes: u64,
    /// Number of writes to stripes of which processes on several nodes wrote a part.
    pub writes_between_nodes: u64,
}

impl Value for Writers {
    #[inline]
    fn join(&mut self, other: Self) {
        self.several |= other.several || self.process != other.process;
        self.process = self.process.min(other.process);
        self.several_nodes |= other.several_nodes || self.node != other.node;
        self.node = self.node.min(other.node);
        self.writes = self.writes.saturating_add(other.writes);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

/// Maximum number of stripes whose hash table fits into the processor's cache.
const SMALL: usize = 1 << 13;

/// Table of stripes: a hash table if small (fastest for any order of writes), a sorted table if large.
#[derive(Clone, Debug)]
enum Table {
    Small(Hashed<StripeKey, Writers>),
    Large(FollowedInOrder<StripeKey, Writers>),
}

impl Table {
    fn with_limit(limit: usize) -> Self {
        if limit <= SMALL {
            Self::Small(Hashed::with_limit(limit))
        } else {
            Self::Large(FollowedInOrder::with_limit(limit))
        }
    }

    #[inline]
    fn follows(&self, stripe: StripeKey) -> bool {
        match self {
            Self::Small(table) => table.follows(stripe),
            Self::Large(table) => table.follows(stripe),
        }
    }

    #[inline]
    fn add(&mut self, stripe: StripeKey, writers: Writers) {
        match self {
            Self::Small(table) => table.add(stripe, writers),
            Self::Large(table) => table.add(stripe, writers),
        }
    }

    fn settle(&mut self) {
        if let Self::Large(table) = self {
            table.settle();
        }
    }

    /// Adds the stripes of another thread's table, which has the same limit, and so is of the same variant.
    fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Small(mine), Self::Small(theirs)) => mine.merge(theirs),
            (Self::Large(mine), Self::Large(theirs)) => mine.merge(theirs),
            _ => {}
        }
    }

    fn one_in(&self) -> u64 {
        match self {
            Self::Small(table) => table.one_in(),
            Self::Large(table) => table.one_in(),
        }
    }

    /// Iterates over the tracked stripes, in no particular order.
    fn iter(&self) -> impl Iterator<Item = (&StripeKey, &Writers)> {
        let (small, large) = match self {
            Self::Small(table) => (Some(table.iter()), None),
            Self::Large(table) => (None, Some(table.iter().map(|(stripe, writers)| (stripe, writers)))),
        };
        small.into_iter().flatten().chain(large.into_iter().flatten())
    }
}

/// Partly written stripes that are tracked: all of them, or a sample if there are too many.
#[derive(Clone, Debug)]
pub struct Followed {
    stripes: Table,
    /// Stripe written last; its writes are not yet in the table, since a process often writes one stripe many times in a row.
    open: Option<(StripeKey, Writers)>,
}

impl Default for Followed {
    fn default() -> Self {
        Self::with_limit(FOLLOWED_STRIPES)
    }
}

impl Followed {
    /// Creates a table that tracks at most `limit` stripes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { stripes: Table::with_limit(limit), open: None }
    }

    /// Adds one write to a part of `stripe`, made by `process` on `node` in `time_ns` ns. Queries need a call of [`Self::settle`] first.
    #[inline]
    pub fn add(&mut self, stripe: StripeKey, process: ProcessId, node: u32, time_ns: u64) {
        match &mut self.open {
            Some((same, writers)) if *same == stripe && writers.process == process => {
                writers.writes = writers.writes.saturating_add(1);
                writers.time_ns = writers.time_ns.saturating_add(time_ns);
            }
            _ => {
                self.close();
                if self.stripes.follows(stripe) {
                    let writers = Writers { process, several: false, node, several_nodes: false, writes: 1, time_ns };
                    self.open = Some((stripe, writers));
                }
            }
        }
    }

    #[inline]
    fn close(&mut self) {
        if let Some((stripe, writers)) = self.open.take() {
            self.stripes.add(stripe, writers);
        }
    }

    /// Moves the writes to the last stripe into the table; must be called before any query.
    pub fn settle(&mut self) {
        self.close();
        self.stripes.settle();
    }

    /// Adds the stripes that another thread of the analyzer tracked.
    pub fn merge(&mut self, mut other: Self) {
        other.close();
        self.close();
        self.stripes.merge(other.stripes);
    }

    /// Returns the sampling factor n: one in n stripes was tracked.
    #[must_use]
    pub fn one_in(&self) -> u64 {
        self.stripes.one_in()
    }

    /// Returns totals over tracked stripes of which more than one process wrote a part.
    #[must_use]
    pub fn contested_sums(&self) -> ContestedSums {
        let mut out = ContestedSums::default();
        for (_, writers) in self.stripes.iter().filter(|(_, writers)| writers.several) {
            out.stripes += 1;
            if writers.several_nodes {
                out.between_nodes += 1;
                out.writes_between_nodes = out.writes_between_nodes.saturating_add(writers.writes);
            }
        }
        out
    }

    /// Returns the tracked stripes of which more than one process wrote a part, sorted by write time, longest first.
    #[must_use]
    pub fn contested(&self) -> Vec<(StripeKey, Writers)> {
        let several = self.stripes.iter().filter(|(_, writers)| writers.several);
        let mut out: Vec<(StripeKey, Writers)> = several.map(|(stripe, writers)| (*stripe, *writers)).collect();
        out.sort_by_key(|(stripe, writers)| (std::cmp::Reverse(writers.time_ns), *stripe));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(start: u64) -> StripeKey {
        StripeKey { file: FileId(1), start }
    }

    #[test]
    fn only_stripes_of_several_processes_are_contested() {
        let mut followed = Followed::default();
        followed.add(key(0), ProcessId(1), 0, 10);
        followed.add(key(0), ProcessId(1), 0, 10);
        followed.add(key(100), ProcessId(1), 0, 5);
        followed.add(key(100), ProcessId(2), 0, 7);
        followed.settle();
        assert_eq!(followed.contested_sums(), ContestedSums { stripes: 1, between_nodes: 0, writes_between_nodes: 0 });
        followed.add(key(200), ProcessId(1), 0, 1);
        followed.add(key(200), ProcessId(3), 1, 1);
        followed.settle();
        assert_eq!(followed.contested_sums(), ContestedSums { stripes: 2, between_nodes: 1, writes_between_nodes: 2 });
        let contested = followed.contested();
        assert_eq!(contested.len(), 2);
        assert_eq!((contested[0].0, contested[0].1.writes, contested[0].1.time_ns), (key(100), 2, 12));
        assert_eq!(followed.one_in(), 1);
    }

    #[test]
    fn a_bounded_table_keeps_the_same_stripes_in_any_order() {
        let writes: Vec<(u64, u32)> = (0..4000_u64).map(|i| (i % 1000, (i / 1000) as u32)).collect();
        let fill = |order: &mut dyn Iterator<Item = &(u64, u32)>| {
            let mut followed = Followed::with_limit(100);
            order.for_each(|&(start, process)| followed.add(key(start), ProcessId(process), process, 1));
            followed.settle();
            followed
        };
        let whole = fill(&mut writes.iter());
        assert!(whole.one_in() >= 8 && !whole.contested().is_empty());
        let mut backwards = fill(&mut writes.iter().rev().take(2500));
        backwards.merge(fill(&mut writes.iter().take(1500)));
        assert_eq!(backwards.contested(), whole.contested());
        assert_eq!(backwards.one_in(), whole.one_in());
        assert!(whole.contested().iter().all(|(_, writers)| writers.writes == 4));
    }
}
