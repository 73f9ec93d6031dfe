//! Conversion of signatures to messages of `uses/signatures.proto`, per process or for all processes together (`--level`).

use super::args::{Level, Notation, Options};
use super::axes::Axes;
use super::comparable::{Order, groups, series};
use super::cross_process::promoted;
use super::merged::Grouped;
use super::names::{Names, writes};
use super::pass::{Signed, Whose};
use super::uses::proto;
use super::views::pieces;
use super::words::{file, small};
use crate::model::{Run, Within};
use crate::sum::Sum;
use iosig::classes::random_class;
use iosig::ranks::globalize;
use iosig::text::Operations;
use iosig::{Intervals, Leaf, Loop, Node, Pattern, Residue, Signature};
use trace_format::op::Layer;

/// Returns all patterns as one message, in the order of the report.
#[must_use]
pub fn messages(run: &Run, signed: &[Signed], options: &Options) -> proto::Signatures {
    let signed = &promoted(run, signed, options);
    let order = Order::new(run);
    let (mut patterns, mut rests) = (Vec::new(), Vec::new());
    match options.level {
        Level::Local => {
            patterns.extend(signed.iter().flat_map(|one| of_one(run, &order, one, options)));
            rests.extend(signed.iter().filter_map(|one| rest_of_one(run, &order, one, options)));
        }
        Level::Global => {
            for group in series(run, groups(run, &order, signed)) {
                let grouped = Grouped::of(run, &order, &group);
                patterns.extend(of_group(&grouped, options));
                rests.extend(rests_of_group(&grouped, options));
            }
        }
    }
    patterns.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.start_ns.cmp(&b.start_ns)));
    rests.sort_by(|a: &proto::Rest, b| b.bytes.cmp(&a.bytes).then_with(|| a.start_ns.cmp(&b.start_ns)));
    let sum = |of: fn(&Signature) -> u64| signed.iter().map(|one| of(&one.signature)).sum::<Sum>().get();
    proto::Signatures {
        version: 1,
        processes: run.processes.len() as u64,
        accesses: sum(|one| one.accesses),
        covered: sum(|one| one.covered),
        patterns,
        rests,
    }
}

fn rest_of_one(run: &Run, order: &Order<'_>, signed: &Signed, options: &Options) -> Option<proto::Rest> {
    let kind = random_class(&signed.signature, |op| writes(run, op), options.tolerance)?;
    let rest = rest(signed.whose, &signed.signature.residue_sum(), Axes::of(&kind));
    let (ranks, process) = who(order, &[order.place(signed.whose.process)]);
    Some(proto::Rest { file: file(run, signed.whose.file), ranks, process, ..rest })
}

fn rests_of_group(grouped: &Grouped<'_>, options: &Options) -> Vec<proto::Rest> {
    let one = |(spatial, members): (_, Vec<(u64, &Signature)>)| {
        let (sum, mut kind) = grouped.rest(&members, options)?;
        kind.spatial = spatial;
        let numbers: Vec<u64> = members.iter().map(|(number, _)| *number).collect();
        let first = grouped.member(*numbers.first()?)?;
        let (ranks, process) = who(grouped.order, &grouped.places(&numbers));
        let rest = rest(first.whose, &sum, Axes::of(&kind));
        Some(proto::Rest { file: grouped.files(&numbers).0, ranks, process, ..rest })
    };
    grouped.by_order().into_iter().filter_map(one).collect()
}

fn rest(whose: Whose, sum: &Residue, axes: Axes) -> proto::Rest {
    proto::Rest {
        interface: whose.layer.name().to_owned(),
        inside: whose.within > Within::Nothing,
        thread: u64::from(whose.thread),
        start_ns: sum.start_ns,
        last_start_ns: sum.last_start_ns,
        accesses: sum.accesses,
        bytes: small(sum.bytes),
        end_ns: sum.end_ns,
        shortest: sum.lengths.0,
        longest: sum.lengths.1,
        lowest: sum.offsets.0,
        highest: sum.offsets.1,
        pattern_signature: axes.pattern_signature,
        ..proto::Rest::default()
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
            end_ns: pattern.end_ns,
        }
    };
    signed.signature.patterns().map(one).collect()
}

fn of_group(grouped: &Grouped<'_>, options: &Options) -> Vec<proto::Pattern> {
    let group = grouped.group;
    let one = |line: &iosig::ranks::Line| {
        let members: Vec<u64> = line.numbers().collect();
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
                .map(|direction| {
                    let [files, ranks, others] = grouped.steps(direction);
                    proto::Direction {
                        members: direction.count,
                        ranks,
                        others: files + others,
                        shifts: direction.shifts.clone(),
                    }
                })
                .collect(),
            nest: nest(grouped.run, group.layer, &line.nest, options),
            end_ns: line.end_ns,
        }
    };
    globalize(&grouped.signatures()).lines.iter().map(one).collect()
}

/// Returns ranks as ranges with a constant step; if any process has no rank, one name for all processes. `places` must be sorted and
/// unique.
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
    let step = |step: &iosig::Step| proto::Step { offset: step.offset, length: step.length };
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
