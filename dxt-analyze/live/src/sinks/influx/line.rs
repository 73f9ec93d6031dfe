//! Lines in InfluxDB's line protocol: one point for each group and interval, and one for the numbers of calls that the agent missed or
//! lost.
//!
//! A point overwrites an earlier point with equal tags and time. But an interval is delivered in several parts if calls arrive late, and
//! all parts must count. So all points get different times: an offset below 2 ms, which depends on the agent and on the number of earlier
//! parts of the interval, is added to the interval's start.

use crate::interval::{Group, Interval};
use crate::names;
use crate::sinks::exposition::not_seen;
use crate::time::unix_ns;
use dxt_base::text::signed::signed;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Maximum number of intervals for which the number of delivered parts is remembered (late calls arrive in later parts).
const MOST_INTERVALS: usize = 1000;

pub(super) struct Lines {
    node: String,
    /// Time offset of this agent's points, in ns, which distinguishes them from other agents' points.
    offset_ns: i64,
    came: BTreeMap<i64, i64>,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self { node: names::node(), offset_ns: unix_ns().rem_euclid(1_000_000), came: BTreeMap::new() }
    }

    /// Returns the lines of an interval. `lost` is the number of earlier lines that were not delivered.
    pub(super) fn of(&mut self, interval: &Interval, lost: u64) -> Vec<String> {
        let came = self.came.entry(interval.begin_unix_ns).or_default();
        let time = interval.begin_unix_ns.saturating_add(self.offset_ns).saturating_add(*came);
        *came += 1;
        if self.came.len() > MOST_INTERVALS {
            self.came.pop_first();
        }
        let mut lines: Vec<String> = Vec::with_capacity(interval.sums.len() + 1);
        for (group, sums) in &interval.sums {
            let fields = [
                ("calls", signed(sums.calls)),
                ("bytes", signed(sums.bytes)),
                ("time_ns", signed(sums.time_ns)),
                ("longest_ns", signed(sums.longest_ns)),
                ("counted", sums.counted),
            ];
            lines.push(line("dxt", &tags(group), &fields, time));
        }
        let all = not_seen(&interval.not_seen).into_iter().chain([("lines", lost)]);
        let fields: Vec<(&str, i64)> = all.map(|(what, count)| (what, signed(count))).collect();
        lines.push(line("dxt_not_seen", &tag("node", &self.node), &fields, time));
        lines
    }
}

fn line(name: &str, tags: &str, fields: &[(&str, i64)], time: i64) -> String {
    let mut line = format!("{name}{tags} ");
    for (at, (field, value)) in fields.iter().enumerate() {
        let _ = write!(line, "{}{field}={value}i", if at > 0 { "," } else { "" });
    }
    let _ = writeln!(line, " {time}");
    line
}

fn tags(group: &Group) -> String {
    [
        tag("job", &group.job),
        tag("node", &group.node),
        tag("ranks", &group.ranks),
        tag("file_system", &group.file_system),
        tag("layer", group.layer),
        tag("op", &group.op),
        tag("nested", if group.nested { "true" } else { "false" }),
    ]
    .concat()
}

/// Formats a tag; returns an empty text for an empty value, which the protocol forbids. Replaces control characters and
/// backslashes: the protocol cannot express a line feed, nor a backslash before a comma.
fn tag(name: &str, value: &str) -> String {
    if value.is_empty() {
        return String::new();
    }
    let mut text = format!(",{name}=");
    for c in value.chars() {
        match c {
            ',' | '=' | ' ' => text.extend(['\\', c]),
            '\\' => text.push('/'),
            c if c.is_control() => text.push('?'),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::{NotSeen, Sums};
    use std::sync::Arc;
    use trace_format::op::OpClass;

    #[test]
    fn a_late_interval_has_another_time() {
        let group = Group {
            job: "a b,c=d\\\n".into(),
            node: "n".into(),
            ranks: "-".into(),
            file_system: "".into(),
            layer: "POSIX",
            op: "read".into(),
            class: OpClass::Read,
            nested: true,
        };
        let sums = Sums { calls: 2, bytes: u64::MAX, time_ns: 3, longest_ns: 2, ..Sums::default() };
        let interval = Interval {
            begin_unix_ns: 5_000_000_000,
            length_ns: 1,
            sums: [(Arc::new(group), sums)].into(),
            not_seen: NotSeen { dropped: 1, ..NotSeen::default() },
            left_out: Arc::default(),
        };
        let mut lines = Lines { node: "m".into(), offset_ns: 7, came: BTreeMap::new() };
        let first = lines.of(&interval, 4);
        let start = "dxt,job=a\\ b\\,c\\=d/?,node=n,ranks=-,layer=POSIX,op=read,nested=true calls=2i,bytes=9223372036854775807i,";
        assert_eq!(first[0], format!("{start}time_ns=3i,longest_ns=2i,counted=0i 5000000007\n"));
        assert!(first[1].starts_with("dxt_not_seen,node=m counted=0i,") && first[1].contains("dropped=1i,"));
        assert!(first[1].ends_with(",lines=4i 5000000007\n"));
        assert!(lines.of(&interval, 4)[0].ends_with(" 5000000008\n"));
    }
}
