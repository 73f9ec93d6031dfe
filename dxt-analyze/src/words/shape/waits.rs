//! Sentences on waiting: for storage targets, file locks, other ranks, and data on storage.

use crate::findings::{About, Evidence};
use crate::model::Class;
use crate::model::Manner;
use crate::text::units as show;
use crate::words::Words;
use crate::words::common::{LostOn, each_bytes, each_ns};
use std::collections::BTreeMap;

/// Formats the finding that in a `share` (0 to 1) of time windows, most requests of all ranks hit one and the same OST: `at_once` ranks on
/// average.
pub(crate) fn aliasing(file: &str, share: f64, targets: u64, at_once: f64, about: About) -> Words {
    let title = format!(
        "ranks hit the same OST of {file} at the same time while most of its {} are idle",
        show::counted(targets, "OST")
    );
    let hint = "change the stripe count (`lfs setstripe -c`) or pad the ranks' blocks, so that their distance is no multiple of stripe count times stripe size; \
                or let each rank start with a different part of its block";
    let sentence = format!(
        "in {:.0} % of time windows, most requests go to one OST, but over the run to several; on average, {at_once:.1} ranks begin at the busiest OST of a window",
        100.0 * share
    );
    Words::new(title, hint).with(sentence, about)
}

/// Calls that queue at few storage targets (OSTs).
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub(crate) class: Class,
    /// Number of storage targets in use at a time.
    pub(crate) targets: u64,
    /// OST index of the storage target in use; of one of them if there are several.
    pub(crate) target: u32,
    /// True if the storage targets in use change over time.
    pub(crate) steps: bool,
    /// Mean number of calls in flight per storage target.
    pub(crate) in_flight: f64,
    pub(crate) cost: QueueCost,
    /// Stripe count of most files; `None` if the files differ.
    pub(crate) stripes: Option<u32>,
    /// Number of storage targets that would suffice for the calls not to queue.
    pub(crate) enough: f64,
    /// True if the files have at least `enough` stripes, so that the stripe count is not the cause.
    pub(crate) wide: bool,
}

/// Slowdown of calls that wait in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum QueueCost {
    /// Share of the calls' time spent in the queue, 0 to 1.
    Share(f64),
    /// Duration of the median call / duration of the fastest call.
    Times(f64),
}

/// Formats the finding that calls queue at few storage targets.
pub(crate) fn few_targets(of: &Queued, about: About, lost: Option<LostOn>) -> Words {
    let what = of.class.plural();
    let targets = match (of.targets, of.steps) {
        (1, false) => format!("OST {}", of.target),
        (1, true) => "one OST at a time".to_owned(),
        (many, false) => format!("{many} OSTs"),
        (many, true) => format!("{many} OSTs at a time"),
    };
    let each = if of.targets == 1 { "" } else { " on each" };
    let have = match of.stripes {
        Some(count) => format!("; the files have {} each", show::counted(u64::from(count), "stripe")),
        None => String::new(),
    };
    let long = match of.cost {
        QueueCost::Share(part) => format!("each waits in the queue for {:.0} % of its time", part * 100.0),
        QueueCost::Times(slower) => {
            format!("the median {} takes {slower:.1} times as long as the fastest", of.class.singular())
        }
    };
    let title = format!("{what} queue at {targets}: {:.0} in flight{each}, {long}", of.in_flight);
    let hint = if of.wide {
        let or = if of.class == Class::Read { ", or let one rank read shared data and broadcast it" } else { "" };
        format!("let ranks start at different stripes{or}: now, requests hit only few of the files' stripes at a time")
    } else {
        format!(
            "spread new files over more OSTs: `lfs setstripe -c {:.0} DIR` for shared files, `lfs setstripe -c 1 -i -1 DIR` for a file per rank",
            of.enough
        )
    };
    let at_a_time = if of.steps { " at a time" } else { "" };
    let sentence = format!(
        "{} {} used{at_a_time}, {:.0} would suffice to avoid the queue{have}",
        show::counted(of.targets, "OST"),
        show::agree(of.targets, "is", "are"),
        of.enough
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Owner and purpose of the file locks for which processes wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locks {
    /// File locks that the program itself takes.
    Program,
    /// Locks that MPI-IO takes for data sieving.
    MpiIo,
    /// File lock of MPI-IO's shared file pointer.
    SharedPointer,
    /// Locks that MPI-IO takes around each read or write.
    EachCall,
}

/// Formats the finding that processes wait `time_ns` in `calls` calls for file locks.
pub(crate) fn lock_waits(locks: Locks, time_ns: f64, calls: u64, lost: Option<LostOn>) -> Words {
    let whose = if locks == Locks::Program { "processes wait" } else { "ranks wait in MPI-IO" };
    let what = if locks == Locks::SharedPointer { "the lock of a shared file pointer" } else { "file locks" };
    let time = show::duration(time_ns as u64);
    let title = if locks == Locks::EachCall {
        format!(
            "MPI-IO locks the file around each read or write (atomic mode or NFS): ranks wait {time} in total, in {}",
            show::counted(calls, "lock call")
        )
    } else {
        format!("{whose} {time} in total for {what}, in {}", show::counted(calls, "lock call"))
    };
    let hint = match locks {
        Locks::SharedPointer => {
            "ranks take a shared pointer one after another: give each an offset of its own (MPI_File_write_at, offsets by MPI_Exscan), or use MPI_File_write_ordered"
        }
        Locks::EachCall => {
            "switch atomic mode off, MPI_File_set_atomicity(file, 0), if ranks write different bytes; if it is off already, the file is on NFS or the like, where MPI-IO \
             must lock: use a parallel file system"
        }
        Locks::MpiIo => {
            "write collectively, or disable data sieving on writes (hint romio_ds_write=disable): neither needs locks"
        }
        Locks::Program => {
            "lock the bytes that are written rather than the whole file, hold locks for less time, or write through one process"
        }
    };
    Words::new(title, hint).on(lost)
}

/// Collective call that took far longer than its peers.
pub(crate) struct LongCollective<'a> {
    pub(crate) file: &'a str,
    pub(crate) class: Class,
    pub(crate) ranks: u64,
    /// Duration of the long collective call, ns.
    pub(crate) took_ns: u64,
    /// Start of the long collective call, ns since the job's start.
    pub(crate) at_ns: u64,
    /// Usual duration of similar collective calls, ns.
    pub(crate) usual_ns: u64,
    /// Bytes read by system calls inside the collective call.
    pub(crate) read: u64,
    /// Bytes written by system calls inside the collective call.
    pub(crate) written: u64,
    /// Longest time that one rank spends in system calls inside the collective call, ns.
    pub(crate) inside_ns: u64,
}

/// Formats the finding that one collective call took far longer than its peers.
pub(crate) fn long_collective(of: &LongCollective<'_>, about: About) -> Words {
    let title = format!(
        "one collective {} blocked {} for {} (usually {}), {} after the job's start",
        of.class.singular(),
        show::counted(of.ranks, "rank"),
        show::duration(of.took_ns),
        show::duration(of.usual_ns),
        show::moment(of.at_ns)
    );
    let hint = "check whether the delay recurs, and whether the call is the first or last on the file: in it, HDF5 may allocate space, write fill values \
                (H5Pset_alloc_time) or flush metadata";
    let sentence = format!(
        "on {}; inside the long call, system calls read {} and wrote {} in total, and took at most {} per rank",
        of.file,
        show::bytes(of.read),
        show::bytes(of.written),
        show::duration(of.inside_ns)
    );
    Words::new(title, hint).with(sentence, about)
}

/// Ranks that read or write one after another instead of at the same time.
pub(crate) struct Serialized<'a> {
    /// Number of ranks that work one after another.
    pub(crate) ranks: u64,
    /// Number of groups of ranks: groups work in parallel, ranks of one group one after another.
    pub(crate) groups: u64,
    /// Number of phases of the run in which ranks are serialized.
    pub(crate) phases: u64,
    /// True if the serialized calls include reads.
    pub(crate) reads: bool,
    /// True if the serialized calls include writes.
    pub(crate) writes: bool,
    /// Path of the first file that serialized ranks read or write.
    pub(crate) file: &'a str,
    /// Number of files that serialized ranks read or write.
    pub(crate) files: u64,
    /// Paths of a few other files that serialized ranks read or write.
    pub(crate) others: Vec<&'a str>,
    /// Number of reads and writes in the phases with serialized ranks.
    pub(crate) calls: u64,
    /// Time saved if the ranks worked in parallel, ns.
    pub(crate) saves_ns: u64,
}

/// Formats the finding that ranks read or write one at a time.
pub(crate) fn serialized(of: &Serialized<'_>, about: About) -> Words {
    let what = match (of.reads, of.writes) {
        (true, true) => "read and write",
        (true, false) => "read",
        _ => "write",
    };
    let on = match of.files {
        1 => of.file.to_owned(),
        many => format!("{} and {}", of.file, show::counted(many - 1, "other file")),
    };
    let groups = if of.groups > 1 { format!(" in each of {} groups of ranks", of.groups) } else { String::new() };
    let title = format!("{on}: {} {what} one at a time{groups}", show::counted(of.ranks, "rank"));
    let hint = "let ranks read and write at the same time, each at its own offset, or collectively; a likely cause is a token or message that passes from rank to rank";
    let sentence = format!(
        "{} reads and writes in {} of the run: each rank begins when the previous one has finished; in parallel the ranks would finish {} sooner",
        show::count(of.calls),
        show::counted(of.phases, "phase"),
        show::duration(of.saves_ns)
    );
    let words = Words::new(title, hint).with(sentence, about);
    of.others.iter().fold(words, |words, file| words.with(format!("the same on {file}"), About::default()))
}

/// Calls on files opened with O_SYNC, O_DSYNC or O_DIRECT.
pub(crate) struct Uncached {
    pub(crate) class: Class,
    /// Number of calls on files opened with O_SYNC, O_DSYNC or O_DIRECT.
    pub(crate) calls: u64,
    /// Bytes moved by the calls that bypass or write through the page cache.
    pub(crate) bytes: u64,
    /// Time in the calls that bypass or write through the page cache, summed over processes, ns.
    pub(crate) time_ns: f64,
    /// Number of calls by the flags of open(2) with which the file was opened, e.g. O_DIRECT.
    pub(crate) flags: BTreeMap<Manner, u64>,
}

impl Uncached {
    fn words(&self, title: String, hint: &str, lost: Option<LostOn>) -> Words {
        let of = |(manner, calls): (&Manner, &u64)| format!("{} of them with {}", show::count(*calls), manner.names());
        let opened = self.flags.iter().map(of).collect::<Vec<_>>().join(", ");
        let sentence = format!(
            "{} in {}, summed over processes; {opened}",
            show::duration(self.time_ns as u64),
            self.class.counted(self.calls)
        );
        Words::new(title, hint).with(sentence, About::default()).on(lost)
    }

    fn each(&self) -> (String, String) {
        (each_bytes(self.bytes, self.calls), each_ns(self.time_ns, self.calls))
    }
}

/// Formats the finding that each write waits for storage because of O_SYNC or O_DSYNC.
pub(crate) fn written_through(of: &Uncached, lost: Option<LostOn>) -> Words {
    let (bytes, time) = of.each();
    let title = format!(
        "{} of {bytes} {} for storage, {time} each: files are opened with O_SYNC or O_DSYNC",
        show::counted(of.calls, "write"),
        show::agree(of.calls, "waits", "wait")
    );
    let hint = "open without O_SYNC and O_DSYNC, and call fsync once where data must be safe: at the end of a step, a checkpoint, a transaction";
    of.words(title, hint, lost)
}

/// Formats the finding that small calls bypass the page cache because of O_DIRECT.
pub(crate) fn past_cache(of: &Uncached, lost: Option<LostOn>) -> Words {
    let (bytes, time) = of.each();
    let title = format!(
        "{} of {bytes} {} the page cache, {time} each: files are opened with O_DIRECT",
        of.class.counted(of.calls),
        show::agree(of.calls, "bypasses", "bypass")
    );
    let hint = if of.class == Class::Read {
        "open without O_DIRECT, so that the page cache reads ahead and holds the data; or keep it and read some MiB per call, with several calls in flight"
    } else {
        "open without O_DIRECT, so that the page cache gathers small writes; or keep it and write some MiB per call, with several calls in flight"
    };
    of.words(title, hint, lost)
}

/// Writes to standard output or standard error that wait for their reader.
pub(crate) struct StandardOutput<'a> {
    /// Name of the stream: `standard output` or `standard error`.
    pub(crate) name: &'a str,
    /// Processes that wait for the reader, as the subject of a sentence.
    pub(crate) who: String,
    /// True if only one process waits for the reader.
    pub(crate) one: bool,
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    pub(crate) time_ns: u64,
}

/// Returns ranks in words, such as `ranks 1-3`; without ranks, the number of processes, or `name` for a single process.
pub(crate) fn ranks_or(ranks: &[i32], processes: usize, name: String) -> String {
    match (ranks, processes) {
        (_, 1) => name,
        ([first, .., last], _) if ranks.len() == processes && last - first + 1 == processes as i32 => {
            let ranks: Vec<u64> = ranks.iter().filter_map(|rank| u64::try_from(*rank).ok()).collect();
            format!("ranks {}", show::ranges(&ranks))
        }
        _ if ranks.len() == processes => show::counted(processes as u64, "rank"),
        _ => show::counted(processes as u64, "process"),
    }
}

/// Formats the finding that processes wait for the reader of standard output or standard error.
pub(crate) fn standard_output(of: &StandardOutput<'_>) -> Words {
    let title = format!(
        "{} {} when writing to {}: {} in total for {} ({})",
        of.who,
        if of.one { "waits" } else { "wait" },
        of.name,
        show::duration(of.time_ns),
        show::counted(of.calls, "write"),
        show::bytes(of.bytes)
    );
    let hint = "print less, let one rank print, or redirect the output to a file: what receives it now (a terminal, the launcher, a program behind a pipe) is too slow";
    Words::new(title, hint).with("the writes go to a pipe, a socket or a terminal, not to storage", About::default())
}

/// Formats the finding that many processes read one block of a file; `range` is the block's start and end, bytes.
pub(crate) fn common_reads(file: &str, range: (u64, u64), processes: u64, calls: u64, about: About) -> Words {
    let title = format!(
        "{} read the same {} at byte {} of {file}: {}",
        show::counted(processes, "process"),
        show::bytes(range.1 - range.0),
        range.0,
        show::counted(calls, "read")
    );
    let hint = "let one rank read this block of bytes and broadcast it (MPI_Bcast), or read the block collectively; HDF5: H5Pset_all_coll_metadata_ops";
    Words::new(title, hint).with("the block is small, and its storage server serves the reads one at a time", about)
}

/// Formats the finding that the program syncs after few writes; `flushes` is true for flushes of C streams.
pub(crate) fn sync_per_write(syncs: u64, writes: u64, files: u64, flushes: bool, lost: Option<LostOn>) -> Words {
    let name = if flushes { show::agree(syncs, "flush", "flushes") } else { show::agree(syncs, "sync", "syncs") };
    let (number, on) = (format!("{} {name}", show::count(syncs)), show::counted(files, "file"));
    let what = if writes == 0 {
        format!("{number} on {on}, but no recorded write")
    } else {
        format!("{number} between {} on {on}", show::counted(writes, "write"))
    };
    let unseen = (writes == 0)
        .then(|| Evidence::from("the data may be written through mmap, or by a process that is not traced".to_owned()));
    if flushes {
        let hint = "do not flush a stream (fflush, std::endl, an unbuffered log) after each write: a full buffer is written automatically";
        Words::new(format!("{what}: each flush empties a stream's buffer"), hint).and(unseen).on(lost)
    } else {
        let hint =
            "sync (fsync, msync) once, when a file is complete: each sync forces the data written so far to storage";
        Words::new(format!("{what}: each sync forces data to storage"), hint).and(unseen).on(lost)
    }
}

/// Formats the finding that syncs take much of the time.
pub(crate) fn sync_time(syncs: u64, time_ns: f64, lost: Option<LostOn>) -> Words {
    let title = format!(
        "{} {} {} in total, {} each: the program waits until its data are on storage",
        show::counted(syncs, "sync"),
        show::agree(syncs, "takes", "take"),
        show::duration(time_ns as u64),
        each_ns(time_ns, syncs)
    );
    let hint = "sync only data that must survive a crash of the node, in a separate thread while the program computes; closing a file or ending the \
                program needs no fsync";
    Words::new(title, hint).on(lost)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<crate::words::tests::Sample> {
    use crate::findings::Code;
    use crate::words::common::lost_sample;
    use trace_format::meta::stream_flags;
    let (about, file, lost) = (About::default, "/scratch/out.h5", lost_sample);
    let queued = |targets: u64, steps: bool, cost: QueueCost, stripes: Option<u32>, wide: bool| {
        let (in_flight, enough) = (12.0, 8.0);
        let of = Queued { class: Class::Write, targets, target: 3, steps, in_flight, cost, stripes, enough, wide };
        few_targets(&of, About::default(), lost())
    };
    let long = LongCollective {
        file,
        class: Class::Write,
        ranks: 64,
        took_ns: 3_500_000_000,
        at_ns: 28_000_000_000,
        usual_ns: 12_000_000,
        read: 0,
        written: 1 << 30,
        inside_ns: 2_000_000_000,
    };
    let serialized = |groups: u64, reads: bool, writes: bool, others: &[&str]| {
        let files = 1 + others.len() as u64;
        let (others, saves_ns) = (others.to_vec(), 4_200_000_000);
        super::serialized(
            &Serialized { ranks: 16, groups, phases: 3, reads, writes, file, files, others, calls: 480, saves_ns },
            About::default(),
        )
    };
    let uncached = |class: Class, flags: u8| {
        let flags = BTreeMap::from([(Manner::of(flags), 4000)]);
        Uncached { class, calls: 4000, bytes: 4000 << 12, time_ns: 8e9, flags }
    };
    let (through, direct) = (stream_flags::THROUGH, stream_flags::DIRECT);
    let printed = |ranks: &[i32], processes: usize, calls: u64| {
        let who = ranks_or(ranks, processes, "pid 4711".into());
        let name = if calls == 1 { "standard error" } else { "standard output" };
        standard_output(&StandardOutput {
            name,
            who,
            one: processes == 1,
            calls,
            bytes: 4096 * calls,
            time_ns: 3_000_000_000,
        })
    };
    vec![
        (Code::STANDARD_OUTPUT, printed(&[1, 2, 3], 3, 40)),
        (Code::STANDARD_OUTPUT, printed(&[1, 3], 2, 40)),
        (Code::STANDARD_OUTPUT, printed(&[], 2, 40)),
        (Code::STANDARD_OUTPUT, printed(&[], 1, 1)),
        (Code::ALIASING, aliasing(file, 0.8, 16, 6.3, about())),
        (Code::FEW_TARGETS, queued(1, false, QueueCost::Times(6.2), None, false)),
        (Code::FEW_TARGETS, queued(1, true, QueueCost::Times(6.2), None, false)),
        (Code::FEW_TARGETS, queued(2, false, QueueCost::Share(0.62), Some(2), false)),
        (Code::FEW_TARGETS, queued(2, true, QueueCost::Times(6.2), Some(16), true)),
        (Code::LOCK_WAITS, lock_waits(Locks::Program, 4e9, 1200, lost())),
        (Code::LOCK_TIME, lock_waits(Locks::MpiIo, 4e9, 1200, lost())),
        (Code::LOCK_TIME, lock_waits(Locks::SharedPointer, 4e9, 1200, lost())),
        (Code::LOCK_TIME, lock_waits(Locks::EachCall, 4e9, 1200, lost())),
        (Code::LONG_COLLECTIVE, long_collective(&long, about())),
        (Code::SERIALISED, serialized(1, false, true, &[])),
        (Code::SERIALISED, serialized(1, true, false, &["/scratch/b.dat"])),
        (Code::SERIALISED, serialized(2, true, true, &["/scratch/b.dat", "/scratch/c.dat"])),
        (Code::WRITTEN_THROUGH, written_through(&uncached(Class::Write, through), lost())),
        (Code::PAST_CACHE, past_cache(&uncached(Class::Read, direct), lost())),
        (Code::PAST_CACHE, past_cache(&uncached(Class::Write, direct), lost())),
        (Code::COMMON_READS, common_reads(file, (4096, 36_864), 64, 640, about())),
        (Code::SYNC_PER_WRITE, sync_per_write(500, 1000, 2, false, lost())),
        (Code::SYNC_PER_WRITE, sync_per_write(500, 0, 1, false, lost())),
        (Code::SYNC_PER_WRITE, sync_per_write(500, 1000, 2, true, lost())),
        (Code::SYNC_TIME, sync_time(3, 6e9, lost())),
    ]
}
