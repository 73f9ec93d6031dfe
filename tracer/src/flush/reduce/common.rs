//! Builds the common record on rank 0: the reduced sums of all ranks, as a process block that belongs to no single process.

use super::keys::{errno_of, file_of, flags_of, of_pair, op_of};
use super::shared::Shared;
use super::sums::Sums;
use super::{described, words};
use crate::clock;
use crate::flush::counted::{self, Counted};
use crate::flush::details;
use crate::registry::File;
use std::collections::BTreeMap;
use trace_format::counters::Counters;
use trace_format::meta::{FileDef, Missing, Note, Process, ProcessInfo, ProfileDef, Reduction, SpreadDef, StreamDef};

/// Source of a shared file's description (name, identity): rank 0 itself, or another rank.
enum Known {
    Own(&'static File),
    Reported(FileDef),
}

/// Shared files of which a description (name, identity) is known, by index among the shared files.
pub(super) struct Files(BTreeMap<usize, Known>);

impl Files {
    /// Collects the files that rank 0 uses, and the files described by other ranks.
    pub(super) fn of(counted: &Counted, shared: &Shared, sums: &Sums) -> Self {
        let own = counted.streams.iter().map(|(_, stream, _)| stream.file);
        let own = own.filter_map(|file| Some((shared.place(file.hash)?, Known::Own(file))));
        let hashes: Vec<u64> = shared.files().map(|(hash, _)| hash).collect();
        let reported = sums.described.rows.iter().filter_map(|(place, words)| {
            let place = usize::try_from(*place).ok()?;
            Some((place, Known::Reported(described::take(*hashes.get(place)?, words))))
        });
        Self(reported.chain(own).collect())
    }

    /// Returns the number of leading shared files, in index order, that are complete. A file is incomplete if no rank described it, or if
    /// counts of it may be missing because a table was full. The first incomplete file and all files after it are not reduced.
    pub(super) fn end(&self, shared: &Shared, sums: &Sums) -> usize {
        let streams = sums.streams.rows.last().filter(|_| sums.streams.more).map(|(key, _)| file_of(*key));
        let pairs = sums.pairs.rows.last().filter(|_| sums.pairs.more).map(|(pair, _)| of_pair(*pair).0);
        let datatypes = sums.datatypes.rows.last().filter(|_| sums.datatypes.more).map(|(place, _)| *place as usize);
        let unknown = (0..shared.len()).find(|place| !self.0.contains_key(place));
        streams.into_iter().chain(pairs).chain(datatypes).chain(unknown).fold(shared.len(), usize::min)
    }
}

/// Description of the ranks whose counters the common record sums up.
pub(super) struct Ranks<'a> {
    pub(super) ranks: u32,
    pub(super) info: &'a ProcessInfo,
    pub(super) sync_ns: u64,
    /// Texts of the notes (counts of events that were not recorded), in the order of their counts in the sums.
    pub(super) notes: &'a [(String, u64)],
}

/// Returns the common record of the shared files with index below `end`. Omits paths whose hash is in `known`: the job block stores them
/// once for all processes.
pub(super) fn process(ranks: &Ranks<'_>, files: &Files, end: usize, known: &[u64], sums: &Sums) -> Process {
    // The record has clock and node of rank 0, but no rank.
    let info = ProcessInfo { rank: -1, pid: 0, ppid: 0, ..ranks.info.clone() };
    let nodes = if sums.nodes.more { 0 } else { sums.nodes.rows.len() as u32 };
    let notes = ranks.notes.iter().map(|(what, _)| what.clone()).zip(sums.notes.iter().copied());
    let mut process = Process {
        info,
        notes: notes.filter(|(_, count)| *count > 0).map(|(what, count)| Note { what, count }).collect(),
        reduction: Reduction { ranks: ranks.ranks, nodes, spreads: Vec::new() },
        ..Process::default()
    };
    let mut numbers = Numbers { files, known, of: BTreeMap::new(), own: BTreeMap::new() };
    let streams = sums.streams.rows.iter().filter(|(key, _)| file_of(*key) < end);
    for (id, (key, words)) in (0..).zip(streams) {
        let Some(file) = numbers.number(&mut process, file_of(*key)) else { continue };
        process.streams.push(StreamDef { id, file, op: op_of(*key), flags: flags_of(*key), errno: errno_of(*key) });
        let aligned = words::counters(words);
        let first_start = words::since_epoch(aligned.first_start, ranks.sync_ns);
        let last_end = words::since_epoch(aligned.last_end, ranks.sync_ns);
        let (first_start, last_end) = if clock::times_calls() { (first_start, last_end) } else { (u64::MAX, 0) };
        // Other ranks may have run a little longer than rank 0.
        process.info.end_ns = process.info.end_ns.max(last_end);
        process.missing.push(Missing { stream: id, counters: Counters { first_start, last_end, ..aligned } });
    }
    for (pair, words) in sums.pairs.rows.iter().filter(|(pair, _)| of_pair(*pair).0 < end) {
        let (place, layer) = of_pair(*pair);
        let Some(file) = numbers.number(&mut process, place) else { continue };
        let (profile, spread) = words::file(words);
        let profile = words::with_starts(profile, |start| words::since_epoch(start, ranks.sync_ns));
        if profile.accesses > 0 {
            process.profiles.push(ProfileDef { file, layer, profile });
        }
        process.reduction.spreads.push(SpreadDef { file, layer, spread });
    }
    for (place, counts) in sums.datatypes.rows.iter().filter(|(place, _)| (*place as usize) < end) {
        if let Some(file) = numbers.number(&mut process, *place as usize) {
            details::add_datatypes(&mut process, file, counts);
        }
    }
    process.hints = details::hints(|file| numbers.own.get(&std::ptr::from_ref(file)).copied());
    process
}

/// Numbers of the files in the common record (sums over ranks), assigned in order of first use.
struct Numbers<'a> {
    files: &'a Files,
    known: &'a [u64],
    /// Number of each file in the common record, by index among the shared files.
    of: BTreeMap<usize, u32>,
    /// Number, in the common record (sums over ranks), of each file that rank 0 itself uses.
    own: BTreeMap<*const File, u32>,
}

impl Numbers<'_> {
    /// Returns the number, in the common record, of the shared file with index `place`. A new file is also described in `process`. Layouts
    /// of files that rank 0 lacks are written by another rank.
    fn number(&mut self, process: &mut Process, place: usize) -> Option<u32> {
        if let Some(number) = self.of.get(&place) {
            return Some(*number);
        }
        let number = self.of.len() as u32;
        match self.files.0.get(&place)? {
            Known::Own(file) => {
                process.files.push(counted::definition(file, self.known));
                process.layouts.extend(counted::layouts(file, number));
                self.own.insert(std::ptr::from_ref(*file), number);
            }
            Known::Reported(def) => process.files.push(def.clone()),
        }
        self.of.insert(place, number);
        Some(number)
    }
}
