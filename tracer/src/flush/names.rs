//! File names known to rank 0, written once into the job block. Rank 0 broadcasts their hashes, and other ranks omit these paths.

use crate::registry;
use trace_format::meta::SharedName;

/// Maximum number of name hashes that are broadcast (512 KiB of hashes).
pub(super) const MOST: usize = 1 << 16;

/// Returns rank 0's file names, sorted by hash.
pub(super) fn of_rank_0() -> Vec<SharedName> {
    let mut names: Vec<SharedName> = registry::files()
        .filter(|file| !file.reported.is_empty())
        .take(MOST)
        .map(|file| SharedName { hash: file.hash, path: file.reported.to_vec() })
        .collect();
    names.sort_by(|a, b| a.hash.cmp(&b.hash).then_with(|| a.path.cmp(&b.path)));
    // Two paths with one hash: neither may be omitted anywhere, so both are left out.
    let twice: Vec<u64> =
        names.windows(2).filter(|pair| pair[0].hash == pair[1].hash).map(|pair| pair[0].hash).collect();
    names.retain(|name| twice.binary_search(&name.hash).is_err());
    names
}
