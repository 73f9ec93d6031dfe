//! Reduces files shared by several ranks to one record, in counters mode: sums over the ranks, and differences between ranks. The amount of
//! data sent and held depends on the number of files, not on the number of ranks.
//!
//! Every rank takes part in every call of [`shared_files`] in the same order, even if its own part has failed. A rank that cannot continue
//! reports this at the next agreement; then all ranks keep their own records.
//!
//! An element-wise maximum over all ranks shows which of rank 0's files other ranks use too ([`shared`]). Shared files that rank 0 lacks
//! are found with a bounded table of hashes ([`users`]); the lowest rank that uses such a file describes it ([`described`]). That rank also
//! writes the file's layouts and hints itself, since they do not fit into the description.

mod calls;
mod common;
mod described;
mod keys;
mod operators;
mod own_counts;
mod shared;
mod sums;
mod table;
mod users;
mod words;

use super::collective::greatest;
use super::counted::Counted;
use super::plan::{Plan, PlannedRoom};
use crate::clock::Calibration;
use crate::mpi::World;
use crate::registry::File;
use calls::Tools;
use common::{Files, Ranks};
use operators::Element;
use own_counts::Rank;
use sums::{Room, Sums};
use trace_format::meta::{Process, ProcessInfo, path_hash};

/// Maximum number of distinct nodes (of the ranks) that the reduction can tell from each other.
const MOST_NODES: usize = 1 << 10;

/// Result of the reduction of shared files to one record, from the point of view of one rank.
pub(super) struct Reduced {
    /// Sorted name hashes of the files in the common record, which holds the sums over several ranks.
    hashes: Vec<u64>,
    /// Sorted name hashes of the files in the common record whose layouts and hints this rank must write: rank 0 lacks the file, and this
    /// is the lowest rank that uses it.
    mine: Vec<u64>,
    /// Common record with the sums over all ranks; only on rank 0.
    pub(super) process: Option<Process>,
}

impl Reduced {
    /// True if the file is in the common record of several ranks, so that this rank need not write a record of it.
    pub(super) fn has(&self, file: &File) -> bool {
        self.hashes.binary_search(&file.hash).is_ok()
    }

    /// True if the file is in the common record of several ranks, but this rank must write the file's layouts and hints.
    pub(super) fn leaves_details_of(&self, file: &File) -> bool {
        self.mine.binary_search(&file.hash).is_ok()
    }
}

/// Reduces the counters of files that several ranks use to one common record. `counted`: this rank's counts, `None` on a rank in trace
/// mode; then nothing is reduced. `plan`: holds rank 0's files. `notes`: this rank's notes, the same kinds on all ranks. Returns `None` on
/// all ranks if there are no shared files or something failed. Collective unless there is only one rank: one call; one more if some rank
/// has files that rank 0 lacks, provided that all ranks can reduce and the plan needed only one broadcast; two more if any files are
/// shared.
///
/// # Errors
/// Fails if the last agreement fails on this rank: the other ranks may have reduced its part already.
pub(super) fn shared_files(
    world: &World,
    counted: Option<&Counted>,
    plan: &Plan,
    notes: &[(String, u64)],
    calibration: &Calibration,
    info: &ProcessInfo,
) -> Result<Option<Reduced>, String> {
    if world.size < 2 {
        return Ok(None);
    }
    let (rank, size) = (world.rank.unsigned_abs(), world.size.unsigned_abs());
    let PlannedRoom { streams, pairs, datatypes } = plan.room;
    let nodes = MOST_NODES.min(size as usize);
    let room = Room { notes: notes.len(), nodes, streams, pairs, datatypes, described: 0 };
    // All resources whose creation can fail are created before the ranks agree that every rank can reduce.
    let able = counted.zip(info.sync_ns).and_then(|(counted, sync_ns)| {
        let tools = Tools::new(world, room, users::room(plan.hashes.len(), size as usize))?;
        Some((tools, counted, sync_ns))
    });
    let (shared, agreed) = shared::find(world, counted, plan, able.as_ref().map(|(tools, ..)| tools));
    // Shared files imply that every rank can reduce.
    let (true, Some((tools, counted, sync_ns))) = (shared.len() > 0, able) else { return Ok(None) };

    let node = path_hash(info.node.as_bytes());
    let own = Rank { rank, node, scale: &calibration.scale, sync_ns };
    let element = |room| own_counts::sums(&own, room, notes, counted, &shared);
    let (words, reduced) = tools.to_rank_0(world, shared.others(), element);
    let sums = (rank == 0).then(|| Sums::take(&words));
    let files = sums.as_ref().map(|sums| Files::of(counted, &shared, sums));
    let end = files.as_ref().zip(sums.as_ref()).map_or(0, |(files, sums)| files.end(&shared, sums));
    let (state, again) = greatest(world, &[u64::from(!agreed || !reduced), end as u64]);
    if !again {
        // The other ranks may have reduced this rank's part already, so it must not be written again.
        return Err("MPI_Allreduce failed".into());
    }
    let &[0, end] = state.as_slice() else { return Ok(None) };
    let end = end as usize;
    if end == 0 {
        return Ok(None);
    }
    let mut hashes: Vec<u64> = shared.files().take(end).map(|(hash, _)| hash).collect();
    hashes.sort_unstable();
    // Rank 0's details of its own files are in the common record.
    let mine = shared.files().take(end).filter(|(_, lowest)| *lowest == rank && rank > 0);
    let mut mine: Vec<u64> = mine.map(|(hash, _)| hash).collect();
    mine.sort_unstable();
    let process = files.zip(sums).map(|(files, sums)| {
        let ranks = Ranks { ranks: size, info, sync_ns, notes };
        common::process(&ranks, &files, end, &plan.hashes, &sums)
    });
    Ok(Some(Reduced { hashes, mine, process }))
}
