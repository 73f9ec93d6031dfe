//! What reading ahead would have saved: a simulation of one process that reads one file through a cache of its own.
//!
//! The model, and what it leaves out:
//! * A read that finds all its bytes in the cache waits for nothing. One that lacks any waits a latency; one whose bytes are on their way
//!   waits for them. Storage serves any number of fetches at once, and the latency does not depend on their size: what useless fetches take
//!   away from others is not in it, only how many there are (`accuracy`).
//! * Between the end of a call and the start of the next one the program takes as long as it did (`Read`): a read that waits less brings
//!   the next one forward, which then has less time to arrive in. So the interval of `calls_ahead` is the time between calls without waiting.
//! * A fetch ahead is issued at the start of a call, beside what the call itself needs. What is in the cache is not fetched again.
//! * A read costs some µs to simulate: of a long pattern, some ten thousand reads tell as much as all.
//! * The cache is of the least recently used bytes, in units of `unit_bytes` (a page, or 1 for bytes as asked for).

use super::extents::Extents;
use crate::shared::ratio::share_if_any;
use crate::sum::Sum;

/// Calls that are fetched ahead at most: a pattern may have no end.
pub const MOST_CALLS: u64 = 1 << 20;

/// A read: where, how much, when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Start of the call, ns.
    pub start_ns: u64,
    /// Its end, ns. With `start_ns` here, the time from start to start is taken as the program's own.
    pub end_ns: u64,
}

/// The cache and what is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Bytes that it holds.
    pub size_bytes: u64,
    /// What a fetch takes, ns.
    pub latency_ns: u64,
    /// Bytes are fetched in whole units of so many; 0 is 1.
    pub unit_bytes: u64,
    /// Size of the file, if it is known: nothing behind it is fetched.
    pub file_bytes: Option<u64>,
}

/// What is fetched ahead.
#[derive(Clone, Debug)]
pub enum Policy<P> {
    /// Nothing.
    None,
    /// So many bytes behind the end of each read.
    ReadAhead {
        /// Bytes.
        bytes: u64,
    },
    /// The next accesses of the pattern.
    Signature {
        /// Offset and length of each read that the pattern foresees, from the first one on.
        next: P,
        /// How many calls ahead (`calls_ahead`), at most `MOST_CALLS`.
        calls: u64,
    },
}

/// No pattern: for the policies that have none.
pub type Unforeseen = std::iter::Empty<(u64, u64)>;

/// What came of a policy. Reads are hits, late or misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Reads of at least one byte.
    pub reads: u64,
    /// Reads that lack something without any reading ahead.
    pub misses_without: u64,
    /// Reads that find all there.
    pub hits: u64,
    /// Reads with some bytes still on their way, and none missing: fetched too late.
    pub late: u64,
    /// Reads that lack something.
    pub misses: u64,
    /// Of the misses, those that lack something which had been fetched ahead and had to go before: too early.
    pub early: u64,
    /// Bytes fetched ahead.
    pub prefetched_bytes: u64,
    /// Bytes of these that a read found, there or on their way.
    pub used_bytes: u64,
    /// Bytes fetched ahead that had to go unused and were read later.
    pub early_bytes: u64,
    /// Time that reads wait without reading ahead, ns.
    pub wait_without_ns: u64,
    /// Time that reads wait, ns.
    pub wait_ns: u64,
}

impl Outcome {
    /// Share of the misses that are avoided, 0 to 1. Late reads are not avoided, and the first read of a pattern cannot be.
    #[must_use]
    pub fn coverage(&self) -> Option<f64> {
        let left = self.misses.saturating_add(self.late);
        share_if_any(self.misses_without.saturating_sub(left), self.misses_without)
    }

    /// Share of the bytes fetched ahead that are used, 0 to 1.
    #[must_use]
    pub fn accuracy(&self) -> Option<f64> {
        share_if_any(self.used_bytes, self.prefetched_bytes)
    }

    /// Time saved in all, ns; negative if the cache loses more by it than it wins.
    #[must_use]
    pub fn saves_ns(&self) -> i64 {
        let saved = i128::from(self.wait_without_ns) - i128::from(self.wait_ns);
        saved.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// How many calls ahead of its use a fetch is issued: ceil(latency / interval), at least 1. `interval_ns` is from the end of a call to the
/// start of the next one. No more than half of what the cache holds, since as many reads as fetches come between and stay in it for as
/// long; else what comes early is pushed out before its use.
#[must_use]
pub fn calls_ahead(cache: &Cache, interval_ns: u64, length_bytes: u64) -> u64 {
    let room = cache.size_bytes / length_bytes.max(cache.unit_bytes).max(1) / 2;
    let wanted = if interval_ns == 0 { u64::MAX } else { cache.latency_ns.div_ceil(interval_ns) };
    wanted.min(room).clamp(1, MOST_CALLS)
}

/// Plays reads, in the order of their starts, through the cache.
pub fn simulate<P: Iterator<Item = (u64, u64)>>(
    reads: impl Iterator<Item = Read>,
    policy: Policy<P>,
    cache: &Cache,
) -> Outcome {
    let mut player = Player {
        cache: *cache,
        there: Extents::new(cache.size_bytes),
        // What went unused, to know it again; sixteen caches of it.
        gone: Extents::new(cache.size_bytes.saturating_mul(16)),
        outcome: Outcome::default(),
    };
    let mut without = Player { gone: Extents::new(0), ..player.clone() };
    let (mut ahead_bytes, mut pattern) = (0, None);
    match policy {
        Policy::None => {}
        Policy::ReadAhead { bytes } => ahead_bytes = bytes,
        Policy::Signature { next, calls } => pattern = Some((next, calls.clamp(1, MOST_CALLS))),
    }
    let (mut now_ns, mut now_without_ns) = (0_u64, 0_u64);
    let mut last_end_ns = None;
    // Numbers of the read at hand and of the next one to foresee.
    let (mut at, mut foreseen) = (0_u64, 0_u64);
    for read in reads {
        let own_ns = last_end_ns.map_or(0, |end: u64| read.start_ns.saturating_sub(end));
        last_end_ns = last_end_ns.max(Some(read.end_ns.max(read.start_ns)));
        now_ns = now_ns.saturating_add(own_ns);
        now_without_ns = now_without_ns.saturating_add(own_ns);
        now_without_ns = now_without_ns.saturating_add(without.read(&read, now_without_ns));
        // What the call needs is asked for first; what is fetched ahead must not look like a find of it.
        let issued_ns = now_ns;
        now_ns = now_ns.saturating_add(player.read(&read, now_ns));
        let end = read.offset.saturating_add(read.length);
        if ahead_bytes > 0 {
            player.fetch(end, ahead_bytes, issued_ns);
        }
        if let Some((next, calls)) = &mut pattern {
            while foreseen <= at.saturating_add(*calls) {
                let Some((offset, length)) = next.next() else { break };
                // What has been read by now is not ahead.
                if foreseen > at {
                    player.fetch(offset, length, issued_ns);
                }
                foreseen += 1;
            }
        }
        at = at.saturating_add(1);
    }
    Outcome { misses_without: without.outcome.misses, wait_without_ns: without.outcome.wait_ns, ..player.outcome }
}

#[derive(Clone, Debug)]
struct Player {
    cache: Cache,
    there: Extents,
    gone: Extents,
    outcome: Outcome,
}

impl Player {
    /// In whole units, and within the file.
    fn range(&self, offset: u64, length: u64) -> (u64, u64) {
        let unit = self.cache.unit_bytes.max(1);
        let end = offset.saturating_add(length);
        let end = end.checked_next_multiple_of(unit).unwrap_or(u64::MAX);
        (offset - offset % unit, if length == 0 { 0 } else { end })
    }

    /// How long a read waits that starts now, ns.
    fn read(&mut self, read: &Read, now_ns: u64) -> u64 {
        let (start, end) = self.range(read.offset, read.length);
        if start >= end {
            return 0;
        }
        let outcome = &mut self.outcome;
        outcome.reads += 1;
        let missing = self.there.gaps(start, end);
        let mut ready_ns = now_ns;
        for extent in self.there.take(start, end) {
            ready_ns = ready_ns.max(extent.arrives_ns);
            if extent.unused {
                outcome.used_bytes = outcome.used_bytes.saturating_add(extent.length());
            }
        }
        if !missing.is_empty() {
            ready_ns = ready_ns.max(now_ns.saturating_add(self.cache.latency_ns));
            outcome.misses += 1;
            let early = missing.iter().flat_map(|(from, to)| self.gone.take(*from, *to)).map(|extent| extent.length());
            let early = early.sum::<Sum>().get();
            outcome.early += u64::from(early > 0);
            outcome.early_bytes = outcome.early_bytes.saturating_add(early);
        } else if ready_ns > now_ns {
            outcome.late += 1;
        } else {
            outcome.hits += 1;
        }
        self.put(start, end, ready_ns, false);
        let wait_ns = ready_ns.saturating_sub(now_ns);
        self.outcome.wait_ns = self.outcome.wait_ns.saturating_add(wait_ns);
        wait_ns
    }

    fn fetch(&mut self, offset: u64, length: u64, now_ns: u64) {
        let (start, end) = self.range(offset, length);
        let end = self.cache.file_bytes.map_or(end, |size| end.min(size));
        for (from, to) in self.there.gaps(start, end) {
            self.outcome.prefetched_bytes = self.outcome.prefetched_bytes.saturating_add(to - from);
            self.gone.take(from, to);
            self.put(from, to, now_ns.saturating_add(self.cache.latency_ns), true);
        }
    }

    fn put(&mut self, start: u64, end: u64, arrives_ns: u64, unused: bool) {
        for extent in self.there.put(start, end, arrives_ns, unused).into_iter().filter(|extent| extent.unused) {
            self.gone.put(extent.start, extent.end, 0, true);
        }
    }
}

#[cfg(test)]
mod tests;
