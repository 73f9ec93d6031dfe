//! Simulation of prefetching for one process that reads one file through its own cache.
//!
//! The model, and its limits:
//!
//! - A read with all bytes in the cache does not wait. A read with a missing byte waits one latency; a read whose bytes are in flight waits
//!   until they arrive. Storage serves any number of fetches at once, and the latency does not depend on their size. Useless fetches delay
//!   no read; `accuracy` shows how many there are.
//! - Between the end of a read and the start of the next one, the program takes its recorded time (`Read`). If a read waits less, the next
//!   one starts earlier, which leaves less time to prefetch. `calls_ahead` is therefore computed from the time between reads, without
//!   waiting.
//! - A prefetch is issued at the start of a read, in addition to the bytes that the read itself needs. Cached bytes are not fetched again.
//! - Simulating a read takes some µs. For a long pattern, some ten thousand reads are as informative as all reads.
//! - The cache is LRU, in units of `unit_bytes` (a page, or 1 for bytes as requested).

use super::extents::Extents;
use crate::shared::ratio::share_if_any;
use crate::sum::Sum;

/// Maximum prefetch distance in calls; a pattern may be infinite.
pub const MOST_CALLS: u64 = 1 << 20;

/// Recorded read of a byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// File offset of the first byte to read.
    pub offset: u64,
    /// Number of bytes that the read requests.
    pub length: u64,
    /// Start of the read, ns; only differences between the times of reads count.
    pub start_ns: u64,
    /// End of the read, ns. If equal to `start_ns`, the time from this start to the next read's start counts as the program's own time.
    pub end_ns: u64,
}

/// Simulated cache and the storage from which it fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Capacity of the cache, bytes.
    pub size_bytes: u64,
    /// Latency of a fetch from storage, ns.
    pub latency_ns: u64,
    /// Granularity of fetches, bytes; 0 counts as 1.
    pub unit_bytes: u64,
    /// Size of the file that is read, bytes; no bytes beyond it are fetched. `None` if unknown.
    pub file_bytes: Option<u64>,
}

/// Prefetch policy to simulate.
#[derive(Clone, Debug)]
pub enum Policy<P> {
    /// No prefetching: each read fetches only its own bytes.
    None,
    /// Sequential read-ahead: fetches the bytes that follow each read.
    ReadAhead {
        /// Number of bytes to fetch after the end of a read.
        bytes: u64,
    },
    /// Prefetching by an access pattern: fetches the next reads that the pattern predicts.
    Signature {
        /// Offset and length of each read that the pattern predicts, from the first read on.
        next: P,
        /// Prefetch distance in reads, see `calls_ahead`; at most `MOST_CALLS`.
        calls: u64,
    },
}

/// Empty pattern, the type parameter for policies without a pattern.
pub type Unforeseen = std::iter::Empty<(u64, u64)>;

/// Result of simulating a prefetch policy. Each read is a hit, late, or a miss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of simulated reads of at least one byte.
    pub reads: u64,
    /// Number of reads that would be misses without prefetching.
    pub misses_without: u64,
    /// Number of reads with all bytes in the cache.
    pub hits: u64,
    /// Number of late reads: some bytes are still in flight, and none are missing.
    pub late: u64,
    /// Number of misses: reads with bytes that are neither in the cache nor in flight.
    pub misses: u64,
    /// Number of misses whose bytes were prefetched too early: evicted before use.
    pub early: u64,
    /// Number of bytes that the policy fetched in advance.
    pub prefetched_bytes: u64,
    /// Number of prefetched bytes that a read found in the cache or in flight.
    pub used_bytes: u64,
    /// Number of prefetched bytes that were evicted unused and read later.
    pub early_bytes: u64,
    /// Total waiting time of reads without prefetching, ns.
    pub wait_without_ns: u64,
    /// Total waiting time of reads with the policy, ns.
    pub wait_ns: u64,
}

impl Outcome {
    /// Returns the share of misses that the policy avoids, 0 to 1; late reads do not count as avoided. The first read of a pattern is
    /// always a miss. `None` if nothing would miss without prefetching.
    #[must_use]
    pub fn coverage(&self) -> Option<f64> {
        let left = self.misses.saturating_add(self.late);
        share_if_any(self.misses_without.saturating_sub(left), self.misses_without)
    }

    /// Returns the share of prefetched bytes that reads use, 0 to 1; `None` if no bytes are prefetched.
    #[must_use]
    pub fn accuracy(&self) -> Option<f64> {
        share_if_any(self.used_bytes, self.prefetched_bytes)
    }

    /// Returns the waiting time that the policy saves, ns; negative if it costs more than it gains.
    #[must_use]
    pub fn saves_ns(&self) -> i64 {
        let saved = i128::from(self.wait_without_ns) - i128::from(self.wait_ns);
        saved.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// Returns the prefetch distance in reads: ceil(latency / interval), but at least 1, and at most half of the reads that fit into the cache.
///
/// `interval_ns` is the time from the end of a read to the start of the next one. Reads take as much of the cache as prefetches, hence
/// half: with a larger distance, prefetched bytes are evicted before use.
#[must_use]
pub fn calls_ahead(cache: &Cache, interval_ns: u64, length_bytes: u64) -> u64 {
    let room = cache.size_bytes / length_bytes.max(cache.unit_bytes).max(1) / 2;
    let wanted = if interval_ns == 0 { u64::MAX } else { cache.latency_ns.div_ceil(interval_ns) };
    wanted.min(room).clamp(1, MOST_CALLS)
}

/// Simulates `reads`, which must be in order of their starts, under a prefetch policy.
pub fn simulate<P: Iterator<Item = (u64, u64)>>(
    reads: impl Iterator<Item = Read>,
    policy: Policy<P>,
    cache: &Cache,
) -> Outcome {
    let mut player = Player {
        cache: *cache,
        there: Extents::new(cache.size_bytes),
        // Remembers prefetched bytes that were evicted unused, to detect later reads of them; sixteen times as large as the cache.
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
    // Indices of the current read, and of the next read that the pattern predicts.
    let (mut at, mut foreseen) = (0_u64, 0_u64);
    for read in reads {
        let own_ns = last_end_ns.map_or(0, |end: u64| read.start_ns.saturating_sub(end));
        last_end_ns = last_end_ns.max(Some(read.end_ns.max(read.start_ns)));
        now_ns = now_ns.saturating_add(own_ns);
        now_without_ns = now_without_ns.saturating_add(own_ns);
        now_without_ns = now_without_ns.saturating_add(without.read(&read, now_without_ns));
        // The read's own bytes are requested first, so that bytes prefetched now do not count as found by this read.
        let issued_ns = now_ns;
        now_ns = now_ns.saturating_add(player.read(&read, now_ns));
        let end = read.offset.saturating_add(read.length);
        if ahead_bytes > 0 {
            player.fetch(end, ahead_bytes, issued_ns);
        }
        if let Some((next, calls)) = &mut pattern {
            while foreseen <= at.saturating_add(*calls) {
                let Some((offset, length)) = next.next() else { break };
                // Predicted reads that were already made are not prefetched.
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
    /// Rounds a byte range outward to whole cache units.
    fn range(&self, offset: u64, length: u64) -> (u64, u64) {
        let unit = self.cache.unit_bytes.max(1);
        let end = offset.saturating_add(length);
        let end = end.checked_next_multiple_of(unit).unwrap_or(u64::MAX);
        (offset - offset % unit, if length == 0 { 0 } else { end })
    }

    /// Simulates a read that starts at `now_ns` of simulated time, and returns its waiting time in ns.
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
