//! Sentences on metadata calls, and on many small files.

use crate::findings::About;
use crate::text::units as show;
use crate::words::Words;
use crate::words::common::{LostOn, each_ns, list};

/// Kind of slow metadata calls that the title of a finding is about.
pub(crate) enum Slow<'a> {
    /// Metadata calls of one rank, given by its name.
    OfRank(&'a str),
    /// Opens together with other metadata calls of the file, for which a Darshan log has only one total time.
    OpensOfLog,
    /// Metadata calls of one operation, which takes most of the time.
    Mostly,
    /// Metadata calls of several operations, given by their names.
    Several(&'a [String]),
}

pub(crate) struct SlowMetadata<'a> {
    pub(crate) what: Slow<'a>,
    /// Number of slow metadata calls.
    pub(crate) calls: u64,
    /// Time in the metadata calls, summed over processes, ns.
    pub(crate) time_ns: f64,
    /// Name of the metadata operation with the most time.
    pub(crate) most: &'a str,
    /// Number of calls of the operation `most`, and their total time, ns.
    pub(crate) of_most: (u64, f64),
    /// Name of the kind of files, such as `files *.h5`, that have nearly all of the lost time; `None` if there is no such kind.
    pub(crate) on: Option<String>,
    /// True if several ranks run, which can leave the calls to one of them.
    pub(crate) are_ranks: bool,
}

/// Formats the finding that metadata calls are slow.
pub(crate) fn slow_metadata(of: &SlowMetadata<'_>, about: About, lost: Option<LostOn>) -> Words {
    let on = of.on.as_ref().map_or_else(String::new, |on| format!(", on {on}"));
    let (name, (most_calls, most_ns)) = (of.most, of.of_most);
    let each = each_ns(most_ns, most_calls);
    let (take, per_call) = show::agree(most_calls, ("takes", ""), ("take", " each"));
    let title = match &of.what {
        Slow::OfRank(rank) => {
            let calls = show::counted(most_calls, &format!("{name} call"));
            format!("{rank} alone makes {calls}, {each} each{on}, and the others wait")
        }
        Slow::OpensOfLog => format!(
            "{} {take} {each}{per_call}{on}, with the close and other metadata calls that belong to each",
            show::counted(most_calls, "open")
        ),
        Slow::Mostly => {
            let calls = show::counted(most_calls, &format!("{name} call"));
            let rest = if most_calls == of.calls {
                String::new()
            } else {
                format!(", {:.0} % of all time in metadata calls", most_ns / of.time_ns.max(1.0) * 100.0)
            };
            format!("{calls} {take} {each}{per_call}{on}{rest}")
        }
        Slow::Several(names) => {
            let (all, calls) = (each_ns(of.time_ns, of.calls), show::counted(of.calls, "metadata call"));
            format!("{calls}, mostly {}, take {all} each{on}", list(names))
        }
    };
    let hint = match name {
        _ if matches!(of.what, Slow::OfRank(_)) => {
            "distribute the metadata calls over all ranks, or make them in a background thread while the ranks compute"
        }
        "stat" | "access" if of.are_ranks => {
            "query files less often (cache the answer, or list the folder once) and from fewer ranks (one rank, then broadcast)"
        }
        "stat" | "access" => "query each path once and cache the answer, or list the folder once",
        "unlink" | "rename" | "mkdir" | "rmdir" => {
            "create and remove fewer files: keep temporary data in memory (/dev/shm, on each node) or in one file, and remove old files in the background"
        }
        "close" => {
            "use fewer files, and close them in a separate thread: a close can wait until written data are sent to storage"
        }
        _ if of.are_ranks => {
            "open fewer files (pack small ones into one), from fewer ranks (one reads, then broadcasts), and not from all ranks at the same time"
        }
        _ => {
            "open fewer files (pack small ones into one), keep files open, or first copy those that are opened again to the node's own disk"
        }
    };
    match lost {
        Some(lost) => Words::new(title, hint).with(lost.sentence(), about),
        None => Words::new(title, hint),
    }
}

/// Kind of files, by what the program does with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Temporary files: written, perhaps read, and removed.
    Temporary,
    /// Temporary files of any size: written, read back, and removed.
    Spilled,
    /// Files that some processes write and others read.
    HandedOn,
    /// Small files that are read once or twice.
    Read,
    /// Small files that are written once or twice.
    Written,
}

/// Many small files of one kind (temporary, read or written), with their calls.
pub(crate) struct ManyFiles {
    pub(crate) kind: Kind,
    pub(crate) files: u64,
    /// Number of calls on the small files.
    pub(crate) calls: u64,
    /// Time in calls on the small files, summed over processes, ns.
    pub(crate) time_ns: f64,
    /// Bytes moved by calls on the files.
    pub(crate) bytes: u64,
    /// Bytes written to spilled or handed-on files, and to all files.
    pub(crate) written: u64,
    pub(crate) all: u64,
    /// Number of opens and their total time, ns.
    pub(crate) opens: (u64, f64),
    /// Number of reads or writes (according to the kind of files) and their total time, ns.
    pub(crate) moves: (u64, f64),
}

/// Formats the finding that there are many small files.
pub(crate) fn many_files(of: &ManyFiles, lost: Option<LostOn>) -> Words {
    let each = |(calls, ns): (u64, f64)| each_ns(ns, calls);
    let (of_each, size) = (each_ns(of.time_ns, of.files), show::bytes(of.bytes / of.opens.0.max(1)));
    let temporary = || show::counted(of.files, "temporary file");
    let small = || show::counted(of.files, "small file");
    let (open, transfer) = (each(of.opens), each(of.moves));
    let (title, hint) = match of.kind {
        Kind::Temporary => (
            if of.bytes == 0 {
                format!(
                    "{} are created and removed without a read or write: all calls on one take {of_each} on average",
                    temporary()
                )
            } else {
                format!("{} are created, used and removed: all calls on one take {of_each} on average", temporary())
            },
            "keep temporary data in memory (a buffer, a pipe, /dev/shm through TMPDIR), or reuse one file",
        ),
        Kind::Spilled => (
            format!(
                "{} written are temporary: they go to {}, are read back and removed",
                if of.written == of.all {
                    format!("all {}", show::bytes(of.all))
                } else {
                    format!("{} of {}", show::bytes(of.written), show::bytes(of.all))
                },
                show::counted(of.files, "file")
            ),
            "keep temporary data in memory, with more memory for the step that writes them (sort: -S), or write them once only (merge all files at once, not in several passes); else put them on the \
             node's own disk or /dev/shm (TMPDIR)",
        ),
        Kind::HandedOn => (
            format!(
                "{} {} {} from one process to another, by a write and a read of each byte",
                show::counted(of.files, "file"),
                if of.files == 1 { "passes" } else { "pass" },
                show::bytes(of.written)
            ),
            "unless the files are needed later, connect the programs by pipes (a | b; cdo: several operators in one command), or put the files into /dev/shm (TMPDIR)",
        ),
        Kind::Read => (
            format!("{} are opened and read individually: an open takes {open}, a read {transfer}", small()),
            "pack the files into one before the run (HDF5, tar with an index, LMDB, WebDataset), and read large pieces; or let several threads read files at once; or first copy the files to the node's own disk or /dev/shm",
        ),
        Kind::Written => (
            format!("{} are opened and written individually: an open takes {open}, a write {transfer}", small()),
            "write one file instead (HDF5, a shared binary file, an archive with an index), or write to the node's own disk and copy all files as one archive",
        ),
    };
    let sentence = format!(
        "{} in {} on {} files, summed over processes; {size} read or written per open",
        show::duration(of.time_ns as u64),
        show::counted(of.calls, "call"),
        match of.kind {
            Kind::Temporary | Kind::Spilled => "temporary",
            Kind::HandedOn => "these",
            Kind::Read | Kind::Written => "small",
        }
    );
    Words::new(title, hint).with(sentence, About::default()).on(lost)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<crate::words::tests::Sample> {
    use crate::findings::Code;
    use crate::words::common::lost_sample;
    let slow = |what: Slow<'_>, most: &str, calls: u64, on: Option<&str>| {
        let (of_most, time_ns, on) = ((4000, 8e9), 10e9, on.map(Into::into));
        // Operations of ranks, and of processes.
        let are_ranks = !matches!(most, "open") || calls == 5000;
        let of = SlowMetadata { what, calls, time_ns, most, of_most, on, are_ranks };
        slow_metadata(&of, About::default(), lost_sample())
    };
    let many = |kind: Kind, bytes: u64| {
        let (files, calls, time_ns, opens, moves) = (4000, 16_000, 24e9, (4000, 8e9), (4000, 4e9));
        let (written, all) = (bytes / 2, bytes);
        many_files(&ManyFiles { kind, files, calls, time_ns, bytes, written, all, opens, moves }, lost_sample())
    };
    let names = ["open".to_owned(), "stat".to_owned()];
    vec![
        (Code::METADATA_SHARE, slow(Slow::OfRank("rank 0"), "open", 5000, None)),
        (Code::METADATA_SHARE, slow(Slow::OpensOfLog, "open", 5000, None)),
        (Code::METADATA_SHARE, slow(Slow::Mostly, "open", 4000, Some("files in /scratch/run"))),
        (Code::METADATA_SHARE, slow(Slow::Mostly, "stat", 5000, None)),
        (Code::METADATA_SHARE, slow(Slow::Mostly, "unlink", 4000, None)),
        (Code::METADATA_SHARE, slow(Slow::Mostly, "close", 4000, None)),
        (Code::METADATA_SHARE, slow(Slow::Several(&names), "open", 5000, Some("files *.h5"))),
        (Code::TEMPORARY_FILES, many(Kind::Temporary, 0)),
        (Code::TEMPORARY_FILES, many(Kind::Temporary, 16 << 20)),
        (Code::TEMPORARY_FILES, many(Kind::Spilled, 3 << 30)),
        (Code::TEMPORARY_FILES, many(Kind::HandedOn, 3 << 30)),
        (Code::SMALL_FILES, many(Kind::Read, 16 << 20)),
        (Code::SMALL_FILES, many(Kind::Written, 16 << 20)),
    ]
}
