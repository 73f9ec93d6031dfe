//! What costs the job time by the shape of its I/O, whoever does it: each finding is a module of its own.
//!
//! * Who has more to do: [`uneven`]: ranks with more than their share, [`rounds`]: or one of each round of processes; [`longer`]: a rank that is in calls for longer, [`longer_together`]: or several for the same work; [`slow_thread`]: threads of a process;
//!   [`shared_records`]: files of which a log knows only the slowest rank; [`late`], [`late_to_open`], [`sync_point_late`]: ranks that come late to collective calls ([`who_is_late`]).
//! * Who waits: [`one_by_one`]: for turns; [`queue`]: for too few targets, by how files lie on them ([`placed`]); [`locks`]; [`aliasing`]: ranks that meet on one target after another; [`shared_block`]: for a block that all read,
//!   [`behind_block`]: or behind those who do; [`long_collective`]: a call that held
//!   its ranks; [`polled`]: files that are waited for, [`found_late`]: or found some time after they are there; [`syncs`]; [`past_cache`]: files opened with O_SYNC or O_DIRECT.
//! * Requests of few bytes: [`tiny`]; [`tiny_collective`]: of all ranks together; [`independent`]: of MPI-IO one at a time; [`stream_buffer`]: of C streams; [`filling`]: reads for writes of less than a
//!   block; [`seeks`]: by their price; [`put_together`]: what they would save as long ones; [`whole_files`]: those that are as long as their file.
//! * Work done again: [`asked_again`]: names; [`read_again`]: bytes, as far as counters tell; [`reopened`], [`mpiio_reopened`], [`hdf5_reopened`]: files that are opened, [`rewritten`]: or written; [`read_before`]: blocks that are read and then overwritten; [`hdf5_flushed`]; [`hdf5_amplified`]: more read than asked for.
//! * Metadata: [`slow_metadata`]; [`many_files`]: small or temporary ones; [`header`]: between records; [`hdf5_metadata`]: of which each rank reads and writes its own.
//! * Aggregators: [`one_aggregator`]: by a hint; [`many_aggregators`]: that wait for each other.

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

/// All of it.
#[must_use]
pub fn claims(grid: &Grid<'_>, gaps: &[Gaps]) -> Vec<Claim> {
    let mut blocks = shared_block::shared_blocks(grid);
    let mut out = uneven::claims(grid);
    out.extend(rounds::claims(grid));
    // A queue of reads of one block is the block's.
    out.extend(queue::claims(grid, &mut blocks));
    out.extend(blocks.into_iter().map(|block| shared_block::claim(grid, block)));
    // None of them knows of the others.
    let apart: Vec<Vec<Claim>> = APART.par_iter().with_max_len(1).map(|claims| claims(grid)).collect();
    out.extend(apart.into_iter().flatten());
    out.extend(late::claim(grid, gaps));
    out
}

/// Those that are found each by itself.
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
