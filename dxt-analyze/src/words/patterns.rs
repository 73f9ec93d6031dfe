//! Sentences on what a job's I/O is like.

use super::checks::percent;
use crate::findings::pattern::{Kind, Pattern};
use crate::text::units;

/// Formats the size of `calls` reads or writes of `mean` bytes on average, of which a share (0 to 1) are below a limit, bytes, but close to it if
/// `is_close`.
pub(crate) fn size(
    operation: &'static str,
    calls: u64,
    mean: u64,
    (below, limit): (f64, u64),
    is_close: bool,
) -> String {
    let (calls, limit) = (units::counted(calls, operation), units::bytes(limit));
    let rest = if is_close { format!("close to {limit}") } else { format!("{} below {limit}", percent(below)) };
    format!("{calls} of {} on average, {rest}", units::bytes(mean))
}

/// Formats the order of a process's reads or writes in a file. `random`: share that begins before the end of the previous one;
/// `consecutive`: share that begins at its end.
pub(crate) fn order(operation: &'static str, kind: Kind, random: f64, consecutive: f64) -> String {
    match kind {
        Kind::Random => {
            format!("{} of {operation}s begin before the end of the process's previous one", percent(random))
        }
        Kind::Strided => {
            format!("{operation}s go forward with gaps: {} begin where the previous one ended", percent(consecutive))
        }
        _ => format!("{} of {operation}s begin where the process's previous one ended", percent(consecutive)),
    }
}

/// Formats the number of reads and writes that do not begin at a stripe or block boundary.
pub(crate) fn alignment(unaligned: u64, known: u64) -> String {
    format!("{} of {} begin off a stripe or block boundary", units::count(unaligned), units::accesses(known))
}

/// Formats how many processes use the files with most bytes. `each`: bytes per file, on average.
pub(crate) fn sharing(
    operation: &'static str,
    kind: Kind,
    shared: f64,
    processes: u64,
    files: u64,
    each: u64,
) -> String {
    let done = if operation == "read" { "read from" } else { "written to" };
    match kind {
        Kind::SharedFile => {
            let by = units::counted(processes, "process");
            format!("{} of the bytes are {done} files that several of {by} use", percent(shared))
        }
        Kind::SmallFiles => format!("bytes are {done} {}, {} each", units::counted(files, "file"), units::bytes(each)),
        Kind::FilePerProcess => {
            format!("{} of the bytes are {done} files that one process uses", percent(1.0 - shared))
        }
        _ => format!("bytes are {done} {} by one process", units::counted(files, "file")),
    }
}

/// Returns the name of a layer for people.
fn shown(layer: &str) -> &str {
    match layer {
        "MPIIO" => "MPI-IO",
        "STDIO" => "C streams'",
        other => other,
    }
}

/// Formats the interface that moves a `share` of `bytes`.
pub(crate) fn interface(layer: &str, share: f64, bytes: u64, ranks: u64) -> String {
    let ranks = if ranks > 1 { format!(", by {}", units::counted(ranks, "rank")) } else { String::new() };
    format!("{} calls move {} of {}{ranks}", shown(layer), percent(share), units::bytes(bytes))
}

/// Formats the share of the bytes of MPI-IO reads or writes that collective calls move.
pub(crate) fn collectives(operation: &'static str, share: f64) -> String {
    format!("collective calls make {} of the bytes of MPI-IO {operation}s", percent(share))
}

/// Formats the share of the time in calls that metadata calls take, and the number of reads and writes per open.
pub(crate) fn metadata(share: Option<f64>, per_open: Option<f64>) -> String {
    let time = share.map(|share| format!("metadata calls take {} of the time in calls", percent(share)));
    let opens = per_open.map(|each| format!("{each:.1} reads and writes per open"));
    time.into_iter().chain(opens).collect::<Vec<String>>().join("; ")
}

/// Formats the number of syncs per write on the file with most syncs.
pub(crate) fn syncs(per_write: f64) -> String {
    format!("{per_write:.2} syncs per write on the file with most syncs")
}

/// Formats the imbalance of bytes over `ranks` ranks, or `processes` processes without ranks, 0 to 1.
pub(crate) fn ranks(kind: Kind, imbalance: f64, ranks: u64, processes: u64) -> String {
    let ranks = if ranks > 0 { units::counted(ranks, "rank") } else { units::counted(processes, "process") };
    match kind {
        Kind::OneRank => format!("one of {ranks} moves nearly all bytes"),
        _ => format!("imbalance of the bytes of {ranks}: {} (0 %: equal, 100 %: one moves all)", percent(imbalance)),
    }
}

/// Formats the number of storage targets, and the share of `bytes` on the busiest.
pub(crate) fn targets(targets: u64, busiest: f64, bytes: u64) -> String {
    let targets = units::counted(targets, "storage target");
    format!("{} go to {targets}, {} of them to the busiest", units::bytes(bytes), percent(busiest))
}

/// Formats the share of the bytes read that a process, or several, read more than once.
pub(crate) fn repetition(kind: Kind, share: f64) -> String {
    match kind {
        Kind::ReadByAll => format!("{} of the bytes read are read by several processes", percent(share)),
        _ => format!("{} of the bytes read are read again by the same process", percent(share)),
    }
}

/// Formats the patterns of the reads and writes that reach the file system: `small, random reads of shared files by collective MPI-IO`.
/// `None` without any.
pub(crate) fn in_short(patterns: &[Pattern]) -> Option<String> {
    let all: Vec<String> = ["read", "write"].into_iter().filter_map(|of| in_short_of(patterns, of)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Formats the patterns of the reads, or of the writes.
fn in_short_of(patterns: &[Pattern], operation: &'static str) -> Option<String> {
    let has =
        |kind: Kind| patterns.iter().any(|one| one.pattern == kind && one.operation.is_none_or(|of| of == operation));
    let size = [(Kind::Small, "small"), (Kind::Mixed, "small and large"), (Kind::Large, "large")];
    let order = [(Kind::Consecutive, "consecutive"), (Kind::Strided, "strided"), (Kind::Random, "random")];
    let form = [(Kind::Independent, "independent"), (Kind::Collective, "collective")];
    let first = |of: &[(Kind, &'static str)]| of.iter().find(|(kind, _)| has(*kind)).map(|(_, word)| *word);
    let words: Vec<&str> = [first(&size), first(&order)].into_iter().flatten().collect();
    let files = match () {
        () if has(Kind::SharedFile) => " of shared files",
        () if has(Kind::FilePerProcess) => " of a file per process",
        () if has(Kind::SmallFiles) => " of small files",
        () => "",
    };
    let form = first(&form).map(|form| format!(" by {form} MPI-IO")).unwrap_or_default();
    (!words.is_empty()).then(|| format!("{} {operation}s{files}{form}", words.join(", ")))
}
