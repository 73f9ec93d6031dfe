//! Access profiles of files by layer, with the files' names, as counted by the tracer; [`crate::topics::counters::fold`] adds recorded segments.

use crate::model::{FileId, Run};
use serde::Serialize;
use std::collections::BTreeMap;
use trace_format::common_values::CommonValue;
use trace_format::op::Layer;
use trace_format::profile::{Profile, Slowest};
use trace_format::spread::{RankShare, Spread};

/// Access profiles, by file (index into [`Run::files`]) and layer; boxed, since a profile has some 900 bytes and a job may have a million files.
pub type Profiles = BTreeMap<(FileId, Layer), Box<Profile>>;

/// Access profile of one file through one layer.
#[derive(Clone, Debug, Serialize)]
pub struct FileProfile {
    /// Path of the file that the profile describes.
    pub file: String,
    /// Name of the I/O layer of the accesses.
    pub layer: String,
    /// Number of reads and writes of the file through the layer.
    pub accesses: u64,
    /// Alignment that file offsets are compared with, in bytes; 0 if unknown.
    pub alignment: u64,
    /// Accesses whose file offset is not a multiple of `alignment`.
    pub file_unaligned: u64,
    /// Number of accesses with a known memory address.
    pub memory_known: u64,
    /// Number of accesses whose memory address is not a multiple of 8 bytes; `None` if no address is known.
    pub memory_unaligned: Option<u64>,
    /// Number of changes between reading and writing in successive accesses.
    pub switches: u64,
    /// Most common access sizes, in bytes.
    pub sizes: Vec<CommonValue>,
    /// Most common strides, in bytes: offset of an access minus the end of the previous access in the same direction (read or write).
    pub strides: Vec<CommonValue>,
    /// Read with the longest duration, if known; times in ns.
    pub slowest_read: Option<Slowest>,
    /// Write with the longest duration, if known; times in ns.
    pub slowest_write: Option<Slowest>,
    /// Statistics over ranks, if the profile comes from a reduced record (one record for several ranks).
    pub ranks: Option<RankSpread>,
}

/// Statistics over the ranks that share a file, from a reduced record.
#[derive(Clone, Debug, Serialize)]
pub struct RankSpread {
    /// Number of ranks that used the file through the layer.
    pub ranks: u32,
    /// Rank with the least time in calls.
    pub fastest: RankShare,
    /// Rank with the most time in calls.
    pub slowest: RankShare,
    /// Mean over ranks of the time in calls, ns.
    pub time_mean_ns: f64,
    /// Variance over ranks of the time in calls, ns squared.
    pub time_variance: f64,
    /// Mean over ranks of the bytes transferred.
    pub bytes_mean: f64,
    /// Variance over ranks of the bytes transferred.
    pub bytes_variance: f64,
}

impl From<&Spread> for RankSpread {
    fn from(spread: &Spread) -> Self {
        Self {
            ranks: spread.ranks,
            fastest: spread.fastest,
            slowest: spread.slowest,
            time_mean_ns: spread.time_ns.mean,
            time_variance: spread.time_variance(),
            bytes_mean: spread.bytes.mean,
            bytes_variance: spread.bytes_variance(),
        }
    }
}

/// Returns the profiles counted by the tracer or another tool.
#[must_use]
pub fn counted(run: &Run) -> Profiles {
    let mut all = Profiles::new();
    for def in run.processes.iter().flat_map(|process| &process.profiles) {
        all.entry((FileId(def.file), def.layer)).or_default().merge(&def.profile);
    }
    for def in run.processes.iter().flat_map(|process| &process.whole) {
        all.entry((FileId(def.file), def.layer)).or_default().merge(&def.profile);
    }
    all
}

/// Returns the profiles of the files whose names are in `files`, with names and rank statistics. Rows are sorted by the name's position in
/// `files`, then by layer. A file of a reduced record has a row even if no bytes were moved.
#[must_use]
pub fn rows(run: &Run, mut profiles: Profiles, files: &[&str]) -> Vec<FileProfile> {
    let spreads: BTreeMap<(FileId, Layer), &Spread> = run
        .processes
        .iter()
        .flat_map(|process| &process.reduction.spreads)
        .map(|def| ((FileId(def.file), def.layer), &def.spread))
        .collect();
    for key in spreads.keys() {
        profiles.entry(*key).or_default();
    }
    let mut out: Vec<(usize, Layer, FileProfile)> = profiles
        .into_iter()
        .filter_map(|((file, layer), profile)| {
            let name = &run.file(file)?.name;
            let place = files.iter().position(|listed| listed == name)?;
            Some((place, layer, row(name, layer, &profile, spreads.get(&(file, layer)).copied())))
        })
        .collect();
    out.sort_by_key(|(place, layer, _)| (*place, *layer));
    out.into_iter().map(|(_, _, row)| row).collect()
}

fn row(file: &str, layer: Layer, profile: &Profile, spread: Option<&Spread>) -> FileProfile {
    let some = |slowest: Slowest| (slowest != Slowest::default()).then_some(slowest);
    FileProfile {
        file: file.to_owned(),
        layer: layer.name().to_owned(),
        accesses: profile.accesses,
        alignment: profile.alignment,
        file_unaligned: profile.file_unaligned,
        memory_known: profile.memory_known,
        memory_unaligned: (profile.memory_known > 0).then_some(profile.memory_unaligned),
        switches: profile.switches,
        sizes: profile.sizes.top(),
        strides: profile.strides.top(),
        slowest_read: some(profile.slowest_read),
        slowest_write: some(profile.slowest_write),
        ranks: spread.map(Into::into),
    }
}
