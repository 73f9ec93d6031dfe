//! Turns findings of other topics into claims (findings with their savings): finds the calls that a finding explains, and the time that
//! they would take if it were fixed (the counterfactual). [`crate::topics::causes`] makes its own claims, about slow, uneven, queued,
//! locked or late calls; other topics only name a pattern.

use super::aggregators;
use super::by_turns::takes_turns;
use super::of_files::{collective, extents, fastest, read, readers, shared};
use crate::cube::{Cell, Cube, weighted_quantile};
use crate::findings::{Code, Finding, Severity};
use crate::hypotheses::counterfactual::DATA;
use crate::hypotheses::{Counterfactual, Hypothesis};
use crate::model::{Class, FileId, ProcessId, StreamIx, Within};
use crate::replay::{Savings, turns};
use crate::shared::totals::add;
use crate::topics::causes::claim::{Claim, excess};
use crate::topics::causes::shape::put_together::saved_ns;
use crate::topics::causes::shape::whole_files::WholeFiles;
use crate::words::verdict::serialized;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Facts about the whole run from which the time that a finding would save is computed.
#[derive(Debug)]
pub(crate) struct Mending<'g, 'a> {
    cube: &'g Cube<'a>,
    /// By class of calls: time per byte of large requests, ns.
    per_byte: FxHashMap<Class, f64>,
    /// By process and stream (one operation on one file): number of calls.
    calls: FxHashMap<(ProcessId, StreamIx), u64>,
    /// By file and class of calls: bytes that the program requested from MPI-IO, and bytes that MPI-IO moved by system calls.
    moved: FxHashMap<(FileId, Class), (u64, u64)>,
    /// By cell (similar calls of one process): time explained by findings about slow ranks, targets, time windows or single slow calls, ns.
    /// Larger or fewer calls would be as slow, so they do not save this time.
    beyond: Vec<f64>,
    /// By file, class of calls and size octave (bit length of the bytes): duration of the fastest calls, ns.
    fastest: FxHashMap<(FileId, Class, u8), f64>,
    /// By file: end of the last byte that any call reaches.
    extents: FxHashMap<FileId, u64>,
    /// Files on which system calls inside MPI-IO come from collective calls.
    collective: FxHashSet<FileId>,
    /// Files that each open reads or writes as a whole by one call.
    whole: WholeFiles,
    /// By file: number of processes that read it.
    readers: FxHashMap<FileId, usize>,
    /// By file: bytes read from it by system calls, summed over processes.
    read: FxHashMap<FileId, u64>,
    /// Files that several processes read or write.
    shared: FxHashSet<FileId>,
    /// True if another finding is about repeated reads of the same bytes, whose saving must not be counted twice.
    reread: bool,
    /// By class: time of system calls inside collective MPI-IO calls, ns.
    in_collective: BTreeMap<Class, f64>,
    /// Run time saved if the calls of all processes overlapped instead of following each other, ns.
    beside_ns: f64,
}

impl<'g, 'a> Mending<'g, 'a> {
    pub(crate) fn new(cube: &'g Cube<'a>, beside_ns: f64, causes: &[Claim], reread: bool) -> Self {
        let (mut calls, mut moved) =
            (FxHashMap::<(ProcessId, StreamIx), u64>::default(), FxHashMap::<(FileId, Class), (u64, u64)>::default());
        let mut large: FxHashMap<Class, Vec<(f64, f64)>> = FxHashMap::default();
        for cell in &cube.cells {
            add(calls.entry((cell.process, cell.stream)).or_default(), cell.sums.calls);
            let is_data = DATA.contains(&cell.class);
            if is_data && cell.leaf && !cell.is_below(cube.run.thresholds.large_bytes) && cell.sums.bytes > 0 {
                let per_byte = cell.sums.time_ns as f64 / cell.sums.bytes as f64;
                large.entry(cell.class).or_default().push((per_byte, cell.sums.bytes as f64));
            }
            if is_data {
                let sums = moved.entry((cell.file, cell.class)).or_default();
                if cell.leaf && cell.inside {
                    add(&mut sums.1, cell.sums.bytes);
                } else if cube.layer(cell) == Some(Layer::Mpiio) {
                    // Calls of HDF5 above MPI-IO are not counted: they ask for the same bytes.
                    add(&mut sums.0, cell.sums.bytes);
                }
            }
        }
        let per_byte =
            large.into_iter().filter_map(|(class, mut all)| Some((class, weighted_quantile(&mut all, 0.5)?))).collect();
        Self {
            cube,
            per_byte,
            calls,
            moved,
            beyond: excess(cube, causes.iter().filter(|claim| claim.is_worth(cube))),
            fastest: fastest(cube),
            extents: extents(cube),
            collective: collective(cube),
            whole: WholeFiles::of(cube),
            readers: readers(cube),
            read: read(cube),
            shared: shared(cube),
            reread,
            in_collective: BTreeMap::new(),
            beside_ns,
        }
    }

    /// Adds the time of system calls inside collective MPI-IO calls, by class, ns.
    pub(crate) fn with_collective(self, in_collective: BTreeMap<Class, f64>) -> Self {
        Self { in_collective, ..self }
    }

    /// Returns the claim of a finding: its calls and their savings; `None` if it explains no calls.
    pub(crate) fn claim(&self, finding: &Finding) -> Option<Claim> {
        let thresholds = &self.cube.run.thresholds;
        // `NO_BUFFERING` without a cost is skipped: each call is one request already, and what fewer requests of all ranks would save is unknown.
        let is_known = finding.code != Code::NO_BUFFERING || finding.cost_ns.is_some();
        let (calls, instead) = Hypothesis::of(finding.code).instead.filter(|_| is_known)?;
        let about = &finding.about;
        let file = about.file.as_ref().and_then(|name| self.file(name));
        let others = self.others(finding);
        let of_library = |cell: &Cell| {
            let inside = self.cube.stream(cell).is_some_and(|stream| stream.within() == Within::Mpiio);
            inside && self.collective.contains(&cell.file)
        };
        let counts = |cell: &Cell| {
            cell.leaf
                && calls.classes.contains(&cell.class)
                && calls.inside.is_none_or(|inside| inside == cell.inside)
                && file.is_none_or(|file| file == cell.file || others.contains_key(&cell.file))
                && (!calls.of_shared || self.shared.contains(&cell.file))
                && !(calls.of_the_program && of_library(cell))
        };
        let theirs: Vec<(u32, &Cell)> = (0..).zip(&self.cube.cells).filter(|(_, cell)| counts(cell)).collect();
        // A finding about waits for locks explains the same more precisely.
        if instead == Counterfactual::Parallel && finding.code == Code::SERIALISED && turns::are_of_locks(self.cube) {
            return None;
        }
        if instead == Counterfactual::Parallel {
            let waits = turns::waited(self.cube).unwrap_or(f64::INFINITY);
            let waiting_ns = self.beside_ns.min(waits) * self.of_their_own();
            let least = if finding.code == Code::SERIAL { thresholds.majority_share } else { thresholds.third_share };
            let always = finding.code == Code::SERIALISED;
            let mut finding = finding.clone();
            if always {
                finding.title = serialized(&finding.title);
            }
            return takes_turns(self.cube, self.beside_ns, least)
                .then(|| Claim { waiting_ns, ..Claim::new(finding, Vec::new()) });
        }
        if instead == Counterfactual::Spread {
            return aggregators::claim(self.cube, finding, &theirs, &|class| {
                self.in_collective.get(&class).copied().unwrap_or_default()
            });
        }
        if instead == Counterfactual::Waiting {
            let waiting_ns = about.time_ns.unwrap_or_default() as f64;
            let savings: Savings = theirs
                .into_iter()
                .filter(|_| finding.code == Code::BUFFER_SIZE)
                .map(|(index, cell)| (index, self.less(Counterfactual::Large, (index, cell), 0.0)))
                .filter(|(_, ns)| *ns > 0.0)
                .collect();
            let any = waiting_ns > 0.0 || !savings.is_empty();
            return any.then(|| Claim { waiting_ns, ..Claim::new(finding.clone(), savings) });
        }
        let small = |cell: &Cell| instead != Counterfactual::Rows || cell.is_below(thresholds.direct_bytes);
        // Other files that the finding covers are priced separately.
        let whose = |cell: &Cell| Some(cell.file).filter(|file| others.contains_key(file));
        let mut all: FxHashMap<Option<FileId>, f64> = FxHashMap::default();
        for (_, cell) in theirs.iter().filter(|(_, cell)| small(cell)) {
            *all.entry(whose(cell)).or_default() += cell.time_ns();
        }
        let unknown = if instead == Counterfactual::Random { 1.0 } else { 0.0 };
        // Several processes read only these bytes of all that are read of the named file.
        let all_read = file.and_then(|file| self.read.get(&file)).copied().unwrap_or_default();
        let several = |cell: &Cell| match (about.processes, about.bytes) {
            (Some(readers), Some(bytes)) if whose(cell).is_none() => {
                (readers.max(1) as f64, (bytes as f64 / all_read.max(1) as f64).min(1.0))
            }
            _ => (self.readers.get(&cell.file).copied().unwrap_or(1).max(1) as f64, 1.0),
        };
        let cost = |cell: &Cell| {
            if instead == Counterfactual::Shared {
                let (readers, part) = several(cell);
                return part * (1.0 - 1.0 / readers);
            }
            let (whose, time) = (whose(cell), all.get(&whose(cell)).copied().unwrap_or_default());
            let cost = whose.map_or(finding.cost_ns, |file| others.get(&file).copied().flatten());
            cost.map_or(unknown, |cost| cost as f64 / time.max(1.0)).min(1.0)
        };
        let savings: Savings = theirs
            .into_iter()
            .map(|(index, cell)| (index, self.less(instead, (index, cell), cost(cell))))
            .filter(|(_, ns)| *ns > 0.0)
            .collect();
        // The time of long reads that are far apart may be due to their bytes: the run has nothing to compare with.
        let short = |(index, _): &&(u32, f64)| {
            self.cube.cells.get(*index as usize).is_none_or(|of| of.is_below(thresholds.direct_bytes))
        };
        let sum = |of: &mut dyn Iterator<Item = &(u32, f64)>| of.map(|(_, ns)| ns).sum::<f64>();
        let all = sum(&mut savings.iter());
        let far = matches!(instead, Counterfactual::Random | Counterfactual::Apart);
        let is_guess = far && sum(&mut savings.iter().filter(short)) * 2.0 < all;
        let at_most = if is_guess { Severity::Warn } else { Severity::High };
        (!savings.is_empty()).then(|| Claim { at_most, ..Claim::new(finding.clone(), savings) })
    }

    /// Returns the files that a merged finding covers besides the one that it names, each with the finding's cost there, ns.
    fn others(&self, finding: &Finding) -> FxHashMap<FileId, Option<u64>> {
        let named: FxHashMap<&str, Option<u64>> = finding.others().map(|(name, cost)| (name.as_str(), *cost)).collect();
        if named.is_empty() {
            return FxHashMap::default();
        }
        let files = self.cube.run.numbered_files();
        files.filter_map(|(id, file)| Some((id, *named.get(file.name.as_str())?))).collect()
    }

    fn file(&self, name: &str) -> Option<FileId> {
        self.cube.run.file_named(name)
    }

    /// Returns the largest part of a process's reads of a file that can be first reads of their bytes: file size / bytes read per process,
    /// at most 1.
    fn first_reads(&self, file: FileId) -> f64 {
        let readers = self.readers.get(&file).copied().unwrap_or(1).max(1) as f64;
        let each = self.read.get(&file).copied().unwrap_or_default() as f64 / readers;
        self.extents.get(&file).map_or(1.0, |bytes| (*bytes as f64 / each.max(1.0)).min(1.0))
    }

    /// Returns the share of the time in system calls that is spent in the program's own calls or in reads and writes inside MPI-IO and
    /// HDF5. All else (syncs, opens and so on inside these libraries) is made when the library decides.
    fn of_their_own(&self) -> f64 {
        let leaf = || self.cube.cells.iter().filter(|cell| cell.leaf);
        let theirs = |cell: &&Cell| !cell.inside || DATA.contains(&cell.class);
        let all: f64 = leaf().map(|cell| cell.time_ns()).sum();
        leaf().filter(theirs).map(|cell| cell.time_ns()).sum::<f64>() / all.max(1.0)
    }

    /// Returns the duration of the fastest calls of the same file, class and size as those of `cell`, ns.
    fn alone(&self, cell: &Cell) -> f64 {
        self.fastest.get(&(cell.file, cell.class, cell.size)).copied().unwrap_or_default()
    }

    /// Returns the time of a cell without its excess over peers, ns.
    fn usual(&self, index: u32, cell: &Cell) -> f64 {
        (cell.time_ns() - self.beyond.get(index as usize).copied().unwrap_or_default()).max(0.0)
    }

    /// Returns the time saved if the bytes of `cell` (similar calls of one process) moved in large requests, ns.
    fn if_large(&self, index: u32, cell: &Cell) -> f64 {
        let usual = self.usual(index, cell);
        match self.per_byte.get(&cell.class) {
            Some(per_byte) => usual - cell.sums.bytes as f64 * per_byte,
            // No large requests to compare with: the longer the calls, the smaller the assumed saving.
            None => saved_ns(&self.cube.run.thresholds, usual, cell.sums.bytes, cell.sums.calls),
        }
    }

    /// Returns the time that a cell (similar calls of one process) would save under `counterfactual`, ns. `cost`: part of the cell's time
    /// that the finding's own cost covers; of reads by several processes, that all but one of them need not make.
    fn less(&self, counterfactual: Counterfactual, (index, cell): (u32, &Cell), cost: f64) -> f64 {
        let thresholds = &self.cube.run.thresholds;
        let (time, calls) = (self.usual(index, cell), cell.sums.calls as f64);
        match counterfactual {
            Counterfactual::Tiny if !cell.is_below(thresholds.small_bytes) => 0.0,
            Counterfactual::Large | Counterfactual::Tiny
                if self.whole.has(thresholds, cell) || self.cube.only_copies(cell) =>
            {
                0.0
            }
            Counterfactual::Large | Counterfactual::Tiny if cell.is_below(thresholds.direct_bytes) => {
                self.if_large(index, cell)
            }
            Counterfactual::Large
            | Counterfactual::Tiny
            | Counterfactual::Parallel
            | Counterfactual::Waiting
            | Counterfactual::Spread => 0.0,
            // HDF5, not the program, decides the order of its own small reads.
            Counterfactual::Random
                if cell.is_below(thresholds.small_bytes)
                    && self.cube.stream(cell).is_some_and(|stream| stream.in_hdf5) =>
            {
                0.0
            }
            // A synchronous write waits for storage in any order.
            Counterfactual::Random if self.cube.stream(cell).is_some_and(|stream| stream.manner.is_through()) => 0.0,
            // Programs cannot gather writes that HDF5 makes itself: only chunks and caches can.
            Counterfactual::Rows if self.cube.stream(cell).is_some_and(|stream| stream.in_hdf5) => 0.0,
            // A file that is in the page cache as a whole is read in any order.
            Counterfactual::Random
                if self.extents.get(&cell.file).is_some_and(|bytes| *bytes <= thresholds.small_bytes) =>
            {
                0.0
            }
            Counterfactual::Rows => self.less(Counterfactual::Large, (index, cell), 0.0).max(0.0) * cost,
            Counterfactual::Random | Counterfactual::Apart
                if self.whole.has(thresholds, cell) || !cell.is_below(thresholds.large_bytes) =>
            {
                0.0
            }
            Counterfactual::Apart => self.if_large(index, cell).max(0.0),
            Counterfactual::Random => (self.if_large(index, cell) * (cost * 2.0).min(1.0)).max(0.0),
            Counterfactual::Handover => (cell.time_ns() - self.alone(cell) * calls) * cost,
            Counterfactual::Shared => {
                let alone = self.alone(cell);
                let waits = alone > 0.0 && cell.usual_ns >= alone * thresholds.double_ratio;
                let first = if self.reread { self.first_reads(cell.file) } else { 1.0 };
                let by_parts = time * first * cost * thresholds.nearly_all_share;
                if waits { by_parts.max((cell.time_ns() - alone * calls) * first * cost) } else { by_parts }
            }
            Counterfactual::Once => {
                let all = self.calls.get(&(cell.process, cell.stream)).copied().unwrap_or(1).max(1);
                time * (1.0 - 1.0 / all as f64)
            }
            Counterfactual::Quick => time - calls * thresholds.server_ns,
            Counterfactual::Asked => {
                let (asked, moved) = self.moved.get(&(cell.file, cell.class)).copied().unwrap_or_default();
                // Reads on a file from which the program read nothing serve its writes (read-modify-write, with locks).
                if asked == 0 {
                    time
                } else if moved > asked {
                    time * (1.0 - asked as f64 / moved as f64)
                } else {
                    0.0
                }
            }
            Counterfactual::ByCost => time * cost,
            Counterfactual::Compared => cell.time_ns() * cost,
        }
    }
}
