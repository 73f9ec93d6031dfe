//! Order of jobs in the report of `corpus`.

use super::JobRow;
use super::args::SortJobs;
use std::cmp::Reverse;

/// Sorts the rows of jobs by the key `by`, most important first; ties are sorted by source.
pub(super) fn sort(rows: &mut [JobRow], by: SortJobs) {
    rows.sort_by(|a, b| a.source.cmp(&b.source));
    let share = |share: Option<f64>| Reverse(share.map(|share| (share * 1e9) as u64));
    match by {
        SortJobs::IoTime => rows.sort_by_key(|row| Reverse(row.io_ns)),
        SortJobs::Bytes => rows.sort_by_key(|row| Reverse(row.bytes())),
        SortJobs::Share => rows.sort_by_key(|row| share(row.io_share)),
        SortJobs::Slowest => rows.sort_by_key(|row| share(row.slowest_share)),
        SortJobs::Runtime => rows.sort_by_key(|row| Reverse(row.runtime_ns)),
        SortJobs::Ranks => rows.sort_by_key(|row| Reverse(row.ranks)),
        SortJobs::Files => rows.sort_by_key(|row| Reverse(row.files)),
        SortJobs::Start => rows.sort_by_key(|row| Reverse(row.start_unix_ns)),
        SortJobs::Source => {}
    }
}
