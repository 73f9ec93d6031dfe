//! Findings about the shape of the I/O, regardless of the process that does it: one module each.
//!
//! * Uneven work: [`uneven`]: bytes of ranks; [`rounds`]: of processes in rounds; [`longer`], [`longer_together`]: time in calls of one rank, of
//! several; [`slow_thread`]; [`shared_records`]: files with a record of the slowest rank only; [`late`], [`late_to_open`], [`sync_point_late`]:
//! stragglers ([`who_is_late`]).
//! * Waits: [`one_by_one`]: serialized ranks; [`queue`]: too few targets ([`placed`]); [`locks`]; [`aliasing`]; [`shared_block`]: a block that
//! all read, [`behind_block`]: calls behind its readers; [`long_collective`]; [`polled`], [`found_late`]: files of others; [`syncs`];
//! [`past_cache`]: O_SYNC or O_DIRECT.
//! * Small requests: [`tiny`]; [`tiny_collective`]; [`independent`]: of MPI-IO; [`stream_buffer`]: of C streams; [`filling`]: reads for partly
//! written blocks; [`seeks`]; [`put_together`]: saving of larger requests; [`whole_files`]: requests as long as their file.
//! * Repeated work: [`asked_again`]: metadata queries; [`read_again`]: bytes, by counters; [`reopened`], [`mpiio_reopened`], [`hdf5_reopened`];
//! [`rewritten`]; [`read_before`]: blocks read and then overwritten; [`hdf5_flushed`]; [`hdf5_amplified`].
//! * Metadata: [`slow_metadata`]; [`many_files`]; [`header`]: rewritten between records; [`hdf5_metadata`]: separately on each rank.
//! * Aggregators: [`one_aggregator`]: limited by a hint; [`many_aggregators`]: serialized.

pub mod aliasing;
pub mod asked_again;
pub mod behind_block;
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
pub mod stream_buffer;
pub mod sync_point_late;
pub mod syncs;
pub mod tiny;
pub mod tiny_collective;
pub mod uneven;
pub mod who_is_late;
pub mod whole_files;

use super::claim::Claim;
use super::grid::Grid;
use super::reading::phases::Gaps;
use rayon::prelude::*;

/// Returns the claims of all modules.
#[must_use]
pub fn claims(grid: &Grid<'_>, gaps: &[Gaps]) -> Vec<Claim> {
    let mut blocks = shared_block::shared_blocks(grid);
    let mut out = uneven::claims(grid);
    out.extend(rounds::claims(grid));
    // A queue of reads of one block is attributed to the block.
    out.extend(queue::claims(grid, &mut blocks));
    out.extend(blocks.into_iter().map(|block| shared_block::claim(grid, block)));
    // These do not depend on each other.
    let apart: Vec<Vec<Claim>> = APART.par_iter().with_max_len(1).map(|claims| claims(grid)).collect();
    out.extend(apart.into_iter().flatten());
    out.extend(late::claim(grid, gaps));
    out
}

/// Functions that need only the grid.
const APART: [fn(&Grid<'_>) -> Vec<Claim>; 33] = [
    |grid| all(locks::claims(grid)),
    |grid| all(syncs::claims(grid)),
    |grid| all(slow_metadata::claim(grid)),
    |grid| all(filling::claim(grid)),
    |grid| all(shared_records::claims(grid.run)),
    |grid| all(longer::claims(grid)),
    |grid| all(longer_together::claims(grid)),
    |grid| all(slow_thread::claim(grid)),
    |grid| all(tiny::claims(grid)),
    |grid| all(tiny_collective::claims(grid)),
    |grid| all(stream_buffer::claims(grid)),
    |grid| all(past_cache::claims(grid)),
    |grid| all(asked_again::claim(grid)),
    |grid| all(polled::claims(grid)),
    |grid| all(found_late::claim(grid)),
    |grid| all(many_files::claims(grid)),
    |grid| all(reopened::claim(grid)),
    |grid| all(mpiio_reopened::claim(grid)),
    |grid| all(rewritten::claim(grid)),
    |grid| all(read_before::claim(grid)),
    |grid| all(read_again::claim(grid)),
    |grid| all(header::claim(grid)),
    |grid| all(independent::claims(grid)),
    |grid| all(seeks::claim(grid)),
    |grid| all(hdf5_amplified::claims(grid)),
    |grid| all(hdf5_flushed::claim(grid)),
    |grid| all(hdf5_reopened::claim(grid)),
    |grid| all(one_aggregator::claims(grid)),
    |grid| all(many_aggregators::claims(grid)),
    |grid| all(long_collective::claims(grid)),
    |grid| all(sync_point_late::claim(grid)),
    |grid| all(late_to_open::claim(grid)),
    |grid| all(one_by_one::claim(grid)),
];

fn all(claims: impl IntoIterator<Item = Claim>) -> Vec<Claim> {
    claims.into_iter().collect()
}
