//! Files grouped by use (read, written, both), by size and by mount point.

use super::fold::{FileOp, KINDS, Sums, kind_of};
use crate::model::{FileId, Run, Users, Within};
use crate::sum::Sum;
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::counters::{SIZE_BINS, size_bin};
use trace_format::op::OpClass;

/// Use of one file. Counts and bytes cover the program's own calls only, not calls made inside other layers' calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileUse {
    /// Path of the used file.
    pub file: String,
    /// Mount point and file system type, or the first directory of the path if the trace has no mount table.
    pub place: String,
    /// Number of processes that used the file.
    pub processes: u64,
    /// Number of opens of the file, including opens made inside other layers' calls.
    pub opens: u64,
    /// Number of reads of the file that the program itself made.
    pub reads: u64,
    /// Number of writes to the file that the program itself made.
    pub writes: u64,
    /// Bytes that the program itself read from the file.
    pub bytes_read: u64,
    /// Bytes that the program itself wrote to the file.
    pub bytes_written: u64,
    /// Highest byte of the file that was touched + 1: a lower bound of the file's size.
    pub extent: u64,
    /// Time in reads, in writes and in other calls on the file, summed over processes, ns.
    pub time_ns: [u64; KINDS],
    /// Number of reads and writes of the file whose offset relative to the same process's previous call is known.
    pub ordered: u64,
    /// Number of reads and writes of the file that begin exactly where the same process's previous one ended.
    pub consecutive: u64,
    /// Number of reads and writes of the file that begin at or after the end offset of the same process's previous one.
    pub sequential: u64,
    /// Start of the first call on the file, ns since the job's start.
    pub first_ns: u64,
    /// End of the last call on the file, ns since the job's start.
    pub last_ns: u64,
}

impl FileUse {
    /// Returns the time in reads, writes and all other calls, summed over processes, ns.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.time_ns.iter().sum::<Sum>().get()
    }
}

/// Returns all files, sorted by time in calls, largest first.
#[must_use]
pub fn file_uses(run: &Run, sums: &Sums) -> Vec<FileUse> {
    let mut files: BTreeMap<FileId, FileUse> = BTreeMap::new();
    let mut keys: Vec<&FileOp> = sums.operations.keys().collect();
    keys.sort_unstable();
    for key in keys {
        let (Some(counters), Some(op)) = (sums.operations.get(key), run.ops.get(usize::from(key.op))) else { continue };
        let file = files.entry(key.file).or_insert_with(|| FileUse { first_ns: u64::MAX, ..FileUse::default() });
        if op.class == Some(OpClass::Open) && !key.failed {
            file.opens = file.opens.saturating_add(counters.segments);
        }
        if op.is_data() && !key.failed {
            file.extent = file.extent.max(u64::try_from(counters.max_end_offset).unwrap_or(0));
        }
        if key.within != Within::Nothing {
            continue;
        }
        let kind = kind_of(op.class, key.failed);
        file.time_ns[kind] = file.time_ns[kind].saturating_add(counters.duration);
        file.first_ns = file.first_ns.min(counters.first_start);
        file.last_ns = file.last_ns.max(counters.last_end);
        let (calls, bytes) = match kind {
            0 => (&mut file.reads, &mut file.bytes_read),
            1 => (&mut file.writes, &mut file.bytes_written),
            _ => continue,
        };
        *calls = calls.saturating_add(counters.segments);
        *bytes = bytes.saturating_add(counters.bytes);
    }
    for ((file, .., within), order) in &sums.orders {
        if let (Some(file), Within::Nothing) = (files.get_mut(file), within) {
            file.ordered = file.ordered.saturating_add(order.known);
            file.consecutive = file.consecutive.saturating_add(order.consecutive);
            file.sequential = file.sequential.saturating_add(order.sequential);
        }
    }
    let mut out: Vec<FileUse> = files
        .into_iter()
        .filter_map(|(index, mut file)| {
            let known = run.file(index)?;
            file.file.clone_from(&known.name);
            file.place = run.place_of(known);
            file.processes = Users::of(run, sums.users.get(&index).into_iter().flatten().copied(), index, None).count();
            file.first_ns = file.first_ns.min(file.last_ns);
            Some(file)
        })
        .collect();
    out.sort_by(|a, b| b.total_ns().cmp(&a.total_ns()).then_with(|| a.file.cmp(&b.file)));
    out
}

/// Files of one kind of use, such as `read only`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileKinds {
    /// Kind of use: `all`, `read only`, `write only`, `read and write` or `neither`.
    pub kind: &'static str,
    /// Number of files of this kind of use.
    pub files: u64,
    /// Mean over files of the highest byte touched + 1, bytes.
    pub mean_bytes: f64,
    /// Maximum over files of the highest byte touched + 1, bytes.
    pub max_bytes: u64,
}

/// Counts files by kind of use (read only, write only, ...).
#[must_use]
pub fn kinds(files: &[FileUse]) -> Vec<FileKinds> {
    let kind_of = |file: &FileUse| match (file.bytes_read > 0, file.bytes_written > 0) {
        (true, false) => "read only",
        (false, true) => "write only",
        (true, true) => "read and write",
        (false, false) => "neither",
    };
    let row = |kind: &'static str| {
        let extents: Vec<u64> =
            files.iter().filter(|file| kind == "all" || kind_of(file) == kind).map(|file| file.extent).collect();
        let sum: u128 = extents.iter().map(|extent| u128::from(*extent)).sum();
        FileKinds {
            kind,
            files: extents.len() as u64,
            mean_bytes: sum as f64 / (extents.len() as f64).max(1.0),
            max_bytes: extents.iter().max().copied().unwrap_or_default(),
        }
    };
    ["all", "read only", "write only", "read and write", "neither"].into_iter().map(row).collect()
}

/// Files whose highest byte touched lies in one size bin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SizeBin {
    /// Index of the size bin in [`trace_format::counters::SIZE_BOUNDS`].
    pub bin: usize,
    /// Number of files whose highest byte touched lies in the bin.
    pub files: u64,
    /// Bytes that the program read from and wrote to the files of the bin.
    pub bytes: u64,
}

/// Counts files by size (highest byte touched + 1), in the size bins of requests.
#[must_use]
pub fn sizes(files: &[FileUse]) -> Vec<SizeBin> {
    let mut bins: Vec<SizeBin> = (0..SIZE_BINS).map(|bin| SizeBin { bin, files: 0, bytes: 0 }).collect();
    for file in files.iter().filter(|file| file.extent > 0) {
        if let Some(bin) = bins.get_mut(size_bin(file.extent)) {
            bin.files += 1;
            bin.bytes = bin.bytes.saturating_add(file.bytes_read).saturating_add(file.bytes_written);
        }
    }
    bins
}

/// Totals over the files of one mount point.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlaceRow {
    /// Mount point and file system type, or the first directory of the paths if the trace has no mount table.
    pub place: String,
    /// Number of files below the mount point that were used.
    pub files: u64,
    /// Bytes that the program read from files below the mount point.
    pub bytes_read: u64,
    /// Bytes that the program wrote to files below the mount point.
    pub bytes_written: u64,
    /// Time in calls on files below the mount point, summed over processes, ns.
    pub time_ns: u64,
}

/// Sums bytes and time per mount point, sorted by time, largest first.
#[must_use]
pub fn places(files: &[FileUse]) -> Vec<PlaceRow> {
    let mut places: BTreeMap<&str, PlaceRow> = BTreeMap::new();
    for file in files {
        let row = places.entry(&file.place).or_default();
        row.files += 1;
        row.bytes_read = row.bytes_read.saturating_add(file.bytes_read);
        row.bytes_written = row.bytes_written.saturating_add(file.bytes_written);
        row.time_ns = row.time_ns.saturating_add(file.total_ns());
    }
    let mut out: Vec<PlaceRow> =
        places.into_iter().map(|(place, row)| PlaceRow { place: place.to_owned(), ..row }).collect();
    out.sort_by(|a, b| b.time_ns.cmp(&a.time_ns).then_with(|| a.place.cmp(&b.place)));
    out
}
