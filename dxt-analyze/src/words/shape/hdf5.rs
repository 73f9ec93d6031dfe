//! Sentences on HDF5: flushes, metadata, chunks, opens.

use crate::findings::About;
use crate::model::Class;
use crate::text::units as show;
use crate::words::Words;
use crate::words::common::{LostOn, each_ns};

/// Transfers of a file for which HDF5 moves more bytes than the program requests.
pub(crate) struct Amplified<'a> {
    pub(crate) file: &'a str,
    /// Bytes that the program requests from HDF5.
    pub(crate) asked: u64,
    /// Bytes that HDF5 reads and writes by system calls to serve the requests.
    pub(crate) moved: u64,
    /// Bytes that HDF5 writes by system calls; a part of `moved`.
    pub(crate) written: u64,
    /// True if HDF5 moves a sieve buffer for each write of few elements of data sets without chunks.
    pub(crate) sieved: bool,
    /// Number of HDF5 reads and writes that the program makes.
    pub(crate) calls: u64,
    /// Time of the system calls made inside the program's HDF5 reads and writes, ns.
    pub(crate) time_ns: u64,
    pub(crate) chunks: Option<TooManyChunks>,
}

/// Chunks accessed by a single call that do not fit into HDF5's chunk cache together.
pub(crate) struct TooManyChunks {
    pub(crate) held: u64,
    pub(crate) touched: u64,
    /// Size of a chunk of the data set, bytes.
    pub(crate) bytes: u64,
    /// Size of HDF5's chunk cache, bytes.
    pub(crate) cache_bytes: u64,
    /// Cache size that would hold all chunks of a call, bytes.
    pub(crate) wanted_bytes: u64,
}

/// Formats the finding that HDF5 moves more bytes of a file than the program requests.
pub(crate) fn hdf5_amplified(of: &Amplified<'_>, about: About) -> Words {
    let (asked, moved) = (show::bytes(of.asked), show::bytes(of.moved));
    let calls = show::counted(of.calls, "call");
    let Some(chunks) = &of.chunks else {
        let times = of.moved as f64 / of.asked as f64;
        let times = if times < 10.0 { format!("{times:.1}") } else { show::count(times as u64) };
        let does = if of.written > 0 { "moves" } else { "reads" };
        let title = format!("HDF5 {does} {times} times the requested bytes of {}", of.file);
        let hint = if of.sieved {
            "transfer a row or a block of elements per call; in a data set without chunks, each call for a few elements moves a whole \
             sieve buffer (64 KiB, H5Pset_sieve_buf_size)"
        } else {
            "read whole chunks or rows and select in memory; make the chunk cache hold all chunks of a selection \
             (H5Pset_chunk_cache; h5py: rdcc_nbytes), or store the data set in chunks shaped like the reads (h5repack -l CHUNK)"
        };
        let does = if of.written > 0 { "moved" } else { "read" };
        let why = match of.sieved {
            true => "a whole sieve buffer is moved for a few elements".to_owned(),
            false => format!(
                "either the same chunks are {does} repeatedly, or whole chunks or rows of which the calls need only a few elements"
            ),
        };
        let sentence = format!(
            "{asked} requested in {calls}, {moved} {does} for these calls in {}, summed over processes: {why}",
            show::duration(of.time_ns),
        );
        return Words::new(title, hint).with(sentence, about);
    };
    let title = format!(
        "HDF5 moves {moved} for {asked} requested of {}: the chunk cache holds {} of the {} that a call needs",
        of.file,
        show::count(chunks.held),
        show::counted(chunks.touched, "chunk")
    );
    let hint = "make the chunk cache hold all chunks of a call (H5Pset_chunk_cache; h5py: rdcc_nbytes), or store the data set in chunks shaped \
                like the selections (h5repack -l CHUNK)";
    let sentence = format!(
        "{asked} requested in {calls}; HDF5 reads {} and writes {} for these calls in {}, summed over processes: each call loads chunks (of {}) again that the cache of {} has dropped; {} \
         would hold all chunks of a call",
        show::bytes(of.moved.saturating_sub(of.written)),
        show::bytes(of.written),
        show::duration(of.time_ns),
        show::bytes(chunks.bytes),
        show::bytes(chunks.cache_bytes),
        show::bytes(chunks.wanted_bytes)
    );
    Words::new(title, hint).with(sentence, about)
}

/// HDF5 files that the program flushes after few writes.
pub(crate) struct Flushed<'a> {
    /// Number of HDF5 files that are flushed.
    pub(crate) files: u64,
    /// Path of the file, if only one is flushed.
    pub(crate) file: Option<&'a str>,
    /// Number of flushes of HDF5 files.
    pub(crate) flushes: u64,
    /// Time in the flushes, summed over processes, ns.
    pub(crate) time_ns: f64,
    /// Number of processes that flush HDF5 files.
    pub(crate) processes: u64,
    pub(crate) writes: u64,
}

/// Formats the finding that HDF5 files are flushed after few writes.
pub(crate) fn hdf5_flushed(of: &Flushed<'_>, about: About, lost: Option<LostOn>) -> Words {
    let title = format!(
        "{} flushed {} in total by {}, for only {} to data sets",
        of.file.map_or_else(
            || format!("{} are", show::counted(of.files, "HDF5 file")),
            |name| format!("HDF5 file {name} is")
        ),
        show::counted(of.flushes, "time"),
        show::counted(of.processes, "process"),
        show::counted(of.writes, "write")
    );
    let hint = "call H5Fflush (h5py: File.flush) once for many objects or steps: closing a file flushes it anyway; a larger metadata block \
                 (H5Pset_meta_block_size) makes writes fewer and larger";
    let sentence = format!(
        "{} in H5Fflush, summed over processes: {} per flush",
        show::duration(of.time_ns as u64),
        each_ns(of.time_ns, of.flushes)
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Small calls on the metadata of an HDF5 file, which each rank makes separately.
pub(crate) struct Hdf5Metadata<'a> {
    pub(crate) file: &'a str,
    pub(crate) class: Class,
    pub(crate) ranks: u64,
    /// Number of small calls on the HDF5 file's metadata.
    pub(crate) calls: u64,
    /// Mean length of all small calls on the file, bytes.
    pub(crate) bytes_each: u64,
    /// Number of small HDF5 reads or writes that the program makes on data sets.
    pub(crate) of_data: u64,
}

/// Formats the finding that ranks read or write the metadata of an HDF5 file separately.
pub(crate) fn hdf5_metadata(of: &Hdf5Metadata<'_>, about: About, lost: Option<LostOn>) -> Words {
    let read = of.class == Class::Read;
    let title = format!(
        "{} {} the metadata of HDF5 file {} separately: {} small independent {}",
        show::counted(of.ranks, "rank"),
        of.class.singular(),
        of.file,
        show::count(of.calls),
        of.class.plural()
    );
    let hint = if read {
        "call H5Pset_all_coll_metadata_ops(fapl, true): one rank reads and broadcasts; open objects once, not in each step"
    } else {
        "call H5Pset_coll_metadata_write(fapl, true): ranks write metadata together; H5Pset_meta_block_size makes metadata contiguous"
    };
    let sentence = format!(
        "{} per {} on average, at about the same offsets on all ranks; {} on data sets {} not counted",
        show::bytes(of.bytes_each),
        of.class.singular(),
        show::counted(of.of_data, "small call"),
        show::agree(of.of_data, "is", "are")
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Formats the finding that processes open an HDF5 file repeatedly.
pub(crate) fn hdf5_reopened(file: &str, opens: u64, processes: u64, time_ns: u64, about: About) -> Words {
    let title = format!(
        "HDF5 file {file} is opened {} times in total by {}: each open reads the file's metadata again",
        show::count(opens),
        show::counted(processes, "process")
    );
    let hint = "keep the file open, and call H5Fflush (h5py: File.flush) where other processes must see written data; for one writer and many readers, use H5Fstart_swmr_write";
    let sentence = format!(
        "{} in repeated opens (all but each process's first): their system calls (open, small reads, locks and other metadata calls), summed over {}",
        show::duration(time_ns),
        show::counted(processes, "process")
    );
    Words::new(title, hint).with(sentence, about)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<crate::words::tests::Sample> {
    use crate::findings::Code;
    use crate::words::common::lost_sample;
    let (about, file) = (About::default, "/scratch/out.h5");
    let amplified = |moved, written, known: bool, sieved: bool| {
        let chunks =
            TooManyChunks { held: 2, touched: 40, bytes: 400 << 10, cache_bytes: 1 << 20, wanted_bytes: 16 << 20 };
        let chunks = known.then_some(chunks);
        let of = Amplified { file, asked: 1 << 20, moved, written, sieved, calls: 40, time_ns: 2_000_000_000, chunks };
        hdf5_amplified(&of, about())
    };
    let flushed = |file: Option<&str>| {
        let files = if file.is_some() { 1 } else { 4 };
        let lost = if file.is_some() { None } else { lost_sample() };
        let of = Flushed { files, file, flushes: 900, time_ns: 9e9, processes: 16, writes: 1200 };
        hdf5_flushed(&of, about(), lost)
    };
    let metadata = |class: Class| {
        let of = Hdf5Metadata { file, class, ranks: 64, calls: 16_000, bytes_each: 512, of_data: 12 };
        hdf5_metadata(&of, about(), lost_sample())
    };
    vec![
        (Code::HDF5_AMPLIFIED, amplified(5 << 20, 0, false, false)),
        (Code::HDF5_AMPLIFIED, amplified(50 << 20, 20 << 20, false, false)),
        (Code::HDF5_AMPLIFIED, amplified(50 << 20, 20 << 20, false, true)),
        (Code::HDF5_AMPLIFIED, amplified(61 << 30, 30 << 30, true, false)),
        (Code::HDF5_FLUSHED, flushed(Some(file))),
        (Code::HDF5_FLUSHED, flushed(None)),
        (Code::HDF5_METADATA, metadata(Class::Read)),
        (Code::HDF5_METADATA, metadata(Class::Write)),
        (Code::HDF5_REOPENED, hdf5_reopened(file, 400, 8, 3_000_000_000, about())),
    ]
}
