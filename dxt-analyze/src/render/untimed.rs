//! Removes times from the results of runs without call times (`DXT_TIMING=off`). Times in calls, and values derived from them, are unknown
//! in such runs, not 0. This module removes them for all topics: cells become empty, JSON values null.

use super::{Cell, Part, Report, Table, View};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Reason for empty values, as printed in reports.
pub const WHY: &str = "times of calls were not recorded (DXT_TIMING=off)";

/// Wrapper that shows the result of a run without call times, with all times removed.
#[derive(Debug)]
pub struct Untimed<'a, R>(pub &'a R);

impl<R: Report> Report for Untimed<'_, R> {
    fn view(&self) -> View {
        without_times(self.0.view())
    }
}

impl<R: Serialize> Serialize for Untimed<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(self.0).map_err(serde::ser::Error::custom)?;
        forget_times(&mut value);
        value.serialize(serializer)
    }
}

/// Removes times in calls from a view (tables and texts of a result), since they are unknown.
#[must_use]
pub fn without_times(mut view: View) -> View {
    for part in &mut view.parts {
        match part {
            Part::Table(table) => forget(table),
            Part::Findings(findings) => {
                let evidence = findings.iter_mut().flat_map(|finding| &mut finding.evidence);
                evidence.for_each(|evidence| evidence.reword(unsaid));
            }
            _ => {}
        }
    }
    view
}

/// Names of columns with shares of time, which are unknown without call times; shares of calls and bytes are known.
const SHARES: [&str; 3] = ["io_share", "of_runtime", "time_share"];
/// Names of columns with ranks or processes chosen by time, which are unknown without call times.
const BY_TIME: [&str; 3] = ["fastest_rank", "slowest_rank", "slowest"];
/// Name of the column with the run time of a process, which is known without call times.
const RAN: &str = "run_s";

/// Removes or replaces the durations of 0 ns in a sentence, which stand for unknown times. `10 ns` stays.
fn unsaid(text: &str) -> String {
    const UNKNOWN: &str = "0 ns";
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(UNKNOWN) {
        let (before, after) = rest.split_at(at);
        rest = &after[UNKNOWN.len()..];
        if before.ends_with(|last: char| last.is_ascii_digit() || last == '.' || last == ',') {
            said.extend([before, UNKNOWN]);
        } else if let Some(before) = before.strip_suffix(", ") {
            said.push_str(before);
        } else {
            said.extend([before, "an unknown time"]);
        }
    }
    said + rest
}

fn forget(table: &mut Table) {
    table.change(|name, cell| match cell {
        Cell::Text(text) if text.contains("0 ns") => *text = unsaid(text),
        Cell::Duration(_) if name == RAN => {}
        Cell::Duration(_) | Cell::Moment(_) | Cell::Rate(_) => *cell = Cell::None,
        Cell::Share(_) if SHARES.contains(&name) => *cell = Cell::None,
        _ if BY_TIME.contains(&name) => *cell = Cell::None,
        _ => {}
    });
}

/// Names of JSON values in ns that are known without call times: start and run time of the job, positions of time bins.
const KNOWN_NS: [&str; 8] =
    ["run_ns", "runtime_ns", "start_unix_ns", "start_ns", "width_ns", "from_ns", "until_ns", "segments_end_ns"];
/// Names of further JSON values derived from times in calls, which are unknown without call times.
const MADE_OF_TIMES: [&str; 15] = [
    "duration",
    "max_duration",
    "first_start",
    "last_end",
    "slowest_read",
    "slowest_write",
    "fastest",
    "slowest",
    "time_variance",
    "bandwidth",
    "io_share",
    "io_matters",
    "of_runtime",
    "effective_bytes_per_s",
    "perceived_bytes_per_s",
];

/// Sets times in calls to null in a JSON result.
pub fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                let in_ns = name.ends_with("_ns") && !KNOWN_NS.contains(&name.as_str());
                if in_ns || MADE_OF_TIMES.contains(&name.as_str()) {
                    *value = Value::Null;
                } else if name != "thresholds" {
                    forget_times(value);
                }
            }
        }
        Value::String(text) if text.contains("0 ns") => *text = unsaid(text),
        Value::Array(values) => values.iter_mut().for_each(forget_times),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_duration_of_0_ns_is_unknown() {
        let text = "0 ns in 3 calls, 0 ns, then 10 ns, 1,000 ns, 2.0 ns and 0 ns";
        assert_eq!(unsaid(text), "an unknown time in 3 calls, then 10 ns, 1,000 ns, 2.0 ns and an unknown time");
    }

    #[test]
    fn times_in_calls_are_unknown_and_all_else_stays() {
        let table = Table::of("t", "", [1_u64])
            .column("Calls", "calls", |n| Cell::Count(*n))
            .column("Time", "time_s", |_| Cell::Duration(0))
            .column("Ran", "run_s", |_| Cell::Duration(5))
            .column("In I/O", "io_share", |_| Cell::Share(0.0))
            .column("Unaligned", "unaligned_share", |_| Cell::Share(0.5))
            .column("Pace", "rate", |_| Cell::Rate(1.0))
            .done();
        let view = without_times(View { parts: vec![Part::Table(table)], max_width: None });
        let [Part::Table(table)] = view.parts.as_slice() else { panic!("one table") };
        let known = [Cell::Count(1), Cell::None, Cell::Duration(5), Cell::None, Cell::Share(0.5), Cell::None];
        assert_eq!(table.rows(), [known]);
        let mut value = json!({"run_ns": 1, "rows": [{"time_ns": 0, "calls": 3}], "thresholds": {"slow_ns": 2}});
        forget_times(&mut value);
        let expected = json!({"run_ns": 1, "rows": [{"time_ns": null, "calls": 3}], "thresholds": {"slow_ns": 2}});
        assert_eq!(value, expected);
    }
}
