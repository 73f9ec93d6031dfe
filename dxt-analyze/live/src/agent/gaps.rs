//! Gaps in an agent's data: calls that tracers did not record, and calls that the agent did not deliver.

use super::{Agent, MOST_LEFT_OUT};
use crate::interval::{LeftOut, NotSeen, OTHERS};
use crate::open_spool::Held;

impl Agent {
    /// Returns the counts of calls or events that tracers have reported as not recorded so far, by the tracers' description.
    pub(super) fn left_out(&self) -> LeftOut {
        let mut all = self.gone_left_out.clone();
        self.held.iter().for_each(|held| note(&mut all, held));
        all
    }

    pub(super) fn not_seen(&self) -> NotSeen {
        let mut all = self.gone;
        self.held.iter().for_each(|held| add(&mut all, held));
        self.add_others(&mut all);
        // Unopened spools are excluded from the saved state (see `gone`), since a resumed agent may still open them.
        all.spools += self.unopened;
        all
    }

    /// Returns the counts of missing calls for the saved state, without those that open spools report: a resumed agent reads these spools
    /// again.
    pub(super) fn gone(&self) -> NotSeen {
        let mut all = self.gone;
        self.add_others(&mut all);
        all
    }

    fn add_others(&self, all: &mut NotSeen) {
        // Includes spools that an earlier agent was reading and whose processes ended before this agent started.
        all.spools += self.watch.missed() + self.earlier.left();
        for outlet in &self.outlets {
            all.dropped += outlet.dropped();
            all.other_operations += outlet.other_operations();
        }
    }
}

pub(super) fn note(all: &mut LeftOut, held: &Held) {
    for left_out in &held.left_out {
        let what = if all.len() < MOST_LEFT_OUT || all.contains_key(&left_out.what) { &*left_out.what } else { OTHERS };
        let count = all.entry(what.to_owned()).or_default();
        *count = count.saturating_add(left_out.count);
    }
}

pub(super) fn add(all: &mut NotSeen, held: &Held) {
    let follower = held.follower();
    all.counted = all.counted.saturating_add(follower.folded());
    all.taken_back += follower.taken_back();
    all.damaged += follower.damaged();
    all.names += held.forgotten;
}
