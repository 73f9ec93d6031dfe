//! Intervals and calls with known sums.

use dxt_analyze::live::interval::{Group, Interval, NotSeen, Sums};
use dxt_analyze::live::sinks::{Outlet, To};
use std::sync::Arc;
use trace_format::Segment;
use trace_format::op::OpClass;
use trace_format::segment::StreamId;

/// Wall clock, in ns since 1970-01-01 UTC.
pub(crate) fn now_unix_ns() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// An open destination.
pub(crate) fn outlet(to: &str) -> Outlet {
    let mut outlet = to.parse::<To>().unwrap().open().unwrap();
    outlet.begin(None).unwrap();
    outlet
}

/// An interval of one group, whose name makes trouble where it is not escaped: so many calls, of 4096 bytes and 1 ms each.
pub(crate) fn interval(begin_unix_ns: i64, calls: u64) -> Interval {
    let group = Group {
        job: "a job, \"of\" x=y".into(),
        node: "node1".into(),
        ranks: "0-31".into(),
        file_system: "/scratch lustre".into(),
        layer: "POSIX",
        op: "write".into(),
        class: OpClass::Write,
        nested: false,
    };
    let mut sums = Sums::default();
    let call = Segment::new(StreamId(0), 0, 4096, 0, 1_000_000);
    (0..calls).for_each(|_| sums.add(&call));
    Interval {
        begin_unix_ns,
        length_ns: 1_000_000_000,
        sums: [(Arc::new(group), sums)].into(),
        not_seen: NotSeen::default(),
    }
}
