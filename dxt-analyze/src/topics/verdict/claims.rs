//! Which calls a finding explains, and what would be left of them if what it says were mended. What is slow, uneven, queued, locked or late
//! [`crate::topics::causes`] knows by itself; the findings of other topics name a pattern, and its price is found here.

use super::weigh::is_longer;
use crate::findings::{Code, Finding};
use crate::model::{FileId, ProcessId, StreamIx};
use crate::shared::totals::add;
use crate::sum::Sum;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::class::Class;
use crate::topics::causes::grid::{Entry, Grid, weighted_quantile};
use crate::topics::causes::replay::Shortened;
use crate::topics::causes::small_calls::QUICK_NS;
use rustc_hash::FxHashMap;
use trace_format::op::Layer;

/// Time per byte of large requests where the run has none to tell, ns: 1 GB/s.
const DEFAULT_NS_PER_BYTE: f64 = 1.0;
/// Length of requests that take twice as long as none would, where the run has no large ones to tell, bytes: what a longer one takes is mostly
/// for its bytes.
const HALF: f64 = 524_288.0;
/// Part of the time in which any process works that would be saved at least if ranks work by turns.
const BY_TURNS: f64 = 0.4;
/// Times as long as the fastest that calls usually take if they wait for others.
const CONTENDED: f64 = 2.0;
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
    /// What as many aggregators as nodes would take.
    Spread,
    /// What each process would wait less inside of MPI-IO, and small calls inside as `Large`.
    Waiting,
    /// As `Large`, of the part of the calls that the finding's own cost is of, twice that: of calls in any order half go backwards.
    Random,
    /// What calls take longer than the fastest of their like, which wait for no other, as far as the finding is of them by its own cost.
    Handover,
    /// What calls take that wait for nobody, if they usually take much longer.
    Alone,
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
    (
        &[Code::SMALL_READS, Code::SMALL_SHARED_READS, Code::READ_RUNS, Code::NO_COLLECTIVE_READS],
        READS,
        None,
        Mended::Large,
    ),
    (
        &[Code::SMALL_WRITES, Code::SMALL_SHARED_WRITES, Code::WRITE_RUNS, Code::NO_COLLECTIVE_WRITES],
        WRITES,
        None,
        Mended::Large,
    ),
    (&[Code::RANDOM_READS], READS, None, Mended::Random),
    (&[Code::RANDOM_WRITES], WRITES, None, Mended::Random),
    (&[Code::SAME_BYTES], READS, None, Mended::Alone),
    (&[Code::SLOW_SMALL_WRITES], WRITES, None, Mended::Tiny),
    (&[Code::NO_MPIIO], DATA, None, Mended::Tiny),
    (&[Code::INDEPENDENT, Code::NO_BUFFERING, Code::SHARED_INDEPENDENT], DATA, None, Mended::Large),
    (
        &[Code::OPEN_PER_ACCESS, Code::REPEATED_OPENS, Code::METADATA_RATE, Code::SEEK_PER_ACCESS],
        METADATA,
        Some(false),
        Mended::Once,
    ),
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

/// What the fastest calls of each kind on each file take, ns.
fn fastest(grid: &Grid<'_>) -> FxHashMap<(FileId, Class, u8), f64> {
    let mut of: FxHashMap<(FileId, Class, u8), Vec<(f64, f64)>> = FxHashMap::default();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && entry.cell.shortest_ns > 0) {
        let shortest = (entry.cell.shortest_ns as f64, entry.cell.calls as f64);
        of.entry((entry.file, entry.class, entry.size)).or_default().push(shortest);
    }
    of.into_iter().filter_map(|(key, mut all)| Some((key, weighted_quantile(&mut all, FASTEST)?))).collect()
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
    /// Processes that move bytes inside MPI-IO, and their nodes.
    aggregators: (usize, usize),
    /// By entry: what its calls take beyond their like, ns, since a rank, target or moment is slow or single calls are: other requests would meet
    /// that as well.
    beyond: Vec<f64>,
    /// By file, class and size: what the fastest calls take, ns.
    fastest: FxHashMap<(FileId, Class, u8), f64>,
    /// What is gained if what one process after another does were done at the same time, ns.
    beside_ns: f64,
}

impl<'g, 'a> Mending<'g, 'a> {
    pub(crate) fn new(grid: &'g Grid<'a>, beside_ns: f64, causes: &[Claim]) -> Self {
        let (mut calls, mut moved) =
            (FxHashMap::<(ProcessId, StreamIx), u64>::default(), FxHashMap::<(FileId, Class), (u64, u64)>::default());
        let mut large: FxHashMap<Class, Vec<(f64, f64)>> = FxHashMap::default();
        let mut aggregators = std::collections::BTreeSet::new();
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
                    aggregators.insert(entry.process);
                } else if grid.layer(entry) == Some(Layer::Mpiio) {
                    // Not of HDF5 above it, which asks for the same bytes.
                    add(&mut sums.0, entry.cell.bytes);
                }
            }
        }
        let per_byte =
            large.into_iter().filter_map(|(class, mut all)| Some((class, weighted_quantile(&mut all, 0.5)?))).collect();
        let aggregators = (aggregators.len(), grid.run.nodes.len());
        Self {
            grid,
            per_byte,
            calls,
            moved,
            aggregators,
            beyond: beyond(grid, causes),
            fastest: fastest(grid),
            beside_ns,
        }
    }

    /// What a finding explains; `None` if it explains no calls.
    pub(crate) fn claim(&self, finding: &Finding) -> Option<Claim> {
        let rule = rule(finding.code)?;
        let about = finding.about();
        let file = about.file.as_ref().and_then(|name| self.file(name));
        let counts = |entry: &Entry| {
            entry.leaf
                && rule.classes.contains(&entry.class)
                && rule.inside.is_none_or(|inside| inside == entry.inside)
                && file.is_none_or(|file| file == entry.file)
        };
        let theirs: Vec<(u32, &Entry)> = (0..).zip(&self.grid.entries).filter(|(_, entry)| counts(entry)).collect();
        if rule.mended == Mended::Parallel {
            return self
                .takes_turns()
                .then(|| Claim { waiting_ns: self.beside_ns, ..Claim::new(finding.clone(), Vec::new()) });
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
        let all: f64 = theirs.iter().map(|(_, entry)| entry.left_ns).sum();
        let unknown = if rule.mended == Mended::Random { 1.0 } else { 0.0 };
        let cost = finding.cost_ns.map_or(unknown, |cost| cost as f64 / all.max(1.0));
        let shortened: Shortened = theirs
            .into_iter()
            .map(|(index, entry)| (index, self.less(rule.mended, (index, entry), cost.min(1.0))))
            .filter(|(_, ns)| *ns > 0.0)
            .collect();
        (!shortened.is_empty()).then(|| Claim::new(finding.clone(), shortened))
    }

    fn file(&self, name: &str) -> Option<FileId> {
        self.grid.run.file_named(name)
    }

    /// Whether ranks work one after another for most of the time in which any does, and so wait for each other. Of processes that are no ranks of
    /// one job, and of those that happen to have something to do when others do not, nobody knows.
    fn takes_turns(&self) -> bool {
        let busy = self.grid.slots.busy_without_pause().iter().copied().sum::<Sum>().get();
        self.grid.run.ranks() > 1 && self.beside_ns >= busy as f64 * BY_TURNS
    }

    /// What the fastest calls of an entry's kind on its file take, ns.
    fn alone(&self, entry: &Entry) -> f64 {
        self.fastest.get(&(entry.file, entry.class, entry.size)).copied().unwrap_or_default()
    }

    /// Time that would be gone of an entry, ns.
    fn less(&self, mended: Mended, (index, entry): (u32, &Entry), cost: f64) -> f64 {
        let (time, calls) = (entry.left_ns, entry.cell.calls as f64);
        match mended {
            Mended::Tiny if entry.size > TINY => 0.0,
            Mended::Large | Mended::Tiny if entry.size < SMALL => {
                let usual = time - self.beyond.get(index as usize).copied().unwrap_or_default();
                let bytes = entry.cell.bytes as f64;
                match self.per_byte.get(&entry.class) {
                    Some(per_byte) => usual - bytes * per_byte,
                    // Nothing tells what large ones would take: the less is promised, the longer these are.
                    None => (usual - bytes * DEFAULT_NS_PER_BYTE).min(usual * HALF / (HALF + bytes / calls.max(1.0))),
                }
            }
            Mended::Large | Mended::Tiny | Mended::Parallel | Mended::Waiting => 0.0,
            Mended::Random => (self.less(Mended::Large, (index, entry), 0.0) * (cost * 2.0).min(1.0)).max(0.0),
            Mended::Handover => (time - self.alone(entry) * calls) * cost,
            Mended::Alone => {
                let alone = self.alone(entry);
                let waits = alone > 0.0 && entry.usual_ns >= alone * CONTENDED;
                if waits { time - alone * calls } else { 0.0 }
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
            Mended::Spread => {
                let (now, could) = self.aggregators;
                if could > now { time * (1.0 - now as f64 / could as f64) } else { 0.0 }
            }
        }
    }
}
