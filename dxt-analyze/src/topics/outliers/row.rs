//! A slow operation as it is listed.

use crate::findings::About;
use serde::Serialize;

/// An operation beyond the fence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutlierRow {
    /// Rank, or -1.
    pub rank: i32,
    /// Host name.
    pub node: String,
    /// Process id.
    pub pid: u32,
    /// File.
    pub file: String,
    /// Byte offset, or -1.
    pub offset: i64,
    /// Bytes.
    pub length: u64,
    /// Start, ns since the job's start.
    pub start_ns: u64,
    /// End, ns since the job's start.
    pub end_ns: u64,
    /// Bytes per second; `None` for no bytes.
    pub bandwidth: Option<f64>,
    /// Stripe that holds its first byte, counted from the file's start, if the layout is known.
    pub stripe: Option<u64>,
    /// Storage target of that stripe, if known.
    pub ost: Option<u32>,
}

impl OutlierRow {
    /// What evidence of it is about.
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
