//! A call, with absolute times, as it is sent on.

use super::about::{Process, Target};
use super::records::SoFar;
use std::sync::Arc;

/// By which a call is known, with its process and spool: also to a reader that was started anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Index of the thread.
    pub thread: u32,
    /// Which of the thread's buffers.
    pub sequence: u32,
    /// Which place in it.
    pub slot: u32,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Event {
    /// Who made it.
    pub process: Arc<Process>,
    /// What it does, and to which file.
    pub target: Arc<Target>,
    /// By which it is known.
    pub key: Key,
    /// Byte offset, or -1.
    pub offset: i64,
    /// Length in bytes.
    pub length: u64,
    /// When it was made, in ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// When it returned, the same.
    pub end_unix_ns: i64,
    /// What the process had done to the file by then, this call included.
    pub so_far: SoFar,
    /// Calls that it stands for: more than 1 with `--sample`.
    pub stands_for: u32,
}

impl Event {
    /// How long it took, in ns.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end_unix_ns.saturating_sub(self.start_unix_ns).unsigned_abs()
    }

    /// A name of its own among all events of all nodes.
    #[must_use]
    pub fn id(&self) -> String {
        let (process, key) = (&self.process, &self.key);
        format!(
            "{}-{}-{}-{}-{}-{}-{}",
            process.node, process.pid, process.started, process.spool, key.thread, key.sequence, key.slot
        )
    }
}
