//! Serialized form of a slow operation.

use crate::findings::About;
use serde::Serialize;

/// Operation beyond the fence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutlierRow {
    /// MPI rank, or -1.
    pub rank: i32,
    /// Host name.
    pub node: String,
    /// Process id.
    pub pid: u32,
    /// Path of the file.
    pub file: String,
    /// Offset in bytes, or -1.
    pub offset: i64,
    /// Length in bytes.
    pub length: u64,
    /// Start, ns since the job's start.
    pub start_ns: u64,
    /// End, ns since the job's start.
    pub end_ns: u64,
    /// Bandwidth in bytes per second; `None` without bytes.
    pub bandwidth: Option<f64>,
    /// Number of the stripe that holds the first byte, from the file's start, if the layout is known.
    pub stripe: Option<u64>,
    /// Storage target of the stripe, if known.
    pub ost: Option<u32>,
}

impl OutlierRow {
    /// Returns the subject of evidence on this operation.
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
        }
    }
}
