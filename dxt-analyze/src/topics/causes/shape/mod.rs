//! Findings about the shape of the I/O, regardless of the process that does it: one module each; its first line says what it finds.

pub mod aliasing;
pub mod asked_again;
pub mod behind_block;
pub mod cpu_wait;
pub mod filling;
pub mod found_late;
pub mod hdf5_amplified;
pub mod hdf5_flushed;
pub mod hdf5_metadata;
pub mod hdf5_reopened;
pub mod header;
pub mod independent;
pub mod late;
pub mod late_to_open;
pub mod launched;
pub mod locks;
pub mod long_collective;
pub mod longer;
pub mod longer_together;
pub mod many_aggregators;
pub mod many_files;
pub mod mpiio_reopened;
pub mod one_aggregator;
pub mod one_by_one;
pub mod past_cache;
mod placed;
pub mod polled;
pub mod processed_again;
pub mod put_together;
pub mod queue;
pub mod read_again;
pub mod read_before;
pub mod reopened;
pub mod rewritten;
pub mod rounds;
pub mod seeks;
pub mod shared_block;
pub mod shared_records;
pub mod slow_metadata;
pub mod slow_thread;
pub mod standard_output;
pub mod stream_buffer;
pub mod sync_point_late;
pub mod syncs;
pub mod tiny;
pub mod tiny_collective;
pub mod uneven;
pub mod who_is_late;
pub mod whole_files;

use super::claim::Claim;
use crate::cube::Cube;
use crate::cube::reading::phases::Gaps;
use rayon::prelude::*;

/// Returns the claims (findings with their savings) of all modules of this folder. `gaps`: times since the ranks' previous collective
/// calls.
#[must_use]
pub fn claims(cube: &Cube<'_>, gaps: &[Gaps]) -> Vec<Claim> {
    let mut blocks = shared_block::shared_blocks(cube);
    let mut out = uneven::claims(cube);
    out.extend(rounds::claims(cube));
    // A queue of reads of one block is attributed to the block.
    out.extend(queue::claims(cube, &mut blocks));
    out.extend(blocks.into_iter().map(|block| shared_block::claim(cube, block)));
    // These functions do not depend on each other, so they run in parallel.
    let apart: Vec<Vec<Claim>> = APART.par_iter().with_max_len(1).map(|claims| claims(cube)).collect();
    out.extend(apart.into_iter().flatten());
    out.extend(late::claim(cube, gaps));
    out
}

/// Functions of this folder that find their claims in the cube (totals of calls by process, time window, stream and size) alone.
const APART: [fn(&Cube<'_>) -> Vec<Claim>; 37] = [
    |cube| all(locks::claims(cube)),
    |cube| all(syncs::claims(cube)),
    |cube| all(slow_metadata::claim(cube)),
    |cube| all(filling::claim(cube)),
    |cube| all(shared_records::claims(cube.run)),
    |cube| all(longer::claims(cube)),
    |cube| all(longer_together::claims(cube)),
    |cube| all(slow_thread::claim(cube)),
    |cube| all(tiny::claims(cube)),
    |cube| all(tiny_collective::claims(cube)),
    |cube| all(stream_buffer::claims(cube)),
    |cube| all(past_cache::claims(cube)),
    |cube| all(asked_again::claim(cube)),
    |cube| all(polled::claims(cube)),
    |cube| all(found_late::claim(cube)),
    |cube| all(many_files::claims(cube)),
    |cube| all(reopened::claim(cube)),
    |cube| all(launched::claims(cube)),
    |cube| all(mpiio_reopened::claim(cube)),
    |cube| all(rewritten::claim(cube)),
    |cube| all(read_before::claim(cube)),
    |cube| all(read_again::claim(cube)),
    |cube| all(processed_again::claim(cube)),
    |cube| all(header::claim(cube)),
    |cube| all(independent::claims(cube)),
    |cube| all(seeks::claim(cube)),
    |cube| all(hdf5_amplified::claims(cube)),
    |cube| all(hdf5_flushed::claim(cube)),
    |cube| all(hdf5_reopened::claim(cube)),
    |cube| all(one_aggregator::claims(cube)),
    |cube| all(many_aggregators::claims(cube)),
    |cube| all(long_collective::claims(cube)),
    |cube| all(sync_point_late::claim(cube)),
    |cube| all(late_to_open::claim(cube)),
    |cube| all(one_by_one::claim(cube)),
    |cube| all(standard_output::claims(cube)),
    |cube| all(cpu_wait::claim(cube)),
];

fn all(claims: impl IntoIterator<Item = Claim>) -> Vec<Claim> {
    claims.into_iter().collect()
}
