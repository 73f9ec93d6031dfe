//! Sentences on activity over time.

use super::percent;
use crate::text::units;
use crate::words::Words;
#[cfg(test)]
use crate::{findings::Code, words::tests::Sample};

/// Formats the finding that the job does no I/O for `idle_ns`, a `share` (0 to 1) of the time from its first to its last call. `gaps`:
/// start and end of the longest gaps, ns since the job's start.
pub(crate) fn idle_gaps(idle_ns: u64, share: f64, gaps: &[(u64, u64)]) -> Words {
    let (idle, part) = (units::duration(idle_ns), percent(share));
    let evidence = gaps.iter().map(|(start, end)| {
        let length = units::duration(end.saturating_sub(*start));
        format!("no I/O for {length}: from {} s to {} s", units::seconds(*start), units::seconds(*end))
    });
    Words::saying(
        format!("the job does no I/O for {idle} ({part}) between its first and last I/O call"),
        evidence,
        "if the program computes while it does no I/O, overlap I/O with the computation: nonblocking calls, a writer thread, \
         or node-local buffers that drain in the background",
    )
}

/// Formats the finding that only one process moves bytes for `alone_ns`, a `share` (0 to 1) of the time `moving_ns` with data transfer.
/// `processes`: number of processes that read or write.
pub(crate) fn serialised(share: f64, alone_ns: u64, moving_ns: u64, processes: u64) -> Words {
    let (alone, moving) = (units::duration(alone_ns), units::duration(moving_ns));
    let movers = units::agree(processes, "process reads or writes", "processes read or write");
    Words::saying(
        format!("only one process at a time moves bytes in {} of the time with data transfer", percent(share)),
        [format!(
            "only one process moves bytes in {alone} of the {moving} of run time with data transfer; {processes} {movers} during the run"
        )],
        "let ranks move their parts at the same time: look for one rank that does all I/O, serialized ranks, or a \
         single aggregator (cb_nodes)",
    )
}

#[cfg(test)]
pub(super) fn samples() -> Vec<Sample> {
    vec![
        (Code::IDLE_GAPS, idle_gaps(93_000_000_000, 0.774, &[(3_000_000_000, 42_000_000_000)])),
        (Code::SERIALISED, serialised(0.91, 37_000_000_000, 41_000_000_000, 64)),
        (Code::SERIALISED, serialised(1.0, 37_000_000_000, 37_000_000_000, 1)),
    ]
}
