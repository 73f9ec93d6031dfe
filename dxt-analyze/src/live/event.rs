//! Call with absolute times, as passed on to destinations.

use super::about::{Process, Target};
use super::records::SoFar;
use std::sync::Arc;

/// Identity of a call within its process and spool; stable across restarts of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the thread.
    pub thread: u32,
    /// Number of the buffer among those of the thread.
    pub sequence: u32,
    /// Slot in the buffer.
    pub slot: u32,
}

/// Call passed on as an event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Process that made the call.
    pub process: Arc<Process>,
    /// Operation and file.
    pub target: Arc<Target>,
    /// Identity in its spool.
    pub key: Key,
    /// Byte offset, or -1.
    pub offset: i64,
    /// Length in bytes.
    pub length: u64,
    /// Start, in ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// Return, in ns since 1970-01-01 UTC.
    pub end_unix_ns: i64,
    /// Totals of the process on this file up to and including this call.
    pub so_far: SoFar,
    /// Calls that the event stands for: more than 1 with `--sample`.
    pub stands_for: u32,
}

impl Event {
    /// Returns the duration, in ns.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end_unix_ns.saturating_sub(self.start_unix_ns).unsigned_abs()
    }

    /// Returns an id that is unique among the events of all nodes.
    #[must_use]
    pub fn id(&self) -> String {
        let (process, key) = (&self.process, &self.key);
        format!(
            "{}-{}-{}-{}-{}-{}-{}",
            process.node, process.pid, process.started, process.spool, key.thread, key.sequence, key.slot
        )
    }
}
