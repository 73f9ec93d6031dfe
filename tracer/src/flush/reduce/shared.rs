//! Finds shared files: rank 0's files that another rank uses too, and files unknown to rank 0 that several ranks use.

use super::calls::Tools;
use super::described;
use super::users::Users;
use crate::flush::collective::greatest;
use crate::flush::counted::Counted;
use crate::flush::plan::Plan;
use crate::mpi::World;
use crate::registry::File;
use std::collections::BTreeMap;

/// Value that rank 0 contributes to the maximum over all ranks for a file that is in its broadcast plan but that it has not counted.
/// Exceeds any rank + 1, so that the file is not reduced.
const NOT_COUNTED: u64 = 1 << 32;

/// Files shared by several ranks, in equal order on all ranks.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Sorted hashes of the shared files that rank 0 uses.
    of_rank_0: Vec<u64>,
    /// Sorted hashes of the shared files that rank 0 lacks, each with the lowest rank that uses the file.
    others: Vec<(u64, u32)>,
}

impl Shared {
    pub(super) fn others(&self) -> usize {
        self.others.len()
    }

    pub(super) fn len(&self) -> usize {
        self.of_rank_0.len() + self.others.len()
    }

    /// Returns the index, among the shared files, of the file whose name has this hash.
    pub(super) fn place(&self, hash: u64) -> Option<usize> {
        let other = || self.others.binary_search_by_key(&hash, |(hash, _)| *hash).ok();
        self.of_rank_0.binary_search(&hash).ok().or_else(|| other().map(|at| self.of_rank_0.len() + at))
    }

    /// Returns the name hashes of all shared files in index order, each with the lowest rank that uses the file.
    pub(super) fn files(&self) -> impl Iterator<Item = (u64, u32)> {
        self.of_rank_0.iter().map(|hash| (*hash, 0)).chain(self.others.iter().copied())
    }
}

/// Returns the files that this rank has counted, by hash of the name. The value is `None` if two files have the same hash.
fn files(counted: &Counted) -> BTreeMap<u64, Option<&'static File>> {
    let mut files: BTreeMap<u64, Option<&'static File>> = BTreeMap::new();
    for (_, stream, _) in &counted.streams {
        let known = files.entry(stream.file.hash).or_insert(Some(stream.file));
        *known = known.filter(|known| std::ptr::eq(*known, stream.file));
    }
    files
}

/// Finds the files shared by several ranks; returns no files unless all ranks have `tools` and so can reduce. Also returns true if MPI
/// reported success. Collective: one call; a second one if all ranks can reduce, some rank has files that are not in rank 0's plan, and the
/// plan needed only one broadcast.
pub(super) fn find(world: &World, counted: Option<&Counted>, plan: &Plan, tools: Option<&Tools>) -> (Shared, bool) {
    let rank = world.rank.unsigned_abs();
    let files = counted.map(files).unwrap_or_default();
    let apart = || files.iter().filter(|(hash, _)| plan.hashes.binary_search(hash).is_err());
    let mut words = vec![u64::from(tools.is_none()), u64::from(apart().next().is_some())];
    words.extend(plan.hashes.iter().map(|hash| match (files.contains_key(hash), rank) {
        (true, _) => u64::from(rank) + 1,
        (false, 0) => NOT_COUNTED,
        (false, _) => 0,
    }));
    let (all, mut worked) = greatest(world, &words);
    let (&[0, is_apart, ref highest @ ..], Some(tools)) = (all.as_slice(), tools) else {
        return (Shared::default(), worked);
    };
    let by_others = plan.hashes.iter().zip(highest).filter(|(_, highest)| (2..NOT_COUNTED).contains(*highest));
    let mut shared = Shared { of_rank_0: by_others.map(|(hash, _)| *hash).collect(), others: Vec::new() };
    // If the names needed a second broadcast, this call would exceed the limit of calls.
    if is_apart != 0 && plan.in_one_call {
        let reported = apart().map(|(hash, file)| (*hash, file.is_some_and(described::has_room)));
        let (users, again) = tools.of_all(world, &Users::of(rank, tools.users_room, reported));
        shared.others = users.shared();
        shared.others.truncate(tools.most_files());
        worked &= again;
    }
    (shared, worked)
}
