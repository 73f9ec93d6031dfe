//! Sums since the agent started in Prometheus's text format, version 0.0.4: counters, a gauge and histograms for each group of calls.

use crate::interval::{BUCKETS, Group, Interval, NotSeen, Sums};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of groups of calls in the output; each takes some 70 lines.
const MOST_GROUPS: usize = 1000;
/// Indices of the size buckets with a line of their own, whose label `le` (upper bound) is 511 bytes, 1,023, ..., 64 GiB - 1. Larger sizes
/// are in `+Inf` only.
const SIZES: Range<usize> = 9..37;
/// Indices of the duration buckets with a line of their own, whose label `le` (upper bound) is 1,023 ns, ..., 68 s. Longer durations are in
/// `+Inf` only.
const DURATIONS: Range<usize> = 10..37;

#[derive(Default)]
struct Shown {
    sums: Sums,
    /// Total bytes, and total time in ns, of the calls counted in the histograms.
    in_buckets: [u64; 2],
    /// Start of the latest interval in which the group made calls, in ns since 1970-01-01 UTC.
    latest_unix_ns: i64,
    /// Duration of the group's longest call in the interval that begins at `latest_unix_ns`, in ns.
    longest_ns: u64,
}

#[derive(Default)]
pub(crate) struct Exposition {
    groups: BTreeMap<Arc<Group>, Shown>,
    not_seen: NotSeen,
    /// Number of groups of calls that were dropped from the output because there were too many.
    forgotten: u64,
    /// Start of the latest interval, in ns since 1970-01-01 UTC, and its length, in ns.
    latest: (i64, u64),
}

impl Exposition {
    /// Adds the sums of an interval; intervals may arrive out of order.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.not_seen = interval.not_seen;
        self.latest = self.latest.max((interval.begin_unix_ns, interval.length_ns));
        for (group, sums) in &interval.sums {
            let shown = self.groups.entry(group.clone()).or_default();
            shown.sums.merge(sums);
            let more = [(sums.bytes, sums.counted_bytes), (sums.time_ns, sums.counted_time_ns)];
            for (in_buckets, (all, counted)) in shown.in_buckets.iter_mut().zip(more) {
                *in_buckets = in_buckets.saturating_add(all).saturating_add_signed(counted.saturating_neg());
            }
            if interval.begin_unix_ns > shown.latest_unix_ns {
                (shown.latest_unix_ns, shown.longest_ns) = (interval.begin_unix_ns, sums.longest_ns);
            } else if interval.begin_unix_ns == shown.latest_unix_ns {
                shown.longest_ns = shown.longest_ns.max(sums.longest_ns);
            }
        }
        self.forget();
    }

    /// Drops the groups beyond the limit, least recently active groups first.
    fn forget(&mut self) {
        let excess = self.groups.len().saturating_sub(MOST_GROUPS);
        if excess > 0 {
            let mut times: Vec<i64> = self.groups.values().map(|shown| shown.latest_unix_ns).collect();
            let (_, newest, _) = times.select_nth_unstable(excess - 1);
            let newest = *newest;
            let mut left = excess;
            self.groups.retain(|_, shown| {
                let goes = left > 0 && shown.latest_unix_ns <= newest;
                left -= usize::from(goes);
                !goes
            });
            self.forgotten += excess as u64;
        }
    }

    /// Returns the Prometheus text as of `now_unix_ns` (ns since 1970-01-01 UTC).
    pub(crate) fn text(&self, now_unix_ns: i64) -> String {
        let mut out = String::new();
        let labels: Vec<String> = self.groups.keys().map(|group| labels(group)).collect();
        let all = || labels.iter().zip(self.groups.values());
        head(&mut out, "dxt_calls_total", "counter", "Number of calls.");
        all().for_each(|(labels, shown)| line(&mut out, "dxt_calls_total", labels, shown.sums.calls));
        head(&mut out, "dxt_bytes_total", "counter", "Bytes that calls moved.");
        all().for_each(|(labels, shown)| line(&mut out, "dxt_bytes_total", labels, shown.sums.bytes));
        head(&mut out, "dxt_seconds_total", "counter", "Seconds in calls, summed over processes.");
        all().for_each(|(labels, shown)| line(&mut out, "dxt_seconds_total", labels, seconds(shown.sums.time_ns)));
        head(
            &mut out,
            "dxt_longest_seconds",
            "gauge",
            "Duration of the longest call of the latest interval, in seconds; 0 if there was none.",
        );
        all().for_each(|(labels, shown)| {
            line(&mut out, "dxt_longest_seconds", labels, seconds(self.longest_ns(shown, now_unix_ns)));
        });
        let recorded = "individually recorded calls";
        head(&mut out, "dxt_call_bytes", "histogram", &format!("Sizes of {recorded}, in bytes."));
        all().for_each(|(labels, shown)| {
            histogram(&mut out, "dxt_call_bytes", labels, &shown.sums.sizes, SIZES, |bytes| bytes.to_string());
            histogram_sum(&mut out, "dxt_call_bytes", labels, &shown.sums.sizes, shown.in_buckets[0].to_string());
        });
        head(&mut out, "dxt_call_seconds", "histogram", &format!("Durations of {recorded}, in seconds."));
        all().for_each(|(labels, shown)| {
            histogram(&mut out, "dxt_call_seconds", labels, &shown.sums.durations, DURATIONS, seconds);
            histogram_sum(&mut out, "dxt_call_seconds", labels, &shown.sums.durations, seconds(shown.in_buckets[1]));
        });
        head(
            &mut out,
            "dxt_not_seen_total",
            "counter",
            "Calls, processes and events that `dxt-analyze live` could not observe or deliver.",
        );
        for (what, count) in not_seen(&self.not_seen) {
            line(&mut out, "dxt_not_seen_total", &format!("what=\"{what}\""), count);
        }
        head(&mut out, "dxt_groups", "gauge", "Number of exported groups (calls with the same labels).");
        let _ = writeln!(out, "dxt_groups {}", self.groups.len());
        head(
            &mut out,
            "dxt_groups_forgotten_total",
            "counter",
            "Number of groups (calls with the same labels) that are no longer exported because there were too many.",
        );
        let _ = writeln!(out, "dxt_groups_forgotten_total {}", self.forgotten);
        out
    }

    /// Returns the duration of the group's longest call in the latest complete interval, in ns; 0 if the group made no call.
    fn longest_ns(&self, shown: &Shown, now_unix_ns: i64) -> u64 {
        let (latest, length_ns) = self.latest;
        // Intervals without calls are not delivered, so if the latest one is old, no calls were made since.
        let is_old = now_unix_ns.saturating_sub_unsigned(length_ns.saturating_mul(3)) > latest;
        if is_old || shown.latest_unix_ns != latest { 0 } else { shown.longest_ns }
    }
}

pub(super) fn not_seen(not_seen: &NotSeen) -> [(&'static str, u64); 8] {
    [
        ("counted", not_seen.counted),
        ("spools", not_seen.spools),
        ("taken_back", not_seen.taken_back),
        ("damaged", not_seen.damaged),
        ("dropped", not_seen.dropped),
        ("names", not_seen.names),
        ("too_large", not_seen.too_large),
        ("other_operations", not_seen.other_operations),
    ]
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn line(out: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    let _ = writeln!(out, "{name}{{{labels}}} {value}");
}

/// Formats ns as seconds with nine decimals.
fn seconds(ns: u64) -> String {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Writes the cumulative bucket lines of one histogram. Bucket `b` holds 2^(b-1) to 2^b - 1, so le = 2^b - 1: a call of 4096 bytes is above
/// le = 4095.
fn histogram(
    out: &mut String,
    name: &str,
    labels: &str,
    buckets: &[u64; BUCKETS],
    shown: Range<usize>,
    text: impl Fn(u64) -> String,
) {
    let mut below: u64 = buckets.iter().take(shown.start).sum();
    for bucket in shown {
        below += buckets.get(bucket).copied().unwrap_or(0);
        let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{}\"}} {below}", text((1 << bucket) - 1));
    }
}

fn histogram_sum(out: &mut String, name: &str, labels: &str, buckets: &[u64; BUCKETS], sum: String) {
    let count: u64 = buckets.iter().sum();
    let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}");
    line(out, &format!("{name}_sum"), labels, sum);
    line(out, &format!("{name}_count"), labels, count);
}

fn labels(group: &Group) -> String {
    let all = [
        ("job", &*group.job),
        ("node", &group.node),
        ("ranks", &group.ranks),
        ("file_system", &group.file_system),
        ("layer", group.layer),
        ("op", &group.op),
        ("nested", if group.nested { "true" } else { "false" }),
    ];
    let texts: Vec<String> = all.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    texts.join(",")
}

/// Escapes a label's value: backslash, quote and line feed.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::op::OpClass;

    fn interval(begin_unix_ns: i64, job: &str, fill: impl Fn(&mut Sums)) -> Interval {
        let group = Group {
            job: job.into(),
            node: "n".into(),
            ranks: "0-31".into(),
            file_system: "/a \"b\" \\c\nd".into(),
            layer: "POSIX",
            op: "read".into(),
            class: OpClass::Read,
            nested: false,
        };
        let mut sums = Sums::default();
        fill(&mut sums);
        let not_seen = NotSeen { dropped: 3, ..NotSeen::default() };
        Interval {
            begin_unix_ns,
            length_ns: 1_000,
            sums: [(Arc::new(group), sums)].into(),
            not_seen,
            left_out: Arc::default(),
        }
    }

    fn call(sums: &mut Sums, length: u64, duration_ns: u64) {
        use trace_format::segment::StreamId;
        sums.add(&trace_format::Segment::new(StreamId(0), 0, length, 0, duration_ns));
    }

    #[test]
    fn sums_grow_and_the_gauge_is_of_the_latest_interval() {
        let mut exposition = Exposition::default();
        exposition.add(&interval(1_000, "j", |sums| call(sums, 4096, 2_000_000_000)));
        exposition.add(&interval(2_000, "j", |sums| {
            call(sums, 4095, 1_500);
            (sums.calls, sums.counted, sums.bytes, sums.counted_bytes) = (9, 8, 5095, 1000);
        }));
        let text = exposition.text(3_000);
        let labels = "job=\"j\",node=\"n\",ranks=\"0-31\",file_system=\"/a \\\"b\\\" \\\\c\\nd\",layer=\"POSIX\",op=\"read\",nested=\"false\"";
        for line in [
            format!("dxt_calls_total{{{labels}}} 10"),
            format!("dxt_bytes_total{{{labels}}} 9191"),
            format!("dxt_seconds_total{{{labels}}} 2.000001500"),
            format!("dxt_longest_seconds{{{labels}}} 0.000001500"),
            format!("dxt_call_bytes_bucket{{{labels},le=\"2047\"}} 0"),
            format!("dxt_call_bytes_bucket{{{labels},le=\"4095\"}} 1"),
            format!("dxt_call_bytes_bucket{{{labels},le=\"8191\"}} 2"),
            format!("dxt_call_bytes_bucket{{{labels},le=\"+Inf\"}} 2"),
            format!("dxt_call_bytes_sum{{{labels}}} 8191"),
            format!("dxt_call_bytes_count{{{labels}}} 2"),
            format!("dxt_call_seconds_bucket{{{labels},le=\"0.000002047\"}} 1"),
            "dxt_not_seen_total{what=\"dropped\"} 3".to_owned(),
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(exposition.text(1_000_000).contains(&format!("dxt_longest_seconds{{{labels}}} 0.000000000")));
    }

    #[test]
    fn groups_are_bounded_and_the_idle_go_first() {
        let mut exposition = Exposition::default();
        for job in 0..MOST_GROUPS + 5 {
            exposition.add(&interval(1_000 + job as i64, &job.to_string(), |sums| call(sums, 1, 1)));
        }
        assert_eq!((exposition.groups.len(), exposition.forgotten), (MOST_GROUPS, 5));
        assert!(!exposition.groups.keys().any(|group| group.job == "4"));
    }
}
