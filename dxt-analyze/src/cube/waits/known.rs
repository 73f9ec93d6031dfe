//! Cache: claims are priced repeatedly, mostly for the same calls, and progress of other processes during these does not change.

use crate::model::ProcessId;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// By process: time windows and numbers of its calls.
pub type Calls = FxHashMap<ProcessId, Vec<(u16, u64)>>;

/// Cache of [`super::pace`].
#[derive(Debug, Default)]
pub struct Known {
    calls: OnceLock<Calls>,
    /// By indices of cells: for each, true if other processes continue during its longest call.
    go_on: Mutex<FxHashMap<Vec<u32>, Arc<[bool]>>>,
}

impl Known {
    /// Returns all calls; `find` collects them once.
    pub fn calls(&self, find: impl FnOnce() -> Calls) -> &Calls {
        self.calls.get_or_init(find)
    }

    /// Returns for each cell whether other processes continue during its longest call; `find` computes it once.
    pub fn go_on(&self, cells: Vec<u32>, find: impl FnOnce(&[u32]) -> Vec<bool>) -> Arc<[bool]> {
        let known = || self.go_on.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(go_on) = known().get(&cells) {
            return Arc::clone(go_on);
        }
        let go_on: Arc<[bool]> = find(&cells).into();
        known().insert(cells, Arc::clone(&go_on));
        go_on
    }
}
