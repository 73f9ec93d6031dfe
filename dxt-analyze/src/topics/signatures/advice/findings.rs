//! Findings derived from the advice.

use super::ahead::PLAIN_BYTES;
use super::{Advice, AheadRow, FilePart, OneCall, SameBytes, Strided, StripeRow};
use crate::findings::{About, Code, Evidence, Finding, Severity};
use crate::text::units;

/// Minimum difference for a finding: coverage of prefetching by the pattern minus coverage of sequential read-ahead.
const MORE: f64 = 0.5;
/// Minimum cost of the file's current stripe size relative to the best one, for a finding.
const COSTS: f64 = 1.5;
/// Maximum number of findings of one kind.
const MOST: usize = 3;
/// Maximum number of files with findings on same bytes or on strides; such findings are merged when all findings are collected.
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

fn finding(code: Code, title: String, words: String, about: About, cost_ns: Option<u64>, hint: String) -> Finding {
    let evidence = vec![Evidence::of(words, about.clone())];
    Finding { code, about, severity: Severity::Info, title: title.into(), evidence, cost_ns, saving: None, hint }
}

fn ahead_of(row: &AheadRow) -> Finding {
    let title = format!(
        "{} of {} could be prefetched {} ahead by their pattern, which avoids {:.0} % of the waits",
        units::counted(row.reads, "read"),
        row.file,
        units::counted(row.calls_ahead, "call"),
        row.coverage * 100.0
    );
    let words = format!(
        "reads by {} on {} take {} each and begin {} after the previous read; sequential read-ahead of {} avoids {:.0} % of the waits and uses {:.0} % of the bytes that it fetches",
        units::counted(row.processes, "thread"),
        row.file,
        units::duration(row.latency_ns),
        units::duration(row.interval_ns),
        units::bytes(PLAIN_BYTES),
        row.plain_coverage * 100.0,
        row.plain_accuracy * 100.0
    );
    let about = About {
        file: Some(row.file.clone()),
        calls: Some(row.reads),
        bytes: Some(row.length),
        time_ns: Some(row.saves_ns),
        ..About::default()
    };
    let hint = format!(
        "call posix_fadvise(fd, offset, {}, POSIX_FADV_WILLNEED) for the read that comes {} later, or prefetch in a separate thread",
        row.length,
        units::counted(row.calls_ahead, "call")
    );
    finding(Code::READ_AHEAD, title, words, about, Some(row.saves_ns), hint)
}

fn one_call_of(row: &OneCall) -> Finding {
    let (what, verb) = if row.writes { ("write", "MPI_File_write_at_all") } else { ("read", "MPI_File_read_at_all") };
    let title = format!(
        "{} of {} by each of {} together leave no gap and could be one collective call",
        units::counted(row.calls, what),
        units::bytes(row.length),
        units::counted(row.ranks, "rank")
    );
    let words = format!(
        "{}: {} in total from byte {} on; the calls of a rank are {} apart",
        row.file,
        units::bytes(row.bytes),
        row.first,
        units::bytes(row.stride)
    );
    let about = About {
        file: Some(row.file.clone()),
        calls: Some(row.calls.saturating_mul(row.ranks)),
        bytes: Some(row.bytes),
        ..About::default()
    };
    let hint = format!("call {verb} once, with a file view of {}", row.vector());
    finding(Code::ONE_CALL, title, words, about, None, hint)
}

impl OneCall {
    /// Returns the MPI call that creates a datatype for the loop's accesses.
    #[must_use]
    pub fn vector(&self) -> String {
        format!("MPI_Type_create_hvector({}, {}, {}, MPI_BYTE, &filetype)", self.calls, self.length, self.stride)
    }

    /// Returns the displacement of a rank's file view as a formula.
    #[must_use]
    pub fn displacement(&self) -> String {
        match self.begins {
            Some((each, 0)) => format!("{each} * rank"),
            Some((each, first)) => format!("{each} * rank + {first}"),
            None => "rank_offset".into(),
        }
    }

    /// Returns the Python statement (mpi4py) that creates a datatype for the loop's accesses.
    #[must_use]
    pub fn python_vector(&self) -> String {
        format!("filetype = MPI.BYTE.Create_hvector({}, {}, {}).Commit()", self.calls, self.length, self.stride)
    }
}

fn strided_of(row: &Strided) -> Finding {
    let (what, code) = if row.writes { ("write", Code::STRIDED_WRITES) } else { ("read", Code::STRIDED_READS) };
    let title = format!(
        "{} on {}: {} every {}",
        units::counted(row.calls, &format!("strided {what}")),
        row.file,
        units::bytes(row.length),
        units::bytes(row.stride)
    );
    let words = format!("by {}, at a fixed stride with gaps", units::counted(row.processes, "process"));
    let about = About { file: Some(row.file.clone()), calls: Some(row.calls), ..About::default() };
    let hint = if row.writes {
        "store data contiguously that are written together, or write all ranks' pieces in one collective call with a file view"
    } else {
        "store data contiguously that are read together, or read a large piece with its gaps and extract the parts in memory; with several ranks, use one collective call with a file view"
    };
    finding(code, title, words, about, None, hint.to_owned())
}

/// Minimum mean number of times that each process reads the same bytes, to be mentioned in the finding.
const AGAIN: f64 = 1.2;

fn same_bytes_of(row: &SameBytes) -> Finding {
    let times = row.bytes_each as f64 / row.distinct.max(1) as f64;
    let again = if times >= AGAIN { format!(" {times:.1} times") } else { String::new() };
    let title = format!(
        "{} each read the same {} of {}{again}: {} in total",
        if row.are_processes { units::counted(row.ranks, "process") } else { units::counted(row.ranks, "rank") },
        units::bytes(row.distinct),
        row.file,
        units::bytes(row.bytes)
    );
    let words = format!(
        "reading once on each of {} would move {}",
        units::counted(row.nodes, "node"),
        units::bytes(row.bytes_by_node)
    );
    let about = About { file: Some(row.file.clone()), bytes: Some(row.bytes), ..About::default() };
    let hint = if row.are_processes {
        "keep the data in one process that does the work of several, or copy the file to each node before the job"
    } else {
        "let one rank read and broadcast the data (MPI_Bcast), or copy the file to each node before the job"
    };
    let hint = hint.to_owned();
    finding(Code::SAME_BYTES, title, words, about, None, hint)
}

fn stripes_of(row: &StripeRow, parts: &[FilePart]) -> Finding {
    let title = format!(
        "by a cost model, requests of {} on {} suit stripes of {}: stripes of {} cost {:.1} times as much",
        units::bytes(row.request_bytes),
        row.file,
        units::bytes(row.lustre_bytes),
        units::bytes(row.stripe_bytes.unwrap_or(0)),
        row.costs_times.unwrap_or(1.0)
    );
    let mut words = format!(
        "{} by {} on {}; the cheapest layout for one request of each process is {}",
        units::bytes(row.bytes),
        units::counted(row.processes, "process"),
        units::counted(row.targets, "storage target"),
        row.layout
    );
    let about = About { file: Some(row.file.clone()), bytes: Some(row.bytes), ..About::default() };
    let hint = match &row.replayed {
        Some(replayed) => {
            let size = units::size_option(replayed.stripe_bytes);
            let share = replayed.costs_of_today.unwrap_or(1.0);
            words.push_str(&format!(
                "; in a replay of {} of that time, stripes of {size} over {} are best, at {share:.2} x the present cost",
                units::counted(replayed.operations, "call"),
                units::counted(replayed.stripe_count, "target")
            ));
            match parts.iter().find(|part| part.file == row.file) {
                Some(part) => {
                    format!("try this layout on a copy (parts of the file suit different stripes): {}", part.command)
                }
                None => format!("try this layout on a copy: lfs setstripe -S {size} -c {}", replayed.stripe_count),
            }
        }
        None => {
            format!(
                "try this stripe size on a copy: lfs setstripe -S {}, or run `what-if` first",
                units::size_option(row.lustre_bytes)
            )
        }
    };
    finding(Code::STRIPE_SIZE, title, words, about, None, hint)
}
