//! Many small files, each opened for few bytes, or created only to be used briefly and removed. Each costs an open, a close and a short
//! transfer, which one file or memory would avoid. Also data of any size that a process spills to files (written, read back and removed), or
//! that pass from one process to another by files.

use super::put_together::saved_ns;
use crate::cube::reading::renamed::Name;
use crate::cube::{Cell, Cube};
use crate::findings::{Code, Severity};
use crate::model::{Class, FileId, ProcessId, Within};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape::{self as words, Kind};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::{Layer, OpClass};

#[derive(Clone, Copy, Debug, Default)]
struct Use {
    opens: u64,
    calls: u64,
    /// Number of reads and writes.
    moves: u64,
    read: u64,
    written: u64,
    removed: bool,
    /// True if the file is removed after a write to it, or after its only open: nobody can read its data after the run.
    removed_again: bool,
    /// Begin of the first open of the file, ns since the job's start; `None` if the time is unknown.
    opened_at: Option<u64>,
    /// Begin of the first write to the file, ns since the job's start; `None` if it is not written or the time is unknown.
    written_at: Option<u64>,
    synced: bool,
    /// True if several processes open the file.
    shared: bool,
    /// True if processes without MPI write the file, and later another process of the node reads it, half to twice the bytes.
    handed_on: bool,
}

/// Bytes written to spilled or handed-on files, and to all files; zeros where they are too few to matter.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    spilled: u64,
    handed_on: u64,
    all: u64,
}

/// Returns one claim (finding with its saving) per kind of files: temporary, spilled, handed on, and small ones that are read or written.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let (uses, thresholds) = (uses(cube), &cube.run.thresholds);
    let writes = cube.cells.iter().filter(|cell| cell.class == Class::Write && counts(cube, cell));
    let all = writes.fold(0_u64, |all, cell| all.saturating_add(cell.sums.bytes));
    let much = |is: &dyn Fn(&Use) -> bool| {
        let written = uses.values().filter(|(of, _)| is(of)).fold(0_u64, |sum, (of, _)| sum.saturating_add(of.written));
        let is_much =
            written >= thresholds.traffic_min_bytes && written as f64 >= all as f64 * thresholds.traffic_share;
        if is_much { written } else { 0 }
    };
    let passed = Passed {
        spilled: much(&|of| of.is_spilled(thresholds)),
        handed_on: much(&|of| of.handed_on && !of.is_spilled(thresholds)),
        all,
    };
    let kinds = [Kind::Temporary, Kind::Spilled, Kind::HandedOn, Kind::Read, Kind::Written];
    kinds.into_iter().filter_map(|kind| of_kind(cube, &uses, kind, passed)).collect()
}

/// True for successful calls that the program or HDF5 makes; calls on files that MPI-IO keeps for itself do not count.
fn counts(cube: &Cube<'_>, cell: &Cell) -> bool {
    cell.leaf && cube.stream(cell).is_some_and(|stream| stream.within() != Within::Mpiio && !stream.failed)
}

fn uses(cube: &Cube<'_>) -> BTreeMap<FileId, (Use, BTreeSet<ProcessId>)> {
    let mut out: BTreeMap<FileId, (Use, BTreeSet<ProcessId>)> = BTreeMap::new();
    let mut removed: Vec<(FileId, Option<u64>)> = Vec::new();
    let mut passes: BTreeMap<FileId, Passes> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| counts(cube, cell)) {
        let (of, processes) = out.entry(cell.file).or_default();
        add(&mut of.calls, cell.sums.calls);
        if matches!(cell.class, Class::Read | Class::Write) {
            add(&mut of.moves, cell.sums.calls);
            passes.entry(cell.file).or_default().add(cell);
        }
        match cell.class {
            Class::Open => {
                add(&mut of.opens, cell.sums.calls);
                of.opened_at = of.opened_at.into_iter().chain(cell.sums.first_began()).min();
                processes.insert(cell.process);
            }
            Class::Read => add(&mut of.read, cell.sums.bytes),
            Class::Write => {
                add(&mut of.written, cell.sums.bytes);
                of.written_at = of.written_at.into_iter().chain(cell.sums.first_began()).min();
            }
            Class::Sync => of.synced |= cube.stream(cell).is_some_and(|of| cube.run.op(of).layer != Some(Layer::Stdio)),
            _ if cube.stream(cell).is_some_and(|stream| cube.run.op(stream).name == "unlink") => {
                of.removed = true;
                removed.push((cell.file, cell.sums.first_began()));
            }
            _ => {}
        }
    }
    for (file, at) in removed {
        if let Some((of, _)) = out.get_mut(&file) {
            let is_after = |other: Option<u64>| at.zip(other).is_some_and(|(at, other)| at > other);
            of.removed_again |= is_after(of.written_at) || of.opens == 1 && is_after(of.opened_at);
        }
    }
    // Versions of one file, written under temporary names, are not many files.
    let mut names: BTreeMap<Name, u64> = BTreeMap::new();
    cube.renamed.values().flatten().for_each(|name| *names.entry(*name).or_default() += 1);
    let is_version = |name: &Name| names.get(name).is_some_and(|files| *files >= cube.run.thresholds.many_calls_min);
    for ((_, file), name) in &cube.renamed {
        if name.as_ref().is_some_and(is_version) {
            out.remove(file);
        }
    }
    let once = 1.0 / cube.run.thresholds.double_ratio..=cube.run.thresholds.double_ratio;
    out.retain(|file, (of, processes)| {
        of.shared = processes.len() > 1;
        let is_passed = || passes.get(file).is_some_and(|passes| passes.are_on(cube));
        let is_once = of.written > 0 && once.contains(&(of.read as f64 / of.written as f64));
        of.handed_on = cube.run.ranks() == 0 && is_once && is_passed();
        of.opens > 0
    });
    out
}

/// Processes that write a file, and those that read it.
#[derive(Debug, Default)]
struct Passes {
    writers: BTreeSet<ProcessId>,
    readers: BTreeSet<ProcessId>,
    /// Begin of the latest group of writes and of the first read, ns since the job's start; `None` if a time is unknown.
    written_at: Option<u64>,
    read_at: Option<u64>,
}

impl Passes {
    fn add(&mut self, cell: &Cell) {
        let at = cell.sums.first_began();
        if cell.class == Class::Write {
            self.writers.insert(cell.process);
            self.written_at = self.written_at.max(at);
        } else {
            self.readers.insert(cell.process);
            self.read_at = self.read_at.into_iter().chain(at).min();
        }
    }

    /// True if one process reads what others of its node wrote before.
    fn are_on(&self, cube: &Cube<'_>) -> bool {
        let node = |process: &ProcessId| cube.run.process(*process).map(|process| process.node);
        let mut nodes = self.writers.iter().chain(&self.readers).map(node);
        let first = nodes.next();
        self.readers.len() == 1
            && !self.writers.is_empty()
            && self.writers.is_disjoint(&self.readers)
            && self.written_at.zip(self.read_at).is_some_and(|(written, read)| written < read)
            && nodes.all(|node| Some(node) == first)
    }
}

impl Use {
    /// True if the file holds data for which there is no room in memory. (A journal is synced, and an old checkpoint not read.)
    fn is_spilled(&self, thresholds: &Thresholds) -> bool {
        self.removed_again
            && !self.synced
            && !self.shared
            && self.read as f64 >= self.written as f64 * thresholds.half_share
    }

    /// Returns the kind of the file (temporary, spilled, handed on, small and written or read); `None` if it is none of these.
    fn kind(&self, thresholds: &Thresholds, passed: Passed) -> Option<Kind> {
        let small = self.read.saturating_add(self.written) / self.opens.max(1) <= thresholds.half_time_bytes;
        match (self.removed, self.written > 0, self.read > 0) {
            (true, true, _) if passed.spilled > 0 && self.is_spilled(thresholds) => Some(Kind::Spilled),
            _ if passed.handed_on > 0 && self.handed_on => Some(Kind::HandedOn),
            // An empty file that is removed is a marker: its name is its content.
            (true, written, read) if small && (written || !read) => Some(Kind::Temporary),
            (false, true, _) if small => Some(Kind::Written),
            (false, false, true) if small => Some(Kind::Read),
            _ => None,
        }
    }
}

/// True for files that count because they are small.
const fn is_small(kind: Kind) -> bool {
    matches!(kind, Kind::Read | Kind::Written)
}

fn of_kind(
    cube: &Cube<'_>,
    uses: &BTreeMap<FileId, (Use, BTreeSet<ProcessId>)>,
    kind: Kind,
    passed: Passed,
) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let mut mine: BTreeMap<FileId, &Use> = uses
        .iter()
        .filter(|(_, (of, _))| of.kind(thresholds, passed) == Some(kind))
        .map(|(file, (of, _))| (*file, of))
        .collect();
    if is_small(kind) {
        // A file that is opened far more often costs by its own opens, not by the number of files.
        let opens = (mine.len() as f64 * thresholds.some_share).max(thresholds.repeated_min as f64);
        let has_few_opens =
            |(of, processes): &(Use, BTreeSet<ProcessId>)| of.opens as f64 <= opens * processes.len().max(1) as f64;
        mine.retain(|file, _| uses.get(file).is_some_and(has_few_opens));
    }
    let fewest = match kind {
        Kind::Temporary => thresholds.many_calls_min as usize,
        Kind::Spilled | Kind::HandedOn => 1,
        Kind::Read | Kind::Written => thresholds.more_calls_min as usize,
    };
    if mine.len() < fewest {
        return None;
    }
    let (mut savings, mut time, mut opens, mut moves) = (Savings::new(), 0.0, (0_u64, 0.0), (0_u64, 0.0));
    let (mut bytes, mut closes) = (0_u64, (0_u64, 0.0));
    // With several transfers per open of a file that is not tiny, the number of transfers costs time, not the number of files.
    let in_a_go = are_in_a_go(thresholds, &mine);
    let theirs = |cell: &Cell| counts(cube, cell) && mine.contains_key(&cell.file);
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| theirs(cell)) {
        let time_ns = cell.time_ns();
        let (calls, moved) = (cell.sums.calls as f64, cell.sums.bytes as f64);
        let data = matches!(cell.class, Class::Read | Class::Write);
        time += time_ns;
        if cell.class == Class::Open {
            add(&mut opens.0, cell.sums.calls);
            opens.1 += time_ns;
        } else if data {
            add(&mut moves.0, cell.sums.calls);
            add(&mut bytes, cell.sums.bytes);
            moves.1 += time_ns;
        } else if cube.stream(cell).is_some_and(|stream| cube.run.op(stream).class == Some(OpClass::Close)) {
            add(&mut closes.0, cell.sums.calls);
            closes.1 += time_ns;
        }
        // Few reads and writes on C streams reach the kernel.
        let in_memory_ns = if data && cube.layer(cell) == Some(Layer::Stdio) { 0.0 } else { thresholds.in_memory_ns };
        let less = match kind {
            Kind::Spilled => time_ns,
            Kind::Temporary | Kind::HandedOn => {
                time_ns - calls * in_memory_ns - moved * thresholds.transfer_ns_per_byte
            }
            // One large file would need as many syncs and locks as many small files.
            _ if matches!(cell.class, Class::Sync | Class::Lock) || data && !in_a_go => 0.0,
            // In one file, bytes would move in large requests.
            _ if data => saved_ns(thresholds, time_ns, cell.sums.bytes, cell.sums.calls),
            _ => time_ns,
        };
        if less > 0.0 {
            savings.push((index, less));
        }
    }
    // Names in memory cost nothing.
    let slow = opens.1 >= thresholds.server_ns * thresholds.some_share * opens.0 as f64;
    let in_closes =
        closes.1 >= time * thresholds.majority_share && closes.1 >= closes.0 as f64 * thresholds.slow_call_ns as f64;
    if savings.is_empty() || is_small(kind) && (in_closes || !slow) {
        return None;
    }
    let (files, calls) = (mine.len() as u64, sum(&mine, |of| of.calls));
    let written = if kind == Kind::HandedOn { passed.handed_on } else { passed.spilled };
    let of = words::ManyFiles { kind, files, calls, time_ns: time, bytes, written, all: passed.all, opens, moves };
    let code = if is_small(kind) { Code::SMALL_FILES } else { Code::TEMPORARY_FILES };
    let claim = Claim::on_files(cube, code, savings, |lost| words::many_files(&of, lost));
    // Somebody may need files that stay.
    let stays = kind == Kind::HandedOn && !mine.values().all(|of| of.removed);
    Some(if stays { Claim { at_most: Severity::Warn, ..claim } } else { claim })
}

/// True if the files are tiny, or are read or written by one call per open, on average (a second call may meet the end of the file).
fn are_in_a_go(thresholds: &Thresholds, files: &BTreeMap<FileId, &Use>) -> bool {
    let opens = sum(files, |of| of.opens);
    let bytes = sum(files, |of| of.read.saturating_add(of.written));
    sum(files, |of| of.moves) <= opens.saturating_mul(thresholds.repeated_min)
        || bytes <= opens.saturating_mul(thresholds.metadata_bytes)
}

fn sum(files: &BTreeMap<FileId, &Use>, of: impl Fn(&Use) -> u64) -> u64 {
    files.values().map(|file| of(file)).fold(0, u64::saturating_add)
}
