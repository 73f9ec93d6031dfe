//! File names that rank 0 writes once for all ranks into the job block. Rank 0 broadcasts the hashes of its names, and other ranks omit these paths.

use crate::registry;
use trace_format::meta::SharedName;

/// Maximum number of hashes of file names that rank 0 broadcasts (512 KiB of hashes).
pub(super) const MOST: usize = 1 << 16;

/// Returns rank 0's file names, to be written once for all ranks, sorted by hash.
pub(super) fn of_rank_0() -> Vec<SharedName> {
    let mut names: Vec<SharedName> = registry::files()
        .filter(|file| !file.reported.is_empty())
        .take(MOST)
        .map(|file| SharedName { hash: file.hash, path: file.reported.to_vec() })
        .collect();
    names.sort_by(|a, b| a.hash.cmp(&b.hash).then_with(|| a.path.cmp(&b.path)));
    // If two paths have the same hash, both are left out, since no rank may omit either of them.
    let twice: Vec<u64> =
        names.windows(2).filter(|pair| pair[0].hash == pair[1].hash).map(|pair| pair[0].hash).collect();
    names.retain(|name| twice.binary_search(&name.hash).is_err());
    names
}
