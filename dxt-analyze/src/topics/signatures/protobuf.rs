//! Signatures as messages of `uses/signatures.proto`: each process's, or those of all together, as `--level` says.

use super::alike::{Order, groups};
use super::args::{Level, Notation, Options};
use super::engine::global::globalize;
use super::engine::nest::{Leaf, Loop, Node};
use super::engine::print::Operations;
use super::engine::times::Intervals;
use super::engine::{Pattern, Signature};
use super::names::Names;
use super::pass::Signed;
use super::together::Grouped;
use super::uses::proto;
use super::views::pieces;
use super::words::{file, small};
use crate::model::{Run, Within};
use crate::sum::Sum;
use trace_format::op::Layer;

/// All patterns, in the order of the report.
#[must_use]
pub fn messages(run: &Run, signed: &[Signed], options: &Options) -> proto::Signatures {
    let order = Order::new(run);
    let mut patterns: Vec<proto::Pattern> = match options.level {
        Level::Local => signed.iter().flat_map(|one| of_one(run, &order, one, options)).collect(),
        Level::Global => {
            let all = groups(run, &order, signed);
            all.iter().flat_map(|group| of_group(&Grouped::of(run, &order, group), options)).collect()
        }
    };
    patterns.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.start_ns.cmp(&b.start_ns)));
    let sum = |of: fn(&Signature) -> u64| signed.iter().map(|one| of(&one.signature)).sum::<Sum>().get();
    proto::Signatures {
        processes: run.processes.len() as u64,
        accesses: sum(|one| one.accesses),
        covered: sum(|one| one.covered),
        patterns,
    }
}

fn of_one(run: &Run, order: &Order<'_>, signed: &Signed, options: &Options) -> Vec<proto::Pattern> {
    let whose = signed.whose;
    let one = |pattern: &Pattern| {
        let (ranks, process) = who(order, &[order.place(whose.process)]);
        proto::Pattern {
            file: file(run, whose.file),
            interface: whose.layer.name().to_owned(),
            inside: whose.within > Within::Nothing,
            ranks,
            process,
            thread: u64::from(whose.thread),
            start_ns: pattern.start_ns,
            last_start_ns: pattern.last_start_ns,
            accesses: pattern.accesses,
            bytes: small(pattern.bytes),
            directions: Vec::new(),
            nest: nest(run, whose.layer, &pattern.nest, options),
        }
    };
    signed.signature.patterns().map(one).collect()
}

fn of_group(grouped: &Grouped<'_>, options: &Options) -> Vec<proto::Pattern> {
    let (group, each) = (grouped.group, i64::try_from(grouped.each).unwrap_or(i64::MAX));
    let of_all: Vec<(u64, &Signature)> = grouped.numbered.iter().map(|(n, signed)| (*n, &signed.signature)).collect();
    let one = |line: &super::engine::global::Line| {
        let members: Vec<u64> = line.members().map(|(number, _)| number).collect();
        let first = members.first().and_then(|number| grouped.member(*number));
        let (ranks, process) = who(grouped.order, &grouped.places(&members));
        proto::Pattern {
            file: grouped.files(&members).0,
            interface: group.layer.name().to_owned(),
            inside: group.inside,
            ranks,
            process,
            thread: first.map_or(0, |signed| u64::from(signed.whose.thread)),
            start_ns: line.start_ns,
            last_start_ns: line.last_start_ns,
            accesses: line.accesses,
            bytes: small(line.bytes),
            directions: line
                .directions
                .iter()
                .map(|direction| proto::Direction {
                    members: direction.count,
                    ranks: direction.rank_step / each,
                    others: direction.rank_step % each,
                    shifts: direction.shifts.clone(),
                })
                .collect(),
            nest: nest(grouped.run, group.layer, &line.nest, options),
        }
    };
    globalize(&of_all).lines.iter().map(one).collect()
}

/// Ranks in as few ranges as it takes, or what others are called. The places are in order and each there once.
fn who(order: &Order<'_>, places: &[u64]) -> (Vec<proto::Ranks>, String) {
    if !order.are_ranks(places) {
        return (Vec::new(), order.names(places));
    }
    let mut out = Vec::new();
    let mut rest = places;
    while let [first, behind @ ..] = rest {
        let step = behind.first().map_or(0, |next| next - first);
        let taken = rest.windows(2).take_while(|pair| matches!(pair, [a, b] if b - a == step)).count();
        let last = rest.get(taken).unwrap_or(first);
        out.push(proto::Ranks { first: *first, last: *last, step });
        rest = rest.get(taken + 1..).unwrap_or_default();
    }
    (out, String::new())
}

fn nest(run: &Run, layer: Layer, outermost: &Loop, options: &Options) -> proto::Node {
    let names = Names { run, layer, notation: Notation::Loops };
    of_loop(outermost, &names, options.tolerance)
}

fn of_loop(of: &Loop, names: &Names<'_>, tolerance: f64) -> proto::Node {
    let body = of.body.iter().map(|node| match node {
        Node::Leaf(leaf) => of_leaf(leaf, names),
        Node::Loop(inner) => of_loop(inner, names, tolerance),
    });
    let varies = of.count_steps.iter().any(|step| *step != 0);
    let Intervals { count, .. } = of.times;
    proto::Node {
        repeats: of.count,
        repeats_steps: if varies { of.count_steps.clone() } else { Vec::new() },
        body: body.collect(),
        intervals: count,
        interval_ns: of.times.mean_ns().unwrap_or(0.0).round_ties_even() as u64,
        interval_cv: (of.times.cv().unwrap_or(0.0) * 1000.0).round_ties_even() as u64,
        fixed_interval: of.times.is_fixed(tolerance).unwrap_or(false),
        ..proto::Node::default()
    }
}

fn of_leaf(leaf: &Leaf, names: &Names<'_>) -> proto::Node {
    let step = |step: &super::engine::nest::Step| proto::Step { offset: step.offset, length: step.length };
    let (block, pieces) = pieces(names.run, leaf).unwrap_or_default();
    proto::Node {
        operation: names.name(leaf.op),
        offset: leaf.offset,
        length: leaf.length,
        steps: leaf.steps.iter().map(step).collect(),
        view_bytes: block,
        view: pieces.into_iter().map(|(count, stride)| proto::Dimension { count, stride }).collect(),
        ..proto::Node::default()
    }
}
