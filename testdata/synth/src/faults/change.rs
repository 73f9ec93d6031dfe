//! Changes to simulated jobs and to their traces whose effect on findings is known (metamorphic relations).

/// Change to a job or its trace. The default changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Number of the case's faults, in the order of its list, that the job has.
    pub faults: usize,
    /// Factor of the numbers of ranks, nodes and aggregators.
    pub ranks: u32,
    /// Factor of all times in the trace.
    pub times: u64,
    /// Time added to the clocks of all processes, in ns.
    pub shift_ns: i64,
    /// True if the ranks are numbered in reverse order.
    pub reversed: bool,
    /// Folder of the job's files, below `/scratch`.
    pub folder: &'static str,
    /// Number of files that hold the trace, each with consecutive ranks. With more than one, the trace is a directory.
    pub parts: u32,
}

impl Default for Change {
    fn default() -> Self {
        Self { faults: usize::MAX, ranks: 1, times: 1, shift_ns: 0, reversed: false, folder: "model", parts: 1 }
    }
}
