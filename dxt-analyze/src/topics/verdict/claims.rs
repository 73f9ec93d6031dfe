//! Which calls a finding explains, and what would be left of them if what it says were mended. What is slow, uneven, queued, locked or late
//! [`crate::topics::causes`] knows by itself; the findings of other topics name a pattern, and its price is found here.

use super::aggregators;
use super::weigh::is_longer;
use crate::findings::{Code, Finding, Severity};
use crate::model::{FileId, ProcessId, StreamIx, Within};
use crate::shared::totals::add;
use crate::sum::Sum;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::class::Class;
use crate::topics::causes::grid::{Entry, Grid, weighted_quantile};
use crate::topics::causes::reading::phases;
use crate::topics::causes::replay::{Shortened, turns};
use crate::topics::causes::shape::put_together::saved_ns;
use crate::topics::causes::shape::slow_metadata::QUICK_NS;
use crate::topics::causes::shape::whole_files::WholeFiles;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Part of the time in which any process works that would be saved at least if ranks work by turns.
const BY_TURNS: f64 = 0.4;
/// The same inside MPI-IO, where aggregators come one after another a little, however well all goes.
const BY_TURNS_INSIDE: f64 = 0.6;
/// Part of what they would be by chance that more than one rank are in calls at once, at most, if they take turns.
const CARELESS: f64 = 0.5;
/// Calls that would be beside others by chance up to which it tells nothing that fewer are; and part of the changes from one rank to another in which one begins
/// as the other ends, from which they take turns all the same.
const FEW_BY_CHANCE: f64 = 5.0;
const HANDED_ON: f64 = 0.5;
/// Times as long as the fastest that calls usually take if they wait for others.
const CONTENDED: f64 = 2.0;
/// Bytes of a file that reading ahead brings as a whole: 64 KiB.
const IN_CACHE: u64 = 64 << 10;
/// Part of what reading in parts saves that passing them on leaves.
const PASSED_ON: f64 = 0.85;
/// Quantile of the shortest calls of cells that tells what the fastest take.
const FASTEST: f64 = 0.03;
/// Octave of the length from which a request is large: 1 MiB.
const LARGE: u8 = 21;
/// Octave up to which requests are small whatever they are held against: below 64 KiB.
const TINY: u8 = 16;
/// Octave below which it is small: 256 KiB. What lies between gains little by being larger.
const SMALL: u8 = 19;

/// What would be left of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mended {
    /// The time that the same bytes take in large requests.
    Large,
    /// Of the calls of an operation of a process on a file, one.
    Once,
    /// As `Large`, of the part of the small calls that the finding's own cost is of.
    Rows,
    /// What a server takes that is not busy.
    Quick,
    /// Of what is moved inside MPI-IO, what was asked for.
    Asked,
    /// All but the finding's own cost.
    ByCost,
    /// As `Large`, of requests of which nobody doubts that they are small.
    Tiny,
    /// What is left if all ranks work at the same time.
    Parallel,
    /// What as many aggregators as can work at once would take ([`aggregators`]).
    Spread,
    /// What each process would wait less inside of MPI-IO, and small calls inside as `Large`.
    Waiting,
    /// As `Large`, of the part of the calls that the finding's own cost is of, twice that: of calls in any order half go backwards.
    Random,
    /// What calls take longer than the fastest of their like, which wait for no other, as far as the finding is of them by its own cost.
    Handover,
    /// What calls take that wait for nobody, if they usually take much longer; or what is left if each process reads its part and passes it on.
    Shared,
}

/// Which calls.
#[derive(Clone, Copy, Debug)]
struct Rule {
    classes: &'static [Class],
    /// Made inside MPI-IO or HDF5, or by the program; either if it does not matter.
    inside: Option<bool>,
    mended: Mended,
}

const DATA: &[Class] = &[Class::Read, Class::Write];
const READS: &[Class] = &[Class::Read];
const WRITES: &[Class] = &[Class::Write];
/// Data sieving locks what it reads to write it back.
const MOVED: &[Class] = &[Class::Read, Class::Write, Class::Lock];
const METADATA: &[Class] = &[Class::Open, Class::Metadata];

/// Codes, and the classes of calls, whether these are made inside MPI-IO, and what is mended.
type ForCodes = (&'static [Code], &'static [Class], Option<bool>, Mended);

/// What is mended of which calls, by codes.
const RULES: &[ForCodes] = &[
    (&[Code::SMALL_READS, Code::SMALL_SHARED_READS, Code::NO_COLLECTIVE_READS], READS, None, Mended::Large),
    (&[Code::SMALL_WRITES, Code::SMALL_SHARED_WRITES, Code::NO_COLLECTIVE_WRITES], WRITES, None, Mended::Large),
    (&[Code::STRIDED_READS], READS, Some(false), Mended::Large),
    (&[Code::STRIDED_WRITES], WRITES, Some(false), Mended::Large),
    (&[Code::READ_RUNS], READS, None, Mended::Rows),
    (&[Code::WRITE_RUNS], WRITES, None, Mended::Rows),
    (&[Code::RANDOM_READS], READS, None, Mended::Random),
    (&[Code::RANDOM_WRITES], WRITES, None, Mended::Random),
    (&[Code::SAME_BYTES], READS, None, Mended::Shared),
    (&[Code::SLOW_SMALL_WRITES], WRITES, None, Mended::Tiny),
    (&[Code::NO_MPIIO], DATA, None, Mended::Tiny),
    (&[Code::NO_BUFFERING, Code::SHARED_INDEPENDENT], DATA, None, Mended::Large),
    (&[Code::OPEN_PER_ACCESS, Code::METADATA_RATE], METADATA, Some(false), Mended::Once),
    (&[Code::FAILED_OPENS], METADATA, None, Mended::Quick),
    (&[Code::SIEVING], MOVED, Some(true), Mended::Asked),
    (&[Code::UNASKED], DATA, Some(true), Mended::Asked),
    (&[Code::SERIALISED, Code::SERIAL], DATA, None, Mended::Parallel),
    (&[Code::AGGREGATORS, Code::FEW_AGGREGATORS], DATA, Some(true), Mended::Spread),
    (&[Code::BUFFER_SIZE, Code::SIEVING_BLOCK], DATA, Some(true), Mended::Waiting),
    (&[Code::REREAD, Code::READ_BACK, Code::READ_AHEAD], READS, None, Mended::ByCost),
    (&[Code::ONE_CALL], DATA, None, Mended::Large),
    (&[Code::OVERWRITTEN], WRITES, None, Mended::ByCost),
    (&[Code::FALSE_SHARING, Code::LOCAL_SHARING], WRITES, None, Mended::Handover),
    (&[Code::UNALIGNED, Code::CROSSING, Code::IMBALANCE], DATA, None, Mended::ByCost),
];

/// Findings of calls on files that several processes use.
const OF_SHARED: [Code; 6] = [
    Code::SHARED_INDEPENDENT,
    Code::NO_MPIIO,
    Code::SMALL_SHARED_READS,
    Code::SMALL_SHARED_WRITES,
    Code::NO_COLLECTIVE_READS,
    Code::NO_COLLECTIVE_WRITES,
];

/// Findings of how a program makes its requests: what MPI-IO makes of collective calls is none of it.
const OF_THE_PROGRAM: [Code; 7] = [
    Code::SMALL_READS,
    Code::SMALL_WRITES,
    Code::SMALL_SHARED_READS,
    Code::SMALL_SHARED_WRITES,
    Code::READ_RUNS,
    Code::WRITE_RUNS,
    Code::SLOW_SMALL_WRITES,
];

/// Part of the bytes that a program asks MPI-IO for on a file from which what is made of them is made of collective calls.
const COLLECTIVE: f64 = 0.9;

/// Files on which MPI-IO's requests come of collective calls.
fn collective(grid: &Grid<'_>) -> FxHashSet<FileId> {
    let mut of: FxHashMap<FileId, (u64, u64)> = FxHashMap::default();
    let asked = |entry: &&Entry| DATA.contains(&entry.class) && grid.layer(entry) == Some(Layer::Mpiio) && !entry.leaf;
    for entry in grid.entries.iter().filter(asked) {
        let (together, all) = of.entry(entry.file).or_default();
        add(all, entry.cell.bytes);
        add(together, if entry.collective { entry.cell.bytes } else { 0 });
    }
    let is = |(together, all): &(u64, u64)| *together > 0 && *together as f64 >= *all as f64 * COLLECTIVE;
    of.into_iter().filter(|(_, of)| is(of)).map(|(file, _)| file).collect()
}

/// Files that several processes read or write.
fn shared(grid: &Grid<'_>) -> FxHashSet<FileId> {
    let mut first: FxHashMap<FileId, ProcessId> = FxHashMap::default();
    let data = grid.entries.iter().filter(|entry| entry.leaf && DATA.contains(&entry.class));
    data.filter(|entry| *first.entry(entry.file).or_insert(entry.process) != entry.process)
        .map(|entry| entry.file)
        .collect()
}

/// What the fastest calls of each kind on each file take, ns.
fn fastest(grid: &Grid<'_>) -> FxHashMap<(FileId, Class, u8), f64> {
    let mut of: FxHashMap<(FileId, Class, u8), Vec<(f64, f64)>> = FxHashMap::default();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.cell.shortest_ns > 0) {
        let shortest = (entry.cell.shortest_ns as f64, entry.cell.calls as f64);
        of.entry((entry.file, entry.class, entry.size)).or_default().push(shortest);
    }
    of.into_iter().filter_map(|(key, mut all)| Some((key, weighted_quantile(&mut all, FASTEST)?))).collect()
}

/// How many processes read each file.
fn readers(grid: &Grid<'_>) -> FxHashMap<FileId, usize> {
    let mut of: FxHashMap<FileId, FxHashSet<ProcessId>> = FxHashMap::default();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == Class::Read) {
        of.entry(entry.file).or_default().insert(entry.process);
    }
    of.into_iter().map(|(file, processes)| (file, processes.len())).collect()
}

/// Bytes that are read of each file.
fn read(grid: &Grid<'_>) -> FxHashMap<FileId, u64> {
    let mut of: FxHashMap<FileId, u64> = FxHashMap::default();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.class == Class::Read) {
        add(of.entry(entry.file).or_default(), entry.cell.bytes);
    }
    of
}

/// How far calls reach into each file, as far as that is known, bytes.
fn extents(grid: &Grid<'_>) -> FxHashMap<FileId, u64> {
    let mut of: FxHashMap<FileId, u64> = FxHashMap::default();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.cell.range.0 < entry.cell.range.1) {
        let until = of.entry(entry.file).or_default();
        *until = (*until).max(entry.cell.range.1);
    }
    of
}

/// What slow units and single calls explain of each entry, ns.
fn beyond(grid: &Grid<'_>, causes: &[Claim]) -> Vec<f64> {
    let mut out = vec![0.0; grid.entries.len()];
    let longer = |claim: &&Claim| is_longer(claim.finding.code) || claim.finding.code == Code::LONG_TAIL;
    let theirs = causes.iter().filter(longer).flat_map(|claim| &claim.shortened);
    for (index, ns) in theirs {
        if let Some(of) = out.get_mut(*index as usize) {
            *of += ns;
        }
    }
    out
}

fn rule(code: Code) -> Option<Rule> {
    let (_, classes, inside, mended) = RULES.iter().find(|(codes, ..)| codes.contains(&code))?;
    Some(Rule { classes, inside: *inside, mended: *mended })
}

/// What is needed of the whole run to mend calls.
#[derive(Debug)]
pub(crate) struct Mending<'g, 'a> {
    grid: &'g Grid<'a>,
    /// By class: time per byte of large requests, ns.
    per_byte: FxHashMap<Class, f64>,
    /// By process, stream: calls.
    calls: FxHashMap<(ProcessId, StreamIx), u64>,
    /// By file and class: bytes that the program asked of MPI-IO, and bytes that were moved inside.
    moved: FxHashMap<(FileId, Class), (u64, u64)>,
    /// By entry: what its calls take beyond their like, ns, since a rank, target or moment is slow or single calls are: other requests would meet
    /// that as well.
    beyond: Vec<f64>,
    /// By file, class and size: what the fastest calls take, ns.
    fastest: FxHashMap<(FileId, Class, u8), f64>,
    /// By file: the last byte that any call reaches.
    extents: FxHashMap<FileId, u64>,
    /// Files on which MPI-IO's requests come of collective calls.
    collective: FxHashSet<FileId>,
    /// Files that are moved in a go.
    whole: WholeFiles,
    /// By file: processes that read it.
    readers: FxHashMap<FileId, usize>,
    /// By file: bytes that are read of it.
    read: FxHashMap<FileId, u64>,
    /// Files that several processes read or write.
    shared: FxHashSet<FileId>,
    /// Whether it is a finding of its own that processes read bytes again.
    reread: bool,
    /// By class: time of system calls inside of collective ones of MPI-IO, ns.
    in_collective: BTreeMap<Class, f64>,
    /// What is gained if what one process after another does were done at the same time, ns.
    beside_ns: f64,
}

impl<'g, 'a> Mending<'g, 'a> {
    pub(crate) fn new(grid: &'g Grid<'a>, beside_ns: f64, causes: &[Claim], reread: bool) -> Self {
        let (mut calls, mut moved) =
            (FxHashMap::<(ProcessId, StreamIx), u64>::default(), FxHashMap::<(FileId, Class), (u64, u64)>::default());
        let mut large: FxHashMap<Class, Vec<(f64, f64)>> = FxHashMap::default();
        for entry in &grid.entries {
            add(calls.entry((entry.process, entry.stream)).or_default(), entry.cell.calls);
            let is_data = DATA.contains(&entry.class);
            if is_data && entry.leaf && entry.size >= LARGE && entry.cell.bytes > 0 {
                let per_byte = entry.cell.time_ns as f64 / entry.cell.bytes as f64;
                large.entry(entry.class).or_default().push((per_byte, entry.cell.bytes as f64));
            }
            if is_data {
                let sums = moved.entry((entry.file, entry.class)).or_default();
                if entry.leaf && entry.inside {
                    add(&mut sums.1, entry.cell.bytes);
                } else if grid.layer(entry) == Some(Layer::Mpiio) {
                    // Not of HDF5 above it, which asks for the same bytes.
                    add(&mut sums.0, entry.cell.bytes);
                }
            }
        }
        let per_byte =
            large.into_iter().filter_map(|(class, mut all)| Some((class, weighted_quantile(&mut all, 0.5)?))).collect();
        Self {
            grid,
            per_byte,
            calls,
            moved,
            beyond: beyond(grid, causes),
            fastest: fastest(grid),
            extents: extents(grid),
            collective: collective(grid),
            whole: WholeFiles::of(grid),
            readers: readers(grid),
            read: read(grid),
            shared: shared(grid),
            reread,
            in_collective: BTreeMap::new(),
            beside_ns,
        }
    }

    /// With the time of system calls inside of collective ones, by class, ns.
    pub(crate) fn with_collective(self, in_collective: BTreeMap<Class, f64>) -> Self {
        Self { in_collective, ..self }
    }

    /// What a finding explains; `None` if it explains no calls.
    pub(crate) fn claim(&self, finding: &Finding) -> Option<Claim> {
        // Where each call is one request, putting those of ranks together makes none larger at a known gain.
        let rule = rule(finding.code).filter(|_| finding.code != Code::NO_BUFFERING || finding.cost_ns.is_some())?;
        let about = finding.about();
        let file = about.file.as_ref().and_then(|name| self.file(name));
        let others = self.others(finding);
        let of_shared = OF_SHARED.contains(&finding.code);
        let of_the_program = OF_THE_PROGRAM.contains(&finding.code);
        let of_library = |entry: &Entry| {
            let inside = self.grid.stream(entry).is_some_and(|stream| stream.within() == Within::Mpiio);
            inside && self.collective.contains(&entry.file)
        };
        let counts = |entry: &Entry| {
            entry.leaf
                && rule.classes.contains(&entry.class)
                && rule.inside.is_none_or(|inside| inside == entry.inside)
                && file.is_none_or(|file| file == entry.file || others.contains_key(&entry.file))
                && (!of_shared || self.shared.contains(&entry.file))
                && !(of_the_program && of_library(entry))
        };
        let theirs: Vec<(u32, &Entry)> = (0..).zip(&self.grid.entries).filter(|(_, entry)| counts(entry)).collect();
        // That processes wait for locks says more.
        if rule.mended == Mended::Parallel && finding.code == Code::SERIALISED && turns::are_of_locks(self.grid) {
            return None;
        }
        if rule.mended == Mended::Parallel {
            let waits = turns::waited(self.grid).unwrap_or(f64::INFINITY);
            let waiting_ns = self.beside_ns.min(waits) * self.of_their_own();
            let least = if finding.code == Code::SERIAL { BY_TURNS_INSIDE } else { BY_TURNS };
            let always = finding.code == Code::SERIALISED;
            let title = if always { format!("ranks take turns: {}", finding.title) } else { finding.title.clone() };
            let finding = Finding { title, ..finding.clone() };
            return self.takes_turns(least).then(|| Claim { waiting_ns, ..Claim::new(finding, Vec::new()) });
        }
        if rule.mended == Mended::Spread {
            return aggregators::claim(self.grid, finding, &theirs, &|class| {
                self.in_collective.get(&class).copied().unwrap_or_default()
            });
        }
        if rule.mended == Mended::Waiting {
            let waiting_ns = about.time_ns.unwrap_or_default() as f64;
            let shortened: Shortened = theirs
                .into_iter()
                .filter(|_| finding.code == Code::BUFFER_SIZE)
                .map(|(index, entry)| (index, self.less(Mended::Large, (index, entry), 0.0)))
                .filter(|(_, ns)| *ns > 0.0)
                .collect();
            let any = waiting_ns > 0.0 || !shortened.is_empty();
            return any.then(|| Claim { waiting_ns, ..Claim::new(finding.clone(), shortened) });
        }
        let small = |entry: &Entry| rule.mended != Mended::Rows || entry.size < SMALL;
        // What it says of other files besides, it says of each by itself.
        let whose = |entry: &Entry| Some(entry.file).filter(|file| others.contains_key(file));
        let mut all: FxHashMap<Option<FileId>, f64> = FxHashMap::default();
        for (_, entry) in theirs.iter().filter(|(_, entry)| small(entry)) {
            *all.entry(whose(entry)).or_default() += entry.left_ns;
        }
        let unknown = if rule.mended == Mended::Random { 1.0 } else { 0.0 };
        let cost = |entry: &Entry| {
            let (whose, time) = (whose(entry), all.get(&whose(entry)).copied().unwrap_or_default());
            let cost = whose.map_or(finding.cost_ns, |file| others.get(&file).copied().flatten());
            cost.map_or(unknown, |cost| cost as f64 / time.max(1.0)).min(1.0)
        };
        let shortened: Shortened = theirs
            .into_iter()
            .map(|(index, entry)| (index, self.less(rule.mended, (index, entry), cost(entry))))
            .filter(|(_, ns)| *ns > 0.0)
            .collect();
        // What far apart reads of some length take may be for their bytes, and the run has none that tell.
        let short = |(index, _): &&(u32, f64)| self.grid.entries.get(*index as usize).is_none_or(|of| of.size < SMALL);
        let sum = |of: &mut dyn Iterator<Item = &(u32, f64)>| of.map(|(_, ns)| ns).sum::<f64>();
        let all = sum(&mut shortened.iter());
        let is_guess = rule.mended == Mended::Random && sum(&mut shortened.iter().filter(short)) * 2.0 < all;
        let at_most = if is_guess { Severity::Warn } else { Severity::High };
        (!shortened.is_empty()).then(|| Claim { at_most, ..Claim::new(finding.clone(), shortened) })
    }

    /// Files of which a finding says the same without naming them, and what that costs on each, ns.
    fn others(&self, finding: &Finding) -> FxHashMap<FileId, Option<u64>> {
        let named: FxHashMap<&str, Option<u64>> = finding.others().map(|(name, cost)| (name.as_str(), *cost)).collect();
        if named.is_empty() {
            return FxHashMap::default();
        }
        let files = self.grid.run.numbered_files();
        files.filter_map(|(id, file)| Some((id, *named.get(file.name.as_str())?))).collect()
    }

    fn file(&self, name: &str) -> Option<FileId> {
        self.grid.run.file_named(name)
    }

    /// Part of what each process reads of a file, at most, that it reads for the first time.
    fn first_reads(&self, file: FileId) -> f64 {
        let readers = self.readers.get(&file).copied().unwrap_or(1).max(1) as f64;
        let each = self.read.get(&file).copied().unwrap_or_default() as f64 / readers;
        self.extents.get(&file).map_or(1.0, |bytes| (*bytes as f64 / each.max(1.0)).min(1.0))
    }

    /// Whether ranks work one after another for most of the time in which any does, and so wait for each other. Of processes that are no ranks of
    /// one job, and of those that happen to have something to do when others do not, nobody knows.
    fn takes_turns(&self, least: f64) -> bool {
        let busy = self.grid.slots.busy_without_pause().iter().copied().sum::<Sum>().get();
        self.grid.run.ranks() > 1 && self.beside_ns >= busy as f64 * least && !self.are_beside_by_chance()
    }

    /// Whether ranks are in calls at the same time as often as if none cared when the others are, or half as often.
    fn are_beside_by_chance(&self) -> bool {
        let length = phases::length(self.grid.run) as f64;
        let mut of_rank: FxHashMap<ProcessId, f64> = FxHashMap::default();
        for entry in self.grid.entries.iter().filter(|entry| entry.leaf) {
            *of_rank.entry(entry.process).or_default() += self.grid.wall(entry, entry.cell.time_ns as f64) / length;
        }
        let all: f64 = of_rank.values().map(|share| share.min(1.0)).sum();
        let nobody: f64 = of_rank.values().map(|share| 1.0 - share.min(1.0)).product();
        let slots = 0..self.grid.slots.len();
        let anybody = slots.map(|slot| self.grid.slots.busy(slot)).sum::<Sum>().get() as f64 / length;
        // How many are in calls while any is, without the one.
        let more = |anybody: f64| (all / anybody.max(f64::MIN_POSITIVE) - 1.0).max(0.0);
        let by_chance = more(1.0 - nobody);
        // Where few would be beside each other anyway, that none are tells nothing, unless one begins as the other ends.
        let calls = self.grid.entries.iter().filter(|entry| entry.leaf && DATA.contains(&entry.class));
        let calls = calls.map(|entry| entry.cell.calls).fold(0, u64::saturating_add) as f64;
        more(anybody) > by_chance * CARELESS
            || calls * by_chance < FEW_BY_CHANCE && turns::handed_on(self.grid) < HANDED_ON
    }

    /// Part of the time in calls that is not in syncs, opens and the like inside of MPI-IO: when these are made is the library's matter.
    fn of_their_own(&self) -> f64 {
        let leaf = || self.grid.entries.iter().filter(|entry| entry.leaf);
        let theirs = |entry: &&Entry| !entry.inside || DATA.contains(&entry.class);
        let all: f64 = leaf().map(|entry| entry.left_ns).sum();
        leaf().filter(theirs).map(|entry| entry.left_ns).sum::<f64>() / all.max(1.0)
    }

    /// What the fastest calls of an entry's kind on its file take, ns.
    fn alone(&self, entry: &Entry) -> f64 {
        self.fastest.get(&(entry.file, entry.class, entry.size)).copied().unwrap_or_default()
    }

    /// What an entry's calls take beyond the same bytes in large ones, ns.
    fn if_large(&self, index: u32, entry: &Entry) -> f64 {
        let usual = entry.left_ns - self.beyond.get(index as usize).copied().unwrap_or_default();
        match self.per_byte.get(&entry.class) {
            Some(per_byte) => usual - entry.cell.bytes as f64 * per_byte,
            // Nothing tells what large ones would take: the less is promised, the longer these are.
            None => saved_ns(usual, entry.cell.bytes, entry.cell.calls),
        }
    }

    /// Time that would be gone of an entry, ns.
    fn less(&self, mended: Mended, (index, entry): (u32, &Entry), cost: f64) -> f64 {
        let (time, calls) = (entry.left_ns, entry.cell.calls as f64);
        match mended {
            Mended::Tiny if entry.size > TINY => 0.0,
            Mended::Large | Mended::Tiny if self.whole.has(entry) => 0.0,
            Mended::Large | Mended::Tiny if entry.size < SMALL => self.if_large(index, entry),
            Mended::Large | Mended::Tiny | Mended::Parallel | Mended::Waiting | Mended::Spread => 0.0,
            // In what order HDF5 reads its own small pieces is nothing that a program decides.
            Mended::Random if entry.size <= TINY && self.grid.stream(entry).is_some_and(|stream| stream.in_hdf5) => 0.0,
            // Nor does it gather what HDF5 writes by itself: chunks and caches do.
            Mended::Rows if self.grid.stream(entry).is_some_and(|stream| stream.in_hdf5) => 0.0,
            // A file that is in the page cache as a whole is read in any order.
            Mended::Random if self.extents.get(&entry.file).is_some_and(|bytes| *bytes <= IN_CACHE) => 0.0,
            Mended::Rows => self.less(Mended::Large, (index, entry), 0.0).max(0.0) * cost,
            Mended::Random if self.whole.has(entry) || entry.size >= LARGE => 0.0,
            Mended::Random => (self.if_large(index, entry) * (cost * 2.0).min(1.0)).max(0.0),
            Mended::Handover => (time - self.alone(entry) * calls) * cost,
            Mended::Shared => {
                let alone = self.alone(entry);
                let waits = alone > 0.0 && entry.usual_ns >= alone * CONTENDED;
                let readers = self.readers.get(&entry.file).copied().unwrap_or(1).max(1) as f64;
                let first = if self.reread { self.first_reads(entry.file) } else { 1.0 };
                let by_parts = time * first * (1.0 - 1.0 / readers) * PASSED_ON;
                if waits { by_parts.max((time - alone * calls) * first) } else { by_parts }
            }
            Mended::Once => {
                let all = self.calls.get(&(entry.process, entry.stream)).copied().unwrap_or(1).max(1);
                time * (1.0 - 1.0 / all as f64)
            }
            Mended::Quick => time - calls * QUICK_NS,
            Mended::Asked => {
                let (asked, moved) = self.moved.get(&(entry.file, entry.class)).copied().unwrap_or_default();
                // Who asked for no reads at all reads only to write, and locks for that.
                if asked == 0 {
                    time
                } else if moved > asked {
                    time * (1.0 - asked as f64 / moved as f64)
                } else {
                    0.0
                }
            }
            Mended::ByCost => time * cost,
        }
    }
}
