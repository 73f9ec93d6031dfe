//! Sentences on bytes that move more often than necessary.

use super::{Example, percent};
use crate::text::units;
use crate::words::Words;
#[cfg(test)]
use crate::{findings::Code, words::tests::Sample};

/// Bytes that the same process has moved before, and so moves again.
pub(crate) struct Repeated<'a> {
    /// Number of bytes that were moved again.
    pub(crate) bytes: u64,
    /// Share of repeated bytes in all bytes moved in the same direction, 0 to 1.
    pub(crate) share: f64,
    /// Files with the most bytes that were moved again.
    pub(crate) files: Vec<RepeatedInFile<'a>>,
    /// Number of bytes for which repetition was not tracked, because they lie in too many separate ranges.
    pub(crate) forgotten: u64,
    /// Number of bytes that may or may not be repeated: several threads of a process read and write the file, in unknown order.
    pub(crate) unordered: u64,
    /// Number of bytes that may or may not be repeated: other processes write the file, so the bytes may have changed.
    pub(crate) not_judged: u64,
}

/// Repeated bytes of one file: bytes that the same process has moved before.
pub(crate) struct RepeatedInFile<'a> {
    pub(crate) file: &'a str,
    /// Number of repeated bytes in the file.
    pub(crate) bytes: u64,
    /// Number of processes that moved bytes of the file repeatedly.
    pub(crate) processes: u64,
    /// Example of a call that moves bytes again.
    pub(crate) example: Example,
}

impl Repeated<'_> {
    fn words(&self, title: &str, hint: &str) -> Words {
        let files = self.files.iter().map(|of| {
            let (bytes, processes) = (units::bytes(of.bytes), units::counted(of.processes, "process"));
            let example = format!("{} (length {})", of.example.place(), units::bytes(of.example.length));
            format!("{}: {bytes} by {processes}, for example {example}", of.file)
        });
        let bounds = [
            (self.forgotten, "not tracked (too many separate ranges): the true amount may be larger"),
            (self.unordered, "not counted: several threads of a process read and write the file, in unknown order"),
            (self.not_judged, "not counted: other processes write the file, so the bytes may have changed"),
        ];
        let bounds = bounds.into_iter().filter(|(bytes, _)| *bytes > 0);
        Words::saying(
            format!("{} ({}) {title}", units::bytes(self.bytes), percent(self.share)),
            files.chain(bounds.map(|(bytes, text)| format!("{} {text}", units::bytes(bytes)))),
            hint,
        )
    }
}

/// Formats the finding that processes read bytes that they have read before.
pub(crate) fn reread(facts: &Repeated<'_>) -> Words {
    facts.words(
        "of the bytes read were read before by the same process",
        "keep the data in memory, or read the file once, in order; the page cache saves repeated reads only until it \
         drops the data",
    )
}

/// Formats the finding that processes read bytes that they have written before.
pub(crate) fn read_back(facts: &Repeated<'_>) -> Words {
    facts.words(
        "of the bytes read were written before by the same process",
        "keep the data in memory or on node-local storage: on a parallel file system, a read may wait until written \
         data reach storage",
    )
}

/// Formats the finding that processes overwrite bytes that they have written before.
pub(crate) fn overwritten(facts: &Repeated<'_>) -> Words {
    facts.words(
        "of the bytes written overwrite bytes that the same process wrote",
        "write each byte only when it is final; if new versions of a checkpoint overwrite old ones, write checkpoints \
         less often",
    )
}

/// Formats the finding that processes overwrite bytes, most of them in an HDF5 file, in which the first write may have been of fill values.
pub(crate) fn overwritten_hdf5(facts: &Repeated<'_>) -> Words {
    facts.words(
        "of the bytes written overwrite bytes that the same process wrote (perhaps HDF5 fill values)",
        "if the overwritten bytes are fill values of datasets that the program writes completely, call H5Pset_fill_time(dcpl, \
         H5D_FILL_TIME_NEVER) or H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_LATE or _INCR); else write each byte only \
         when it is final",
    )
}

/// Formats the finding that several ranks, or processes of a job without ranks, read the same `bytes`, a `share` (0 to 1) of bytes read.
/// `files`: path, bytes read by several, readers.
pub(crate) fn common_reads(are_ranks: bool, bytes: u64, share: f64, files: &[(&str, u64, u32)]) -> Words {
    let readers = if are_ranks { "ranks" } else { "processes" };
    let evidence = files.iter().map(|(file, bytes, count)| {
        format!("{file}: {} of repeated reads, by up to {count} {readers}", units::bytes(*bytes))
    });
    let hint = if are_ranks {
        "let one rank (or one per node) read the data and call MPI_Bcast, or use MPI_File_read_at_all, which reads \
         each byte once (repeats on one node may be cheap: page cache)"
    } else {
        "let one process do the work of several (one command for all files, an archive opened once), so that it reads the data once"
    };
    Words::saying(
        format!(
            "{} ({}) of the bytes read had been read by other {readers} before",
            units::bytes(bytes),
            percent(share)
        ),
        evidence,
        hint,
    )
}

/// Formats the finding that MPI-IO reads `bytes` that no call requested, a `share` (0 to 1) of the bytes that it moves. `files`: path,
/// unrequested bytes, part of them read inside writes. `single_rank`: true if the program has one rank.
pub(crate) fn unasked(bytes: u64, share: f64, files: &[(&str, u64, u64)], single_rank: bool) -> Words {
    let evidence = files.iter().map(|(file, bytes, inside_writes)| {
        let (bytes, inside_writes) = (units::bytes(*bytes), units::bytes(*inside_writes));
        format!("{file}: {bytes}, of which {inside_writes} for read-modify-write")
    });
    let collective = if single_rank { "" } else { "use collective calls, " };
    Words::saying(
        format!(
            "MPI-IO reads {} that no call requested ({} of all bytes that it moves)",
            units::bytes(bytes),
            percent(share)
        ),
        evidence,
        format!(
            "data sieving also reads the gaps between pieces: {collective}set the hint romio_ds_read=disable (for writes: romio_ds_write=disable), \
             or leave no gaps"
        ),
    )
}

#[cfg(test)]
pub(super) fn samples() -> Vec<Sample> {
    let file = "/scratch/out.h5";
    let example = Example { process: "rank 3".into(), offset: 1 << 20, length: 4 << 20 };
    let of_file = RepeatedInFile { file, bytes: 3 << 30, processes: 64, example };
    let mut repeated = Repeated {
        bytes: 3 << 30,
        share: 0.421,
        files: vec![of_file],
        forgotten: 5 << 20,
        unordered: 6 << 20,
        not_judged: 7 << 20,
    };
    let bounded = reread(&repeated);
    (repeated.forgotten, repeated.unordered, repeated.not_judged) = (0, 0, 0);
    let common = [("/scratch/in.nc", 2 << 30, 64)];
    let unasked = |single_rank| unasked(3 << 30, 0.421, &[(file, 3 << 30, 1 << 30)], single_rank);
    vec![
        (Code::REREAD, bounded),
        (Code::READ_BACK, read_back(&repeated)),
        (Code::OVERWRITTEN, overwritten(&repeated)),
        (Code::OVERWRITTEN, overwritten_hdf5(&repeated)),
        (Code::COMMON_READS, common_reads(true, 2 << 30, 0.984, &common)),
        (Code::COMMON_READS, common_reads(false, 2 << 30, 0.984, &common)),
        (Code::UNASKED, unasked(false)),
        (Code::UNASKED, unasked(true)),
    ]
}
