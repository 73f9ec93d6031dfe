//! Names that rank 0 also knows are sent once: it broadcasts their hashes, and the others leave those paths out.

use crate::mpi::{SUCCESS, World, api};
use crate::registry;
use trace_format::meta::SharedName;

/// Most hashes that are broadcast: 512 KiB.
const MOST: usize = 1 << 16;

/// Rank 0's names, sorted by hash.
pub(super) fn of_rank_0() -> Vec<SharedName> {
    let mut names: Vec<SharedName> = registry::files()
        .filter(|file| !file.path.is_empty())
        .take(MOST)
        .map(|file| SharedName { hash: file.hash, path: file.path.to_vec() })
        .collect();
    names.sort_by(|a, b| a.hash.cmp(&b.hash).then_with(|| a.path.cmp(&b.path)));
    // Two paths of one hash: neither may be left out anywhere, so the pair is not shared.
    let twice: Vec<u64> =
        names.windows(2).filter(|pair| pair[0].hash == pair[1].hash).map(|pair| pair[0].hash).collect();
    names.retain(|name| twice.binary_search(&name.hash).is_err());
    names
}

/// Broadcasts the hashes of `names` (rank 0's; ignored elsewhere). Collective.
pub(super) fn broadcast(world: &World, names: &[SharedName]) -> Result<Vec<u64>, String> {
    let mut count = names.len() as u64;
    let abi = &world.abi;
    if api().bcast((&raw mut count).cast(), 1, abi.uint64, 0, abi.comm_world) != SUCCESS {
        return Err("the broadcast of names failed".into());
    }
    let mut hashes: Vec<u64> = names.iter().map(|name| name.hash).collect();
    hashes.resize(usize::try_from(count).unwrap_or(0).min(MOST), 0);
    let length = hashes.len() as i32;
    if length > 0 && api().bcast(hashes.as_mut_ptr().cast(), length, abi.uint64, 0, abi.comm_world) != SUCCESS {
        return Err("the broadcast of names failed".into());
    }
    Ok(hashes)
}
