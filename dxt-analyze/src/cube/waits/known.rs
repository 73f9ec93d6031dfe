//! Cache of which processes continue while a call lasts. The savings of possible findings are computed repeatedly, mostly for the same
//! calls, and this does not change in between.

use crate::model::ProcessId;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// For each process: time windows with calls, and their number of calls.
pub type Calls = FxHashMap<ProcessId, Vec<(u16, u64)>>;

/// Cache of each process's calls, and of which processes continue during a call, as computed by the module `pace` of the replay.
#[derive(Debug, Default)]
pub struct Known {
    calls: OnceLock<Calls>,
    /// By list of cells (indices): for each cell, true if other processes continue during its longest call.
    go_on: Mutex<FxHashMap<Vec<u32>, Arc<[bool]>>>,
}

impl Known {
    /// Returns the calls of all processes; the first call of this function computes them by `find`.
    pub fn calls(&self, find: impl FnOnce() -> Calls) -> &Calls {
        self.calls.get_or_init(find)
    }

    /// Returns for each cell (index) true if other processes continue during its longest call. `find` computes this once for each list of
    /// cells.
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
