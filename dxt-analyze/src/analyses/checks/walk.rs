//! The ordered pass: each process's calls, thread by thread in the order in which they returned. It knows where the last access
//! ended, which bytes were touched before, and what MPI-IO did beneath a call. Memory: sums per file, and while a process is
//! read at most [`crate::limits::HELD_RANGES`] ranges of its files.

use super::cells::Cells;
use super::ranges::Ranges;
use super::runs::Run as SmallRun;
use super::sums::FileSums;
use crate::limits::{FOLLOWED_CELLS, HELD_RANGES};
use crate::load::{Process, Run, Stream};
use crate::scan::{Analysis, Block, Row};
use crate::thresholds::Thresholds;
use rustc_hash::FxHashMap;
use trace_format::op::{Layer, OpClass, OpMode};

/// The pass.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'a> {
    /// What counts as small and as slow.
    pub thresholds: &'a Thresholds,
}

/// What a thread of the analyzer keeps.
#[derive(Debug)]
pub struct Partial {
    /// By file.
    pub files: FxHashMap<u32, FileSums>,
    /// What processes read in common.
    pub cells: Cells,
    current: Option<Current>,
}

/// Calls of MPI-IO, by what is known of the reads beneath them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Above {
    Read,
    Write,
    CollectiveRead,
    CollectiveWrite,
    /// Its reads beneath belong to no call alone.
    Other,
}

/// What a stream's calls are to this pass.
#[derive(Clone, Copy, Debug)]
enum Role {
    None,
    Data {
        writes: bool,
        requests: bool,
        nested: bool,
    },
    Sync,
    /// The file gets another content or another name.
    Replace,
    Above(Above),
}

impl Role {
    fn of(run: &Run, stream: &Stream) -> Self {
        let op = run.op(stream);
        if stream.failed {
            return Self::None;
        }
        match op.class {
            Some(class @ (OpClass::Read | OpClass::Write)) if stream.storage => {
                let requests = matches!(op.layer, Some(Layer::Posix | Layer::Mpiio));
                Self::Data { writes: class == OpClass::Write, requests, nested: stream.nested }
            }
            Some(class @ (OpClass::Read | OpClass::Write)) if op.layer == Some(Layer::Mpiio) && !stream.nested => {
                Self::Above(match (op.mode, class) {
                    (OpMode::Plain | OpMode::Shared, OpClass::Read) => Above::Read,
                    (OpMode::Plain | OpMode::Shared, _) => Above::Write,
                    (OpMode::Collective | OpMode::Ordered, OpClass::Read) => Above::CollectiveRead,
                    (OpMode::Collective | OpMode::Ordered, _) => Above::CollectiveWrite,
                    _ => Above::Other,
                })
            }
            Some(OpClass::Sync) => Self::Sync,
            Some(OpClass::Metadata)
                if matches!(op.name.as_str(), "truncate" | "unlink" | "rename" | "set_size" | "delete") =>
            {
                Self::Replace
            }
            _ => Self::None,
        }
    }
}

/// Which threads did something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Who {
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

/// Reads beneath an MPI-IO call that has not returned.
#[derive(Clone, Copy, Debug, Default)]
struct Beneath {
    bytes: u64,
    time_ns: u64,
    since: u64,
}

/// A file while its process is read.
#[derive(Debug, Default)]
struct Slot {
    file: u32,
    sums: FileSums,
    read: Ranges,
    written: Ranges,
    read_by: Who,
    written_by: Who,
    /// Where the thread's last read and write ended.
    last: [Option<u64>; 2],
    syncs: u32,
    beneath: Beneath,
}

/// The process that is read.
#[derive(Debug)]
struct Current {
    number: u32,
    thread: u32,
    roles: Vec<(Role, u32)>,
    runs: Vec<SmallRun>,
    slots: Vec<Slot>,
    ranges: usize,
}

impl Current {
    fn new(run: &Run, number: u32, process: &Process, thread: u32) -> Self {
        let mut places: FxHashMap<u32, u32> = FxHashMap::default();
        let mut slots: Vec<Slot> = Vec::new();
        let roles = process.streams.iter().map(|stream| {
            let place = *places.entry(stream.file).or_insert_with(|| {
                slots.push(Slot { file: stream.file, ..Slot::default() });
                slots.len() as u32 - 1
            });
            (Role::of(run, stream), place)
        });
        let roles: Vec<(Role, u32)> = roles.collect();
        let runs = vec![SmallRun::default(); roles.len()];
        Self { number, thread, roles, runs, slots, ranges: 0 }
    }

    /// Ends what belongs to one thread.
    fn end_thread(&mut self, least: &Thresholds) {
        for ((role, place), run) in self.roles.iter().zip(&mut self.runs) {
            if let (Role::Data { writes, .. }, Some(slot)) = (role, self.slots.get_mut(*place as usize)) {
                run.finish(slot.sums.direction(*writes), self.number, least.small_request_bytes);
            }
        }
        for slot in &mut self.slots {
            (slot.last, slot.beneath) = Default::default();
        }
    }

    fn row(&mut self, row: &Row, least: &Thresholds) {
        let Some(&(role, place)) = self.roles.get(row.stream as usize) else { return };
        let Some(slot) = self.slots.get_mut(place as usize) else { return };
        match role {
            Role::None => {}
            Role::Sync => slot.syncs = slot.syncs.wrapping_add(1),
            Role::Replace => {
                self.ranges = self.ranges.saturating_sub(slot.read.len() + slot.written.len());
                slot.read.clear();
                slot.written.clear();
            }
            Role::Above(above) => slot.above(above, row),
            Role::Data { writes, requests, nested } => {
                let Some(run) = self.runs.get_mut(row.stream as usize) else { return };
                let before = slot.read.len() + slot.written.len();
                if requests {
                    slot.request(run, row, writes, self.number, least);
                }
                if nested && !writes {
                    slot.beneath(row);
                }
                slot.bytes(row, writes, self.number, self.thread);
                self.ranges = (self.ranges + slot.read.len() + slot.written.len()).saturating_sub(before);
                if self.ranges > HELD_RANGES {
                    self.forget();
                }
            }
        }
    }

    fn forget(&mut self) {
        for slot in &mut self.slots {
            slot.read.forget_half();
            slot.written.forget_half();
        }
        self.ranges = self.slots.iter().map(|slot| slot.read.len() + slot.written.len()).sum();
    }
}

impl Slot {
    /// One read or write as a request: its size and its place after the last one.
    fn request(&mut self, run: &mut SmallRun, row: &Row, writes: bool, process: u32, least: &Thresholds) {
        let (offset, time_ns) = (u64::try_from(row.offset).ok(), row.duration_ns());
        let last = self.last.get_mut(usize::from(writes));
        let sums = self.sums.direction(writes);
        sums.all.add(row.length, time_ns);
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
        if let (Some(offset), Some(last)) = (offset.filter(|_| row.length > 0), last) {
            if let Some(end) = *last {
                sums.placed += 1;
                if offset < end {
                    sums.random.add(row.length, time_ns);
                }
            }
            *last = Some(offset.saturating_add(row.length));
        }
    }

    /// The bytes of one read or write against those of all before.
    fn bytes(&mut self, row: &Row, writes: bool, process: u32, thread: u32) {
        let Some(start) = u64::try_from(row.offset).ok().filter(|_| row.length > 0) else { return };
        let end = start.saturating_add(row.length);
        let sums = &mut self.sums;
        let again = |into: &mut super::sums::Again, bytes| {
            into.add(process, bytes, start, row.length, row.duration_ns());
        };
        if writes {
            self.written_by.add(thread);
            self.read.remove(start, end);
            again(&mut sums.overwritten, self.written.insert(start, end, row.end));
        } else {
            self.read_by.add(thread);
            let known = self.read.insert(start, end, row.end);
            again(&mut sums.reread, known);
            // Bytes count as read back at their first reading, later ones are read again. Which of them were read before is
            // not known one by one: as many as can be are left out.
            if !self.written.is_empty() {
                let own = self.written.overlap(start, end, row.start);
                again(&mut sums.read_back, own.saturating_sub(known));
            }
        }
    }

    /// A read that MPI-IO made.
    fn beneath(&mut self, row: &Row) {
        let beneath = &mut self.beneath;
        beneath.since = if beneath.bytes == 0 { row.start } else { beneath.since.min(row.start) };
        beneath.bytes = beneath.bytes.saturating_add(row.length);
        beneath.time_ns = beneath.time_ns.saturating_add(row.duration_ns());
    }

    /// An MPI-IO call that returned: what was read since it began was read for it.
    fn above(&mut self, above: Above, row: &Row) {
        let beneath = std::mem::take(&mut self.beneath);
        let bytes = if beneath.since >= row.start { beneath.bytes } else { 0 };
        let sieve = &mut self.sums.sieve;
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        match above {
            Above::Read => add(&mut sieve.independent, bytes.saturating_sub(row.length)),
            Above::Write | Above::CollectiveWrite => add(&mut sieve.beneath_writes, bytes),
            Above::CollectiveRead => {
                add(&mut sieve.collective_read, bytes);
                add(&mut sieve.collective_asked, row.length);
            }
            Above::Other => {}
        }
        let more_than_asked = match above {
            Above::Read => bytes > row.length,
            Above::Write | Above::CollectiveWrite => bytes > 0,
            Above::CollectiveRead | Above::Other => false,
        };
        if more_than_asked {
            add(&mut sieve.time_ns, beneath.time_ns);
        }
    }

    fn finish(mut self, into: &mut Partial) {
        let sums = &mut self.sums;
        (sums.readers, sums.writers) =
            (u32::from(self.read_by != Who::Nobody), u32::from(self.written_by != Who::Nobody));
        sums.both = sums.readers & sums.writers;
        sums.forgotten = self.read.forgotten_bytes().saturating_add(self.written.forgotten_bytes());
        // Threads are read one after another: with writes of one among reads of another, what came first is not known.
        let in_order = match (self.read_by, self.written_by) {
            (_, Who::Nobody) | (Who::Nobody, _) => true,
            (reader, writer) => reader == writer && reader != Who::Several,
        };
        if !in_order {
            let all = [&mut sums.reread, &mut sums.read_back, &mut sums.overwritten];
            sums.unordered = all.into_iter().fold(0, |sum, one| sum.saturating_add(std::mem::take(one).bytes));
        }
        if *sums != FileSums::default() {
            into.files.entry(self.file).or_default().merge(sums);
            into.cells.add(self.file, self.read.iter());
        }
    }
}

impl FileSums {
    fn direction(&mut self, writes: bool) -> &mut super::sums::Direction {
        if writes { &mut self.writes } else { &mut self.reads }
    }
}

impl Partial {
    /// Counts the process that was read last.
    pub fn finish(&mut self, least: &Thresholds) {
        if let Some(mut current) = self.current.take() {
            current.end_thread(least);
            current.slots.into_iter().for_each(|slot| slot.finish(self));
        }
    }
}

impl Analysis for Walk<'_> {
    type Partial = Partial;

    fn start(&self) -> Partial {
        Partial { files: FxHashMap::default(), cells: Cells::with_limit(FOLLOWED_CELLS), current: None }
    }

    fn ordered(&self) -> bool {
        true
    }

    fn block(&self, partial: &mut Partial, block: &Block<'_>) {
        if partial.current.as_ref().is_none_or(|current| current.number != block.number) {
            partial.finish(self.thresholds);
            partial.current = Some(Current::new(block.run, block.number, block.process, block.thread));
        }
        let Some(current) = &mut partial.current else { return };
        if current.thread != block.thread {
            current.end_thread(self.thresholds);
            current.thread = block.thread;
        }
        block.rows().for_each(|row| current.row(&row, self.thresholds));
    }

    fn merge(&self, into: &mut Partial, mut other: Partial) {
        other.finish(self.thresholds);
        into.finish(self.thresholds);
        into.cells.merge(other.cells);
        for (file, sums) in other.files {
            into.files.entry(file).or_default().merge(&sums);
        }
    }
}
