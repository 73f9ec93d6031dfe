//! Time in MPI-IO and in the system calls inside it, of a whole run, locks and unlocks apart: what RIOT (Wright et al., UKPEW 2011, Table 4)
//! compares over numbers of ranks. From exact sums: calls without a segment are in it.

use super::calls::CallSum;
use super::totals::StreamTotal;
use crate::model::{Run, Within};
use serde::{Deserialize, Serialize};
use trace_format::op::{Layer, OpClass};

/// Calls of every kind of MPI-IO, and calls of the system that MPI made inside them, summed over processes; those that failed too.
/// What `MPI_Init` itself does to files counts as inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MpiioTime {
    /// Calls of MPI-IO, opens and closes among them.
    pub mpiio: CallSum,
    /// All calls of POSIX inside, locks too.
    pub posix: CallSum,
    /// Locks taken inside, the waiting for them too.
    pub locks: CallSum,
    /// Locks given back inside.
    pub unlocks: CallSum,
}

impl MpiioTime {
    /// Of a run.
    #[must_use]
    pub fn of(run: &Run, totals: &[StreamTotal]) -> Self {
        let mut out = Self::default();
        for total in totals {
            let process = run.process(total.process);
            let Some(stream) = process.and_then(|process| process.stream(total.stream)) else { continue };
            let op = run.op(stream);
            let is_data = op.is_data() && !stream.failed;
            let bytes = if is_data { total.all.bytes } else { 0 };
            let sum = CallSum { calls: total.all.segments, bytes, time_ns: total.all.duration };
            match (op.layer, stream.within()) {
                (Some(Layer::Mpiio), Within::Nothing | Within::Hdf5) => out.mpiio.add(&sum),
                (Some(Layer::Posix), Within::Mpiio) => {
                    out.posix.add(&sum);
                    match op.class {
                        Some(OpClass::Lock) => out.locks.add(&sum),
                        Some(OpClass::Unlock) => out.unlocks.add(&sum),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        out
    }
}
