//! Numbers of dropped calls, or of unobserved processes, that agents on other nodes report, each since the agent started. Bounds the number
//! of agents and the lengths of their names, since anybody who can write to the NATS stream can send anything.

use std::collections::BTreeMap;

const MOST_AGENTS: usize = 100_000;
/// Maximum length of an agent's name, in bytes: a node's name and two numbers.
const MOST_NAME: usize = 256;

#[derive(Default)]
pub(super) struct Counts(BTreeMap<String, u64>);

impl Counts {
    /// Updates the number (of dropped calls, or of unobserved processes) that `agent` reports; a repeated message has no effect. Returns
    /// false if there are too many agents, or the name is too long.
    #[must_use]
    pub(super) fn take(&mut self, agent: String, count: u64) -> bool {
        if let Some(known) = self.0.get_mut(&agent) {
            *known = count.max(*known);
            return true;
        }
        let has_room = self.0.len() < MOST_AGENTS && agent.len() <= MOST_NAME;
        if has_room {
            self.0.insert(agent, count);
        }
        has_room
    }

    pub(super) fn sum(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_reported_again_and_grows() {
        let mut counts = Counts::default();
        assert!(counts.take("a".into(), 2) && counts.take("a".into(), 5) && counts.take("a".into(), 3));
        assert!(counts.take("b".into(), 1));
        assert_eq!(counts.sum(), 6);
    }

    #[test]
    fn what_is_claimed_has_bounds() {
        let mut counts = Counts::default();
        assert!(counts.take("a".into(), u64::MAX) && counts.take("b".into(), u64::MAX));
        assert_eq!(counts.sum(), u64::MAX);
        assert!(!counts.take("n".repeat(MOST_NAME + 1), 1));
        (2..MOST_AGENTS).for_each(|number| assert!(counts.take(number.to_string(), 0)));
        assert!(!counts.take("one more".into(), 1) && counts.take("a".into(), 1));
        assert_eq!(counts.0.len(), MOST_AGENTS);
    }
}
