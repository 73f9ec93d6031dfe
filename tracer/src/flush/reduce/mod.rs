//! Files that all ranks share become one record, in counters mode: sums over the ranks, and how the ranks differ. What is
//! sent and held depends on the number of files, not of ranks.
//!
//! Every rank takes part in every call of [`shared_files`], in the same order, whatever becomes of its own part. A rank that
//! cannot go on says so at the next point where all agree, and then all leave their records as they are.

mod calls;
mod operators;
mod sums;
mod words;

use super::collective::greatest;
use super::counted::{Counted, Files, in_nanoseconds, profile_in_nanoseconds};
use super::details;
use super::plan::Plan;
use crate::clock::{self, Calibration};
use crate::mpi::World;
use crate::registry::{File, Stream};
use calls::Tools;
use std::collections::{BTreeMap, BTreeSet};
use sums::{Room, Sums, Table};
use trace_format::columns::TickScale;
use trace_format::counters::Counters;
use trace_format::meta::{Missing, Note, Process, ProcessInfo, ProfileDef, Reduction, SpreadDef, StreamDef, path_hash};
use trace_format::op::Layer;
use trace_format::profile::{Profile, Slowest};
use trace_format::spread::{RankShare, Spread};
use words::{COUNTERS, FILE};

/// Most nodes that are counted.
const MOST_NODES: usize = 1 << 10;

/// What came of it.
pub(super) struct Reduced {
    /// Hashes of the files that are in the common record, sorted.
    hashes: Vec<u64>,
    /// The common record, on rank 0.
    pub(super) process: Option<Process>,
}

impl Reduced {
    /// Whether a file is in the common record.
    pub(super) fn has(&self, file: &File) -> bool {
        self.hashes.binary_search(&file.hash).is_ok()
    }
}

/// A stream of a shared file in one number: place of the file among rank 0's (16 bits), operation, flags, error number.
fn key(file: usize, stream: &Stream) -> u64 {
    (file as u64) << 40 | u64::from(stream.op) << 24 | u64::from(stream.flags) << 16 | u64::from(stream.errno)
}

const fn file_of(key: u64) -> usize {
    (key >> 40) as usize
}

const fn op_of(key: u64) -> u16 {
    (key >> 24) as u16
}

/// A file and a layer in one number; in the order of the files.
fn pair(file: usize, layer: Layer) -> u64 {
    (file as u64) << 32 | u64::from(u32::from(layer))
}

fn of_pair(pair: u64) -> (usize, Layer) {
    ((pair >> 32) as usize, Layer::from(pair as u32))
}

/// Reduces the files that all ranks have counted something of. `counted` is `None` on a rank that keeps segments. The plan
/// tells rank 0's files; `notes` is what this rank has noted, the same kinds on all. `None`, on all ranks, if there are no
/// such files or something failed. Collective: one call, three if there are such files.
pub(super) fn shared_files(
    world: &World,
    counted: Option<&Counted>,
    plan: &Plan,
    notes: &[(String, u64)],
    calibration: &Calibration,
    info: &ProcessInfo,
) -> Result<Option<Reduced>, String> {
    let hashes = &plan.hashes;
    if world.size < 2 || hashes.is_empty() {
        return Ok(None);
    }
    let (streams, pairs) = plan.room;
    let nodes = MOST_NODES.min(world.size.unsigned_abs() as usize);
    let room = Room { notes: notes.len(), nodes, streams, pairs };
    let tools = room.words().and_then(|words| Tools::new(world, words));
    let sync_ns = info.sync_ns.unwrap_or(0);
    let mine = counted.map(|counted| Mine::new(counted, hashes, &calibration.scale, sync_ns)).unwrap_or_default();
    let able = tools.is_some() && info.sync_ns.is_some();
    let lacks: Vec<u64> = (0..hashes.len()).map(|file| u64::from(!able || !mine.files.contains_key(&file))).collect();
    let (lacking, agreed) = greatest(world, &lacks);
    let shared: BTreeSet<usize> = (0..hashes.len()).filter(|&file| lacking.get(file) == Some(&0)).collect();
    // With files in common, every rank was able.
    let (false, Some(tools)) = (shared.is_empty(), tools) else { return Ok(None) };

    let node = path_hash(info.node.as_bytes());
    let own = mine.sums(room, notes, node, &shared, world.rank.unsigned_abs());
    let (words, reduced) = tools.to_rank_0(world, &own.put());
    let sums = (world.rank == 0).then(|| Sums::take(&words));
    // The files before this one are complete. (Numbers of the highest bit are not sent: an MPI may take them for negative.)
    let end = sums.as_ref().map_or(0, Sums::end).min(hashes.len()) as u64;
    let (state, again) = greatest(world, &[u64::from(!agreed || !reduced), end]);
    if !again {
        // The others may have reduced this rank's part: it must not be told once more.
        return Err("MPI_Allreduce failed".into());
    }
    let &[0, end] = state.as_slice() else { return Ok(None) };
    let place = |&file: &usize| hashes.get(file).copied().filter(|_| (file as u64) < end);
    let hashes: Vec<u64> = shared.iter().filter_map(place).collect();
    if hashes.is_empty() {
        return Ok(None);
    }
    let process = sums.map(|sums| {
        let texts = notes.iter().map(|(what, _)| what.clone()).zip(sums.notes.iter().copied());
        let mut process = Process { info: common_info(info), ..Process::default() };
        let nodes = if sums.nodes.more { 0 } else { sums.nodes.rows.len() as u32 };
        process.reduction = Reduction { ranks: world.size.unsigned_abs(), nodes, spreads: Vec::new() };
        process.notes = texts.filter(|(_, count)| *count > 0).map(|(what, count)| Note { what, count }).collect();
        describe(&mut process, &mine, &sums, sync_ns);
        process
    });
    Ok(Some(Reduced { hashes, process }))
}

impl Sums {
    /// The place of the first file of which something may have found no room.
    fn end(&self) -> usize {
        let streams = self.streams.rows.last().filter(|_| self.streams.more).map(|(key, _)| file_of(*key));
        let pairs = self.pairs.rows.last().filter(|_| self.pairs.more).map(|(pair, _)| of_pair(*pair).0);
        streams.into_iter().chain(pairs).min().unwrap_or(usize::MAX)
    }
}

/// What this rank counted of files that rank 0 has too; times aligned.
#[derive(Default)]
struct Mine {
    /// By place of the file among rank 0's.
    files: BTreeMap<usize, &'static File>,
    /// By key.
    streams: BTreeMap<u64, (&'static Stream, Counters)>,
    profiles: BTreeMap<(usize, Layer), Profile>,
}

impl Mine {
    fn new(counted: &Counted, hashes: &[u64], scale: &TickScale, sync_ns: u64) -> Self {
        let mut mine = Self::default();
        for (_, stream, counters) in &counted.streams {
            let Ok(file) = hashes.binary_search(&stream.file.hash) else { continue };
            let ns = in_nanoseconds(counters.clone(), scale);
            let first_start = words::aligned(ns.first_start, sync_ns);
            let last_end = words::aligned(ns.last_end, sync_ns);
            mine.files.insert(file, stream.file);
            let counters = Counters { first_start, last_end, ..ns };
            // Data sets of a file have streams of their own, which the common record does not tell apart.
            let known = mine.streams.entry(key(file, stream)).and_modify(|(_, known)| known.merge(&counters));
            known.or_insert((stream, counters));
        }
        for (file, layer, profile) in &counted.profiles {
            let Ok(file) = hashes.binary_search(&file.hash) else { continue };
            let ns = profile_in_nanoseconds(*profile, scale);
            let profile = with_starts(ns, |start| words::aligned(start, sync_ns));
            mine.profiles.insert((file, *layer), profile);
        }
        mine
    }

    /// This rank's element: of the `shared` files.
    fn sums(&self, room: Room, notes: &[(String, u64)], node: u64, shared: &BTreeSet<usize>, rank: u32) -> Sums {
        let mut shares: BTreeMap<u64, RankShare> = BTreeMap::new();
        let streams = self.streams.iter().filter(|(key, _)| shared.contains(&file_of(**key)));
        let streams = streams.map(|(&key, (stream, counters))| {
            let share = shares.entry(pair(file_of(key), stream.layer)).or_default();
            share.rank = rank;
            share.time_ns = share.time_ns.saturating_add(counters.duration);
            if stream.role != crate::registry::Role::None {
                share.bytes = share.bytes.saturating_add(counters.bytes);
            }
            let mut words = [0; COUNTERS];
            words::put_counters(counters, &mut words);
            (key, words)
        });
        let streams = Table::new(room.streams, streams);
        let pairs = shares.iter().map(|(&pair, share)| {
            let (profile, mut words) = (self.profiles.get(&of_pair(pair)).copied().unwrap_or_default(), [0; FILE]);
            words::put_file(&profile, &Spread::of(*share), &mut words);
            (pair, words)
        });
        let notes = notes.iter().map(|(_, count)| *count).collect();
        Sums { notes, nodes: Table::new(room.nodes, [(node, [])]), streams, pairs: Table::new(room.pairs, pairs) }
    }
}

fn with_starts(profile: Profile, change: impl Fn(u64) -> u64) -> Profile {
    let change = |slowest: Slowest| match slowest == Slowest::default() {
        true => slowest,
        false => Slowest { start: change(slowest.start), ..slowest },
    };
    Profile { slowest_read: change(profile.slowest_read), slowest_write: change(profile.slowest_write), ..profile }
}

/// Rank 0's clock and node, and nobody's rank.
fn common_info(info: &ProcessInfo) -> ProcessInfo {
    ProcessInfo { rank: -1, pid: 0, ppid: 0, ..info.clone() }
}

/// Fills in what was reduced; on rank 0, which has every shared file. Its paths stand in the job block.
fn describe(process: &mut Process, mine: &Mine, sums: &Sums, sync_ns: u64) {
    let end = sums.end();
    let known: Vec<u64> = {
        let mut known: Vec<u64> = mine.files.values().map(|file| file.hash).collect();
        known.sort_unstable();
        known
    };
    let (mut numbers, mut reduced) = (Files::default(), BTreeSet::new());
    let streams = sums.streams.rows.iter().filter(|(key, _)| file_of(*key) < end);
    for (id, (key, words)) in (0..).zip(streams) {
        let Some(file) = mine.files.get(&file_of(*key)) else { continue };
        reduced.insert(file_of(*key));
        let file = numbers.number(process, file, &known);
        let (flags, errno) = ((key >> 16) as u8, *key as u16);
        process.streams.push(StreamDef { id, file, op: op_of(*key), flags, errno });
        let aligned = words::counters(words);
        let first_start = words::since_epoch(aligned.first_start, sync_ns);
        let last_end = words::since_epoch(aligned.last_end, sync_ns);
        let (first_start, last_end) = if clock::times_calls() { (first_start, last_end) } else { (u64::MAX, 0) };
        // Other ranks may have gone on for a little longer.
        process.info.end_ns = process.info.end_ns.max(last_end);
        process.missing.push(Missing { stream: id, counters: Counters { first_start, last_end, ..aligned } });
    }
    for (pair, words) in sums.pairs.rows.iter().filter(|(pair, _)| of_pair(*pair).0 < end) {
        let (place, layer) = of_pair(*pair);
        let Some(file) = mine.files.get(&place) else { continue };
        let file = numbers.number(process, file, &known);
        let (profile, spread) = words::file(words);
        let profile = with_starts(profile, |start| words::since_epoch(start, sync_ns));
        if profile.accesses > 0 {
            process.profiles.push(ProfileDef { file, layer, profile });
        }
        process.reduction.spreads.push(SpreadDef { file, layer, spread });
    }
    let number = |file: &'static File| {
        let shared = mine.files.iter().any(|(place, mine)| std::ptr::eq(*mine, file) && reduced.contains(place));
        shared.then(|| numbers.number(process, file, &known))
    };
    let hints = details::hints(number);
    process.hints = hints;
}
