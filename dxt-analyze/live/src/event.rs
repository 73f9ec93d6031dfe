//! I/O call with absolute times, as delivered to destinations.

use super::about::{Process, Target};
use super::records::SoFar;
use std::sync::Arc;

/// Identity of a call within its process and spool (file with recorded calls), which stays the same if the agent restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the calling thread in the process.
    pub thread: u32,
    /// Sequence number of the call's buffer among the buffers of the thread.
    pub sequence: u32,
    /// Index of the call's record in that buffer of its thread.
    pub slot: u32,
}

/// I/O call delivered as an event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Process that made the call.
    pub process: Arc<Process>,
    /// Operation and file of the call.
    pub target: Arc<Target>,
    /// Identity of the call within its process and spool (file with recorded calls).
    pub key: Key,
    /// Byte offset in the file; -1 if the call has none.
    pub offset: i64,
    /// Number of bytes that the call transferred.
    pub length: u64,
    /// Start of the call, in ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// End of the call, in ns since 1970-01-01 UTC.
    pub end_unix_ns: i64,
    /// Totals over the process's calls on the file until this call, which is included.
    pub so_far: SoFar,
    /// Number of calls that the event stands for; more than 1 if `--sample` skips calls.
    pub stands_for: u32,
}

impl Event {
    /// Returns the duration of the call, in ns.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end_unix_ns.saturating_sub(self.start_unix_ns).unsigned_abs()
    }

    /// Returns an id of the call that is unique across all nodes.
    #[must_use]
    pub fn id(&self) -> String {
        let (process, key) = (&self.process, &self.key);
        format!(
            "{}-{}-{}-{}-{}-{}-{}",
            process.node, process.pid, process.started, process.spool, key.thread, key.sequence, key.slot
        )
    }
}
