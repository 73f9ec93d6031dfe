//! Columns shared by several tables in the Parquet files of `export` and `corpus`.

pub(crate) use dxt_base::columnar::*;

use crate::findings::Finding;
use crate::shared::sums::Called;
use arrow_array::builder::{ListBuilder, StringBuilder};
use std::sync::Arc;

/// Returns the columns of I/O totals (operations, bytes and times in ns), one row per item of `sums`.
pub(crate) fn sum_columns<'a>(sums: impl Iterator<Item = &'a Called> + Clone) -> [Column; 6] {
    [
        ("operations", numbers(sums.clone().map(|sums| sums.operations))),
        ("bytes_read", numbers(sums.clone().map(|sums| sums.bytes_read))),
        ("bytes_written", numbers(sums.clone().map(|sums| sums.bytes_written))),
        ("read_ns", numbers(sums.clone().map(|sums| sums.read_ns))),
        ("write_ns", numbers(sums.clone().map(|sums| sums.write_ns))),
        ("other_ns", numbers(sums.map(|sums| sums.other_ns))),
    ]
}

/// Returns the columns of a table of findings, one row per finding.
pub(crate) fn finding_columns(findings: &[&Finding]) -> Vec<Column> {
    let mut evidence = ListBuilder::new(StringBuilder::new());
    for finding in findings {
        finding.evidence.iter().for_each(|line| evidence.values().append_value(line.words()));
        evidence.append(true);
    }
    vec![
        ("code", texts(findings.iter().map(|finding| finding.code.name()))),
        ("severity", texts(findings.iter().map(|finding| finding.severity.name()))),
        ("title", texts(findings.iter().map(|finding| finding.title.to_string()))),
        ("evidence", Arc::new(evidence.finish())),
        ("cost_ns", some_numbers(findings.iter().map(|finding| finding.cost_ns))),
        ("hint", texts(findings.iter().map(|finding| finding.hint.as_str()))),
    ]
}
