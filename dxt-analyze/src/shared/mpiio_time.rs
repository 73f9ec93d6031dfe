//! Time in MPI-IO calls and in the system calls made inside them, over a whole run, with locks and unlocks apart. RIOT (Wright et al.,
//! UKPEW 2011, Table 4) compares these times between numbers of ranks. The sums are exact, since they include calls without segments.

use super::calls::CallSum;
use super::totals::StreamTotal;
use crate::model::{Run, Within};
use serde::{Deserialize, Serialize};
use trace_format::op::{Layer, OpClass};

/// Totals over all MPI-IO calls, and over the system calls made inside them, summed over processes, including failed calls. File accesses
/// made by `MPI_Init` itself count as inside MPI-IO.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MpiioTime {
    /// Totals of MPI-IO calls, including opens and closes.
    pub mpiio: CallSum,
    /// Totals of POSIX calls made inside MPI-IO calls, including file locks.
    pub posix: CallSum,
    /// Totals of file locks acquired inside MPI-IO calls; their time includes waiting for locks.
    pub locks: CallSum,
    /// Totals of file locks released inside MPI-IO calls.
    pub unlocks: CallSum,
}

impl MpiioTime {
    /// Computes the totals over MPI-IO and the system calls inside it, for a whole run.
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
