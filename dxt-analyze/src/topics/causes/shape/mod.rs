//! What costs the job time by the shape of its I/O, whoever does it: each finding is a module of its own.
//!
//! * Who has more to do: [`uneven`]: ranks with more than their share, [`rounds`]: or one of each round of processes; [`longer`]: ranks that are in calls for longer;
//!   [`shared_records`]: files of which a log knows only the slowest rank; [`late`], [`meeting_late`]: ranks that come late to collective calls ([`who_is_late`]).
//! * Who waits: [`queue`]: for too few targets; [`locks`]; [`aliasing`]: ranks that meet on one target after another; [`shared_block`]: a block that all read; [`long_collective`]: a call that held
//!   its ranks; [`polled`]: files that are waited for; [`syncs`]; [`past_cache`]: files opened with O_SYNC or O_DIRECT.
//! * Requests of few bytes: [`tiny`]; [`tiny_collective`]: of all ranks together; [`independent`]: of MPI-IO one by one; [`stream_buffer`]: of C streams; [`filling`]: reads for writes of less than a
//!   block; [`seeks`]: by their price; [`put_together`]: what they would save as long ones.
//! * Work done again: [`asked_again`]: names; [`reopened`], [`mpiio_reopened`], [`hdf5_reopened`]: files that are opened, [`rewritten`]: or written; [`hdf5_flushed`]; [`hdf5_amplified`]: more read than asked for.
//! * Metadata: [`slow_metadata`]; [`many_files`]: small or temporary ones; [`header`]: between records; [`hdf5_metadata`]: of which each rank reads and writes its own.
//! * Aggregators: [`one_aggregator`]: by a hint; [`many_aggregators`]: that wait for each other.

pub mod aliasing;
pub mod asked_again;
pub mod filling;
pub mod hdf5_amplified;
pub mod hdf5_flushed;
pub mod hdf5_metadata;
pub mod hdf5_reopened;
pub mod header;
pub mod independent;
pub mod late;
pub mod locks;
pub mod long_collective;
pub mod longer;
pub mod many_aggregators;
pub mod many_files;
pub mod meeting_late;
pub mod mpiio_reopened;
pub mod one_aggregator;
pub mod past_cache;
pub mod polled;
pub mod put_together;
pub mod queue;
pub mod reopened;
pub mod rewritten;
pub mod rounds;
pub mod seeks;
pub mod shared_block;
pub mod shared_records;
pub mod slow_metadata;
pub mod stream_buffer;
pub mod syncs;
pub mod tiny;
pub mod tiny_collective;
pub mod uneven;
pub mod who_is_late;

use super::claim::Claim;
use super::grid::Grid;
use super::reading::phases::Gaps;

/// All of it.
#[must_use]
pub fn claims(grid: &Grid<'_>, gaps: &[Gaps]) -> Vec<Claim> {
    let mut blocks = shared_block::shared_blocks(grid);
    let mut out = uneven::claims(grid);
    out.extend(rounds::claims(grid));
    // A queue of reads of one block is the block's.
    out.extend(queue::claims(grid, &mut blocks));
    out.extend(blocks.into_iter().map(|block| shared_block::claim(grid, block)));
    out.extend(locks::claims(grid));
    out.extend(syncs::claims(grid));
    out.extend(slow_metadata::claim(grid));
    out.extend(filling::claim(grid));
    out.extend(shared_records::claims(grid.run));
    out.extend(longer::claims(grid));
    out.extend(tiny::claims(grid));
    out.extend(tiny_collective::claims(grid));
    out.extend(stream_buffer::claims(grid));
    out.extend(past_cache::claims(grid));
    out.extend(asked_again::claim(grid));
    out.extend(polled::claims(grid));
    out.extend(many_files::claims(grid));
    out.extend(reopened::claim(grid));
    out.extend(mpiio_reopened::claim(grid));
    out.extend(rewritten::claim(grid));
    out.extend(header::claim(grid));
    out.extend(independent::claims(grid));
    out.extend(seeks::claim(grid));
    out.extend(hdf5_amplified::claims(grid));
    out.extend(hdf5_flushed::claim(grid));
    out.extend(hdf5_reopened::claim(grid));
    out.extend(one_aggregator::claims(grid));
    out.extend(many_aggregators::claims(grid));
    out.extend(long_collective::claims(grid));
    out.extend(meeting_late::claim(grid));
    out.extend(late::claim(grid, gaps));
    out
}
