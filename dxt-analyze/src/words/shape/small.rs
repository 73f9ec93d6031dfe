//! Sentences on requests of few bytes, and on seeks.

use crate::findings::About;
use crate::model::Class;
use crate::text::units as show;
use crate::words::Words;
use crate::words::common::{LostOn, each_bytes, each_ns};

pub(crate) struct Small {
    pub(crate) class: Class,
    /// Number of small requests.
    pub(crate) calls: u64,
    /// Bytes moved by the small requests.
    pub(crate) bytes: u64,
    /// Time in the small requests, summed over processes, ns.
    pub(crate) time_ns: f64,
    /// Number of processes that make the small requests.
    pub(crate) processes: u64,
    /// True if most small requests are made inside HDF5.
    pub(crate) hdf5: bool,
    /// Processes and shared files, if the small requests wait for each other on shared files; else `None`.
    pub(crate) queue: Option<Waiting>,
}

/// Small requests that wait for each other because they access shared files.
pub(crate) struct Waiting {
    /// Number of processes that make the waiting requests.
    pub(crate) processes: u64,
    /// True if the processes with small requests are MPI ranks.
    pub(crate) are_ranks: bool,
    /// Number of shared files with small requests.
    pub(crate) files: u64,
    /// Path of one of the shared files with small requests.
    pub(crate) file: String,
    /// True if most of the waiting requests append to the file (O_APPEND).
    pub(crate) appends: bool,
    /// Duration of the fastest small request, ns.
    pub(crate) fastest_ns: u64,
}

impl Waiting {
    fn title(&self, requests: &str) -> String {
        format!(
            "{} wait for each other in {requests} on {}{}",
            show::counted(self.processes, if self.are_ranks { "rank" } else { "process" }),
            match self.files {
                1 => self.file.clone(),
                count => show::counted(count, "file"),
            },
            if self.appends { " opened with O_APPEND" } else { "" }
        )
    }
}

/// Formats the finding that requests are small.
pub(crate) fn small_requests(of: &Small, lost: Option<LostOn>) -> Words {
    let requests =
        format!("{} small {}{}", show::count(of.calls), of.class.plural(), if of.hdf5 { " made by HDF5" } else { "" });
    let (bytes, each) = (each_bytes(of.bytes, of.calls), each_ns(of.time_ns, of.calls));
    let title = match &of.queue {
        Some(queue) => format!("{}: {bytes} and {each} per call on average", queue.title(&requests)),
        None => format!("{requests}: {bytes} and {each} per call on average"),
    };
    let hint = match (of.hdf5, of.class) {
        (true, Class::Read) => {
            "read whole, larger chunks; make the chunk cache hold all chunks in use (H5Pset_chunk_cache); read metadata collectively (H5Pset_all_coll_metadata_ops)"
        }
        (true, _) => {
            "for data: write whole, large chunks, and make the chunk cache hold all chunks in use (H5Pset_chunk_cache); for metadata: create fewer objects \
             and attributes, call H5Fflush less often, and set a larger H5Pset_meta_block_size"
        }
        (false, Class::Read) => "read larger pieces into memory, and take the small parts from there",
        (false, _) => {
            "collect small writes in a buffer, and write the buffer in one call (C streams: setvbuf, and no flush after each line)"
        }
    };
    let time = show::duration(of.time_ns as u64);
    let fastest = of.queue.as_ref().map(|queue| {
        format!("; the fastest call takes {}, so most of the time is waiting", show::duration(queue.fastest_ns))
    });
    let sentence = format!(
        "{time} in small {}, summed over {}{}",
        of.class.plural(),
        show::counted(of.processes, "process"),
        fastest.unwrap_or_default()
    );
    Words::new(title, hint).with(sentence, About::default()).on(lost)
}

/// Collective calls in which all ranks together move few bytes.
pub(crate) struct TinyCollective<'a> {
    pub(crate) file: &'a str,
    pub(crate) class: Class,
    /// Number of collective calls that each rank makes.
    pub(crate) calls: u64,
    pub(crate) ranks: u64,
    /// Bytes that all ranks move in all collective calls.
    pub(crate) bytes: u64,
    /// Mean duration of a collective call, ns.
    pub(crate) each_ns: u64,
}

/// Formats the finding that all ranks together move few bytes per collective call.
pub(crate) fn tiny_collective(of: &TinyCollective<'_>, about: About, lost: Option<LostOn>) -> Words {
    let title = format!(
        "{} collective {} of {} on {} move only {} per call, all ranks together",
        show::count(of.calls),
        of.class.plural(),
        show::counted(of.ranks, "rank"),
        of.file,
        each_bytes(of.bytes, of.calls)
    );
    let does = of.class.singular();
    let hint = format!(
        "{does} the data of many steps in one collective call: each call costs an exchange between ranks and a storage request"
    );
    let sentence = format!("{} for each collective {does}, averaged over ranks", show::duration(of.each_ns));
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Small independent MPI-IO calls on shared files.
pub(crate) struct Independent<'a> {
    pub(crate) class: Class,
    /// True if HDF5 makes most of the independent calls.
    pub(crate) hdf5: bool,
    /// Number of small independent MPI-IO calls.
    pub(crate) calls: u64,
    /// Bytes moved by the independent calls.
    pub(crate) bytes: u64,
    /// Time in the independent calls, summed over ranks, ns.
    pub(crate) time_ns: f64,
    /// Number of collective calls on the same files.
    pub(crate) collective: u64,
    /// Number of shared files with small independent calls.
    pub(crate) files: u64,
    /// Path of the shared file on which small independent calls take most time.
    pub(crate) file: &'a str,
    /// Number of ranks that use the file named in `file`.
    pub(crate) ranks: u64,
}

/// Formats the finding that ranks make small independent calls on shared files.
pub(crate) fn independent(of: &Independent<'_>, about: About, lost: Option<LostOn>) -> Words {
    let on = match of.files {
        1 => of.file.to_owned(),
        count => show::counted(count, "shared file"),
    };
    let title = format!(
        "{} {} {} small independent {} {} on {on}: {} and {} per call on average",
        show::counted(of.ranks, "rank"),
        show::agree(of.ranks, "makes", "make"),
        show::count(of.calls),
        if of.hdf5 { "HDF5" } else { "MPI-IO" },
        of.class.plural(),
        each_bytes(of.bytes, of.calls),
        each_ns(of.time_ns, of.calls)
    );
    let hint = if of.hdf5 {
        "make the transfers collective (H5Pset_dxpl_mpio with H5FD_MPIO_COLLECTIVE; h5py: `with dataset.collective:`): aggregators then make few large requests"
    } else {
        "let all ranks call MPI_File_write_all or MPI_File_read_all with a file view: aggregators then make few large requests"
    };
    let sentence = format!(
        "{} in small independent {}, summed over all ranks; on the shared {}, {} collective {}",
        show::duration(of.time_ns as u64),
        of.class.plural(),
        show::agree(of.files, "file", "files"),
        if of.collective == 0 { "no".to_owned() } else { show::count(of.collective) },
        of.class.agree(of.collective)
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Reads or writes of C streams with small buffers.
pub(crate) struct StreamBuffer {
    pub(crate) class: Class,
    /// Number of calls that the program makes on C streams, e.g. fwrite.
    pub(crate) calls: u64,
    /// Bytes moved by the calls on C streams.
    pub(crate) bytes: u64,
    /// Number of stream calls that make a system call to fill or empty the buffer.
    pub(crate) slow: u64,
    /// Time in the calls that fill or empty the buffer, ns.
    pub(crate) slow_ns: f64,
}

/// Formats the finding that C streams fill or empty small buffers.
pub(crate) fn stream_buffer(of: &StreamBuffer, about: About, lost: Option<LostOn>) -> Words {
    let (does, what) = (if of.class == Class::Read { "refilled" } else { "written out" }, of.class.plural());
    let title = format!(
        "C stream buffers are {does} every {}: {} of {} stream {what} wait for that, {} each",
        each_bytes(of.bytes, of.slow),
        show::count(of.slow),
        show::count(of.calls),
        each_ns(of.slow_ns, of.slow)
    );
    // Glibc ignores the buffer size unless the caller also passes the memory.
    let habit = match of.class {
        Class::Read => "read in the order of the file: a seek (fseek) discards the buffer",
        _ => "do not call fflush between records",
    };
    let hint = format!(
        "set a larger buffer before the first access: setvbuf(stream, malloc(1 << 20), _IOFBF, 1 << 20) (C++: pubsetbuf, Python: open(..., buffering=1 << 20)), and {habit}"
    );
    let sentence = format!(
        "{} in total, {} per {} on average; the other stream {what} only copy {} the buffer, without a system call",
        show::bytes(of.bytes),
        each_bytes(of.bytes, of.calls),
        of.class.singular(),
        if of.class == Class::Read { "from" } else { "to" }
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Formats the finding that small reads serve only read-modify-write: they complete blocks of which writes change a part.
/// `whole`: true if the writes are of whole pages.
pub(crate) fn read_modify_write(reads: u64, writes: u64, whole: bool, lost: Option<LostOn>) -> Words {
    let title = format!(
        "{} only {} the read-modify-write of {}",
        show::counted(reads, "small read"),
        show::agree(reads, "serves", "serve"),
        if whole {
            format!("{} that {} written back whole", show::counted(writes, "block"), show::agree(writes, "is", "are"))
        } else {
            show::counted(writes, "unaligned write")
        }
    );
    let hint = if whole {
        "keep changed blocks in memory (a larger cache in the program), and write each once; do not read a block that is fully overwritten"
    } else {
        "write whole blocks: align offsets and lengths to the file system's blocks or stripes (H5Pset_alignment)"
    };
    Words::new(title, hint).on(lost)
}

/// Formats the finding on the cost of `calls` seeks, of which `of_streams` are in C streams. `streams`: true if most seeks are in C
/// streams.
pub(crate) fn seeks(calls: u64, of_streams: u64, streams: bool, time_ns: f64, lost: Option<LostOn>) -> Words {
    let (seeks, each) = (show::counted(calls, "seek"), each_ns(time_ns, calls));
    let (title, hint) = if streams {
        (
            format!("{seeks} in C streams take {each} on average: a seek discards the buffer"),
            "read and write in file order, or read large pieces and pick records in memory; if records lie far apart, use pread(2), or a smaller \
             buffer (setvbuf), so that fewer unneeded bytes are read after each seek",
        )
    } else {
        (
            format!("{seeks} take {each} on average"),
            "pass the offset with the call (pread(2), pwrite(2), MPI_File_read_at): one call instead of two",
        )
    };
    let sentence = format!(
        "{} in all seeks, summed over processes{}",
        show::duration(time_ns as u64),
        if of_streams == 0 { String::new() } else { format!("; in C streams: {}", show::counted(of_streams, "seek")) }
    );
    Words::new(title, hint).with(sentence, About::default()).on(lost)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<crate::words::tests::Sample> {
    use crate::findings::Code;
    use crate::words::common::lost_sample;
    let (about, file, lost) = (About::default, "/scratch/out.h5", lost_sample);
    let small = |class: Class, hdf5: bool, queue: Option<Waiting>| {
        small_requests(
            &Small { class, calls: 80_000, bytes: 10 << 20, time_ns: 16e9, processes: 8, hdf5, queue },
            lost(),
        )
    };
    let waiting = |are_ranks: bool, files: u64, appends: bool| {
        Some(Waiting { processes: 8, are_ranks, files, file: "/scratch/log".into(), appends, fastest_ns: 20_000 })
    };
    let tiny = |class: Class| {
        let (calls, ranks, bytes, each_ns) = (500, 64, 500 << 14, 3_000_000);
        tiny_collective(&TinyCollective { file, class, calls, ranks, bytes, each_ns }, about(), lost())
    };
    let independent = |class: Class, hdf5: bool, files: u64| {
        let (calls, bytes, time_ns, collective, ranks) = (64_000, 64_000 << 12, 40e9, 12, 64);
        super::independent(
            &Independent { class, hdf5, calls, bytes, time_ns, collective, files, file, ranks },
            about(),
            lost(),
        )
    };
    let stream = |class: Class| {
        let of = StreamBuffer { class, calls: 40_000, bytes: 20 << 20, slow: 5000, slow_ns: 5e9 };
        stream_buffer(&of, about(), lost())
    };
    vec![
        (Code::SMALL_READS, small(Class::Read, false, None)),
        (Code::SMALL_READS, small(Class::Read, true, None)),
        (Code::SMALL_READS, small(Class::Read, false, waiting(false, 3, false))),
        (Code::SMALL_WRITES, small(Class::Write, false, None)),
        (Code::SMALL_WRITES, small(Class::Write, true, None)),
        (Code::SMALL_WRITES, small(Class::Write, false, waiting(true, 1, true))),
        (Code::SMALL_WRITES, small(Class::Write, false, waiting(true, 3, true))),
        (Code::TINY_COLLECTIVE, tiny(Class::Read)),
        (Code::TINY_COLLECTIVE, tiny(Class::Write)),
        (Code::INDEPENDENT, independent(Class::Read, false, 1)),
        (Code::INDEPENDENT, independent(Class::Write, true, 4)),
        (Code::STREAM_BUFFER, stream(Class::Read)),
        (Code::STREAM_BUFFER, stream(Class::Write)),
        (Code::READ_MODIFY_WRITE, read_modify_write(4000, 2000, false, lost())),
        (Code::READ_MODIFY_WRITE, read_modify_write(2000, 2000, true, lost())),
        (Code::SEEK_PER_ACCESS, seeks(9000, 9000, true, 4e9, lost())),
        (Code::SEEK_PER_ACCESS, seeks(9000, 0, false, 4e9, lost())),
    ]
}
