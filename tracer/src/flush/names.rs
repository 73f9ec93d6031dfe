//! Names that rank 0 also knows are written once, into the job block: it tells their hashes, and the others leave those paths out.

use crate::registry;
use trace_format::meta::SharedName;

/// Most hashes that are told: 512 KiB.
pub(super) const MOST: usize = 1 << 16;

/// Rank 0's names, sorted by hash.
pub(super) fn of_rank_0() -> Vec<SharedName> {
    let mut names: Vec<SharedName> = registry::files()
        .filter(|file| !file.told.is_empty())
        .take(MOST)
        .map(|file| SharedName { hash: file.hash, path: file.told.to_vec() })
        .collect();
    names.sort_by(|a, b| a.hash.cmp(&b.hash).then_with(|| a.path.cmp(&b.path)));
    // Two paths of one hash: neither may be left out anywhere, so the pair is not shared.
    let twice: Vec<u64> =
        names.windows(2).filter(|pair| pair[0].hash == pair[1].hash).map(|pair| pair[0].hash).collect();
    names.retain(|name| twice.binary_search(&name.hash).is_err());
    names
}
