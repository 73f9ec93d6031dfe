//! The modules of a log side by side, rank by rank: a log has each module's records in the order of ranks.

use super::Logs;
use super::libraries::LIBRARIES;
use darshan_log::counters::Counters;
use darshan_log::dxt::Dxt;
use darshan_log::heatmap::Heatmaps;
use darshan_log::{Api, CounterRecord, DxtRecord, HeatmapRecord, Log, Module, Operation, Segment};
use std::fs::File;
use std::iter::Peekable;

/// Modules with counters that are read.
pub(super) const COUNTED: [Module; 7] = {
    let [h5f, h5d, pnetcdf_file, pnetcdf_var] = LIBRARIES;
    [Module::Posix, Module::MpiIo, Module::Stdio, h5f, h5d, pnetcdf_file, pnetcdf_var]
};
/// APIs whose segments are read.
const APIS: [Api; 2] = [Api::Posix, Api::MpiIo];
/// Logs that are open for that.
pub(super) const MODULES: usize = COUNTED.len() + APIS.len() + 1;

/// The modules, each where it has been read to.
pub(super) struct Cursors<'a> {
    counters: Vec<(Module, Peekable<Counters<'a, File>>)>,
    dxt: Vec<(Api, DxtCursor<'a>)>,
    heat: Option<Peekable<Heatmaps<'a, File>>>,
}

struct DxtCursor<'a> {
    dxt: Dxt<'a, File>,
    next: Option<DxtRecord>,
}

impl<'a> Cursors<'a> {
    pub(super) fn new(logs: &'a mut Logs) -> Self {
        let mut logs = logs.0.iter_mut();
        let counters = COUNTED.iter().zip(logs.by_ref());
        let counters =
            counters.filter_map(|(module, log)| Some((*module, log.counters(*module)?.peekable()))).collect();
        let dxt = APIS.iter().zip(logs.by_ref()).filter_map(|(api, log)| {
            let mut dxt = log.dxt(*api)?;
            let next = dxt.next_record();
            Some((*api, DxtCursor { dxt, next }))
        });
        let dxt = dxt.collect();
        Self { counters, dxt, heat: logs.next().and_then(Log::heatmaps).map(Iterator::peekable) }
    }

    /// The lowest rank of what comes next. Records that stand for all ranks are passed over.
    pub(super) fn next_rank(&mut self) -> Option<i64> {
        let counted = self.counters.iter_mut().filter_map(|(_, records)| {
            while records.next_if(|record| record.rank < 0).is_some() {}
            records.peek().map(|record| record.rank)
        });
        let traced = self.dxt.iter().filter_map(|(_, cursor)| cursor.next.as_ref().map(|record| record.rank));
        let heat = self.heat.as_mut().and_then(|heat| heat.peek()).map(|record| record.rank);
        counted.chain(traced).chain(heat).min()
    }

    /// The counters of a rank that come next.
    pub(super) fn counters(&mut self, rank: i64) -> Vec<(Module, CounterRecord)> {
        let mut out = Vec::new();
        for (module, records) in &mut self.counters {
            while let Some(record) = records.next_if(|record| record.rank == rank || record.rank < 0) {
                if record.rank >= 0 {
                    out.push((*module, record));
                }
            }
        }
        out
    }

    /// The heat maps of a rank that come next.
    pub(super) fn heat(&mut self, rank: i64) -> Vec<HeatmapRecord> {
        let mut out = Vec::new();
        while let Some(record) = self.heat.as_mut().and_then(|heat| heat.next_if(|record| record.rank == rank)) {
            out.push(record);
        }
        out
    }

    /// The segments of a rank that come next: `each` gets its records' heads with their pieces.
    pub(super) fn segments(&mut self, rank: i64, api: Api, mut each: impl FnMut(&DxtRecord, Operation, &[Segment])) {
        let Some((_, cursor)) = self.dxt.iter_mut().find(|(known, _)| *known == api) else { return };
        while let Some(record) = cursor.next.take_if(|record| record.rank == rank) {
            while let Some(piece) = cursor.dxt.next_piece() {
                each(&record, piece.operation, piece.segments);
            }
            cursor.next = cursor.dxt.next_record();
        }
    }
}
