//! Stripe sizes that suit what files are used for: the requests of all ranks in turns, laid on the file's targets under each size that fits, and the
//! IOSIG paper's three layouts by its cost model.

use super::replayed::Replayed;
use crate::model::{FileId, Run};
use crate::text::units;
use crate::topics::signatures::alike::{Order, groups};
use crate::topics::signatures::args::Options;
use crate::topics::signatures::engine::expand::expand_nest;
use crate::topics::signatures::engine::{Node, Pattern};
use crate::topics::signatures::pass::Signed;
use crate::topics::signatures::uses::layout::{Demand, Machine, rank as layouts};
use crate::topics::signatures::uses::stripes::{OnLustre, Striping, candidates, on_lustre, rank};
use crate::topics::signatures::words::{file, small};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Ranks and requests of each that are laid out.
const RANKS: usize = 64;
const REQUESTS: usize = 32;
/// Patterns that are laid out, those of most bytes.
const PATTERNS: usize = 8;
/// Times that the model's stripe size may be that of the replay without a word.
const MOST_APART: f64 = 4.0;
/// Times the cost up to which layouts cost the same.
const SAME_COST: f64 = 1.1;
/// Times the pattern's requests from which on a file has others.
const OTHERS: f64 = 1.5;
/// Fewest requests of a pattern.
const FEWEST: u64 = 16;

/// A pattern, and what suits it.
#[derive(Clone, Debug, Serialize)]
pub struct StripeRow {
    /// File; the first of those that ranks have for themselves.
    pub file: String,
    /// Processes that use it so.
    pub processes: u64,
    /// When the first of its requests began, ns since the job's start.
    pub start_ns: u64,
    /// When the last one began, likewise.
    pub last_start_ns: u64,
    /// First byte that a request touches.
    pub first_byte: u64,
    /// Byte behind the last one.
    pub end: u64,
    /// Bytes of the first request.
    pub request_bytes: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Targets over which it is laid out.
    pub targets: u64,
    /// Stripe size of the file, if it is known.
    pub stripe_bytes: Option<u64>,
    /// Stripe size that suits best, bytes.
    pub best_bytes: u64,
    /// The nearest that Lustre can have: multiples of 64 KiB.
    pub lustre_bytes: u64,
    /// What the file's stripe size costs against the best.
    pub costs_times: Option<f64>,
    /// The paper's layout that costs least for a request of each process.
    pub layout: String,
    /// Targets that hold the data of one process under it.
    pub targets_per_process: u64,
    /// What a replay of all accesses of that time found, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Replayed>,
    /// The file.
    #[serde(skip)]
    pub of: FileId,
    /// Whether it is that of all: of files of their own a replay of one tells nothing, as all lie on the same targets.
    #[serde(skip)]
    pub is_one_file: bool,
}

impl StripeRow {
    /// Why the replay has quite another stripe size than the model; empty if it has not.
    #[must_use]
    pub fn why_apart(&self) -> &'static str {
        let Some(replayed) = &self.replayed else { return "" };
        let (model, replay) = (self.lustre_bytes.max(1) as f64, replayed.stripe_bytes.max(1) as f64);
        if (model / replay).max(replay / model) <= MOST_APART {
            return "";
        }
        let requests = self.bytes.checked_div(self.request_bytes).unwrap_or(0);
        if replayed.costs_of_model.is_some_and(|times| times <= SAME_COST) {
            "either costs the same by replay"
        } else if replayed.operations as f64 > OTHERS * requests as f64 {
            "the file has other requests in that time"
        } else {
            "the replay counts stripes that ranks share, and the busiest target"
        }
    }

    /// The stripes that a replay found best: `4M x 8`.
    #[must_use]
    pub fn by_replay(&self) -> String {
        let words = |of: &Replayed| format!("{} x {}", units::size_option(of.stripe_bytes), of.stripe_count);
        self.replayed.as_ref().map_or_else(String::new, words)
    }
}

/// Requests alike, of one file or of one for each process.
struct Phase<'a> {
    file: FileId,
    is_one_file: bool,
    start_ns: u64,
    last_start_ns: u64,
    bytes: u128,
    request_bytes: u64,
    of: Vec<&'a Pattern>,
}

pub(super) fn rows(run: &Run, signed: &[Signed], options: &Options) -> Vec<StripeRow> {
    let mut phases: Vec<Phase<'_>> = phases(run, signed);
    phases.sort_by_key(|phase| Reverse(phase.bytes));
    let mut out: Vec<StripeRow> = phases.iter().filter_map(|phase| row(run, phase, options)).take(PATTERNS).collect();
    out.sort_by(|a, b| b.costs_times.unwrap_or(0.0).total_cmp(&a.costs_times.unwrap_or(0.0)));
    out
}

fn phases<'a>(run: &Run, signed: &'a [Signed]) -> Vec<Phase<'a>> {
    let order = Order::new(run);
    let mut out: Vec<Phase<'a>> = Vec::new();
    for group in groups(run, &order, signed).into_iter().filter(|group| group.layer == Layer::Posix) {
        let mut alike: BTreeMap<(u64, u64), Phase<'a>> = BTreeMap::new();
        for (_, one) in &group.members {
            for pattern in one.signature.patterns().filter(|pattern| pattern.accesses >= FEWEST) {
                let request_bytes = first_length(pattern);
                let shape = Node::Loop(pattern.nest.clone()).shape();
                let phase = alike.entry((shape, request_bytes)).or_insert_with(|| Phase {
                    file: one.whose.file,
                    is_one_file: group.one_file,
                    start_ns: u64::MAX,
                    last_start_ns: 0,
                    bytes: 0,
                    request_bytes,
                    of: Vec::new(),
                });
                phase.start_ns = phase.start_ns.min(pattern.start_ns);
                phase.last_start_ns = phase.last_start_ns.max(pattern.last_start_ns);
                phase.bytes = phase.bytes.saturating_add(pattern.bytes);
                phase.of.push(pattern);
            }
        }
        out.extend(alike.into_values());
    }
    out
}

fn first_length(pattern: &Pattern) -> u64 {
    expand_nest(&pattern.nest).next().map_or(0, |(_, _, length)| length)
}

fn row(run: &Run, phase: &Phase<'_>, options: &Options) -> Option<StripeRow> {
    let known = run.file(phase.file)?.layout.as_ref().filter(|layout| !layout.is_guess());
    let main = known.and_then(|layout| layout.layout.components.iter().rev().find(|part| !part.targets.is_empty()));
    let own = main.map(|part| (part.stripe_size, part.targets.len() as u64));
    let targets = own.map(|(_, targets)| targets).or(options.targets).filter(|targets| *targets > 0)?;
    let requests: Vec<(u64, u64)> = in_turns(phase);
    let period = period(&requests, phase.of.len());
    let mut sizes = candidates(phase.request_bytes, period, targets);
    sizes.extend(own.map(|(size, _)| size));
    let stripings: Vec<Striping> =
        sizes.into_iter().map(|stripe_bytes| Striping { stripe_bytes, nodes: targets }).collect();
    let machine = Machine::PAPER;
    let ranked = rank(requests.iter().copied(), phase.of.len().min(RANKS) as u64, &stripings, &machine);
    let best = ranked.first()?;
    let settable = |bytes| on_lustre(bytes) == OnLustre::Settable;
    let lustre = ranked.iter().find(|one| settable(one.striping.stripe_bytes))?;
    let of_own = own.and_then(|(size, _)| ranked.iter().find(|one| one.striping.stripe_bytes == size));
    let clients = run.node_count().unwrap_or(1).max(1);
    let load = Demand {
        processes: phase.of.len() as u64,
        nodes: targets,
        per_client: (phase.of.len() as u64).div_ceil(clients),
        request_bytes: phase.request_bytes,
    };
    let (layout, _) = layouts(&load, &machine).into_iter().next()?;
    Some(StripeRow {
        file: file(run, phase.file),
        processes: phase.of.len() as u64,
        start_ns: phase.start_ns,
        last_start_ns: phase.last_start_ns,
        first_byte: phase.of.iter().map(|pattern| pattern.nest.extent().0).min()?,
        end: phase.of.iter().map(|pattern| pattern.nest.extent().1).max()?,
        request_bytes: phase.request_bytes,
        bytes: small(phase.bytes),
        targets,
        stripe_bytes: own.map(|(size, _)| size),
        best_bytes: best.striping.stripe_bytes,
        lustre_bytes: lustre.striping.stripe_bytes,
        costs_times: of_own.filter(|_| lustre.total_ns() > 0.0).map(|own| own.total_ns() / lustre.total_ns()),
        targets_per_process: layout.nodes_of_a_process(targets),
        layout: layout.name(),
        replayed: None,
        of: phase.file,
        is_one_file: phase.is_one_file,
    })
}

/// The first request of each process, then the second, ...
fn in_turns(phase: &Phase<'_>) -> Vec<(u64, u64)> {
    let mut all: Vec<_> = phase.of.iter().take(RANKS).map(|pattern| expand_nest(&pattern.nest)).collect();
    let mut out = Vec::with_capacity(all.len() * REQUESTS);
    for _ in 0..REQUESTS {
        out.extend(all.iter_mut().filter_map(|one| one.next().map(|(_, offset, length)| (offset, length))));
    }
    out
}

/// From one request of a process to its next.
fn period(requests: &[(u64, u64)], processes: usize) -> u64 {
    let next = requests.get(processes.min(RANKS));
    requests.first().zip(next).map_or(0, |((first, _), (next, _))| next.abs_diff(*first))
}
