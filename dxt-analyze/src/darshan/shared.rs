//! Records that stand for all ranks: Darshan's runtime sums up the counters of a file that every rank opened.

use super::budget::Budget;
use super::counted::{self, AllUsed};
use super::cursor::{COUNTED, cost};
use super::layouts::Layouts;
use super::libraries::{self, LIBRARIES};
use super::named::Named;
use super::rank::process_info;
use super::tables::Tables;
use anyhow::Result;
use darshan_log::{CounterRecord, Log, Module};
use rustc_hash::FxHashSet;
use std::io::{Read, Seek};
use trace_format::columns::TickScale;
use trace_format::meta::{Note, Process, Reduction, SpreadDef};
use trace_format::spread::{Moments, RankShare, Spread};
use trace_format::write::{Encoder, Region};

/// The records, and what of the same files ranks have segments of.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) records: Vec<(Module, CounterRecord)>,
    pub(super) used: AllUsed,
    /// Of these files.
    pub(super) ids: FxHashSet<u64>,
}

impl Shared {
    /// Those of a log.
    pub(super) fn read<R: Read + Seek>(log: &mut Log<R>, budget: &mut Budget) -> Self {
        let mut out = Self::default();
        let info = log.info();
        for module in COUNTED {
            let records = log.counters(module).into_iter().flatten();
            let of_all = records.filter(|record| record.rank < 0);
            out.records
                .extend(of_all.take_while(|record| budget.take(cost(record, &info))).map(|record| (module, record)));
        }
        out.ids = out.records.iter().map(|(_, record)| record.id).collect();
        out
    }

    /// The region of all ranks; `None` if the log has no such record. A job that did no I/O has one, so that its trace is of a job.
    pub(super) fn region<R: Read + Seek>(
        self,
        log: &Log<R>,
        mut layouts: Layouts,
        encoder: &mut Encoder,
        number: u32,
        notes: Vec<Note>,
    ) -> Result<Option<Region>> {
        if self.records.is_empty() && notes.is_empty() && number > 0 {
            return Ok(None);
        }
        let info = log.info();
        let ranks = u32::try_from(log.job().nprocs).unwrap_or(0).max(1);
        let process = Process {
            info: process_info(&info, -1),
            notes,
            reduction: Reduction { ranks, nodes: 0, spreads: Vec::new() },
            ..Process::default()
        };
        let mut tables = Tables::new(process, &info.names);
        let in_mpi: FxHashSet<u64> =
            self.records.iter().filter(|(module, _)| *module == Module::MpiIo).map(|(_, record)| record.id).collect();
        for (module, record) in &self.records {
            let named = Named { module: *module, record };
            if LIBRARIES.contains(module) {
                // A file has several: how ranks differ in each is not kept.
                libraries::add(named, &mut tables, &mut layouts);
                continue;
            }
            let nested = *module == Module::Posix && in_mpi.contains(&record.id);
            counted::add(named, nested, &self.used, &mut tables, &mut layouts);
            let file = tables.file(record.id, &mut layouts);
            tables.process.reduction.spreads.push(SpreadDef {
                file,
                layer: named.layer(),
                spread: spread(named, ranks),
            });
        }
        Ok(Some(encoder.region(number, &mut tables.process, &[], &TickScale::IDENTITY)?))
    }
}

/// The fastest and the slowest rank, and how far ranks lie from the mean.
fn spread(named: Named<'_>, ranks: u32) -> Spread {
    let share = |which: &str| RankShare {
        rank: u32::try_from(named.count(&format!("{which}_RANK"))).unwrap_or(u32::MAX),
        time_ns: named.ns(&format!("{which}_RANK_TIME")),
        bytes: named.count(&format!("{which}_RANK_BYTES")),
    };
    let time = named.number("READ_TIME") + named.number("WRITE_TIME") + named.number("META_TIME");
    let bytes = named.count("BYTES_READ").saturating_add(named.count("BYTES_WRITTEN")) as f64;
    let count = f64::from(ranks);
    Spread {
        ranks,
        fastest: share("FASTEST"),
        slowest: share("SLOWEST"),
        time_ns: Moments { mean: time * 1e9 / count, squares: named.number("VARIANCE_RANK_TIME") * 1e18 * count },
        bytes: Moments { mean: bytes / count, squares: named.number("VARIANCE_RANK_BYTES") * count },
    }
}
