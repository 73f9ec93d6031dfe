//! Mean time per process in collective calls, split into I/O and communication.

use crate::shared::layer_calls::Made;
use serde::Serialize;

/// Mean times per process in collective calls (DXT, Xu et al., 2017, Figure 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Means {
    /// Mean time of a process in the collective calls, ns.
    pub time_ns: u64,
    /// Mean time of a process in system calls that move data inside the collective calls, ns.
    pub io_ns: u64,
    /// Mean time of a process in the collective calls outside of system calls, ns: communication, copying, waiting.
    pub communication_ns: u64,
}

impl Means {
    /// Computes the mean times over processes; `calls` yields the collective calls of one process per item.
    pub(super) fn of<'a>(calls: impl Iterator<Item = &'a Made>) -> Self {
        let (mut all, mut count) = (Self::default(), 0_u64);
        for made in calls {
            all.time_ns = all.time_ns.saturating_add(made.of.time_ns);
            all.io_ns = all.io_ns.saturating_add(made.inside.data().time_ns);
            all.communication_ns = all.communication_ns.saturating_add(made.rest_ns());
            count += 1;
        }
        let mean = |sum: u64| sum.checked_div(count).unwrap_or(0);
        Self { time_ns: mean(all.time_ns), io_ns: mean(all.io_ns), communication_ns: mean(all.communication_ns) }
    }
}
