//! Result of `signatures`: rows of single processes, and rows of all processes together.

use super::advice::Advice;
use super::args::{Level, Options};
use super::axes::Axes;
use super::cross_process::promoted;
use super::listed::{LeftOut, Listed};
use super::names::writes;
use super::pass::{Apart, Signed};
use super::verify::Verified;
use super::views::unrolled;
use super::words::{file, small, unknown, written};
use crate::model::{Run, Within};
use crate::scan::Lost;
use crate::shared::completeness::Completeness;
use iosig::classes::{classes, random_class};
use iosig::{Item, Pattern, Signature};
use serde::Serialize;
use std::collections::BTreeMap;

/// Totals of the reads and writes through one interface.
#[derive(Clone, Debug, Serialize)]
pub struct LayerRow {
    /// I/O interface of the reads and writes, e.g. `POSIX`.
    pub layer: &'static str,
    /// True for calls made inside another interface's calls, false for calls made by the program.
    pub inside: bool,
    /// Number of reads and writes through the interface.
    pub accesses: u64,
    /// Number of reads and writes through the interface that belong to a pattern.
    pub covered: u64,
    /// Bytes read and written through the interface.
    pub bytes: u64,
    /// Bytes of reads and writes through the interface that belong to a pattern.
    pub covered_bytes: u64,
    /// Number of patterns (loop nests) found in the calls through the interface.
    pub patterns: u64,
}

/// One access pattern of one process, thread, file and interface; or all its accesses without a pattern.
#[derive(Clone, Debug, Serialize)]
pub struct LocalRow {
    /// Name of the process that made the accesses, e.g. `rank 3`.
    pub process: String,
    /// Index, in the process, of the thread that made the accesses.
    pub thread: u32,
    /// Path of the accessed file.
    pub file: String,
    /// I/O interface of the accesses, e.g. `POSIX`.
    pub layer: &'static str,
    /// True for calls made inside another interface's calls, false for calls made by the program.
    pub inside: bool,
    /// Number of reads and writes in the row (one pattern, or all accesses without one).
    pub accesses: u64,
    /// Bytes of reads and writes in the row (one pattern, or all accesses without one).
    pub bytes: u64,
    /// Start of the first access in the row (one pattern, or all accesses without one), ns since the job's start.
    pub start_ns: u64,
    /// Start of the last access in the row (one pattern, or all accesses without one), ns since the job's start.
    pub last_start_ns: u64,
    /// End of the last access in the row (one pattern, or all accesses without one), ns since the job's start.
    pub end_ns: u64,
    /// Class of the pattern (operation, spatial order, size, ...).
    #[serde(flatten)]
    pub axes: Axes,
    /// Pattern as text. Empty in loop notation if the accesses have no pattern.
    pub signature: String,
}

/// Result of the command `signatures`.
#[derive(Clone, Debug, Serialize)]
pub struct Signatures {
    /// Totals of reads and writes per I/O interface.
    pub layers: Vec<LayerRow>,
    /// Access patterns of single processes, most bytes first; empty unless requested.
    pub local: Listed<LocalRow>,
    /// Access patterns of all processes together, most bytes first; empty unless requested.
    pub global: Listed<super::merged::GlobalRow>,
    /// Number of rows that JSON omits from each list; CSV and all totals include them.
    pub left_out: LeftOut,
    /// Number of reads and writes missing in signatures because their offset is unknown.
    pub no_offset: u64,
    /// Number of reads and writes missing in signatures because a thread used more files than are tracked.
    pub too_many_files: u64,
    /// Number of reads and writes that were sorted by start because they may overlap: in logs that do not distinguish threads, and on files
    /// with nonblocking or split operations.
    pub by_start: u64,
    /// Number of calls that stay out of order in spite of sorting, since they overlap more calls than the sorting buffer holds.
    pub late: u64,
    /// Number of reads and writes represented only by first byte and length, since the MPI file view in force is unknown, or does not
    /// consist of blocks at constant strides.
    pub view_unknown: u64,
    /// Advice derived from the signatures.
    pub advice: Advice,
    /// Result of verifying signatures against the trace; `None` unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Missing parts of the trace, and the reasons.
    pub missing: Completeness,
}

impl Signatures {
    /// Builds the result from the recognised signatures.
    #[must_use]
    pub fn of(run: &Run, signed: &[Signed], apart: Apart, lost: &Lost, options: &Options) -> Self {
        let advice = Advice::of(run, signed, options);
        let signed = &promoted(run, signed, options);
        let (local, global) = match options.level {
            Level::Local => (local(run, signed, options), Vec::new()),
            Level::Global => (Vec::new(), super::merged::rows(run, signed, options)),
        };
        let (local, global) = (Listed::new(local, options.top), Listed::new(global, options.top));
        let left_out = LeftOut {
            local: local.left_out(),
            global: global.left_out(),
            one_call: advice.one_call.left_out(),
            strided: advice.strided.left_out(),
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

/// Returns the rows of all signatures: one per access pattern, and one for each signature's accesses without a pattern.
fn local(run: &Run, signed: &[Signed], options: &Options) -> Vec<LocalRow> {
    let mut out: Vec<LocalRow> = signed.iter().flat_map(|signed| of_one(run, signed, options)).collect();
    out.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.start_ns.cmp(&b.start_ns)));
    out
}

/// Returns the signature's patterns for display: calls under MPI file views become loops over the blocks that they touch.
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
    let of_pattern = |(pattern, kind): (&iosig::Pattern, _)| {
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
