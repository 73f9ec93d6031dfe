//! Advice on stripe sizes and layouts that suit the access patterns.
//!
//! The interleaved requests of all ranks are mapped to the file's storage targets under each candidate stripe size. The IOSIG paper's three
//! layouts are ranked by its cost model.

use super::replayed::Replayed;
use crate::model::{FileId, Run};
use crate::text::units;
use crate::topics::signatures::args::Options;
use crate::topics::signatures::comparable::{Order, groups};
use crate::topics::signatures::pass::Signed;
use crate::topics::signatures::uses::layout::{Demand, Machine, rank as layouts};
use crate::topics::signatures::uses::stripes::{OnLustre, Striping, candidates, on_lustre, rank};
use crate::topics::signatures::words::{file, small};
pub use crate::words::signatures::facts::StripeRow;
use iosig::{Node, Pattern, expand_nest};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Maximum number of ranks whose requests are mapped to storage targets.
const RANKS: usize = 64;
/// Maximum number of requests per rank that are mapped to storage targets.
const REQUESTS: usize = 32;
/// Maximum number of patterns to examine: those with most bytes.
const PATTERNS: usize = 8;
/// Minimum number of requests in an examined pattern.
const FEWEST: u64 = 16;

impl StripeRow {
    /// Returns the best stripe size and count by replay, e.g. `4M x 8`; empty if there was no replay.
    #[must_use]
    pub fn by_replay(&self) -> String {
        let words = |of: &Replayed| format!("{} x {}", units::size_option(of.stripe_bytes), of.stripe_count);
        self.replayed.as_ref().map_or_else(String::new, words)
    }
}

/// Patterns of several processes on one shared file, or on one file per process.
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
        let mut similar: BTreeMap<(u64, u64), Phase<'a>> = BTreeMap::new();
        for (_, one) in &group.members {
            for pattern in one.signature.patterns().filter(|pattern| pattern.accesses >= FEWEST) {
                let request_bytes = first_length(pattern);
                let shape = Node::Loop(pattern.nest.clone()).shape();
                let phase = similar.entry((shape, request_bytes)).or_insert_with(|| Phase {
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
        out.extend(similar.into_values());
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

/// Returns (offset, length) of the requests of a phase's processes, interleaved: the first request of each process, then the second of each
/// process, and so on.
fn in_turns(phase: &Phase<'_>) -> Vec<(u64, u64)> {
    let mut all: Vec<_> = phase.of.iter().take(RANKS).map(|pattern| expand_nest(&pattern.nest)).collect();
    let mut out = Vec::with_capacity(all.len() * REQUESTS);
    for _ in 0..REQUESTS {
        out.extend(all.iter_mut().filter_map(|one| one.next().map(|(_, offset, length)| (offset, length))));
    }
    out
}

/// Returns the distance in the file between successive requests of a process, in bytes. `requests`: (offset, length) of the requests of all
/// `processes` processes, interleaved.
fn period(requests: &[(u64, u64)], processes: usize) -> u64 {
    let next = requests.get(processes.min(RANKS));
    requests.first().zip(next).map_or(0, |((first, _), (next, _))| next.abs_diff(*first))
}
