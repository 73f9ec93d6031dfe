//! Whole result of `layers`.

use super::amplification::FileRow;
use super::buffering::{BufferingRow, Collectives};
use super::concurrency::{Concurrency, Series};
use super::dissection::{CallRow, RankRow};
use super::parts::Inside;
use super::rounds::RoundsRow;
use crate::findings::Finding;
use crate::shared::bandwidth::LayerRow;
use crate::shared::completeness::Completeness;
use crate::shared::mpiio_time::MpiioTime;
use serde::Serialize;

/// Result of the command.
#[derive(Clone, Debug, Serialize)]
pub struct Layers {
    /// Bandwidth of each layer.
    pub layers: Vec<LayerRow>,
    /// Time in MPI-IO and in the system calls inside it, with locks and unlocks separate.
    pub mpiio_time: MpiioTime,
    /// Calls inside MPI-IO and HDF5 calls, by kind of call.
    pub calls: Vec<CallRow>,
    /// Calls inside MPI-IO and HDF5 calls, summed over ranks.
    pub job: RankRow,
    /// Calls inside MPI-IO and HDF5 calls by rank, slowest first.
    pub ranks: Vec<RankRow>,
    /// Files that MPI-IO accessed, those with most time first.
    pub files: Vec<FileRow>,
    /// Collective calls by file, those with most time first.
    pub collective_files: Vec<BufferingRow>,
    /// Calls that a buffer of fixed size cuts into rounds, those that cost most first.
    pub rounds: Vec<RoundsRow>,
    /// Collective operations.
    pub collectives: Collectives,
    /// Calls in flight over time.
    pub concurrency: Vec<Concurrency>,
    /// Time bins of `concurrency.series`.
    pub series: Series,
    /// System calls inside a call that is not recorded, or that is none of MPI-IO's data or file calls (`MPI_Init`).
    pub elsewhere: Inside,
    /// Number of system calls whose outer call is uncertain.
    pub unsure: u64,
    /// Number of nodes, if known.
    pub nodes: Option<u64>,
    /// Missing parts of the trace.
    pub missing: Completeness,
    /// Findings.
    pub findings: Vec<Finding>,
}
