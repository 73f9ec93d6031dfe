//! Pattern of a job's I/O: a fact, whether it costs time or not.

use super::Code;
use serde::Serialize;

/// Property of a job's I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Size of the requests that reach the file system.
    Size,
    /// Order of a process's requests in the file.
    Order,
    /// Alignment of requests with the file's stripes or blocks.
    Alignment,
    /// Number of processes that use the files with most of the bytes.
    Sharing,
    /// Interface that the program calls for most of the bytes.
    Interface,
    /// Form of the MPI-IO calls.
    Collectives,
    /// Calls that move no data.
    Metadata,
    /// Syncs of written data.
    Syncs,
    /// Distribution of the bytes over ranks.
    Ranks,
    /// Distribution of the bytes over storage targets.
    Targets,
    /// Bytes that are read more than once.
    Repetition,
}

/// Kind of a property, such as small requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Requests are small.
    Small,
    /// Some requests are small, most are large.
    Mixed,
    /// Requests are large.
    Large,
    /// Each request begins where the last one ended.
    Consecutive,
    /// Requests go forward with gaps.
    Strided,
    /// Many requests go backward.
    Random,
    /// Requests begin at stripes or blocks.
    Aligned,
    /// Requests begin off stripes and blocks.
    Unaligned,
    /// Several processes use the files with most bytes.
    SharedFile,
    /// Each process has files of its own.
    FilePerProcess,
    /// Many small files.
    SmallFiles,
    /// One process moves all bytes.
    OneProcess,
    /// System calls.
    Posix,
    /// C streams.
    Streams,
    /// MPI-IO.
    MpiIo,
    /// HDF5.
    Hdf5,
    /// Most bytes move in collective calls.
    Collective,
    /// Most bytes move in independent calls.
    Independent,
    /// Many calls, or much time, without data.
    Heavy,
    /// Few calls, and little time, without data.
    Light,
    /// A sync after nearly each write.
    Frequent,
    /// Few syncs.
    Rare,
    /// Ranks move equal amounts.
    Balanced,
    /// Ranks move unequal amounts.
    Unbalanced,
    /// One rank moves nearly all bytes.
    OneRank,
    /// Most bytes are on one storage target.
    OneTarget,
    /// Bytes are on several storage targets.
    SeveralTargets,
    /// Bytes are read once.
    ReadOnce,
    /// A process reads bytes again.
    ReadAgain,
    /// Several processes read the same bytes.
    ReadByAll,
}

/// One property of a job's I/O, in numbers and words.
#[derive(Clone, Debug, Serialize)]
pub struct Pattern {
    /// Property that the pattern describes.
    pub aspect: Aspect,
    /// Direction of the calls: `read` or `write`; `None` for both, and for calls that move no data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<&'static str>,
    /// Kind of the property.
    pub pattern: Kind,
    /// True if parallel file systems are known to be slow with the pattern; it may still cost nothing in this run.
    pub notable: bool,
    /// Measured value that decides the kind, 0 to 1.
    pub share: f64,
    /// Amount behind the kind: mean size of the requests in bytes, number of processes that share files or have their own, number of files
    /// for `small_files`, number of storage targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
    /// Pattern as a sentence with numbers.
    pub sentence: String,
    /// Finding of the report that states what the pattern costs, if it is above `info`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Code>,
    /// Run time that the finding would save, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saves_ns: Option<u64>,
}
