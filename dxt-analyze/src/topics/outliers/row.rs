//! Slow operation, as a row of tables and JSON.

use crate::findings::About;
use serde::Serialize;

/// Slow operation: its bandwidth or duration lies beyond the fence (limit of the box-plot rule) of its group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutlierRow {
    /// MPI rank that made the operation; -1 for a process without MPI.
    pub rank: i32,
    /// Host name of the node on which the operation was made.
    pub node: String,
    /// Id of the process that made the operation.
    pub pid: u32,
    /// Path of the file on which the operation was made.
    pub file: String,
    /// Offset of the operation in the file, bytes; -1 if it has none.
    pub offset: i64,
    /// Size of the operation, bytes.
    pub length: u64,
    /// Start of the operation, ns since the job's start.
    pub start_ns: u64,
    /// End of the operation, ns since the job's start.
    pub end_ns: u64,
    /// Bandwidth of the operation in bytes per second; `None` if it moved no bytes.
    pub bandwidth: Option<f64>,
    /// Number of the stripe that contains the first byte, counted from the file's start; `None` if the layout is unknown.
    pub stripe: Option<u64>,
    /// Storage target (OST) that holds the stripe; `None` if unknown.
    pub ost: Option<u32>,
}

impl OutlierRow {
    /// Returns the machine-readable subject of evidence about this operation.
    #[must_use]
    pub fn about(&self) -> About {
        About {
            rank: (self.rank >= 0).then_some(self.rank),
            node: Some(self.node.clone()),
            ost: self.ost,
            file: Some(self.file.clone()),
            offset: u64::try_from(self.offset).ok(),
            span_ns: Some((self.start_ns, self.end_ns)),
            calls: Some(1),
            bytes: Some(self.length),
            time_ns: Some(self.end_ns.saturating_sub(self.start_ns)),
            ..About::default()
        }
    }
}
