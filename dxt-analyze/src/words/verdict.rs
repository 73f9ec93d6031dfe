//! Sentences on findings about the whole run, and titles that combine several findings.

use super::Words;
use crate::findings::{About, Evidence, Title};
use crate::limits::NAMED_TARGETS;
use crate::text::units;

/// Appends to a title that the finding also holds for `files` other files.
pub(crate) fn and_other_files(title: &Title, files: u64) -> Title {
    format!("{title} (also {})", units::counted(files, "other file")).into()
}

/// Prefixes a title with the statement that the ranks work one after another.
pub(crate) fn serialized(title: &Title) -> Title {
    format!("ranks are serialized: {title}").into()
}

/// File whose requests reach only few of its storage targets.
#[derive(Clone, Debug)]
pub(crate) struct Aliased {
    pub(crate) file: String,
    /// Stripe size of the file, bytes.
    pub(crate) stripe_size: u64,
    /// Number of storage targets over which the file is striped.
    pub(crate) targets: u64,
    /// OST indices of the storage targets that requests reach, in ascending order.
    pub(crate) used: Vec<u32>,
    /// Share of the file's bytes on the reached storage targets, 0 to 1.
    pub(crate) share: f64,
    /// Length of the accessed range of the file / (stripe size x stripe count).
    pub(crate) rows: u64,
}

/// Formats finding DXT-V011: requests reach few storage targets of a file, and of `other_files` other files.
pub(crate) fn few_targets_reached(facts: &Aliased, other_files: u64) -> Words {
    let which = match facts.used.len() {
        1..=NAMED_TARGETS => {
            let names: Vec<String> = facts.used.iter().map(u32::to_string).collect();
            format!(" (OST {})", names.join(", "))
        }
        _ => String::new(),
    };
    let title = format!(
        "{} of the {} of {}{which} {} {:.0} % of the requested bytes",
        facts.used.len(),
        units::counted(facts.targets, "OST"),
        facts.file,
        units::agree(facts.used.len() as u64, "serves", "serve"),
        facts.share * 100.0
    );
    let row = format!(
        "the requests span {} times the {} that cover all OSTs once ({} of {}), so they could reach each OST",
        units::count(facts.rows),
        units::bytes(facts.stripe_size.saturating_mul(facts.targets)),
        units::counted(facts.targets, "stripe"),
        units::bytes(facts.stripe_size)
    );
    let about = About { file: Some(facts.file.clone()), ..About::default() };
    let title = Title::from(title);
    Words::of(
        if other_files > 0 { and_other_files(&title, other_files) } else { title },
        vec![Evidence::of(row, about)],
        "change the stripe size or count (`lfs setstripe -S`, `-c`), or pad the blocks: distances between requests should be no multiple of stripe size \
         times stripe count",
    )
}

/// Formats finding DXT-V026: reads (or writes) alternate with computing in `bursts` bursts. Times are means over processes, ns.
pub(crate) fn by_turns(reads: bool, bursts: u64, io_ns: u64, computes_ns: u64) -> Words {
    let (what, hint) = if reads {
        (
            "reads",
            "prefetch the next piece while computing: a thread, posix_fadvise(POSIX_FADV_WILLNEED), aio or MPI_File_iread, with two alternating buffers",
        )
    } else {
        (
            "writes",
            "write less often, or while computing the next step: a thread, aio or MPI_File_iwrite_at with two alternating buffers, HDF5's asynchronous connector",
        )
    };
    let evidence = format!(
        "{} of I/O and {} of computing per process on average, in {} of I/O",
        units::duration(io_ns),
        units::duration(computes_ns),
        units::counted(bursts, "burst")
    );
    let title = format!("nothing stands out; {what} alternate with computing {bursts} times and could overlap");
    Words::saying(title, [evidence], hint)
}

/// Formats finding DXT-V004: one kind of calls (`what`, plural) takes much of the I/O time, and no other finding explains why.
pub(crate) fn uncovered(what: &str, share: f64) -> Words {
    Words::new(
        format!("{what} take {:.0} % of the time in I/O, and no finding explains this time", share * 100.0),
        format!(
            "compare the rate of {what} with what the file system can do, and with another run (`dxt-analyze compare`)"
        ),
    )
}

/// Threads of a process that never read or write at the same time. Times are in ns.
#[derive(Clone, Debug)]
pub(crate) struct Threads {
    pub(crate) process: String,
    /// Number of other processes whose threads never read or write at the same time.
    pub(crate) others: u64,
    /// Number of threads of the process that read or write.
    pub(crate) count: u64,
    /// Time during which any thread of the process is in a call.
    pub(crate) busy_ns: u64,
    /// Time in calls, summed over the process's threads.
    pub(crate) sum_ns: u64,
    /// Time in calls of the thread that spends most time in calls.
    pub(crate) most_ns: u64,
}

/// Formats finding DXT-V012: threads of a process whose calls are serialized.
pub(crate) fn serialized_threads(facts: &Threads) -> Words {
    let busy = units::duration(facts.busy_ns);
    let others = match facts.others {
        0 => String::new(),
        others => format!(" (and of {})", units::counted(others, "other process")),
    };
    let title = format!(
        "{} I/O threads of {}{others} are serialized: their calls hardly overlap",
        units::count(facts.count),
        facts.process
    );
    let words = format!(
        "the threads' I/O calls take {} in total, of which the busiest thread has {}; at least one thread is in a call for {busy} of the run time, so that calls hardly overlap",
        units::duration(facts.sum_ns),
        units::duration(facts.most_ns)
    );
    Words::saying(
        title,
        [words],
        "look for what the threads share: a lock around the calls, one descriptor whose file position they share (pread and pwrite do not use the position), a library that is not thread-safe",
    )
}

/// Asynchronous I/O that does not overlap with computing. Times are in ns, summed over processes.
#[derive(Clone, Debug)]
pub(crate) struct NoOverlap {
    /// True if most time of the asynchronous I/O is in MPI-IO calls.
    pub(crate) mpi: bool,
    /// True if the I/O is done inside the calls that should only submit it.
    pub(crate) inside_submit: bool,
    pub(crate) in_flight_ns: u64,
    /// Time in calls that submit I/O or wait for its completion.
    pub(crate) kept_ns: u64,
    pub(crate) submitting_ns: u64,
    pub(crate) calls: u64,
    pub(crate) processes: u64,
    /// Process that spends most time in calls that submit or wait, and this time; `None` if there is one process.
    pub(crate) most: Option<(String, u64)>,
}

impl NoOverlap {
    pub(crate) const fn operation(&self) -> &'static str {
        if self.mpi { "nonblocking MPI-IO" } else { "asynchronous I/O" }
    }
}

/// Formats finding DXT-V016: asynchronous I/O during which the program computes nothing.
pub(crate) fn no_overlap(facts: &NoOverlap) -> Words {
    let (what, time) = (facts.operation(), units::duration(facts.kept_ns));
    let submitting = units::duration(facts.submitting_ns);
    let title = if facts.inside_submit {
        format!("{what} runs inside the calls that should only start it: {submitting} in these calls")
    } else {
        format!("the program waits {time} for {what} right after starting it, instead of computing")
    };
    let hint = match (facts.inside_submit, facts.mpi) {
        (true, true) => {
            "use your own thread with blocking calls (MPI_THREAD_MULTIPLE), or an I/O library that has one (ADIOS2, HDF5's async VOL connector): this MPI \
             library does the I/O inside the nonblocking call"
        }
        (true, false) => {
            "use a thread or io_uring: io_submit(2) works in the background only for files opened with O_DIRECT, and only on some file systems"
        }
        (false, true) => {
            "compute between the call and its MPI_Wait: alternate two buffers, and wait for the I/O of a step when the next step is ready"
        }
        (false, false) => {
            "compute between submitting and waiting: alternate two buffers, and wait for the I/O of a step when the next step is ready"
        }
    };
    let all = format!(
        "summed over processes, I/O is in flight for {}: {time} of it in {} that submit ({submitting}) or wait (the rest)",
        units::duration(facts.in_flight_ns),
        units::counted(facts.calls, "call")
    );
    let most = facts.most.as_ref().map(|(process, ns)| {
        let processes = units::counted(facts.processes, "process");
        format!(
            "{processes} make calls that submit or wait for I/O; {process} spends most time in these calls: {}",
            units::duration(*ns)
        )
    });
    Words::saying(title, std::iter::once(all).chain(most), hint)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    use crate::findings::Code;
    let title = |title: &str| Words::new(title, "");
    let retitled = |title: Title| Words { title, ..Words::default() };
    let aliased =
        Aliased { file: "/scratch/out".into(), stripe_size: 1 << 20, targets: 16, used: vec![3], share: 1.0, rows: 40 };
    let many = Aliased { used: (0..8).collect(), ..aliased.clone() };
    let threads = Threads {
        process: "pid 4711".into(),
        others: 0,
        count: 4,
        busy_ns: 4_000_000_000,
        sum_ns: 4_100_000_000,
        most_ns: 1_200_000_000,
    };
    let overlap = NoOverlap {
        mpi: true,
        inside_submit: false,
        in_flight_ns: 4_100_000_000,
        kept_ns: 4_000_000_000,
        submitting_ns: 3_000_000,
        calls: 64,
        processes: 8,
        most: Some(("rank 3".into(), 600_000_000)),
    };
    let aio = NoOverlap { mpi: false, processes: 1, most: None, ..overlap.clone() };
    let in_submit = |of: &NoOverlap| NoOverlap { inside_submit: true, submitting_ns: 3_900_000_000, ..of.clone() };
    let ranks_write = title("4 ranks write one after another").title;
    vec![
        (Code::SERIALISED, retitled(serialized(&ranks_write))),
        (Code::SAME_BYTES, retitled(and_other_files(&title("all ranks read the same bytes of /scratch/in").title, 2))),
        (Code::ALIASING, few_targets_reached(&aliased, 0)),
        (Code::ALIASING, few_targets_reached(&many, 2)),
        (Code::BY_TURNS, by_turns(true, 12, 4_000_000_000, 8_000_000_000)),
        (Code::BY_TURNS, by_turns(false, 12, 4_000_000_000, 8_000_000_000)),
        (Code::UNCOVERED, uncovered("reads", 0.4)),
        (Code::THREADS_BY_TURNS, serialized_threads(&threads)),
        (Code::THREADS_BY_TURNS, serialized_threads(&Threads { others: 3, ..threads })),
        (Code::NO_OVERLAP, no_overlap(&in_submit(&overlap))),
        (Code::NO_OVERLAP, no_overlap(&in_submit(&aio))),
        (Code::NO_OVERLAP, no_overlap(&overlap)),
        (Code::NO_OVERLAP, no_overlap(&aio)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_several_findings_are_joined_in_their_order() {
        let several = and_other_files(&Title::from("the file f is overwritten"), 2);
        let all = serialized(&several);
        let said = "ranks are serialized: the file f is overwritten (also 2 other files)";
        assert_eq!(all.to_string(), said);
    }
}
