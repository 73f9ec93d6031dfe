//! The whole result, put together from what the pass found.

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

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Layers {
    /// Bandwidth of each layer.
    pub layers: Vec<LayerRow>,
    /// Time in MPI-IO and in the system calls inside it, locks and unlocks apart.
    pub mpiio_time: MpiioTime,
    /// What calls of MPI-IO and HDF5 are made of, by kind of call.
    pub calls: Vec<CallRow>,
    /// The same of all ranks together.
    pub job: RankRow,
    /// The same by rank, the slowest first.
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
    /// The bins of `concurrency.series`.
    pub series: Series,
    /// System calls inside a call that is not on record, or is none of MPI-IO's data or file calls (`MPI_Init`).
    pub elsewhere: Inside,
    /// System calls of which it is not sure which call they were made inside.
    pub unsure: u64,
    /// Number of nodes, if any is known.
    pub nodes: Option<u64>,
    /// What is missing.
    pub missing: Completeness,
    /// Findings.
    pub findings: Vec<Finding>,
}
