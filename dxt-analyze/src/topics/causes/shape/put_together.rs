//! Time saved if short requests were merged into long ones, estimated for runs that have no long requests to compare with.

use crate::cube::{Cell, Cube};
use crate::replay::Savings;
use crate::thresholds::Thresholds;

/// Returns the time saved by merging `calls` requests that take `time_ns` and move `bytes` in all: the longer the requests are already, the
/// less.
#[must_use]
pub fn saved_ns(thresholds: &Thresholds, time_ns: f64, bytes: u64, calls: u64) -> f64 {
    let (bytes, half) = (bytes as f64, thresholds.half_time_bytes as f64);
    (time_ns - bytes * thresholds.transfer_ns_per_byte).min(time_ns * half / (half + bytes / calls.max(1) as f64))
}

/// Returns the time saved by merging the calls of each cell (group of similar calls of a process) that `is` selects, ns.
#[must_use]
pub fn put_together(cube: &Cube<'_>, is: impl Fn(&Cell) -> bool) -> Savings {
    let less = |(index, cell): (u32, &Cell)| {
        // Fewer calls wait less often, for each other too.
        (index, saved_ns(&cube.run.thresholds, cell.time_ns(), cell.sums.bytes, cell.sums.calls))
    };
    let theirs = (0_u32..).zip(&cube.cells).filter(|(_, cell)| is(cell));
    theirs.map(less).filter(|(_, ns)| *ns > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_requests_are_the_less_is_promised() {
        assert!((saved_ns(&Thresholds::default(), 1e6, 1, 1) - 1e6).abs() < 10.0);
        assert!((saved_ns(&Thresholds::default(), 1e9, 512 << 10, 1) - 0.5e9).abs() < 1e3);
        // At most the time beyond that of the bytes themselves.
        assert!((saved_ns(&Thresholds::default(), 1e6, 900_000, 100) - 1e5).abs() < 1e-6);
    }
}
