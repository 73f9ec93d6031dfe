//! Plan that rank 0 broadcasts first: the trace file that it created, counters or trace mode, and the hashes of its file names, so that
//! names known to rank 0 are written once. The message is small enough for any MPI to send at once. In counters mode, where the hashes show
//! which files may be shared, a second broadcast sends the hashes that did not fit.

use super::counted::Counted;
use super::unfinished::Unfinished;
use super::{names, output, stages};
use crate::clock;
use crate::config::Config;
use crate::mpi::{SUCCESS, World, api};
use crate::registry;
use std::collections::BTreeSet;
use std::ffi::CString;
use trace_format::frame::FlushStage;
use trace_format::meta::SharedName;

/// Size of the message with the plan that rank 0 broadcasts, in bytes. MPICH sends up to 12 KiB along a binomial tree, larger messages in
/// several rounds.
const BYTES: usize = 12 << 10;
/// Number of 64-bit words before the path in the broadcast plan.
const HEAD: usize = 8;
/// Maximum length of the path of the trace file (directory and name), in bytes.
const PATH_BYTES: usize = 4096 + 256;

/// Capacity of the common record, which holds the counters of several ranks that share files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PlannedRoom {
    pub(super) streams: usize,
    /// Pairs (file, layer through which the file is used) that the common record has room for.
    pub(super) pairs: usize,
    /// Files for which the common record has room for a list of the MPI datatypes used.
    pub(super) datatypes: usize,
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    /// True if rank 0 is in counters mode. All ranks then make the MPI calls of counters mode, regardless of their own mode.
    pub(super) counting: bool,
    /// Sorted hashes of the file names stored once for the whole job (in the job block).
    pub(super) hashes: Vec<u64>,
    /// True if a single broadcast held the hashes of all file names.
    pub(super) in_one_call: bool,
    pub(super) room: PlannedRoom,
    /// Start time of rank 0, in ns since 1970-01-01 UTC. Distinguishes this job's trace from another trace of the same name.
    pub(super) epoch_unix_ns: u64,
    /// Directory, name and inode number of the trace file.
    file: Option<(Vec<u8>, CString, u64)>,
}

impl Plan {
    /// True if rank 0 has created a trace file.
    pub(super) const fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Opens, on another rank, the trace file that rank 0 has created.
    ///
    /// # Errors
    /// Fails if the file cannot be written to from this process.
    pub(super) fn open(&self) -> Result<Unfinished, String> {
        let (directory, name, inode) = self.file.as_ref().ok_or("rank 0 has created no file")?;
        output::file_of_rank_0(directory, name, *inode)
    }

    /// Returns the path that the complete trace will have, unless that name is taken: `<stem>.dxt` for `<stem>.<random>.dxt.partial`.
    pub(super) fn trace_path(&self) -> Vec<u8> {
        let Some((directory, name, _)) = &self.file else { return Vec::new() };
        let ends = name.as_bytes().iter().enumerate().rev().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
        let stem = ends.take(3).last().map_or(name.as_bytes(), |end| &name.as_bytes()[..end]);
        [directory.as_slice(), b"/", stem, b".dxt"].concat()
    }

    /// True if the trace file has its final name; waits up to 2 s for it.
    pub(super) fn file_has_its_name(&self) -> bool {
        let Some((directory, name, inode)) = &self.file else { return false };
        let path = self.trace_path();
        let stem = path.strip_suffix(b".dxt").and_then(|path| path.get(directory.len() + 1..));
        output::has_its_name(directory, name, *inode, stem.unwrap_or_default())
    }

    fn words(&self, names: usize) -> [u64; HEAD] {
        let (path, inode) = match &self.file {
            Some((directory, name, inode)) => (directory.len() << 16 | name.as_bytes().len(), *inode),
            None => (0, 0),
        };
        let PlannedRoom { streams, pairs, datatypes } = self.room;
        let [streams, pairs, datatypes] = [streams, pairs, datatypes].map(|room| room as u64);
        [self.epoch_unix_ns, u64::from(self.counting), names as u64, streams, pairs, path as u64, inode, datatypes]
    }

    /// Encodes the plan (trace file, mode, names) with as many hashes as fit; also returns the number of these hashes.
    fn encode(&self) -> (Vec<u8>, usize) {
        let mut bytes = vec![0; HEAD * 8];
        if let Some((directory, name, _)) = &self.file {
            bytes.extend_from_slice(directory);
            bytes.extend_from_slice(name.as_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let sent = self.hashes.len().min((BYTES - bytes.len()) / 8);
        bytes.extend(self.hashes[..sent].iter().flat_map(|hash| hash.to_ne_bytes()));
        bytes.resize(BYTES, 0);
        let names = if self.counting { self.hashes.len() } else { sent };
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.words(names)) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        (bytes, sent)
    }

    /// Decodes a received plan (trace file, mode, names) with the hashes that fit. Also returns the total number of hashes: the rest
    /// follows in a second broadcast. `None` if no plan was received.
    fn decode(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
        let head: [u64; HEAD] = std::array::from_fn(|_| words.next().unwrap_or(0));
        let [epoch_unix_ns @ 1..=u64::MAX, counting, names, streams, pairs, path, inode, datatypes] = head else {
            return None;
        };
        let (directory, name) = ((path >> 16) as usize, (path & 0xffff) as usize);
        let at = HEAD * 8;
        let text = bytes.get(at..at + directory + name)?;
        let (directory, name) = text.split_at(directory);
        let file = (path != 0).then(|| Some((directory.to_vec(), CString::new(name).ok()?, inode)));
        let names = (names as usize).min(names::MOST);
        let hashes = bytes.get((at + text.len()).next_multiple_of(8)..)?.chunks_exact(8).take(names);
        let hashes = hashes.map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default())).collect();
        let plan = Self {
            counting: counting != 0,
            hashes,
            in_one_call: false,
            room: PlannedRoom { streams: streams as usize, pairs: pairs as usize, datatypes: datatypes as usize },
            epoch_unix_ns,
            file: file.flatten(),
        };
        Some((plan, names))
    }
}

/// Creates, on rank 0, the trace file and the plan to broadcast (file, mode, names). Returns the plan, the file (or the reason why there is
/// none), and the file names for the job block: none if `muted`, since rank 0 is then not recorded.
fn make(
    world: &World,
    config: &Config,
    counted: Option<&Counted>,
    muted: bool,
) -> (Plan, Result<Unfinished, String>, Vec<SharedName>) {
    let shared = if muted { Vec::new() } else { names::of_rank_0() };
    let hashes = shared.iter().map(|name| name.hash).collect();
    let (room, counting) = (counted.map(room).unwrap_or_default(), counted.is_some());
    let epoch_unix_ns = clock::base().epoch_unix_ns.unsigned_abs();
    let mut plan = Plan { counting, hashes, room, epoch_unix_ns, ..Plan::default() };
    let file = output::new_file(config, &output::job_stem(world.size)).and_then(|file| {
        let inode = file.inode()?;
        let (directory, name) = file.place();
        if directory.len() + name.to_bytes().len() > PATH_BYTES {
            file.abandon();
            return Err("the output path is too long".into());
        }
        plan.file = Some((directory.to_vec(), name.to_owned(), inode));
        Ok(file)
    });
    (plan, file, shared)
}

/// Returns the capacity for the common record of all ranks: rank 0's number of entries plus 25 %, plus 64 (files with datatypes: plus 8).
/// Usually sufficient, since ranks tend to use the same files.
fn room(counted: &Counted) -> PlannedRoom {
    let pairs: BTreeSet<_> = counted.streams.iter().map(|(_, stream, _)| (stream.file.hash, stream.layer)).collect();
    let typed = registry::mpi_details().filter(|details| details.has_datatypes()).count();
    let more = |count: usize| count + count / 4 + 64;
    PlannedRoom { streams: more(counted.streams.len()), pairs: more(pairs.len()), datatypes: typed + typed / 4 + 8 }
}

/// Broadcasts rank 0's plan (trace file, mode, names). Also returns, on rank 0, the file and the file names for the job block. `counted`:
/// this rank's counts in counters mode; `muted`: true if rank 0 is not recorded, so that there are no names. Collective: one call, or two
/// in counters mode if rank 0 has more names than the first call holds. The error is the reason why this rank cannot take part, or why
/// there is no file.
pub(super) fn share(
    world: &World,
    config: &Config,
    counted: Option<&Counted>,
    muted: bool,
) -> (Plan, Result<Option<Unfinished>, String>, Vec<SharedName>) {
    let (own, file, mut shared) = match world.rank {
        0 => stages::during(FlushStage::Open, || make(world, config, counted, muted)),
        _ => (Plan::default(), Err(String::new()), Vec::new()),
    };
    let (mut bytes, _) = own.encode();
    if world.rank != 0 {
        bytes.fill(0);
    }
    let abi = &world.abi;
    let mut failed = api().bcast(bytes.as_mut_ptr().cast(), BYTES as i32, abi.byte, 0, abi.comm_world) != SUCCESS;
    let Some((mut plan, names)) = Plan::decode(&bytes) else {
        // This rank takes part in the calls that it expects of the other ranks, and reports its failure at the next agreement.
        let lost = Plan { counting: counted.is_some(), file: Some(Default::default()), ..Plan::default() };
        return (lost, Err("MPI_Bcast from rank 0 failed".into()), Vec::new());
    };
    let inline = plan.hashes.len();
    plan.in_one_call = names <= inline;
    if !plan.in_one_call {
        plan.hashes.resize(names, 0);
        if world.rank == 0 {
            plan.hashes.copy_from_slice(&own.hashes);
        }
        let rest = &mut plan.hashes[inline..];
        let (start, length) = (rest.as_mut_ptr().cast(), rest.len() as i32);
        failed |= api().bcast(start, length, abi.uint64, 0, abi.comm_world) != SUCCESS;
    }
    shared.truncate(names);
    let file = match (failed, world.rank) {
        (true, _) => {
            if let Ok(file) = file {
                file.abandon();
            }
            Err("MPI_Bcast failed".into())
        }
        (false, 0) => file.map(Some),
        (false, _) => Ok(None),
    };
    (plan, file, shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_come_back_with_the_names_that_fit() {
        for (names, counting, directory) in [(0, false, 5), (3, true, 4096), (1500, true, 9), (40_000, true, 77)] {
            let hashes: Vec<u64> = (0..names).map(|i| i * 77).collect();
            let room = PlannedRoom { streams: 70, pairs: 5, datatypes: 3 };
            let file = Some((vec![b'/'; directory], c"name.partial".to_owned(), 99));
            let plan = Plan { counting, hashes, room, file, epoch_unix_ns: 7, ..Plan::default() };
            let (bytes, sent) = plan.encode();
            assert_eq!(bytes.len(), BYTES);
            let (reported, all) = Plan::decode(&bytes).unwrap();
            assert_eq!((reported.counting, reported.room, reported.epoch_unix_ns), (counting, room, 7));
            assert_eq!(reported.file, plan.file);
            assert_eq!(
                (reported.hashes.as_slice(), all),
                (&plan.hashes[..sent], if counting { names as usize } else { sent })
            );
            assert!(sent as u64 == names || sent > 900);
        }
    }

    #[test]
    fn the_trace_has_the_name_of_the_unfinished_file_without_its_random_part() {
        let file =
            Some((b"/out".to_vec(), c"a.out_20261122T000000Z_7_4ranks.0123456789abcdef.dxt.partial".to_owned(), 1));
        let plan = Plan { file, ..Plan::default() };
        assert_eq!(plan.trace_path(), b"/out/a.out_20261122T000000Z_7_4ranks.dxt");
    }

    #[test]
    fn without_a_file_there_is_none_and_nothing_is_nothing() {
        let (bytes, _) = Plan { epoch_unix_ns: 1, ..Plan::default() }.encode();
        assert!(!Plan::decode(&bytes).unwrap().0.has_file());
        assert!(Plan::decode(&vec![0; BYTES]).is_none());
    }
}
