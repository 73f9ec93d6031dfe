//! Findings derived from the advice on I/O signatures.

use super::ahead::PLAIN_BYTES;
use super::{Advice, AheadRow, FilePart, OneCall, SameBytes, Strided, StripeRow};
use crate::findings::{Code, Finding};
use crate::words::signatures as words;

/// Minimum difference, for a finding, between two shares of the reads that wait for storage: those that prefetching by the pattern avoids,
/// and those that sequential read-ahead avoids.
const MORE: f64 = 0.5;
/// Minimum cost (by the model) of the file's current stripe size / cost of the best stripe size, for a finding.
const COSTS: f64 = 1.5;
/// Maximum number of findings of one kind, such as on strides, per run.
const MOST: usize = 3;
/// Maximum number of files with findings on equal bytes or on strides; such findings are merged when all findings are collected.
const FILES: usize = 16;

pub(super) fn of(advice: &Advice) -> Vec<Finding> {
    let ahead = advice.read_ahead.iter().filter(|row| row.coverage >= row.plain_coverage + MORE && row.saves_ns > 0);
    // No finding if the replay of the trace contradicts the cost model.
    let agreed = |row: &&StripeRow| row.replayed.and_then(|replayed| replayed.is_better) != Some(false);
    let costly = |row: &&StripeRow| row.costs_times.is_some_and(|times| times >= COSTS);
    let stripes = advice.stripes.iter().filter(costly).filter(agreed);
    let mut out: Vec<Finding> = ahead.take(MOST).map(ahead_of).collect();
    out.extend(advice.one_call.iter().take(MOST).map(one_call_of));
    out.extend(advice.strided.iter().take(FILES).map(strided_of));
    out.extend(advice.same_bytes.iter().take(FILES).map(same_bytes_of));
    out.extend(stripes.take(MOST).map(|row| stripes_of(row, &advice.file_parts)));
    out
}

fn ahead_of(row: &AheadRow) -> Finding {
    let words = words::read_ahead(row, PLAIN_BYTES);
    Finding { cost_ns: Some(row.saves_ns), ..Finding::new(Code::READ_AHEAD, words) }
}

fn one_call_of(row: &OneCall) -> Finding {
    Finding::new(Code::ONE_CALL, words::one_call(row))
}

fn strided_of(row: &Strided) -> Finding {
    let code = if row.writes { Code::STRIDED_WRITES } else { Code::STRIDED_READS };
    Finding::new(code, words::strided(row))
}

/// Minimum mean number of times that each process reads the same bytes for the finding to mention repetition.
const AGAIN: f64 = 1.2;

fn same_bytes_of(row: &SameBytes) -> Finding {
    let times = row.bytes_each as f64 / row.distinct.max(1) as f64;
    Finding::new(Code::SAME_BYTES, words::same_bytes(row, Some(times).filter(|times| *times >= AGAIN)))
}

fn stripes_of(row: &StripeRow, parts: &[FilePart]) -> Finding {
    let part = parts.iter().find(|part| part.file == row.file);
    Finding::new(Code::STRIPE_SIZE, words::stripe_size(row, part.map(|part| part.command.as_str())))
}
