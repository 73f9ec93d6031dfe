//! Finds the calls that one thread made inside other calls. A call is recorded when it returns, so inner calls precede the outer one in the
//! trace, in order of their ends. Calls are pending until the outer call is read: all pending calls that began no earlier are inside it.
//! One pass suffices; the number of pending calls is bounded.
//!
//! Nonblocking and split MPI-IO operations last from the call that begins them to the call that ends them; other calls occur in between. An
//! inner call belongs to the blocking call around it, if any, else to the unfinished operation that ends first among those that began
//! earlier.

use crate::model::FileId;
use crate::shared::layer_calls::{CallSum, Inside, Kind, Made, Part};

/// Maximum number of pending calls, or groups of merged calls: those whose outer call has not been read yet.
pub const WAITING: usize = 4096;

/// Pending call: a system call, an MPI-IO call, or several neighbouring calls merged because too many were pending.
#[derive(Clone, Debug)]
struct Waiting {
    file: FileId,
    kind: Kind,
    start: u64,
    end: u64,
    length: u64,
    /// System calls inside an MPI-IO call or in merged neighbours; `None` for a single system call.
    group: Option<Box<Inside>>,
}

impl Waiting {
    /// Adds this call to `inside`, the calls made inside an outer call; `own` is true if both calls are on the same file.
    #[inline]
    fn add_to(&self, inside: &mut Inside, own: bool) {
        match &self.group {
            None => {
                let is_data = matches!(self.kind, Kind::Read | Kind::Write);
                let kind = if own || !is_data { self.kind } else { Kind::Other };
                inside.add_kind(kind, &CallSum::call(self.length, self.end.saturating_sub(self.start)));
            }
            Some(group) if own => inside.add(group),
            Some(group) => {
                let mut group = **group;
                group.others.add(&std::mem::take(&mut group.reads));
                group.others.add(&std::mem::take(&mut group.writes));
                inside.add(&group);
            }
        }
    }

    /// Returns the number of system calls in this pending call or group.
    fn calls(&self) -> u64 {
        self.group.as_ref().map_or(1, |group| group.system_calls())
    }
}

/// Pending calls of one thread: calls whose outer call has not been read yet.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    waiting: Vec<Waiting>,
    /// Number of calls whose outer call is uncertain because a part of them (merged neighbours, asynchronous calls) began before it.
    pub unsure: u64,
}

impl Thread {
    /// Adds a system call on `length` bytes of a file, from `start` to `end`; its outer call, if any, is read later.
    #[inline]
    pub fn inner(&mut self, kind: Kind, file: FileId, length: u64, start: u64, end: u64) {
        self.wait(Waiting { file, kind, start, end, length, group: None });
    }

    #[inline]
    fn wait(&mut self, one: Waiting) {
        if self.waiting.len() >= WAITING {
            self.halve();
        }
        self.waiting.push(one);
    }

    /// Merges pending calls with their neighbours in pairs, to halve their number.
    fn halve(&mut self) {
        let pairs = self.waiting.chunks(2).filter_map(|pair| {
            let mut all = pair.first()?.clone();
            let mut inside = Inside::default();
            for one in pair {
                one.add_to(&mut inside, true);
                all.start = all.start.min(one.start);
                all.end = all.end.max(one.end);
            }
            all.group = Some(Box::new(inside));
            Some(all)
        });
        self.waiting = pairs.collect();
    }

    /// Adds an outer call and returns it with the pending calls made inside it. `part` must be [`Part::Outer`]. Inside MPI-IO, reads and
    /// writes of other files (such as the shared file pointer's) count as [`Kind::Other`].
    pub fn outer(&mut self, part: Part, file: FileId, length: u64, start: u64, end: u64) -> Made {
        let mut made = Made { of: CallSum::call(length, end.saturating_sub(start)), inside: Inside::default() };
        let Part::Outer { hdf5, unfinished, in_hdf5, failed } = part else { return made };
        let own = |one: &Waiting| one.file == file || hdf5;
        if unfinished {
            self.waiting.retain(|one| {
                let inside = one.start >= start;
                if inside {
                    one.add_to(&mut made.inside, own(one));
                }
                !inside
            });
        } else {
            // Pending calls are sorted by end, so the inner calls are the last ones.
            let is_before = |one: &Waiting| one.start < start && one.end <= start;
            let first = self.waiting.iter().rposition(is_before).map_or(0, |before| before + 1);
            for one in self.waiting.get(first..).unwrap_or_default() {
                one.add_to(&mut made.inside, own(one));
                if one.start < start {
                    self.unsure = self.unsure.saturating_add(one.calls());
                }
            }
            self.waiting.truncate(first);
        }
        if !hdf5 && in_hdf5 && !unfinished && !failed {
            let mut inside = made.inside;
            inside.mpiio_rest_ns = made.rest_ns();
            inside.mpiio = made.of;
            self.wait(Waiting { file, kind: Kind::Other, start, end, length, group: Some(Box::new(inside)) });
        }
        made
    }

    /// Removes and returns the calls still pending after the thread's last call: their outer call is not recorded, or is no MPI-IO
    /// operation on a file (`MPI_Init` may read files). MPI-IO calls and the calls inside them are dropped.
    pub fn left_over(&mut self) -> Inside {
        let mut all = Inside::default();
        let is_system = |one: &Waiting| one.group.as_ref().is_none_or(|group| group.mpiio.calls == 0);
        for one in self.waiting.drain(..).filter(is_system) {
            one.add_to(&mut all, true);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(0);

    const MPIIO: Part = Part::Outer { hdf5: false, unfinished: false, in_hdf5: false, failed: false };
    const IN_HDF5: Part = Part::Outer { hdf5: false, unfinished: false, in_hdf5: true, failed: false };
    const HDF5: Part = Part::Outer { hdf5: true, unfinished: false, in_hdf5: false, failed: false };
    const UNFINISHED: Part = Part::Outer { hdf5: false, unfinished: true, in_hdf5: false, failed: false };

    #[test]
    fn a_call_takes_what_began_inside_it_and_no_more() {
        let mut thread = Thread::default();
        thread.inner(Kind::Read, FILE, 7, 5, 9);
        thread.inner(Kind::Lock, FILE, 0, 11, 13);
        thread.inner(Kind::Write, FILE, 100, 13, 18);
        let made = thread.outer(MPIIO, FILE, 80, 10, 20);
        assert_eq!(
            (made.inside.locks.time_ns, made.inside.writes, made.inside.reads.calls),
            (2, CallSum::call(100, 5), 0)
        );
        assert_eq!((made.of, made.rest_ns()), (CallSum::call(80, 10), 3));
        assert_eq!(thread.outer(MPIIO, FILE, 1, 30, 40).inside, Inside::default());
        assert_eq!(thread.left_over().reads, CallSum::call(7, 4));
        assert_eq!(thread.left_over(), Inside::default());
    }

    #[test]
    fn the_file_of_the_shared_pointer_is_not_the_call_s() {
        let mut thread = Thread::default();
        thread.inner(Kind::Read, FileId(7), 8, 11, 12);
        thread.inner(Kind::Write, FILE, 100, 13, 18);
        let inside = thread.outer(MPIIO, FILE, 100, 10, 20).inside;
        assert_eq!((inside.reads.calls, inside.others, inside.writes), (0, CallSum::call(8, 1), CallSum::call(100, 5)));
    }

    #[test]
    fn hdf5_has_the_time_of_mpi_io_once() {
        let mut thread = Thread::default();
        thread.inner(Kind::Write, FILE, 50, 12, 15);
        assert_eq!(thread.outer(IN_HDF5, FILE, 50, 11, 17).rest_ns(), 3);
        thread.inner(Kind::Read, FILE, 8, 18, 20);
        let made = thread.outer(HDF5, FILE, 40, 10, 30);
        assert_eq!((made.inside.mpiio, made.inside.mpiio_rest_ns), (CallSum::call(50, 6), 3));
        assert_eq!((made.inside.writes.calls, made.inside.reads.calls), (1, 1));
        // Time of 20 ns = 3 (write) + 2 (read) + 3 (MPI-IO's own) + 12 (HDF5's own).
        assert_eq!(made.rest_ns(), 12);
    }

    #[test]
    fn a_blocking_call_goes_before_an_unfinished_one() {
        let mut thread = Thread::default();
        thread.inner(Kind::Write, FILE, 1, 11, 12);
        thread.inner(Kind::Write, FILE, 2, 21, 22);
        assert_eq!(thread.outer(MPIIO, FILE, 2, 20, 23).inside.writes.bytes, 2);
        thread.inner(Kind::Write, FILE, 4, 31, 32);
        assert_eq!(thread.outer(UNFINISHED, FILE, 5, 10, 33).inside.writes.bytes, 5);
        assert_eq!(thread.left_over(), Inside::default());
    }

    #[test]
    fn a_call_with_very_many_inside_needs_no_more_memory() {
        let mut thread = Thread::default();
        thread.inner(Kind::Read, FILE, 1, 0, 1);
        let many = 5 * WAITING as u64 + 3;
        for i in 0..many {
            thread.inner(Kind::Write, FILE, 10, 10 + 2 * i, 11 + 2 * i);
        }
        assert!(thread.waiting.len() <= WAITING);
        let made = thread.outer(MPIIO, FILE, 1, 9, 11 + 2 * many);
        assert_eq!((made.inside.writes.calls, made.inside.writes.bytes), (many, 10 * many));
        // The read that began before the call was merged with writes inside it, which `unsure` must count.
        assert!(made.inside.reads.calls == 1 && thread.unsure > 0);
    }
}
