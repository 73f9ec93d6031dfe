//! Sentences on repeated work: bytes read or written again, files opened again.

use crate::findings::About;
use crate::text::units as show;
use crate::words::Words;
use crate::words::common::{LostOn, Who, each_bytes, each_ns};

/// Bytes that processes read more than once, estimated from counters.
pub(crate) struct ReadAgain<'a> {
    /// Number of bytes that were read again.
    pub(crate) bytes: u64,
    /// Share of the bytes read again in all bytes read, 0 to 1.
    pub(crate) share: f64,
    /// Path of the file with the most repeated bytes.
    pub(crate) file: &'a str,
    /// Number of readers that share the file's counter record, and the noun for one of them (`rank`); `None` for one reader.
    pub(crate) readers: Option<(u64, &'a str)>,
    /// Bytes of the file that its readers read in total, repeated reads included.
    pub(crate) read: u64,
    /// Length of the range that holds the reads, bytes: the most distinct bytes that one reader can read.
    pub(crate) extent: u64,
}

/// Formats the finding that processes read bytes again.
pub(crate) fn read_again(of: &ReadAgain<'_>, about: About, lost: Option<LostOn>) -> Words {
    let title = format!(
        "{} ({:.1} %) of the bytes read were read before by the same process",
        show::bytes(of.bytes),
        of.share * 100.0
    );
    let hint = "keep the data in memory, or read the file once, in order; the page cache saves repeated reads only until it drops the data";
    let who = match of.readers {
        Some((count, what)) => format!("{} read", show::counted(count, what)),
        None => "a process reads".to_owned(),
    };
    let each = if of.readers.is_some() { " of each" } else { "" };
    let sentence = format!(
        "{}: {who} {} in total, but{each} only {} can be distinct: some bytes are read more than once (counters do not show which)",
        of.file,
        show::bytes(of.read),
        show::bytes(of.extent)
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Blocks that processes read and then overwrite soon after.
pub(crate) struct ReadBefore<'a> {
    pub(crate) who: Who,
    /// Number of files in which blocks are overwritten.
    pub(crate) files: u64,
    /// Path of one of the files in which blocks are overwritten.
    pub(crate) file: &'a str,
    /// Number of blocks that are read and then overwritten.
    pub(crate) blocks: u64,
    /// Total size of the overwritten blocks, bytes.
    pub(crate) bytes: u64,
    /// Time from the end of a block's read to its write, ns; summed over blocks.
    pub(crate) between_ns: u64,
}

/// Formats the finding that processes read blocks and then overwrite them.
pub(crate) fn read_before(of: &ReadBefore<'_>, about: About, lost: Option<LostOn>) -> Words {
    let on = match of.files {
        1 => of.file.to_owned(),
        many => show::counted(many, "file"),
    };
    let title = format!(
        "{} {} of {on} and {} each right away",
        of.who.does("reads", "read"),
        show::counted(of.blocks, "block"),
        of.who.agree("overwrites", "overwrite")
    );
    let hint = "write whole blocks without reading them first if the new content does not depend on the old; else write only the bytes that change";
    let sentence = format!(
        "{} of reads may be unnecessary: a block ({} on average) is overwritten whole {} after its read, too soon for the program to use all bytes; whether some bytes stay the same is not recorded",
        show::bytes(of.bytes),
        each_bytes(of.bytes, of.blocks),
        show::duration(of.between_ns / of.blocks.max(1))
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Files opened, or folders listed, repeatedly.
pub(crate) struct Reopened<'a> {
    /// True for listed folders, false for opened files.
    pub(crate) listed: bool,
    /// Path of the file on which nearly all of the time is lost; `None` if the time is spread over files.
    pub(crate) file: Option<&'a str>,
    /// Number of files that are opened (or folders that are listed) repeatedly.
    pub(crate) files: u64,
    /// Number of opens (or listings), over all files and processes.
    pub(crate) opens: u64,
    /// Number of distinct pairs (process, file) with repeated opens.
    pub(crate) pairs: u64,
    /// Number of processes that open the files repeatedly.
    pub(crate) processes: u64,
    /// Number of repeated opens and their total time, ns; `None` if that time is small.
    pub(crate) opening: Option<(u64, f64)>,
    /// Number of repeated closes and their total time, ns; `None` if that time is small.
    pub(crate) closing: Option<(u64, f64)>,
    /// Number of opens and total time of calls that are repeated after each open, ns; `None` if that time is small.
    pub(crate) repeating: Option<(u64, f64)>,
    /// Time in all opens and closes but each process's first of each file, and in calls that are repeated after each open, ns.
    pub(crate) again_ns: u64,
}

/// Formats the finding that processes open files, or list folders, repeatedly.
pub(crate) fn reopened(of: &Reopened<'_>, about: About) -> Words {
    let (opened, it, things) =
        if of.listed { ("listed", "an opendir", "folder") } else { ("opened", "an open", "file") };
    let which = if let Some(file) = of.file {
        format!("{file} is {opened} {} times in total", show::count(of.opens))
    } else {
        let each = show::count(of.opens / of.pairs.max(1));
        format!("{} are {opened} {each} times each", show::counted(of.files, things))
    };
    let takes = |what: &str, (calls, ns): (u64, f64)| format!("{what} takes {}", each_ns(ns, calls));
    let what = [
        of.opening.map(|opens| takes(it, opens)),
        of.closing.map(|closes| takes("a close", closes)),
        of.repeating
            .map(|(opens, ns)| format!("reads and queries repeated after each open take {}", each_ns(ns, opens))),
    ];
    let what = what.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let title = format!("{which} by {}: {what}", show::counted(of.processes, "process"));
    let hint = if of.listed {
        "list the folder once and cache the names, or keep an index of created files; small folders are listed faster"
    } else {
        "keep the file open: each open queries the metadata server, and each close writes the cache back; neither another offset (pread, pwrite) \
         nor showing data to other processes (fflush, fsync) needs a new open"
    };
    let sentence = format!(
        "{}, summed over processes, in repeated opens and closes (all but each process's first){}",
        show::duration(of.again_ns),
        if of.repeating.is_some() {
            ", and in reads, seeks and queries that the program repeats after each open"
        } else {
            ""
        }
    );
    Words::new(title, hint).with(sentence, about)
}

/// Files that a process reads again and again.
pub(crate) struct ProcessedAgain<'a> {
    pub(crate) who: Who,
    /// Path of the file with the largest saving.
    pub(crate) file: &'a str,
    /// Number of other files that the process reads again.
    pub(crate) others: u64,
    /// Number of times that the file is read.
    pub(crate) passes: u64,
    /// Bytes of the file that are read in total.
    pub(crate) read: u64,
    /// End of the last byte that is read.
    pub(crate) until: u64,
    /// Time of repeated computing, ns.
    pub(crate) time_ns: u64,
}

/// Formats the finding that a process reads a file again and again, and computes after each pass.
pub(crate) fn processed_again(of: &ProcessedAgain<'_>, about: About) -> Words {
    let others = match of.others {
        0 => String::new(),
        others => format!(" (and {} in the same way)", show::counted(others, "other file")),
    };
    let title = format!(
        "{} {} {} times{others}: up to {} of computing after these reads may be repeated work",
        of.who.does("reads", "read"),
        of.file,
        show::count(of.passes),
        show::duration(of.time_ns)
    );
    let hint = "keep what the first pass has made of the data (decompressed, parsed) in memory, or read only the needed part, by an index: the \
                work after each read is repeated, which costs more than the reads";
    let sentence = format!(
        "{} are read of the {} of the file; how much of the computing depends on these data is not on record",
        show::bytes(of.read),
        show::bytes(of.until)
    );
    Words::new(title, hint).with(sentence, about)
}

/// Program that is started many times.
pub(crate) struct Launched<'a> {
    /// Path of the executable.
    pub(crate) program: &'a str,
    /// Number of processes.
    pub(crate) processes: u64,
    /// Number of files that most of the processes use.
    pub(crate) files: u64,
    /// Lifetimes of the processes, summed, ns.
    pub(crate) life_ns: u64,
    /// Time in calls that a single process would not make, summed over processes, ns.
    pub(crate) again_ns: f64,
    /// Estimate of the time to start a process, ns.
    pub(crate) start_ns: u64,
}

/// Formats the finding that a program is started many times.
pub(crate) fn launched(of: &Launched<'_>, about: About) -> Words {
    let program = of.program.rsplit_once('/').map_or(of.program, |(_, name)| name);
    let each = (of.again_ns / of.processes.max(1) as f64) as u64;
    let calls = format!(
        ", of which {} in opens and other calls on the same {}",
        each_ns(of.again_ns, of.processes),
        if of.files == 1 { "file".to_owned() } else { show::counted(of.files, "file") }
    );
    let title = format!(
        "{program} is started {} times, about {} each time{}",
        show::count(of.processes),
        show::duration(of.start_ns.max(each)),
        if each >= of.start_ns / 10 { &calls } else { "" }
    );
    let hint = "start the program once for all items (many programs take a list, or read items from standard input), or call the program's \
                library from one process; else put the files that all processes open on a local disk";
    let sentence = format!(
        "each process lives {} on average; summed over processes, {} in opens, closes and queries of the same files, and in reads that earlier processes made too",
        each_ns(of.life_ns as f64, of.processes),
        show::duration(of.again_ns as u64)
    );
    Words::new(title, hint).with(sentence, about)
}

/// Formats the finding that `processes` open a file together `opens` times; an open takes `library_ns`, of which `inside_ns` in system calls.
pub(crate) fn reopened_together(
    file: &str,
    (opens, processes): (u64, u64),
    library_ns: f64,
    inside_ns: f64,
    about: About,
) -> Words {
    let title = format!(
        "{} open {file} together {} times (MPI_File_open): {} per open and close",
        show::counted(processes, "process"),
        show::count(opens),
        each_ns(library_ns, opens)
    );
    let hint =
        "open the file once and keep it open across steps: MPI_File_sync makes written data visible to other processes";
    let sentence = format!(
        "{} per process in system calls, and {} in waiting for other processes and in MPI-IO's own work",
        show::duration(inside_ns as u64),
        show::duration((library_ns - inside_ns).max(0.0) as u64)
    );
    Words::new(title, hint).with(sentence, about)
}

/// File that is rewritten many times.
pub(crate) struct Rewritten<'a> {
    /// First of the processes that rewrite the file.
    pub(crate) process: &'a str,
    /// Number of processes that rewrite the file.
    pub(crate) processes: u64,
    pub(crate) file: &'a str,
    /// Number of other names under which the file is written before it is renamed to its own.
    pub(crate) temporary: u64,
    /// Number of times that the processes open the file.
    pub(crate) opens: u64,
    /// True if the processes also read the file about as often as it writes it.
    pub(crate) is_read: bool,
    /// Bytes written to the file in total.
    pub(crate) written: u64,
    /// Size of the rewritten file, bytes.
    pub(crate) bytes: u64,
    /// Time in all calls on the file, ns.
    pub(crate) time_ns: u64,
}

/// Formats the finding that a file is rewritten many times.
pub(crate) fn rewritten(of: &Rewritten<'_>, about: About) -> Words {
    let (who, s) = match of.processes {
        0 | 1 => (of.process.to_owned(), "s"),
        several => (show::counted(several, "process"), ""),
    };
    let less_often = "write the file every few steps or seconds rather than at each change, or write only what has changed (append a line, a database such as SQLite)";
    let (title, hint) = if of.is_read {
        let title =
            format!("{who} read{s} and rewrite{s} {} again and again ({})", of.file, show::counted(of.opens, "open"));
        let keep = if of.processes > 1 { "make all changes in one process" } else { "keep the content in memory" };
        (title, format!("{keep}, and {less_often}"))
    } else {
        (format!("{who} rewrite{s} {} {} times", of.file, show::count(of.opens)), less_often.to_owned())
    };
    let title =
        format!("{title}: {} written in total for a file of {}", show::bytes(of.written), show::bytes(of.bytes));
    let temporary = match of.temporary {
        0 => String::new(),
        names => format!(
            " and on its temporary files: it is written under {}, and renamed",
            show::counted(names, "other name")
        ),
    };
    let sentence = format!(
        "{} of {who} in opens, reads, writes and other calls on {}{temporary}",
        show::duration(of.time_ns),
        of.file
    );
    Words::new(title, hint).with(sentence, about)
}

/// File header or state that is rewritten in place.
pub(crate) struct Header<'a> {
    /// Path of the file whose header is rewritten most.
    pub(crate) file: &'a str,
    /// Number of other files whose header is rewritten.
    pub(crate) others: u64,
    /// Byte range of the header in the file: start and end.
    pub(crate) range: (u64, u64),
    /// Number of writes to the file header.
    pub(crate) calls: u64,
    /// Number of writes to the file outside of its header (records).
    pub(crate) records: u64,
    /// Time in writes to the file header, ns.
    pub(crate) time_ns: u64,
}

/// Formats the finding that a file header or state is rewritten in place.
pub(crate) fn header_rewritten(of: &Header<'_>, about: About, lost: Option<LostOn>) -> Words {
    let on = match of.others {
        0 => of.file.to_owned(),
        others => format!("{} (and {})", of.file, show::counted(others, "other file")),
    };
    let times = show::counted(of.calls, "time");
    let title = match of.records {
        0 => format!("the same bytes of {on} are rewritten {times}"),
        records => format!("the header of {on} is rewritten {times} for {}", show::counted(records, "other write")),
    };
    let hint = "write these bytes when the file is closed, or once per many records (a reader can find the end from the file's size), or append the current count to each record";
    let sentence = format!(
        "{} in these rewrites, summed over processes; rewritten in {}: {} from byte {} on",
        show::duration(of.time_ns),
        of.file,
        show::bytes(of.range.1 - of.range.0),
        show::count(of.range.0)
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<crate::words::tests::Sample> {
    use crate::findings::Code;
    use crate::words::common::lost_sample;
    let (about, file, lost) = (About::default, "/scratch/state.bin", lost_sample);
    let read_again = |readers: Option<(u64, &str)>| {
        let of = ReadAgain {
            bytes: 3 << 30,
            share: 0.6,
            file,
            readers,
            read: 4 << 30,
            extent: 1 << (30 - 6 * u64::from(readers.is_some())),
        };
        super::read_again(&of, about(), lost())
    };
    let read_before = |who: Who, files: u64| {
        let of = ReadBefore { who, files, file, blocks: 640, bytes: 640 << 20, between_ns: 640 * 9000 };
        super::read_before(&of, about(), lost())
    };
    let (opening, closing, repeating) = (Some((4000, 8e9)), Some((4000, 12e9)), Some((4000, 7e9)));
    let reopened = |file: Option<&str>, listed: bool, opening, closing, repeating| {
        let (files, opens, pairs, processes) = (if file.is_some() { 1 } else { 10 }, 4000, 40, 4);
        let again_ns = 20_000_000_000;
        let of = Reopened { listed, file, files, opens, pairs, processes, opening, closing, repeating, again_ns };
        super::reopened(&of, about())
    };
    let program = Launched {
        program: "/usr/bin/rrdtool",
        processes: 160,
        files: 12,
        life_ns: 2_080_000_000,
        again_ns: 5e8,
        start_ns: 9_000_000,
    };
    let again = || ProcessedAgain {
        who: Who::One("pid 4711".into()),
        file,
        others: 0,
        passes: 90,
        read: 165 << 20,
        until: 2 << 20,
        time_ns: 1_900_000_000,
    };
    let rewritten = |temporary: u64, is_read: bool| {
        let (opens, written, bytes, time_ns) = (900, 900 << 20, 1 << 20, 4 << 30);
        let processes = if is_read && temporary > 0 { 12 } else { 1 };
        let of = Rewritten { process: "rank 0", processes, file, temporary, opens, is_read, written, bytes, time_ns };
        super::rewritten(&of, about())
    };
    let header = |others: u64, from: u64, records: u64| {
        let range = (from, from + 512);
        let of = Header { file, others, range, calls: 6000, records, time_ns: 4_000_000_000 };
        header_rewritten(&of, about(), lost())
    };
    vec![
        (Code::REREAD, read_again(None)),
        (Code::REREAD, read_again(Some((64, "rank")))),
        (Code::READ_BEFORE, read_before(Who::One("rank 3".into()), 1)),
        (Code::READ_BEFORE, read_before(Who::Many(16), 16)),
        (Code::PROCESSED_AGAIN, processed_again(&again(), about())),
        (Code::PROCESSED_AGAIN, processed_again(&ProcessedAgain { others: 3, who: Who::Many(4), ..again() }, about())),
        (Code::LAUNCHED, launched(&program, about())),
        (Code::REPEATED_OPENS, reopened(Some(file), false, opening, None, repeating)),
        (Code::REPEATED_OPENS, reopened(None, false, opening, closing, None)),
        (Code::REPEATED_OPENS, reopened(Some(file), false, None, closing, repeating)),
        (Code::REPEATED_OPENS, reopened(Some("/scratch/steps"), true, opening, None, None)),
        (Code::REPEATED_OPENS, reopened(None, true, opening, closing, None)),
        (Code::REPEATED_OPENS, reopened_together(file, (50, 64), 8e9, 2e9, about())),
        (Code::REWRITTEN, rewritten(0, false)),
        (Code::REWRITTEN, rewritten(900, false)),
        (Code::REWRITTEN, rewritten(0, true)),
        (Code::REWRITTEN, rewritten(900, true)),
        (Code::HEADER_REWRITTEN, header(0, 0, 6000)),
        (Code::HEADER_REWRITTEN, header(3, 4096, 6000)),
        (Code::HEADER_REWRITTEN, header(0, 0, 0)),
    ]
}
