//! MPI-IO calls by time, used to find the POSIX calls made inside them.

/// Start and end of one rank's MPI-IO calls on one file. After [`Self::settle`], each end is the latest end of this and all earlier calls.
#[derive(Default)]
pub(crate) struct Calls(pub(crate) Vec<(u64, u64)>);

impl Calls {
    /// Sorts the calls and raises each end to the latest end so far, as [`Self::hold`] requires. Call this after all MPI-IO calls are
    /// added.
    pub(crate) fn settle(&mut self) {
        self.0.sort_unstable();
        let mut latest = 0;
        for (_, end) in &mut self.0 {
            latest = latest.max(*end);
            *end = latest;
        }
    }

    /// Returns true if one of the MPI-IO calls covers the whole time from `start` to `end`.
    pub(crate) fn hold(&self, start: u64, end: u64) -> bool {
        let before = self.0.partition_point(|(begin, _)| *begin <= start);
        before.checked_sub(1).and_then(|last| self.0.get(last)).is_some_and(|(_, latest)| *latest >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_nested_if_another_is_under_way_all_the_time() {
        let mut calls = Calls(vec![(50, 60), (10, 40), (20, 30)]);
        calls.settle();
        let held = [(10, 40), (35, 40), (25, 28), (50, 55)];
        let apart = [(9, 12), (35, 41), (45, 46), (55, 61), (70, 71)];
        assert!(held.iter().all(|(start, end)| calls.hold(*start, *end)));
        assert!(!apart.iter().any(|(start, end)| calls.hold(*start, *end)));
    }
}
