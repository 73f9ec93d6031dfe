//! Memory bound of a conversion: a log of some KiB may expand to millions of small records.

use crate::model::Problem;
use crate::text::paths::shown;
use std::path::Path;

/// Memory budget, in bytes. After a refusal, all requests are refused until a refill: the data kept is the first part of the input, without holes.
#[derive(Debug)]
pub(crate) struct Budget {
    what: &'static str,
    limit: u64,
    /// Remaining bytes of the budget; `None` after a refused request.
    left: Option<u64>,
    refused: bool,
}

impl Budget {
    /// Creates a budget of `limit` bytes. `what` names the data for messages.
    pub(crate) fn new(what: &'static str, limit: u64) -> Self {
        Self { what, limit, left: Some(limit), refused: false }
    }

    /// Reserves `bytes`; returns false if fewer bytes remain.
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        self.left = self.left.and_then(|left| left.checked_sub(bytes));
        self.refused |= self.left.is_none();
        self.left.is_some()
    }

    /// Makes the whole budget available again; [`Self::is_spent`] stays as it is.
    pub(crate) fn refill(&mut self) {
        self.left = Some(self.limit);
    }

    /// Returns true if any request was ever refused.
    pub(crate) fn is_spent(&self) -> bool {
        self.refused
    }

    /// Returns a message that data was omitted for lack of memory; `None` if no request was refused.
    pub(crate) fn problem(&self, path: &Path) -> Option<Problem> {
        self.is_spent().then(|| Problem {
            file: shown(path),
            offset: 0,
            what: format!(
                "{} would need more than {} MiB of memory: dxt-analyze reads the first part and skips the rest",
                self.what,
                self.limit >> 20
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_kept_and_the_rest_is_reported_once() {
        let mut budget = Budget::new("the records", 5 << 20);
        assert!(budget.take(4 << 20) && budget.problem(Path::new("x")).is_none());
        budget.refill();
        assert!(budget.take(5 << 20) && !budget.take(1) && !budget.take(0));
        budget.refill();
        assert!(budget.take(1) && budget.is_spent());
        let problem = budget.problem(Path::new("x")).unwrap();
        assert!(problem.what.starts_with("the records would need more than 5 MiB"), "{}", problem.what);
    }
}
