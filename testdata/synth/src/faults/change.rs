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

#[cfg(test)]
mod tests {
    use super::Change;
    use crate::faults::{Choice, write_changed};

    /// A change without effect would pass each test that findings stay the same.
    #[test]
    fn each_change_makes_another_trace() {
        let none = Change::default();
        let changes = [
            none,
            Change { faults: 0, ..none },
            Change { ranks: 2, ..none },
            Change { times: 2, ..none },
            Change { shift_ns: 1_000_000, ..none },
            Change { reversed: true, ..none },
            Change { folder: "other", ..none },
            Change { parts: 2, ..none },
        ];
        let traces: Vec<Option<Vec<u8>>> = changes
            .iter()
            .map(|change| {
                let folder = tempfile::tempdir().unwrap();
                let choice = Choice { short: true, only: Some("slow-node".into()), ..Choice::default() };
                let truths = write_changed(folder.path(), &choice, change).unwrap();
                // The parts of a trace lie in a directory.
                std::fs::read(folder.path().join(&truths[0].log)).ok()
            })
            .collect();
        assert!((1..traces.len()).all(|at| !traces[..at].contains(&traces[at])));
        assert!(traces[..7].iter().all(Option::is_some) && traces[7].is_none());
    }
}
