//! Heat maps of a log: bytes over time, of the layers of which it has no segments.

use super::named::ns;
use darshan_log::{HeatmapRecord, Log, Module, record_id};
use std::io::{Read, Seek};
use trace_format::meta::HeatDef;
use trace_format::op::Layer;

/// Names of the records, by layer.
pub(super) const NAMES: [(&str, Layer); 3] =
    [("heatmap:POSIX", Layer::Posix), ("heatmap:MPIIO", Layer::Mpiio), ("heatmap:STDIO", Layer::Stdio)];

/// The layers of a log whose heat maps say more than its segments, by record id.
pub(super) struct Wanted(Vec<(u64, Layer)>);

impl Wanted {
    pub(super) fn of<R: Read + Seek>(log: &Log<R>) -> Self {
        let traced = |layer| {
            let module = match layer {
                Layer::Posix => Module::DxtPosix,
                Layer::Mpiio => Module::DxtMpiIo,
                _ => return false,
            };
            log.header().module(module).is_some_and(|entry| entry.region.length > 0)
        };
        let wanted = NAMES.iter().filter(|(_, layer)| !traced(*layer));
        Self(wanted.map(|(name, layer)| (record_id(name.as_bytes()), *layer)).collect())
    }

    /// What a record says of reads and of writes.
    pub(super) fn read(&self, record: &HeatmapRecord) -> Vec<HeatDef> {
        let Some((_, layer)) = self.0.iter().find(|(id, _)| *id == record.id) else { return Vec::new() };
        let width_ns = ns(record.bin_width_seconds).max(1);
        let line = |writes, bins: &[i64]| {
            let first = bins.iter().position(|bytes| *bytes > 0)?;
            let last = bins.iter().rposition(|bytes| *bytes > 0)?;
            let bytes = bins.get(first..=last)?.iter().map(|bytes| u64::try_from(*bytes).unwrap_or(0)).collect();
            Some(HeatDef { layer: *layer, writes, width_ns, first_bin: first as u64, bytes })
        };
        [line(false, &record.read_bytes), line(true, &record.write_bytes)].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_ends_are_left_out() {
        let wanted = Wanted(vec![(7, Layer::Posix)]);
        let record = HeatmapRecord {
            id: 7,
            rank: 0,
            bin_width_seconds: 0.1,
            write_bytes: vec![0, 0, 5, 0, 9, 0],
            read_bytes: vec![0; 6],
        };
        let expected =
            HeatDef { layer: Layer::Posix, writes: true, width_ns: 100_000_000, first_bin: 2, bytes: vec![5, 0, 9] };
        assert_eq!(wanted.read(&record), [expected]);
        assert!(wanted.read(&HeatmapRecord { id: 8, ..record }).is_empty());
    }
}
