//! I/O interfaces of both sides (before, after): the layer that the program called, its time, and the share of lower layers in that time.

use crate::shared::bandwidth::LayerRow;
use crate::text::units;
use crate::topics::scaling::measure::RunRow;
use serde::Serialize;

/// Interface through which one side's runs read or write, with bytes, time and bandwidth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Way {
    /// Layer called by the program; if several, the layer with most bytes.
    pub interface: String,
    /// Bytes moved, mean over the side's runs (as are the times and the bandwidth).
    pub bytes: f64,
    /// Time in the interface's calls, summed over processes, mean over the side's runs, ns.
    pub time_ns: f64,
    /// Time in calls of lower layers made inside the interface's calls: (layer name, ns).
    pub inside: Vec<(String, f64)>,
    /// Bandwidth in bytes/s by the slowest process's time, or by the sum of all processes' times if the slowest is unknown on either side.
    pub bandwidth: f64,
    /// True if `bandwidth` is based on the slowest process's time, false if on the sum of times.
    pub is_by_slowest: bool,
}

/// Comparison of the reads, or of the writes, of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Direction {
    /// Direction that is compared: `read` or `write`.
    pub op: &'static str,
    /// Interface, bytes, time and bandwidth of the first side; `None` if it moved no data.
    pub before: Option<Way>,
    /// Interface, bytes, time and bandwidth of the second side; `None` if it moved no data.
    pub after: Option<Way>,
    /// Relative change of the bandwidth: second side / first side - 1.
    pub change: Option<f64>,
    /// Summary of the interface, time and bandwidth of both sides in one line of text.
    pub line: String,
}

impl Direction {
    /// True if both sides move data, but through different interfaces.
    #[must_use]
    pub fn is_other_interface(&self) -> bool {
        matches!((&self.before, &self.after), (Some(one), Some(two)) if one.interface != two.interface)
    }
}

/// Compares the reads and the writes of both sides; a direction in which neither side moves data is omitted.
#[must_use]
pub fn directions(before: &[RunRow], after: &[RunRow]) -> Vec<Direction> {
    let of = |op: &'static str| {
        // A record that stands for several ranks does not show which process was slowest.
        let is_known = before.iter().chain(after).all(|run| way_of(run, op, true).is_none_or(|way| way.is_by_slowest));
        let (before, after) = (way(before, op, is_known), way(after, op, is_known));
        let both = before.as_ref().zip(after.as_ref()).filter(|(one, _)| one.bandwidth > 0.0);
        let change = both.map(|(one, two)| two.bandwidth / one.bandwidth - 1.0);
        let text = |way: &Option<Way>| way.as_ref().map_or_else(|| "none".to_owned(), words);
        let more = change.map_or(String::new(), |change| format!("; bandwidth {:+.1} %", change * 100.0));
        let line = format!("{op}: {} before, {} now{more} (times summed over processes)", text(&before), text(&after));
        (before.is_some() || after.is_some()).then_some(Direction { op, before, after, change, line })
    };
    ["read", "write"].into_iter().filter_map(of).collect()
}

fn words(way: &Way) -> String {
    let time = |ns: f64| units::duration(ns.round() as u64);
    let inside: Vec<String> = way.inside.iter().map(|(layer, ns)| format!("of which {layer} {}", time(*ns))).collect();
    let mut parts = vec![format!("{} {}", way.interface, time(way.time_ns))];
    parts.extend(inside);
    parts.push(format!("{}{}", units::rate(way.bandwidth), if way.is_by_slowest { "" } else { " effective" }));
    parts.join(", ")
}

/// Returns the interface of a side of several runs for reads or writes (`op`): that of the first run that moves data, with means over all
/// runs that use it. `None` if no run moves data. `by_slowest`: true to compute the bandwidth by the slowest process's time.
fn way(runs: &[RunRow], op: &str, by_slowest: bool) -> Option<Way> {
    let all: Vec<Way> = runs.iter().filter_map(|run| way_of(run, op, by_slowest)).collect();
    let interface = all.first()?.interface.clone();
    let same: Vec<&Way> = all.iter().filter(|way| way.interface == interface).collect();
    let mean = |of: &dyn Fn(&Way) -> f64| same.iter().map(|way| of(way)).sum::<f64>() / same.len() as f64;
    let layers: Vec<String> = same.first()?.inside.iter().map(|(layer, _)| layer.clone()).collect();
    let inside = layers.into_iter().map(|layer| {
        let of = |way: &Way| way.inside.iter().find(|(known, _)| *known == layer).map_or(0.0, |(_, ns)| *ns);
        let ns = mean(&of);
        (layer, ns)
    });
    Some(Way {
        bytes: mean(&|way| way.bytes),
        time_ns: mean(&|way| way.time_ns),
        bandwidth: mean(&|way| way.bandwidth),
        inside: inside.collect(),
        is_by_slowest: same.iter().all(|way| way.is_by_slowest),
        interface,
    })
}

fn way_of(run: &RunRow, op: &str, by_slowest: bool) -> Option<Way> {
    let rows = |caller: &'static str| run.layers.iter().filter(move |row| row.called_by == caller && row.op == op);
    let top = rows("program").filter(|row| row.sum.bytes > 0).max_by_key(|row| row.sum.bytes)?;
    let slowest = top.bandwidth.by_slowest.filter(|_| by_slowest);
    let below = |caller: &'static str| rows(caller).filter(|row| row.sum.calls > 0);
    let inside: Vec<&LayerRow> = match top.layer {
        "HDF5" | "PNETCDF" => below("HDF5").chain(below("MPI-IO")).collect(),
        "MPIIO" => below("MPI-IO").collect(),
        _ => Vec::new(),
    };
    Some(Way {
        interface: crate::text::layers::layer(top.layer),
        bytes: top.sum.bytes as f64,
        time_ns: top.sum.time_ns as f64,
        inside: inside.iter().map(|row| (crate::text::layers::layer(row.layer), row.sum.time_ns as f64)).collect(),
        bandwidth: slowest.unwrap_or(top.effective),
        is_by_slowest: slowest.is_some(),
    })
}
