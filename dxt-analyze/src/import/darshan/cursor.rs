//! Concurrent readers of a log's modules, advanced rank by rank: each module's records are sorted by rank.

use super::Logs;
use super::libraries::LIBRARIES;
use super::plausible::{Aside, Bounds};
use crate::import::budget::Budget;
use crate::limits::{LOG_PROCESSES, LOG_RANK, of_log};
use darshan_log::counters::Counters;
use darshan_log::dxt::Dxt;
use darshan_log::heatmap::Heatmaps;
use darshan_log::{Api, CounterRecord, DxtRecord, HeatmapRecord, Info, Log, Module, Operation, Segment};
use std::fs::File;
use std::iter::Peekable;
use std::sync::Arc;

pub(crate) const COUNTED: [Module; 9] = {
    let [h5f, h5d, pnetcdf_file, pnetcdf_var] = LIBRARIES;
    [Module::Posix, Module::MpiIo, Module::Stdio, h5f, h5d, pnetcdf_file, pnetcdf_var, Module::Dfs, Module::Daos]
};
const APIS: [Api; 2] = [Api::Posix, Api::MpiIo];
/// Number of concurrently open readers of the log.
pub(crate) const MODULES: usize = COUNTED.len() + APIS.len() + 1;

/// Readers of the log's modules, each at its own position.
pub(crate) struct Cursors<'a> {
    counters: Vec<(Module, Peekable<Counters<'a, File>>)>,
    dxt: Vec<(Api, DxtCursor<'a>)>,
    heat: Option<Peekable<Heatmaps<'a, File>>>,
    bounds: Bounds,
    /// Counts of implausible segments and heat maps; counter records were checked before.
    aside: Aside,
    info: Arc<Info>,
    /// Memory budget for the records of one rank.
    of_rank: Budget,
    /// Memory budget for the converted data of all ranks.
    of_all: Budget,
}

/// Estimated memory, in bytes, of the tables made from a counter record: some streams with their counters, a file, a profile.
const TABLES_BYTES: u64 = 2048;
/// Estimated memory, in bytes, of the tables made from a DXT record. (A report keeps about four times as much of each file.)
const FILE_BYTES: u64 = 1024;

fn name_bytes(id: u64, info: &Info) -> u64 {
    info.names.get(id).map_or(0, |name| name.as_bytes().len() as u64)
}

/// Returns the estimated memory, in bytes, of a counter record and of the data that it is converted to.
pub(crate) fn cost(record: &CounterRecord, info: &Info) -> u64 {
    TABLES_BYTES + name_bytes(record.id, info) + 8 * (record.ints.len() + record.floats.len()) as u64
}

struct DxtCursor<'a> {
    dxt: Dxt<'a, File>,
    next: Option<DxtRecord>,
}

impl DxtCursor<'_> {
    /// Skips DXT records whose rank is implausible, and counts these records in `aside`.
    fn pass_over(&mut self, bounds: &Bounds, api: Api, aside: &mut Aside) {
        while let Some(why) = self.next.as_ref().and_then(|record| bounds.segment_rank(record.rank).err()) {
            aside.passes(module_of(api), Err(why));
            self.next = self.dxt.next_record();
        }
    }
}

impl<'a> Cursors<'a> {
    /// Opens the readers of all modules. `length` is the length of the log file, in bytes.
    pub(crate) fn new(logs: &'a mut Logs, info: Arc<Info>, bounds: Bounds, length: u64) -> Self {
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
        let heat = logs.next().and_then(Log::heatmaps).map(Iterator::peekable);
        let of_rank = Budget::new("records of a rank", of_log(LOG_RANK, length));
        let of_all = Budget::new("the calls of all ranks", of_log(LOG_PROCESSES, length));
        Self { counters, dxt, heat, bounds, aside: Aside::default(), info, of_rank, of_all }
    }

    /// Returns the counts of implausible records; call this after everything was read.
    pub(crate) fn aside(self) -> Aside {
        self.aside
    }

    /// Refills the memory budget for the records of the next rank.
    pub(crate) fn begin_rank(&mut self) {
        self.of_rank.refill();
    }

    /// Takes the memory of a converted process from the budget. Once the budget is exceeded, no more ranks are read.
    pub(crate) fn made(&mut self, bytes: u64) {
        self.of_all.take(bytes);
    }

    /// Returns true if the memory budget has no room for more ranks.
    pub(crate) fn is_full(&self) -> bool {
        self.of_all.is_spent()
    }

    pub(crate) fn budgets(&self) -> [&Budget; 2] {
        [&self.of_rank, &self.of_all]
    }

    /// Returns the lowest rank among the readers' next records; `None` if no reader has another. Skips records that stand for all ranks.
    pub(crate) fn next_rank(&mut self) -> Option<i64> {
        self.dxt.iter_mut().for_each(|(api, cursor)| cursor.pass_over(&self.bounds, *api, &mut self.aside));
        self.pass_over_heat();
        let bounds = self.bounds;
        let counted = self.counters.iter_mut().filter_map(|(module, records)| {
            while records.next_if(|record| rank_of(&bounds, *module, record).is_none()).is_some() {}
            records.peek().and_then(|record| rank_of(&bounds, *module, record))
        });
        let traced = self.dxt.iter().filter_map(|(_, cursor)| cursor.next.as_ref().map(|record| record.rank));
        let heat = self.heat.as_mut().and_then(|heat| heat.peek()).map(|record| record.rank);
        counted.chain(traced).chain(heat).min()
    }

    /// Reads the next counter records of `rank`; empty if there are none.
    pub(crate) fn counters(&mut self, rank: i64) -> Vec<(Module, CounterRecord)> {
        let mut out = Vec::new();
        for (module, records) in &mut self.counters {
            let bounds = self.bounds;
            let of = |record: &CounterRecord| rank_of(&bounds, *module, record);
            while let Some(mut record) = records.next_if(|record| of(record).is_none_or(|known| known == rank)) {
                if of(&record).is_some() && self.of_rank.take(cost(&record, &self.info)) {
                    record.rank = rank;
                    out.push((*module, record));
                }
            }
        }
        out
    }

    /// Reads the next heat maps of `rank`; empty if there are none.
    pub(crate) fn heat(&mut self, rank: i64) -> Vec<HeatmapRecord> {
        let mut out = Vec::new();
        while let Some(record) = self.heat.as_mut().and_then(|heat| heat.next_if(|record| record.rank == rank)) {
            if self.of_rank.take(16 * (record.read_bytes.len() + record.write_bytes.len()) as u64) {
                out.push(record);
            }
            self.pass_over_heat();
        }
        out
    }

    /// Skips implausible heat maps and counts them in `aside`.
    fn pass_over_heat(&mut self) {
        let Some(heat) = &mut self.heat else { return };
        while let Some(why) = heat.peek().and_then(|record| self.bounds.heat(record).err()) {
            self.aside.passes(Module::Heatmap, Err(why));
            heat.next();
        }
    }

    /// Reads the next DXT records of `rank`, and passes them to `each` chunk by chunk: record header, operation, plausible segments.
    pub(crate) fn segments(&mut self, rank: i64, api: Api, mut each: impl FnMut(&DxtRecord, Operation, &[Segment])) {
        let Some((_, cursor)) = self.dxt.iter_mut().find(|(known, _)| *known == api) else { return };
        while let Some(record) = cursor.next.take_if(|record| record.rank == rank) {
            // If memory does not suffice for the record, its segments are skipped.
            let room = self.of_rank.take(FILE_BYTES + name_bytes(record.id, &self.info));
            let (mut sound, mut damaged): (Vec<Segment>, u64) = (Vec::new(), 0);
            while let Some(piece) = cursor.dxt.next_piece().filter(|_| room) {
                let bounds = self.bounds;
                if piece.segments.iter().all(|segment| bounds.segment(segment)) {
                    each(&record, piece.operation, piece.segments);
                    continue;
                }
                sound.clear();
                sound.extend(piece.segments.iter().filter(|segment| bounds.segment(segment)));
                damaged += (piece.segments.len() - sound.len()) as u64;
                each(&record, piece.operation, &sound);
            }
            self.aside.segments(module_of(api), damaged);
            cursor.next = cursor.dxt.next_record();
            cursor.pass_over(&self.bounds, api, &mut self.aside);
        }
    }
}

/// Returns the rank of a counter record; `None` if the record stands for all ranks or is implausible.
fn rank_of(bounds: &Bounds, module: Module, record: &CounterRecord) -> Option<i64> {
    let rank = if bounds.nprocs == Some(1) { record.rank.max(0) } else { record.rank };
    (rank >= 0 && bounds.counters(module, record).is_ok()).then_some(rank)
}

fn module_of(api: Api) -> Module {
    match api {
        Api::Posix => Module::DxtPosix,
        Api::MpiIo => Module::DxtMpiIo,
    }
}
