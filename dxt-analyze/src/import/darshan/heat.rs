//! Heat maps of a log (bytes over time), used for layers without segments, and for the time after a layer's last segment.

use super::named::ns;
use darshan_log::{HeatmapRecord, record_id};
use trace_format::meta::HeatDef;
use trace_format::op::Layer;

pub(crate) const NAMES: [(&str, Layer); 5] = [
    ("heatmap:POSIX", Layer::Posix),
    ("heatmap:MPIIO", Layer::Mpiio),
    ("heatmap:STDIO", Layer::Stdio),
    ("heatmap:DFS", Layer::Dfs),
    ("heatmap:DAOS", Layer::Daos),
];

/// End of the last segment of each layer, in ns since the job's start; `None` for a layer without segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    posix: Option<u64>,
    mpiio: Option<u64>,
}

impl Ends {
    fn of(&mut self, layer: Layer) -> Option<&mut Option<u64>> {
        match layer {
            Layer::Posix => Some(&mut self.posix),
            Layer::Mpiio => Some(&mut self.mpiio),
            _ => None,
        }
    }

    pub(crate) fn see(&mut self, layer: Layer, end_ns: u64) {
        if let Some(last) = self.of(layer) {
            *last = (*last).max(Some(end_ns));
        }
    }
}

/// Converts the heat maps to the format of the trace. A layer without segments keeps all time bins. Any other layer keeps the bins after
/// its last segment, where DXT had no memory left. The bin in which the last segment ends is omitted, so that no byte counts twice.
pub(crate) fn read(records: &[HeatmapRecord], mut ends: Ends) -> Heat {
    let mut out = Heat::default();
    for record in records {
        let named = |(name, _): &&(&str, Layer)| record_id(name.as_bytes()) == record.id;
        let Some((_, layer)) = NAMES.iter().find(named) else { continue };
        let width_ns = ns(record.bin_width_seconds).max(1);
        let end = ends.of(*layer).and_then(|end| *end);
        let behind = usize::try_from(end.map_or(0, |end| end.div_ceil(width_ns))).unwrap_or(usize::MAX);
        for (writes, bins) in [(false, &record.read_bytes), (true, &record.write_bytes)] {
            let moved = |bytes: &i64| *bytes > 0;
            let Some(first) = bins.iter().skip(behind).position(moved).map(|first| behind + first) else { continue };
            let last = bins.iter().rposition(moved).unwrap_or(first);
            let bytes = bins.get(first..=last).unwrap_or_default();
            let bytes = bytes.iter().map(|bytes| u64::try_from(*bytes).unwrap_or(0)).collect();
            out.defs.push(HeatDef { layer: *layer, writes, width_ns, first_bin: first as u64, bytes });
            out.ends_early |= end.is_some();
        }
    }
    out
}

#[derive(Debug, Default)]
pub(crate) struct Heat {
    pub(crate) defs: Vec<HeatDef>,
    /// True if a heat map continues after the last segment of its layer.
    pub(crate) ends_early: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, write_bytes: Vec<i64>) -> HeatmapRecord {
        let read_bytes = vec![0; write_bytes.len()];
        HeatmapRecord { id: record_id(name.as_bytes()), rank: 0, bin_width_seconds: 0.1, write_bytes, read_bytes }
    }

    fn def(layer: Layer, first_bin: u64, bytes: &[u64]) -> HeatDef {
        HeatDef { layer, writes: true, width_ns: 100_000_000, first_bin, bytes: bytes.to_vec() }
    }

    #[test]
    fn empty_ends_are_left_out() {
        let heat = read(&[record("heatmap:POSIX", vec![0, 0, 5, 0, 9, 0])], Ends::default());
        assert_eq!((heat.defs, heat.ends_early), (vec![def(Layer::Posix, 2, &[5, 0, 9])], false));
        assert!(read(&[record("heatmap:OTHER", vec![1])], Ends::default()).defs.is_empty());
    }

    #[test]
    fn bins_behind_the_last_segment_fill_in_for_it() {
        let records =
            [record("heatmap:POSIX", vec![3, 3, 5, 0, 9, 0]), record("heatmap:STDIO", vec![1, 0, 0, 0, 0, 1])];
        let all_of_stdio = def(Layer::Stdio, 0, &[1, 0, 0, 0, 0, 1]);
        // Position of the last segment's end: within the third bin; at its start; after all bins; at the very start.
        for (end_ns, first, bytes) in [
            (250_000_000, 4, vec![9]),
            (200_000_000, 2, vec![5, 0, 9]),
            (600_000_000, 0, vec![]),
            (0, 0, vec![3, 3, 5, 0, 9]),
        ] {
            let mut ends = Ends::default();
            [0, end_ns, end_ns / 2].into_iter().for_each(|end| ends.see(Layer::Posix, end));
            ends.see(Layer::Stdio, u64::MAX);
            let heat = read(&records, ends);
            let filled = (!bytes.is_empty()).then(|| def(Layer::Posix, first, &bytes));
            assert_eq!(heat.ends_early, filled.is_some());
            assert_eq!(heat.defs, filled.into_iter().chain([all_of_stdio.clone()]).collect::<Vec<HeatDef>>());
        }
    }
}
