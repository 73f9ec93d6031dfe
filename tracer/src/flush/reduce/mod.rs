//! Files that all ranks share become one record, in counters mode: sums over the ranks, and how the ranks differ. What is
//! sent and held depends on the number of files, not of ranks.
//!
//! Every rank takes part in every call of [`shared_files`], in the same order, whatever becomes of its own part. A rank that
//! cannot go on says so at the next point where all agree, and then all leave their records as they are.

mod calls;
mod operators;
mod words;

use super::counted::{Counted, Files, in_nanoseconds, profile_in_nanoseconds};
use super::details;
use crate::clock::Calibration;
use crate::mpi::World;
use crate::ops;
use crate::registry::{File, Stream};
use calls::{Op, Words, all, every, plain, to_rank_0};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::columns::TickScale;
use trace_format::counters::Counters;
use trace_format::meta::{Missing, Note, Process, ProcessInfo, ProfileDef, Reduction, SpreadDef, StreamDef, path_hash};
use trace_format::op::Layer;
use trace_format::profile::{Profile, Slowest};
use trace_format::spread::{RankShare, Spread};
use words::{COUNTERS, FILE};

/// Most nodes that are counted.
const MOST_NODES: usize = 1 << 10;
/// Most keys of streams that are agreed on; files beyond stay with their ranks.
const MOST_KEYS: usize = 1 << 18;

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

/// Reduces the files that all ranks have counted something of. `hashes` are those of rank 0's files, sorted, the same on all
/// ranks; `notes` is what this rank has noted, the same kinds on all. `None`, on all ranks, if there are no such files or
/// something failed. Collective.
pub(super) fn shared_files(
    world: &World,
    counted: &Counted,
    hashes: &[u64],
    notes: &[(String, u64)],
    calibration: &Calibration,
    info: &ProcessInfo,
) -> Option<Reduced> {
    if world.size < 2 || hashes.is_empty() || hashes.len() > 1 << 16 {
        return None;
    }
    let tools = Tools::new(world);
    let sync_ns = info.sync_ns.unwrap_or(0);
    let mine = Mine::new(counted, hashes, &calibration.scale, sync_ns);
    let able = tools.is_some() && info.sync_ns.is_some();
    let lacks: Vec<u64> = (0..hashes.len()).map(|file| u64::from(!able || !mine.files.contains_key(&file))).collect();
    let lacking = plain(world, &lacks, true)?;
    let shared: BTreeSet<usize> = (0..hashes.len()).filter(|&file| lacking.get(file) == Some(&0)).collect();
    // With files in common, every rank was able.
    let (false, Some(tools)) = (shared.is_empty(), tools) else { return None };

    let keys = agreed_keys(world, &tools, &mine, &shared)?;
    let nodes = count_nodes(world, &tools, &info.node)?;
    let pairs: BTreeSet<(usize, Layer)> =
        keys.iter().filter_map(|&key| Some((file_of(key), ops::layer_of(op_of(key))?))).collect();
    let (streams, files) = mine.elements(&keys, &pairs, world.rank.unsigned_abs());
    let streams = to_rank_0(world, &streams, COUNTERS, &tools.counters_words, &tools.add_counters);
    let files = to_rank_0(world, &files, FILE, &tools.file_words, &tools.add_files);
    let counts: Vec<u64> = notes.iter().map(|(_, count)| *count).collect();
    let counts = plain(world, &counts, false);
    if !every(world, streams.is_some() && files.is_some() && counts.is_some()) || keys.is_empty() {
        return None;
    }
    let reduced: BTreeSet<usize> = keys.iter().map(|&key| file_of(key)).collect();
    let hashes = reduced.iter().filter_map(|&file| hashes.get(file).copied()).collect();
    let process = (world.rank == 0).then(|| {
        let (streams, files) = (streams.unwrap_or_default(), files.unwrap_or_default());
        let texts = notes.iter().map(|(what, _)| what.clone()).zip(counts.unwrap_or_default());
        let mut process = Process { info: common_info(info), ..Process::default() };
        process.reduction = Reduction { ranks: world.size.unsigned_abs(), nodes, spreads: Vec::new() };
        process.notes = texts.filter(|(_, count)| *count > 0).map(|(what, count)| Note { what, count }).collect();
        describe(&mut process, &mine, &keys, &streams, &pairs, &files, sync_ns);
        process
    });
    Some(Reduced { hashes, process })
}

/// Operators and types of fixed size.
struct Tools {
    unite_sets: Op,
    add_counters: Op,
    add_files: Op,
    counters_words: Words,
    file_words: Words,
}

impl Tools {
    fn new(world: &World) -> Option<Self> {
        Some(Self {
            unite_sets: Op::new(operators::unite_sets)?,
            add_counters: Op::new(operators::add_counters)?,
            add_files: Op::new(operators::add_files)?,
            counters_words: Words::new(world, COUNTERS)?,
            file_words: Words::new(world, FILE)?,
        })
    }
}

/// The union of all ranks' `members`; the smallest `capacity` of them, and whether there are more. `None` on all ranks if a
/// rank failed.
fn union(world: &World, tools: &Tools, capacity: usize, members: &[u64]) -> Option<(Vec<u64>, bool)> {
    let words = Words::new(world, operators::set_words(capacity));
    if !every(world, words.is_some()) {
        return None;
    }
    let united = all(world, &operators::set(capacity, members), &words?, &tools.unite_sets);
    if !every(world, united.is_some()) {
        return None;
    }
    let united = united?;
    let (members, more) = operators::members(&united);
    Some((members.to_vec(), more))
}

/// The keys of all streams that any rank has of the `shared` files, sorted; only of files of which all keys are known.
fn agreed_keys(world: &World, tools: &Tools, mine: &Mine, shared: &BTreeSet<usize>) -> Option<Vec<u64>> {
    let own: Vec<u64> = mine.streams.keys().copied().filter(|&key| shared.contains(&file_of(key))).collect();
    let most = plain(world, &[own.len() as u64], true)?.first().map_or(0, |&most| most as usize);
    // Ranks do much the same: twice what one has is room enough for what some do besides.
    let capacity = (2 * most + 64).min(MOST_KEYS);
    let (mut keys, more) = union(world, tools, capacity, &own)?;
    if let Some(&last) = keys.last().filter(|_| more) {
        keys.retain(|&key| file_of(key) != file_of(last));
    }
    Some(keys)
}

/// On how many nodes the ranks run; 0 if they are too many to count.
fn count_nodes(world: &World, tools: &Tools, node: &str) -> Option<u32> {
    let (nodes, more) = union(world, tools, MOST_NODES, &[path_hash(node.as_bytes())])?;
    Some(if more { 0 } else { nodes.len() as u32 })
}

/// What this rank counted of files that rank 0 has too; times aligned.
struct Mine {
    /// By place of the file among rank 0's.
    files: BTreeMap<usize, &'static File>,
    /// By key.
    streams: BTreeMap<u64, (&'static Stream, Counters)>,
    profiles: BTreeMap<(usize, Layer), Profile>,
}

impl Mine {
    fn new(counted: &Counted, hashes: &[u64], scale: &TickScale, sync_ns: u64) -> Self {
        let mut mine = Self { files: BTreeMap::new(), streams: BTreeMap::new(), profiles: BTreeMap::new() };
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

    /// The elements that are reduced: one per key, one per pair of file and layer.
    fn elements(&self, keys: &[u64], pairs: &BTreeSet<(usize, Layer)>, rank: u32) -> (Vec<u64>, Vec<u64>) {
        let (mut streams, mut files) = (vec![0; keys.len() * COUNTERS], vec![0; pairs.len() * FILE]);
        let mut shares: BTreeMap<(usize, Layer), RankShare> = BTreeMap::new();
        for (key, words) in keys.iter().zip(streams.chunks_exact_mut(COUNTERS)) {
            match self.streams.get(key) {
                Some((stream, counters)) => {
                    words::put_counters(counters, words);
                    let share = shares.entry((file_of(*key), stream.layer)).or_default();
                    share.rank = rank;
                    share.time_ns = share.time_ns.saturating_add(counters.duration);
                    if stream.role != crate::registry::Role::None {
                        share.bytes = share.bytes.saturating_add(counters.bytes);
                    }
                }
                None => words::put_counters(&Counters::default(), words),
            }
        }
        for (pair, words) in pairs.iter().zip(files.chunks_exact_mut(FILE)) {
            let profile = self.profiles.get(pair).copied().unwrap_or_default();
            let spread = shares.get(pair).map_or_else(Spread::default, |share| Spread::of(*share));
            words::put_file(&profile, &spread, words);
        }
        (streams, files)
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
fn describe(
    process: &mut Process,
    mine: &Mine,
    keys: &[u64],
    streams: &[u64],
    pairs: &BTreeSet<(usize, Layer)>,
    files: &[u64],
    sync_ns: u64,
) {
    let known: Vec<u64> = {
        let mut known: Vec<u64> = mine.files.values().map(|file| file.hash).collect();
        known.sort_unstable();
        known
    };
    let mut numbers = Files::default();
    for ((id, key), words) in (0..).zip(keys).zip(streams.chunks_exact(COUNTERS)) {
        let Some(file) = mine.files.get(&file_of(*key)) else { continue };
        let file = numbers.number(process, file, &known);
        let (flags, errno) = ((key >> 16) as u8, *key as u16);
        process.streams.push(StreamDef { id, file, op: op_of(*key), flags, errno });
        let aligned = words::counters(words);
        let first_start = words::since_epoch(aligned.first_start, sync_ns);
        let last_end = words::since_epoch(aligned.last_end, sync_ns);
        // Other ranks may have gone on for a little longer.
        process.info.end_ns = process.info.end_ns.max(last_end);
        process.missing.push(Missing { stream: id, counters: Counters { first_start, last_end, ..aligned } });
    }
    for ((file, layer), words) in pairs.iter().zip(files.chunks_exact(FILE)) {
        let Some(file) = mine.files.get(file) else { continue };
        let (file, layer) = (numbers.number(process, file, &known), *layer);
        let (profile, spread) = words::file(words);
        let profile = with_starts(profile, |start| words::since_epoch(start, sync_ns));
        if profile.accesses > 0 {
            process.profiles.push(ProfileDef { file, layer, profile });
        }
        process.reduction.spreads.push(SpreadDef { file, layer, spread });
    }
    let reduced: BTreeSet<usize> = keys.iter().map(|&key| file_of(key)).collect();
    let number = |file: &'static File| {
        let shared = mine.files.iter().any(|(place, mine)| std::ptr::eq(*mine, file) && reduced.contains(place));
        shared.then(|| numbers.number(process, file, &known))
    };
    let hints = details::hints(number);
    process.hints = hints;
}
