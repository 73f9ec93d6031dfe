//! What costs the job time by the shape of its I/O, whoever does it: each finding is a module of its own.

use super::claim::Claim;
use super::grid::Grid;
use super::phases::Gaps;

/// All of it.
#[must_use]
pub fn claims(grid: &Grid<'_>, gaps: &[Gaps]) -> Vec<Claim> {
    let mut blocks = super::shared_block::shared_blocks(grid);
    let mut out = super::uneven::claims(grid);
    out.extend(super::rounds::claims(grid));
    // A queue of reads of one block is the block's.
    out.extend(super::queue::claims(grid, &mut blocks));
    out.extend(blocks.into_iter().map(|block| super::shared_block::claim(grid, block)));
    out.extend(super::locks::claims(grid));
    out.extend(super::syncs::claims(grid));
    out.extend(super::slow_metadata::claim(grid));
    out.extend(super::filling::claim(grid));
    out.extend(super::shared_records::claims(grid.run));
    out.extend(super::longer::claims(grid));
    out.extend(super::tiny::claims(grid));
    out.extend(super::tiny_collective::claims(grid));
    out.extend(super::stream_buffer::claims(grid));
    out.extend(super::past_cache::claims(grid));
    out.extend(super::asked_again::claim(grid));
    out.extend(super::polled::claims(grid));
    out.extend(super::many_files::claims(grid));
    out.extend(super::reopened::claim(grid));
    out.extend(super::mpiio_reopened::claim(grid));
    out.extend(super::rewritten::claim(grid));
    out.extend(super::header::claim(grid));
    out.extend(super::independent::claims(grid));
    out.extend(super::seeks::claim(grid));
    out.extend(super::hdf5_amplified::claims(grid));
    out.extend(super::hdf5_flushed::claim(grid));
    out.extend(super::hdf5_reopened::claim(grid));
    out.extend(super::one_aggregator::claims(grid));
    out.extend(super::many_aggregators::claims(grid));
    out.extend(super::long_collective::claims(grid));
    out.extend(super::meeting_late::claim(grid));
    out.extend(super::late::claim(grid, gaps));
    out
}
