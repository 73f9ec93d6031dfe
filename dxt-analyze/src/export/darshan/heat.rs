//! Heat maps for a Darshan log: bytes read and written per rank and time bin. Bins are 0.1 s wide, doubled until at most 200 bins suffice.

use crate::import::darshan::heat::NAMES;
use crate::model::{Process, Run, StreamIx};
use crate::scan::Row;
use darshan_log::{HeatmapRecord, record_id};
use std::collections::BTreeMap;
use trace_format::op::{Layer, OpClass};

/// Maximum number of time bins of a heat map.
const BINS: u64 = 200;
/// Minimum width of a time bin of a heat map, in ns.
const NARROWEST_NS: u64 = 100_000_000;

#[derive(Debug)]
pub(crate) struct Heat {
    width_ns: u64,
    bins: usize,
    /// Bytes written, and bytes read, in each time bin, by API and rank.
    rows: BTreeMap<(usize, i64), [Vec<i64>; 2]>,
}

impl Heat {
    pub(crate) fn new(run: &Run) -> Self {
        let end_ns = run.processes.iter().map(|process| process.end_ns).max().unwrap_or(0).max(run.span().1);
        let mut width_ns = NARROWEST_NS;
        while end_ns / width_ns >= BINS {
            width_ns *= 2;
        }
        Self { width_ns, bins: (end_ns / width_ns + 1) as usize, rows: BTreeMap::new() }
    }

    /// Adds the heat maps in the trace of `process`: bytes over time of calls that have no segment (record) each.
    pub(crate) fn add_process(&mut self, process: &Process, rank: i64) {
        for def in &process.heat {
            let class = if def.writes { OpClass::Write } else { OpClass::Read };
            for (bin, bytes) in (def.first_bin..).zip(&def.bytes) {
                let (start, end) = process.heat_bin(def, bin);
                self.add(def.layer, rank, class, &Row { stream: StreamIx(0), offset: 0, length: *bytes, start, end });
            }
        }
    }

    /// Adds the bytes of a read or write to the time bins, evenly over the call's duration.
    pub(crate) fn add(&mut self, layer: Layer, rank: i64, class: OpClass, row: &Row) {
        let side = match class {
            OpClass::Write => 0,
            OpClass::Read => 1,
            _ => return,
        };
        let Some(api) = NAMES.iter().position(|(_, known)| *known == layer) else { return };
        let bins = self.bins;
        let list = &mut self.rows.entry((api, rank)).or_insert_with(|| [vec![0; bins], vec![0; bins]])[side];
        let bin = |time: u64| ((time / self.width_ns) as usize).min(bins - 1);
        let (first, last) = (bin(row.start), bin(row.end));
        let (duration, mut given) = (u128::from(row.duration_ns()).max(1), 0_u64);
        for (number, cell) in list.iter_mut().enumerate().take(last + 1).skip(first) {
            let end = if number == last { row.end } else { (number as u64 + 1).saturating_mul(self.width_ns) };
            let passed = u128::from(end.clamp(row.start, row.end) - row.start);
            let until = if number == last { row.length } else { (u128::from(row.length) * passed / duration) as u64 };
            *cell = cell.saturating_add(i64::try_from(until - given.min(until)).unwrap_or(i64::MAX));
            given = until;
        }
    }

    pub(crate) fn records(self) -> impl Iterator<Item = HeatmapRecord> {
        let width = self.width_ns as f64 / 1e9;
        self.rows.into_iter().map(move |((api, rank), [writes, reads])| HeatmapRecord {
            id: record_id(NAMES[api].0.as_bytes()),
            rank,
            bin_width_seconds: width,
            write_bytes: writes,
            read_bytes: reads,
        })
    }
}
