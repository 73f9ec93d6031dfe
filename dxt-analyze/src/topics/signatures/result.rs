//! The result: lines for each process, and lines for all together.

use super::advice::Advice;
use super::args::{Level, Options};
use super::axes::Axes;
use super::engine::classes::{classes, random_class};
use super::engine::{Item, Pattern, Signature};
use super::listed::{LeftOut, Listed};
use super::names::writes;
use super::pass::{Apart, Signed};
use super::promoted::promoted;
use super::verify::Verified;
use super::views::unrolled;
use super::words::{file, small, unknown, written};
use crate::model::{Run, Within};
use crate::scan::Lost;
use crate::shared::completeness::Completeness;
use serde::Serialize;
use std::collections::BTreeMap;

/// Sums of an interface.
#[derive(Clone, Debug, Serialize)]
pub struct LayerRow {
    /// Interface.
    pub layer: &'static str,
    /// Whether the calls were made inside those of another interface.
    pub inside: bool,
    /// Reads and writes.
    pub accesses: u64,
    /// Those of patterns.
    pub covered: u64,
    /// Bytes.
    pub bytes: u64,
    /// Those of patterns.
    pub covered_bytes: u64,
    /// Patterns.
    pub patterns: u64,
}

/// A pattern of one process, thread, file and interface, or of what has none.
#[derive(Clone, Debug, Serialize)]
pub struct LocalRow {
    /// Process.
    pub process: String,
    /// Thread, by its number in the process.
    pub thread: u32,
    /// File.
    pub file: String,
    /// Interface.
    pub layer: &'static str,
    /// Whether the calls were made inside those of another interface.
    pub inside: bool,
    /// Reads and writes.
    pub accesses: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the first began, ns since the job's start.
    pub start_ns: u64,
    /// When the last began, likewise.
    pub last_start_ns: u64,
    /// When the last returned, likewise.
    pub end_ns: u64,
    /// What kind of pattern it is.
    #[serde(flatten)]
    pub axes: Axes,
    /// The pattern; empty in loop notation: these accesses have none.
    pub signature: String,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Signatures {
    /// By interface.
    pub layers: Vec<LayerRow>,
    /// By process, if that was asked for, those of most bytes first.
    pub local: Listed<LocalRow>,
    /// Of all together, likewise.
    pub global: Listed<super::together::GlobalRow>,
    /// Rows that are not in these lists and in those of advice; they are in the sums, and in CSV.
    pub left_out: LeftOut,
    /// Reads and writes whose offset is not known: they are in no signature.
    pub no_offset: u64,
    /// Those on more files than are followed at a time, likewise.
    pub too_many_files: u64,
    /// Reads and writes that may overlap (of logs that do not tell threads apart, and of files that nonblocking or split operations are made
    /// on): they are taken in the order of their starts.
    pub by_start: u64,
    /// Those among them that came too late for that.
    pub late: u64,
    /// Reads and writes of which the file view is not known: their first byte and length are.
    pub view_unknown: u64,
    /// What could be done with them.
    pub advice: Advice,
    /// What the trace says of them, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// What is missing.
    pub missing: Completeness,
}

impl Signatures {
    /// Of what was recognised.
    #[must_use]
    pub fn of(run: &Run, signed: &[Signed], apart: Apart, lost: &Lost, options: &Options) -> Self {
        let advice = Advice::of(run, signed, options);
        let signed = &promoted(run, signed, options);
        let (local, global) = match options.level {
            Level::Local => (local(run, signed, options), Vec::new()),
            Level::Global => (Vec::new(), super::together::rows(run, signed, options)),
        };
        let (local, global) = (Listed::new(local, options.top), Listed::new(global, options.top));
        let left_out = LeftOut {
            local: local.left_out(),
            global: global.left_out(),
            one_call: advice.one_call.left_out(),
            same_bytes: advice.same_bytes.left_out(),
        };
        Self {
            layers: layers(signed),
            local,
            global,
            left_out,
            no_offset: apart.no_offset,
            too_many_files: apart.too_many_files,
            by_start: apart.by_start,
            late: apart.late,
            view_unknown: apart.view_unknown,
            advice,
            verified: options.verify.then(|| super::verify::verify(run, signed)),
            missing: Completeness::of(run, lost),
        }
    }
}

fn layers(signed: &[Signed]) -> Vec<LayerRow> {
    let mut by: BTreeMap<(u8, bool), LayerRow> = BTreeMap::new();
    for Signed { whose, signature, .. } in signed {
        let inside = whose.within > Within::Nothing;
        let row = by.entry((whose.layer as u8, inside)).or_insert_with(|| LayerRow {
            layer: whose.layer.name(),
            inside,
            accesses: 0,
            covered: 0,
            bytes: 0,
            covered_bytes: 0,
            patterns: 0,
        });
        row.accesses = row.accesses.saturating_add(signature.accesses);
        row.covered = row.covered.saturating_add(signature.covered);
        row.bytes = row.bytes.saturating_add(small(signature.bytes));
        row.covered_bytes = row.covered_bytes.saturating_add(small(signature.covered_bytes));
        row.patterns = row.patterns.saturating_add(signature.patterns().count() as u64);
    }
    by.into_values().collect()
}

/// A line for each pattern, and one for what has none, of each signature.
fn local(run: &Run, signed: &[Signed], options: &Options) -> Vec<LocalRow> {
    let mut out: Vec<LocalRow> = signed.iter().flat_map(|signed| of_one(run, signed, options)).collect();
    out.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.start_ns.cmp(&b.start_ns)));
    out
}

/// The patterns as they are shown, with calls under views as loops.
fn unrolled_items(run: &Run, signature: &Signature) -> Vec<Item> {
    let shown = |pattern: &Pattern| Item::Pattern(Pattern { nest: unrolled(run, &pattern.nest), ..pattern.clone() });
    signature.patterns().map(shown).collect()
}

fn of_one(run: &Run, signed: &Signed, options: &Options) -> Vec<LocalRow> {
    let whose = signed.whose;
    let name = file(run, whose.file);
    let row = |accesses, bytes: u128, times: [u64; 3], axes, signature| LocalRow {
        process: run.process_name(whose.process),
        thread: whose.thread,
        file: name.clone(),
        layer: whose.layer.name(),
        inside: whose.within > Within::Nothing,
        accesses,
        bytes: small(bytes),
        start_ns: times[0],
        last_start_ns: times[1],
        end_ns: times[2],
        axes,
        signature,
    };
    let signature: &Signature = &signed.signature;
    let shown = Signature { items: unrolled_items(run, signature), ..Signature::default() };
    let kinds = classes(&shown, |op| writes(run, op), options.tolerance);
    let of_pattern = |(pattern, kind): (&super::engine::Pattern, _)| {
        let text = written(run, whose.layer, &pattern.nest, &name, options);
        let times = [pattern.start_ns, pattern.last_start_ns, pattern.end_ns];
        row(pattern.accesses, pattern.bytes, times, Axes::of(&kind), text)
    };
    let mut out: Vec<LocalRow> = signature.patterns().zip(kinds).map(of_pattern).collect();
    let rest = random_class(signature, |op| writes(run, op), options.tolerance);
    out.extend(rest.map(|kind| {
        let sum = signature.residue_sum();
        let (times, axes) = ([sum.start_ns, sum.last_start_ns, sum.end_ns], Axes::of(&kind));
        let signature = unknown(&axes, options);
        row(sum.accesses, sum.bytes, times, axes, signature)
    }));
    out
}
