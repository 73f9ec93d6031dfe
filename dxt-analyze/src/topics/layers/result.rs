//! Result of the command `layers`: time inside MPI-IO and HDF5 calls.

use super::amplification::FileRow;
use super::buffering::{BufferingRow, Collectives};
use super::concurrency::{Concurrency, Series};
use super::dissection::{CallRow, RankRow};
use super::rounds::RoundsRow;
use crate::findings::Finding;
use crate::shared::bandwidth::LayerRow;
use crate::shared::completeness::Completeness;
use crate::shared::layer_calls::Inside;
use crate::shared::mpiio_time::MpiioTime;
use serde::Serialize;

/// Result of the command `layers`: time inside MPI-IO and HDF5 calls, by layer, rank, file and kind of call.
#[derive(Clone, Debug, Serialize)]
pub struct Layers {
    /// Bandwidth of reads and writes through each I/O layer.
    pub layers: Vec<LayerRow>,
    /// Time in MPI-IO calls, and in the system calls made inside them; lock acquisitions and releases are separate.
    pub mpiio_time: MpiioTime,
    /// MPI-IO and HDF5 calls by kind of call, with the calls made inside them.
    pub calls: Vec<CallRow>,
    /// MPI-IO and HDF5 calls summed over ranks, with the calls made inside them.
    pub job: RankRow,
    /// MPI-IO and HDF5 calls by rank, with the calls made inside them; slowest rank first.
    pub ranks: Vec<RankRow>,
    /// Files accessed through MPI-IO, sorted by time, largest first.
    pub files: Vec<FileRow>,
    /// Collective calls per file, sorted by time, largest first.
    pub collective_files: Vec<BufferingRow>,
    /// MPI-IO calls that a buffer of limited size cuts into rounds, sorted by cost, largest first.
    pub rounds: Vec<RoundsRow>,
    /// Totals over the collective operations: the ranks' calls that belong together.
    pub collectives: Collectives,
    /// Numbers of calls in flight over time, by kind of calls.
    pub concurrency: Vec<Concurrency>,
    /// Time bins of the mean numbers of calls in flight ([`Concurrency::series`]).
    pub series: Series,
    /// System calls whose outer call is not recorded, or is no MPI-IO operation on a file (`MPI_Init`).
    pub elsewhere: Inside,
    /// Number of system calls for which the call around them is uncertain.
    pub unsure: u64,
    /// Number of nodes on which the job ran; `None` if not known.
    pub nodes: Option<u64>,
    /// Missing parts of the trace, with reasons.
    pub missing: Completeness,
    /// Findings on the job and its files.
    pub findings: Vec<Finding>,
}
