//! Sentences on processes that repeat metadata queries, or wait for files and locks by polling.

use crate::findings::About;
use crate::text::units as show;
use crate::words::Words;
use crate::words::common::{LostOn, Who, each_ns};

/// Repeated metadata queries (stat, access, failed open) on the same paths.
pub(crate) struct Repeated {
    /// Number of metadata queries on paths that are queried repeatedly.
    pub(crate) calls: u64,
    /// Time in the metadata queries, summed over processes, ns.
    pub(crate) time_ns: f64,
    /// Names of the querying operations, e.g. `stat`.
    pub(crate) operations: Vec<&'static str>,
    /// Number of processes that repeat metadata queries.
    pub(crate) processes: u64,
    /// True if the querying processes are MPI ranks.
    pub(crate) are_ranks: bool,
    /// Number of distinct paths that are queried repeatedly.
    pub(crate) paths: u64,
    /// Number of distinct pairs (process, path) with repeated queries.
    pub(crate) pairs: u64,
}

/// Formats the finding that processes repeat metadata queries on the same paths.
pub(crate) fn asked_again(of: &Repeated, lost: Option<LostOn>) -> Words {
    let who = match (of.processes, of.are_ranks) {
        (1, _) => String::new(),
        (_, true) => format!(" of {}", show::counted(of.processes, "rank")),
        _ => format!(" of {}", show::counted(of.processes, "process")),
    };
    let by_each = match (of.processes > 1 && of.paths < of.pairs, of.are_ranks) {
        (true, true) => " by each rank",
        (true, false) => " by each process",
        _ => "",
    };
    let title = format!(
        "{} ({}){who} repeatedly query the same {}",
        show::counted(of.calls, "metadata call"),
        of.operations.join(", "),
        show::counted(of.paths, "name")
    );
    let hint = "query each name once and cache the answer, or list the folder once (readdir; in Python, one os.scandir replaces many os.path.exists)";
    let sentence = format!(
        "each name is queried {}{by_each} on average; {} in these calls, summed over {} ({} per call)",
        show::counted(of.calls / of.pairs.max(1), "time"),
        show::duration(of.time_ns as u64),
        show::counted(of.processes, if of.are_ranks { "rank" } else { "process" }),
        each_ns(of.time_ns, of.calls)
    );
    Words::new(title, hint).with(sentence, About::default()).on(lost)
}

/// Formats the finding that `vain` of `calls` metadata queries are for files that do not exist yet, in `processes` processes.
pub(crate) fn asked_in_vain(vain: u64, calls: u64, processes: u64, lost: Option<LostOn>) -> Words {
    let title = format!(
        "{} of {} {} no file yet: {} {} for files that appear later",
        show::count(vain),
        show::counted(calls, "metadata query"),
        show::agree(vain, "finds", "find"),
        show::counted(processes, "process"),
        show::agree(processes, "polls", "poll")
    );
    let hint = "let the process that creates the files send a message (MPI, a pipe), use inotify(7) within one node, or poll with growing pauses: each query \
                burdens the metadata server";
    Words::new(title, hint).on(lost)
}

/// Event for which a process polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Awaited {
    /// A lock file, made by another process, is removed.
    LockFile,
    /// A lock on a file is released by another process.
    Lock,
    /// A file is created by another process.
    File,
}

/// Processes that poll for one kind of event.
pub(crate) struct Polled<'a> {
    pub(crate) what: Awaited,
    pub(crate) who: Who,
    /// Path of the file or lock file, if nearly all waiting is for one; else `None`.
    pub(crate) file: Option<&'a str>,
    /// Number of files or lock files that processes wait for.
    pub(crate) files: u64,
    /// Number of failed calls: opens (lock file), lock calls (lock) or queries (file).
    pub(crate) calls: u64,
    /// Time from a wait's first to its last call, ns: sum over the waits of the process that waits longest.
    pub(crate) longest_ns: u64,
    /// Time from a wait's first to its last call, ns: sum over the waits of all processes.
    pub(crate) all_ns: u64,
}

/// Formats the finding that processes poll for locks or files of other processes.
pub(crate) fn polled(of: &Polled<'_>, about: About) -> Words {
    let longest = show::duration(of.longest_ns);
    let (up_to, each) = (of.who.agree("", "up to "), of.who.agree("in total", "each"));
    let start = format!("{} for {up_to}{longest} {each} until", of.who.does("polls", "poll"));
    let (remove, release, create) =
        if of.file.is_some() { ("removes", "releases", "creates") } else { ("remove", "release", "create") };
    let others = if of.file.is_some() { "another process" } else { "other processes" };
    let or_count = |what: &str| of.file.map_or_else(|| show::counted(of.files, what), ToOwned::to_owned);
    let (title, hint) = match of.what {
        Awaited::LockFile => (
            format!(
                "{start} {others} {remove} {}: {} fail",
                of.file.map_or_else(|| show::counted(of.files, "lock file"), |file| format!("the lock file {file}")),
                show::counted(of.calls, "open")
            ),
            "hold the lock file only while changing the data it guards, or let one process do this work for all (MPI_Gather); else use a blocking \
             fcntl lock (F_SETLKW) on the data file, which wakes the waiting process at once",
        ),
        Awaited::Lock => (
            format!(
                "{start} {others} {release} locks on {}: {} fail",
                or_count("file"),
                show::counted(of.calls, "lock call")
            ),
            "let one process write for all, or hold locks more rarely and for less time: prepare many changes first, then make them in one short transaction (SQLite: BEGIN IMMEDIATE; within one node also journal_mode=WAL; or one \
             database per process, merged at the end; HDF5: a file per process, or close the file right after each change)",
        ),
        Awaited::File => (
            format!("{start} {others} {create} {}: {} find no file", or_count("file"), show::counted(of.calls, "call")),
            "create the file earlier, or do other work while waiting; within one job, send a message (MPI, a pipe, a socket): it arrives at once \
             and does not load the metadata server",
        ),
    };
    let sentence = format!(
        "{} of waiting in total (from the first to the last failed call of each wait), with little other I/O meanwhile; whether processes compute then is not recorded",
        show::duration(of.all_ns)
    );
    Words::new(title, hint).with(sentence, about)
}

/// Files that polling processes find some time after the files were created.
pub(crate) struct FoundLate {
    pub(crate) who: Who,
    /// Number of files for which processes wait.
    pub(crate) files: u64,
    /// Path of the only file, or pattern of all paths; `None` if there is neither.
    pub(crate) name: Option<String>,
    /// Number of times that a process waits for a file.
    pub(crate) waits: u64,
    /// Number of queries during the waits that did not find the file.
    pub(crate) calls: u64,
    /// Time from the first to the last query of a wait, ns; summed over waits.
    pub(crate) asked_ns: u64,
    /// Time from a file's creation to its discovery, ns: sum over all waits.
    pub(crate) late_ns: u64,
    /// Time from a file's creation to its discovery, ns: sum of the process with the largest sum.
    pub(crate) longest_ns: u64,
}

/// Formats the finding that processes poll too rarely for files of other processes.
pub(crate) fn found_late(of: &FoundLate, about: About) -> Words {
    let each = |ns: u64, of: u64| show::duration(ns / of.max(1));
    let what = match (&of.name, of.files) {
        (Some(name), 1) => name.clone(),
        (Some(name), many) => format!("{} {name}", show::counted(many, "file")),
        (None, many) => show::counted(many, "file"),
    };
    let title = format!(
        "{} for {what} too rarely, every {}: found {} after creation on average",
        of.who.does("polls", "poll"),
        each(of.asked_ns, of.calls),
        each(of.late_ns, of.waits)
    );
    let hint = "let the process that creates the file send a message (MPI, a pipe, a socket), or use inotify(7) if both processes are on one node; or poll more often at first, with pauses \
                that grow";
    let sentence = format!(
        "{} from creation of the file to the query that finds it, summed over {} (in one process up to {}); {} find no file yet; a file counts as \
         created when another process's first call on it ends; whether processes compute while they wait is not recorded",
        show::duration(of.late_ns),
        show::counted(of.waits, "wait"),
        show::duration(of.longest_ns),
        show::counted(of.calls, "query")
    );
    Words::new(title, hint).with(sentence, about)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<crate::words::tests::Sample> {
    use crate::findings::Code;
    use crate::words::common::lost_sample;
    let repeated = |processes: u64, are_ranks: bool, paths: u64| {
        let operations = vec!["stat", "access"];
        let of = Repeated { calls: 12_800, time_ns: 9e9, operations, processes, are_ranks, paths, pairs: 320 };
        asked_again(&of, lost_sample())
    };
    let (one, many) = (|| Who::One("rank 3".into()), || Who::Many(7));
    let polled = |what: Awaited, who: Who, file: Option<&str>| {
        let (files, calls, longest_ns, all_ns) =
            (if file.is_some() { 1 } else { 4 }, 900, 6_000_000_000, 21_000_000_000);
        super::polled(&Polled { what, who, file, files, calls, longest_ns, all_ns }, About::default())
    };
    let late = |who: Who, files: u64, name: Option<&str>| {
        let (waits, calls, asked_ns, late_ns, longest_ns) = (8, 60, 60_000_000_000, 4_000_000_000, 2_000_000_000);
        let name = name.map(Into::into);
        found_late(&FoundLate { who, files, name, waits, calls, asked_ns, late_ns, longest_ns }, About::default())
    };
    let file = Some("/run/ready");
    vec![
        (Code::ASKED_AGAIN, repeated(1, false, 320)),
        (Code::ASKED_AGAIN, repeated(16, false, 20)),
        (Code::ASKED_AGAIN, repeated(16, true, 20)),
        (Code::ASKED_AGAIN, asked_in_vain(5000, 6000, 4, lost_sample())),
        (Code::POLLED, polled(Awaited::LockFile, one(), file)),
        (Code::POLLED, polled(Awaited::LockFile, many(), None)),
        (Code::POLLED, polled(Awaited::Lock, one(), file)),
        (Code::POLLED, polled(Awaited::Lock, many(), None)),
        (Code::POLLED, polled(Awaited::File, one(), file)),
        (Code::POLLED, polled(Awaited::File, many(), None)),
        (Code::POLLED, late(one(), 1, file)),
        (Code::POLLED, late(many(), 8, Some("/run/ready_*"))),
        (Code::POLLED, late(many(), 8, None)),
    ]
}
