//! Files that several ranks share become one record, in counters mode: sums over the ranks, and how the ranks differ. What is
//! sent and held depends on the number of files, not of ranks.
//!
//! Every rank takes part in every call of [`shared_files`], in the same order, whatever becomes of its own part. A rank that
//! cannot go on says so at the next point where all agree, and then all leave their records as they are.
//!
//! Of rank 0's files one sum over all ranks says which others use too ([`shared`]). Of files that rank 0 does not have, a bounded table
//! of hashes does ([`users`]), and the lowest rank that has one describes it ([`described`]). Layouts and hints of such a file do not have
//! room there: that rank writes them itself.

mod calls;
mod common;
mod described;
mod keys;
mod mine;
mod operators;
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
use mine::Rank;
use operators::Element;
use sums::{Room, Sums};
use trace_format::meta::{Process, ProcessInfo, path_hash};

/// Most nodes that are counted.
const MOST_NODES: usize = 1 << 10;

/// What came of it.
pub(super) struct Reduced {
    /// Hashes of the files that are in the common record, sorted.
    hashes: Vec<u64>,
    /// Those of them that rank 0 does not have and no lower rank than this one.
    mine: Vec<u64>,
    /// The common record, on rank 0.
    pub(super) process: Option<Process>,
}

impl Reduced {
    /// Whether a file is in the common record.
    pub(super) fn has(&self, file: &File) -> bool {
        self.hashes.binary_search(&file.hash).is_ok()
    }

    /// Whether a file is in the common record, and what the record does not say of it is for this rank to write.
    pub(super) fn leaves_details_of(&self, file: &File) -> bool {
        self.mine.binary_search(&file.hash).is_ok()
    }
}

/// Reduces the files that several ranks have counted something of. `counted` is `None` on a rank that keeps segments: then nothing
/// is reduced. The plan tells rank 0's files; `notes` is what this rank has noted, the same kinds on all. `None`, on all ranks, if
/// there are no such files or something failed. Collective: one call; one more if rank 0 does not have all files; two more if any are shared.
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
    // Everything that can be refused is made before all agree that everybody is able.
    let able = counted.zip(info.sync_ns).and_then(|(counted, sync_ns)| {
        let tools = Tools::new(world, room, users::room(plan.hashes.len(), size as usize))?;
        Some((tools, counted, sync_ns))
    });
    let (shared, agreed) = shared::find(world, counted, plan, able.as_ref().map(|(tools, ..)| tools));
    // With files in common, every rank was able.
    let (true, Some((tools, counted, sync_ns))) = (shared.len() > 0, able) else { return Ok(None) };

    let node = path_hash(info.node.as_bytes());
    let own = Rank { rank, node, scale: &calibration.scale, sync_ns };
    let element = |room| mine::sums(&own, room, notes, counted, &shared);
    let (words, reduced) = tools.to_rank_0(world, shared.others(), element);
    let sums = (rank == 0).then(|| Sums::take(&words));
    let files = sums.as_ref().map(|sums| Files::of(counted, &shared, sums));
    let end = files.as_ref().zip(sums.as_ref()).map_or(0, |(files, sums)| files.end(&shared, sums));
    let (state, again) = greatest(world, &[u64::from(!agreed || !reduced), end as u64]);
    if !again {
        // The others may have reduced this rank's part: it must not be told once more.
        return Err("MPI_Allreduce failed".into());
    }
    let &[0, end] = state.as_slice() else { return Ok(None) };
    let end = end as usize;
    if end == 0 {
        return Ok(None);
    }
    let mut hashes: Vec<u64> = shared.files().take(end).map(|(hash, _)| hash).collect();
    hashes.sort_unstable();
    // What rank 0 has to say of its files is in the record.
    let mine = shared.files().take(end).filter(|(_, lowest)| *lowest == rank && rank > 0);
    let mut mine: Vec<u64> = mine.map(|(hash, _)| hash).collect();
    mine.sort_unstable();
    let process = files.zip(sums).map(|(files, sums)| {
        let ranks = Ranks { ranks: size, info, sync_ns, notes };
        common::process(&ranks, &files, end, &plan.hashes, &sums)
    });
    Ok(Some(Reduced { hashes, mine, process }))
}
