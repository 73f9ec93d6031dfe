//! What was found out already of who goes on: claims are weighed again and again, mostly of the same calls, and what others do during these does not change.

use crate::model::ProcessId;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// By process: its calls by slot.
pub type Calls = FxHashMap<ProcessId, Vec<(u16, u64)>>;

/// See above.
#[derive(Debug, Default)]
pub struct Known {
    calls: OnceLock<Calls>,
    /// By entries of the grid: during which of their calls others go on.
    go_on: Mutex<FxHashMap<Vec<u32>, Arc<[bool]>>>,
}

impl Known {
    /// All calls, which `find` finds once.
    pub fn calls(&self, find: impl FnOnce() -> Calls) -> &Calls {
        self.calls.get_or_init(find)
    }

    /// During which of the calls of these `entries` others go on, which `find` finds once.
    pub fn go_on(&self, entries: Vec<u32>, find: impl FnOnce(&[u32]) -> Vec<bool>) -> Arc<[bool]> {
        let known = || self.go_on.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(go_on) = known().get(&entries) {
            return Arc::clone(go_on);
        }
        let go_on: Arc<[bool]> = find(&entries).into();
        known().insert(entries, Arc::clone(&go_on));
        go_on
    }
}
