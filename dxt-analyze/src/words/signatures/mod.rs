//! Sentences on access patterns that I/O signatures describe.

pub(crate) mod facts;

use super::Words;
use crate::findings::About;
use crate::text::units;
use facts::{AheadRow, OneCall, SameBytes, Strided, StripeRow};

/// Formats the finding that small reads could be prefetched; sequential read-ahead of the system reads `plain_bytes` at a time.
pub(crate) fn read_ahead(row: &AheadRow, plain_bytes: u64) -> Words {
    let title = format!(
        "prefetching {} ahead would avoid {:.0} % of the waits in {} of {}",
        units::counted(row.calls_ahead, "call"),
        row.coverage * 100.0,
        units::counted(row.reads, "read"),
        row.file
    );
    let evidence = format!(
        "{} read at predictable offsets: a read takes {}, the gap to the next {} (means); plain sequential read-ahead of {} would avoid only {:.0} % of the waits, and the program would use {:.0} % of the bytes read ahead",
        units::counted(row.processes, "thread"),
        units::duration(row.latency_ns),
        units::duration(row.interval_ns),
        units::bytes(plain_bytes),
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
        "before each read, call posix_fadvise(fd, offset, {}, POSIX_FADV_WILLNEED) with the offset of the read {} later, or prefetch in a separate thread",
        row.length,
        units::counted(row.calls_ahead, "call")
    );
    Words::new(title, hint).with(evidence, about)
}

/// Formats the finding that one collective call could replace a loop of calls.
pub(crate) fn one_call(row: &OneCall) -> Words {
    let (what, function) =
        if row.writes { ("write", "MPI_File_write_at_all") } else { ("read", "MPI_File_read_at_all") };
    let title = format!(
        "{} of {} by each of {} together cover a range of the file without gaps: one collective call could do it",
        units::counted(row.calls, what),
        units::bytes(row.length),
        units::counted(row.ranks, "rank")
    );
    let evidence = format!(
        "{}: {} in total from byte {} on; each rank moves on by {} from call to call",
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
    let hint = format!("call {function} once; file view: from the rank's first offset, {}", row.vector());
    Words::new(title, hint).with(evidence, about)
}

/// Formats the finding that small calls at a fixed distance leave gaps.
pub(crate) fn strided(row: &Strided) -> Words {
    let what = if row.writes { "write" } else { "read" };
    let title = format!(
        "{} on {}: {} every {}",
        units::counted(row.calls, &format!("strided {what}")),
        row.file,
        units::bytes(row.length),
        units::bytes(row.stride)
    );
    let evidence = format!(
        "{what}s by {}: from one {what} to the next, each moves on by a fixed stride and leaves a gap",
        units::counted(row.processes, "process")
    );
    let about = About { file: Some(row.file.clone()), calls: Some(row.calls), ..About::default() };
    let hint = if row.writes {
        "store side by side what is written together, or write all ranks' pieces in one collective call with a file view"
    } else {
        "store side by side what is read together; if the gaps are small, read a large piece and pick the parts in memory; with several ranks, use one collective call with a file view"
    };
    Words::new(title, hint).with(evidence, about)
}

/// Formats the finding that ranks (or processes) read the same bytes; `times` is given if each reads them repeatedly.
pub(crate) fn same_bytes(row: &SameBytes, times: Option<f64>) -> Words {
    let again = times.map_or_else(String::new, |times| format!(" {times:.1} times"));
    let title = format!(
        "{} each read the same {} of {}{again}: {} in total",
        units::counted(row.ranks, if row.are_processes { "process" } else { "rank" }),
        units::bytes(row.distinct),
        row.file,
        units::bytes(row.bytes)
    );
    let evidence = format!(
        "reading once on each of {} would move {}",
        units::counted(row.nodes, "node"),
        units::bytes(row.bytes_by_node)
    );
    let (file, processes) = (Some(row.file.clone()), Some(row.ranks));
    let about = About { file, processes, bytes: Some(row.bytes), ..About::default() };
    let hint = if row.are_processes {
        "instead of many processes, use threads of one process, which share data that are read once; or copy the file to each node before the job"
    } else {
        "let one rank read and broadcast the data (MPI_Bcast), or copy the file to each node before the job"
    };
    Words::new(title, hint).with(evidence, about)
}

/// Formats the finding that another stripe size suits the requests better. `command`: shell command that creates a file whose parts have
/// different stripe sizes; `None` if one size suits all parts.
pub(crate) fn stripe_size(row: &StripeRow, command: Option<&str>) -> Words {
    let title = format!(
        "{} has stripes of {}: I/O takes {:.1} times as long as with stripes of {}, by a cost model",
        row.file,
        units::bytes(row.stripe_bytes.unwrap_or(0)),
        row.costs_times.unwrap_or(1.0),
        units::bytes(row.lustre_bytes)
    );
    let mut evidence = format!(
        "requests of {} ({} in total) by {} to {}; by IOSIG's cost model (docs/signatures.md) these requests take least time if each process's data lie on {} (the model's layout {})",
        units::bytes(row.request_bytes),
        units::bytes(row.bytes),
        units::counted(row.processes, "process"),
        units::counted(row.targets, "storage target"),
        units::counted(row.targets_per_process, "target"),
        row.layout
    );
    let about = About { file: Some(row.file.clone()), bytes: Some(row.bytes), ..About::default() };
    let hint = match &row.replayed {
        Some(replayed) => {
            let size = units::size_option(replayed.stripe_bytes);
            let share = replayed.costs_of_today.unwrap_or(1.0);
            evidence.push_str(&format!(
                "; a simulated replay of these {} finds stripes of {size} over {} best: {share:.2} times the present cost",
                units::counted(replayed.operations, "call"),
                units::counted(replayed.stripe_count, "target")
            ));
            match command {
                Some(command) => {
                    format!("try this layout on a copy (different stripes suit different parts of the file): {command}")
                }
                None => {
                    format!("try this layout on a copy: lfs setstripe -S {size} -c {} NEW_FILE", replayed.stripe_count)
                }
            }
        }
        None => {
            format!(
                "simulate this stripe size (`dxt-analyze stripes --what-if`), or try it on a copy: lfs setstripe -S {} NEW_FILE",
                units::size_option(row.lustre_bytes)
            )
        }
    };
    Words::new(title, hint).with(evidence, about)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    use crate::findings::Code;
    use crate::model::FileId;
    let file = || "/scratch/in.dat".to_owned();
    let ahead = AheadRow {
        file: file(),
        processes: 16,
        reads: 16_000,
        length: 8192,
        latency_ns: 400_000,
        interval_ns: 200_000,
        calls_ahead: 2,
        plain_coverage: 0.1,
        plain_accuracy: 0.06,
        coverage: 0.98,
        accuracy: 1.0,
        too_early: 0.0,
        too_late: 0.01,
        saves_ns: 6_000_000_000,
    };
    let once = |writes| OneCall {
        file: file(),
        layer: "POSIX",
        writes,
        ranks: 16,
        calls: 1000,
        length: 4096,
        stride: 65_536,
        bytes: 65_536_000,
        first: 2048,
        begins: Some((4096, 2048)),
    };
    let spread = |writes| Strided { file: file(), writes, processes: 4, calls: 4000, length: 4096, stride: 1 << 20 };
    let same = |are_processes| SameBytes {
        file: file(),
        layer: "POSIX",
        ranks: 64,
        are_processes,
        nodes: 4,
        bytes_each: 3 << 27,
        distinct: 1 << 27,
        bytes: 24 << 30,
        bytes_by_node: 1 << 29,
    };
    let row = StripeRow {
        file: file(),
        processes: 64,
        start_ns: 0,
        last_start_ns: 9_000_000_000,
        first_byte: 0,
        end: 1 << 34,
        request_bytes: 4 << 20,
        bytes: 1 << 34,
        targets: 8,
        stripe_bytes: Some(1 << 20),
        best_bytes: 4 << 20,
        lustre_bytes: 4 << 20,
        costs_times: Some(2.4),
        layout: "1-DH".into(),
        targets_per_process: 8,
        replayed: None,
        of: FileId(0),
        is_one_file: true,
    };
    let replayed = facts::Replayed {
        operations: 4096,
        stripe_bytes: 4 << 20,
        stripe_count: 8,
        costs_of_today: Some(0.42),
        costs_of_model: Some(1.0),
        why_apart: "",
        is_better: Some(true),
    };
    let tried = StripeRow { replayed: Some(replayed), ..row.clone() };
    let command = "lfs setstripe -E 1G -S 1M -c 1 -E -1 -S 4M -c 8 NEW_FILE";
    vec![
        (Code::READ_AHEAD, read_ahead(&ahead, 128 << 10)),
        (Code::ONE_CALL, one_call(&once(true))),
        (Code::ONE_CALL, one_call(&once(false))),
        (Code::STRIDED_WRITES, strided(&spread(true))),
        (Code::STRIDED_READS, strided(&spread(false))),
        (Code::SAME_BYTES, same_bytes(&same(false), Some(3.0))),
        (Code::SAME_BYTES, same_bytes(&same(true), None)),
        (Code::STRIPE_SIZE, stripe_size(&row, None)),
        (Code::STRIPE_SIZE, stripe_size(&tried, None)),
        (Code::STRIPE_SIZE, stripe_size(&tried, Some(command))),
    ]
}
