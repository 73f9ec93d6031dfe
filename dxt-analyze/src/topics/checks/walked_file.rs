//! State of a file while the calls of one process are read: end of the last access, bytes touched, and system reads inside an unfinished
//! MPI-IO call.

use super::cells::Cells;
use super::ranges::Ranges;
use super::roles::Caller;
use super::runs::Run as SmallRun;
use super::sums::{Calls, FileSums, Repeated};
use crate::model::{FileId, ProcessId};
use crate::scan::{Row, Stretch};
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;
use trace_format::counters::Counters;

/// Threads of the process that accessed the file: none, one or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Who {
    #[default]
    Nobody,
    One(u32),
    Several,
}

impl Who {
    fn add(&mut self, thread: u32) {
        *self = match *self {
            Self::Nobody => Self::One(thread),
            Self::One(one) if one == thread => *self,
            _ => Self::Several,
        };
    }
}

/// System reads inside an MPI-IO call that has not returned yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InsideCall {
    bytes: u64,
    time_ns: u64,
    since: u64,
}

#[derive(Debug, Default)]
pub(super) struct WalkedFile {
    pub(super) file: FileId,
    /// True if several processes write the file and at least one of them reads it.
    pub(super) shared: bool,
    /// True if the file was truncated or replaced after bytes were written; `written` lacks the bytes written before.
    pub(super) replaced: bool,
    pub(super) sums: Box<FileSums>,
    pub(super) read: Ranges,
    pub(super) written: Ranges,
    pub(super) read_by: Who,
    pub(super) written_by: Who,
    /// Start and end offset of the current thread's last read (index 0) and last write (index 1) of the file.
    pub(super) last: [Option<(u64, u64)>; 2],
    /// Number of syncs of the file by the process so far.
    pub(super) syncs: u32,
    pub(super) inside: InsideCall,
}

impl WalkedFile {
    /// Adds reads, or writes, to the totals. `alone`: their total bytes and time, if known. Each call is also passed to [`Self::bytes`],
    /// and to [`Self::request`] if `requests` is true.
    pub(super) fn all(&mut self, calls: Stretch<'_>, alone: Option<&Counters>, writes: bool, requests: bool) {
        let mut sum = Calls { count: calls.start.len() as u64, ..Calls::default() };
        match alone {
            Some(alone) => (sum.bytes, sum.time_ns) = (alone.bytes, alone.duration),
            None => calls.rows().for_each(|row| {
                let Calls { bytes, time_ns, .. } = sum;
                sum.bytes = bytes.saturating_add(row.length);
                sum.time_ns = time_ns.saturating_add(row.duration_ns());
            }),
        }
        if requests {
            self.sums.direction(writes).all.merge(&sum);
        }
        if writes { &mut self.sums.written } else { &mut self.sums.read }.merge(&sum);
    }

    /// Adds one read or write to the request statistics: its size, and its offset relative to the previous access. `reported`: true if
    /// Darshan has counted the order of accesses.
    // Called for every call that does not continue the one before.
    #[inline(always)]
    pub(super) fn request(
        &mut self,
        run: &mut SmallRun,
        row: &Row,
        (writes, reported): (bool, bool),
        process: ProcessId,
        least: &Thresholds,
    ) {
        let (offset, time_ns) = (u64::try_from(row.offset).ok(), row.duration_ns());
        let last = self.last.get_mut(usize::from(writes));
        let sums = self.sums.direction(writes);
        let small = row.length > 0 && row.length < least.small_request_bytes;
        if small {
            sums.small.add(row.length, time_ns);
            if time_ns >= least.slow_small_ns {
                sums.slow_small.add(row.length, time_ns);
            }
        }
        match offset.filter(|_| small) {
            Some(offset) => {
                run.small(sums, process, offset, row.length, time_ns, self.syncs, least.small_request_bytes);
            }
            None => run.finish(sums, process, least.small_request_bytes),
        }
        if let (Some(offset), Some(last)) = (offset.filter(|_| row.length > 0 && !reported), last) {
            if let Some((begin, end)) = *last {
                sums.placed += 1;
                if offset < end && offset != begin {
                    sums.random.add(row.length, time_ns);
                }
            }
            *last = Some((offset, offset.saturating_add(row.length)));
        }
    }

    /// Adds calls in bulk, with the same result as [`Self::request`] for each. Requires that all or none are `small`, and that
    /// [`super::ranges::Ranges::go_on`] accepted them: each begins where the previous one ended, or each begins after a gap. The calls
    /// between the second and the last are equivalent, so only their sums are added.
    pub(super) fn requests_that_go_on(
        &mut self,
        run: &mut SmallRun,
        calls: Stretch<'_>,
        (writes, reported, small): (bool, bool, bool),
        process: ProcessId,
        least: &Thresholds,
    ) {
        let count = calls.start.len();
        let between = calls.part(2, count.saturating_sub(1).max(2));
        calls.part(0, count.min(2)).rows().for_each(|row| self.request(run, &row, (writes, reported), process, least));
        let sums = self.sums.direction(writes);
        sums.placed += if reported { 0 } else { between.start.len() as u64 };
        if small && !between.start.is_empty() {
            let mut sum = Calls::default();
            for row in between.rows() {
                let time_ns = row.duration_ns();
                sum.add(row.length, time_ns);
                if time_ns >= least.slow_small_ns {
                    sums.slow_small.add(row.length, time_ns);
                }
            }
            sums.small.merge(&sum);
            run.go_on(calls.part(1, count - 1), &sum);
        }
        if count > 2 {
            calls
                .part(count - 1, count)
                .rows()
                .for_each(|row| self.request(run, &row, (writes, reported), process, least));
        }
    }

    /// Adds the first calls of `calls` in bulk, as [`Self::bytes`] does, as long as they continue the access pattern and their length is in
    /// `lengths`; returns how many were added.
    #[inline]
    pub(super) fn bytes_that_go_on(
        &mut self,
        calls: Stretch<'_>,
        writes: bool,
        thread: u32,
        lengths: &RangeInclusive<u64>,
    ) -> usize {
        // Bulk processing is impossible if bytes were touched in the other direction: each call would have to be compared with them.
        let (own, other, by) = if writes {
            (&mut self.written, &self.read, &mut self.written_by)
        } else {
            (&mut self.read, &self.written, &mut self.read_by)
        };
        let taken = if other.is_empty() { own.go_on(calls, lengths) } else { 0 };
        if taken > 0 {
            by.add(thread);
        }
        taken
    }

    /// Compares the bytes of one read or write with all bytes that the process touched before, and counts reread, read back and overwritten
    /// bytes.
    #[inline]
    pub(super) fn bytes(&mut self, row: &Row, writes: bool, process: ProcessId, thread: u32) {
        let Some(start) = u64::try_from(row.offset).ok().filter(|_| row.length > 0) else { return };
        let end = start.saturating_add(row.length);
        let sums = &mut self.sums;
        let repeated = |into: &mut Repeated, bytes| {
            into.add(process, bytes, start, row.length, row.duration_ns());
        };
        if writes {
            self.written_by.add(thread);
            self.read.remove(start, end);
            repeated(&mut sums.overwritten, self.written.insert(start, end, row.end));
        } else {
            self.read_by.add(thread);
            let known = self.read.insert(start, end, row.end);
            repeated(&mut sums.reread, known);
            // Bytes count as read back only at their first read; later reads count as reread. The bytes read before are known only in
            // number, so as many as possible are excluded.
            if !self.written.is_empty() {
                let own = self.written.overlap(start, end, row.start);
                repeated(&mut sums.read_back, own.saturating_sub(known));
            }
        }
    }

    /// Adds a system read made inside an MPI-IO call that has not returned yet.
    pub(super) fn add_inside(&mut self, row: &Row) {
        let inside = &mut self.inside;
        inside.since = if inside.bytes == 0 { row.start } else { inside.since.min(row.start) };
        inside.bytes = inside.bytes.saturating_add(row.length);
        inside.time_ns = inside.time_ns.saturating_add(row.duration_ns());
    }

    /// Attributes system reads since the start of an MPI-IO call to that call, which has just returned.
    pub(super) fn call_returned(&mut self, caller: Caller, row: &Row) {
        let inside = std::mem::take(&mut self.inside);
        let bytes = if inside.since >= row.start { inside.bytes } else { 0 };
        let sieve = &mut self.sums.sieve;
        match caller {
            Caller::Read => sieve.independent += bytes.saturating_sub(row.length),
            Caller::Write | Caller::CollectiveWrite => sieve.inside_writes += bytes,
            Caller::CollectiveRead => {
                sieve.collective_read += bytes;
                sieve.collective_asked += row.length;
            }
            Caller::Other => {}
        }
        let more_than_asked = match caller {
            Caller::Read => bytes > row.length,
            Caller::Write | Caller::CollectiveWrite => bytes > 0,
            Caller::CollectiveRead | Caller::Other => false,
        };
        if more_than_asked {
            sieve.time_ns += inside.time_ns;
        }
    }

    pub(super) fn finish(mut self, files: &mut FxHashMap<FileId, Box<FileSums>>, cells: &mut Cells) {
        let sums = &mut self.sums;
        (sums.readers, sums.writers) =
            (u32::from(self.read_by != Who::Nobody), u32::from(self.written_by != Who::Nobody));
        sums.both = sums.readers & sums.writers;
        sums.forgotten = Sum(self.read.forgotten_bytes()) + self.written.forgotten_bytes();
        // Threads are read one after the other: if one thread writes and another reads, their order is unknown.
        let in_order = match (self.read_by, self.written_by) {
            (_, Who::Nobody) | (Who::Nobody, _) => true,
            (reader, writer) => reader == writer && reader != Who::Several,
        };
        if !in_order {
            let all = [&mut sums.reread, &mut sums.read_back, &mut sums.overwritten];
            sums.unordered = all.into_iter().map(|one| std::mem::take(one).bytes).sum::<Sum>();
        }
        if **sums != FileSums::default() {
            self.sums.merge_into(files, self.file);
            cells.add(self.file, self.read.iter());
        }
    }
}
