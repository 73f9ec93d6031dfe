//! Shared records, each of which stands for all ranks: Darshan's runtime sums the counters of a file that every rank opened. In a job of
//! one rank, a shared record belongs to that rank.

use super::counted::{self, AllUsed};
use super::cursor::{COUNTED, cost};
use super::layouts::Layouts;
use super::libraries::{self, LIBRARIES};
use super::named::Named;
use super::nested::{Above, MpiFiles};
use super::plausible::{Aside, Bounds};
use super::provenance::process_info;
use super::tables::Tables;
use crate::import::budget::Budget;
use anyhow::Result;
use darshan_log::{CounterRecord, Log, Module};
use rustc_hash::FxHashSet;
use std::io::{Read, Seek};
use trace_format::columns::TickScale;
use trace_format::meta::{Note, Process, Reduction, SpreadDef};
use trace_format::spread::{Moments, RankShare, Spread};
use trace_format::write::{Encoder, Region};

/// Shared records (each stands for all ranks), and totals over the ranks' segments on the files of these records.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) records: Vec<(Module, CounterRecord)>,
    pub(crate) used: AllUsed,
    pub(crate) ids: FxHashSet<u64>,
    /// MPI-IO operations on each file, according to shared records only.
    pub(crate) mpi: MpiFiles,
    /// MPI-IO operations on each file, according to the records of single ranks and the shared records.
    any_mpi: MpiFiles,
    /// DFS (DAOS file system) operations of any rank.
    any_dfs: Above,
    /// MPI-IO operations of any rank on files without a POSIX record; set only if the log has DFS records.
    past_posix: Above,
}

/// Estimated memory per file that MPI-IO opened, in bytes.
const ID_BYTES: u64 = 64;

impl Shared {
    /// Reads the shared records of a log. Also checks the records of single ranks, and counts the implausible ones.
    pub(crate) fn read<R: Read + Seek>(
        log: &mut Log<R>,
        bounds: &Bounds,
        aside: &mut Aside,
        budget: &mut Budget,
    ) -> Self {
        let mut out = Self::default();
        let info = log.info();
        // In a log, POSIX records come before MPI-IO records.
        let (has_dfs, mut posix) = (log.counters(Module::Dfs).is_some(), FxHashSet::default());
        for module in COUNTED {
            for record in log.counters(module).into_iter().flatten() {
                if !aside.passes(module, bounds.counters(module, &record)) {
                    continue;
                }
                let of_all = record.rank < 0 && bounds.nprocs != Some(1);
                if module == Module::MpiIo && (out.any_mpi.has(record.id) || budget.take(ID_BYTES)) {
                    out.any_mpi.add(&record);
                }
                if has_dfs && module == Module::Posix && (posix.contains(&record.id) || budget.take(ID_BYTES)) {
                    posix.insert(record.id);
                }
                if has_dfs && module == Module::MpiIo && !posix.contains(&record.id) {
                    out.past_posix = out.past_posix.merge(Above::of_mpi(&record));
                }
                if module == Module::Dfs {
                    out.any_dfs = out.any_dfs.merge(Above::of_dfs(std::iter::once(&(module, record.clone()))));
                }
                if of_all && budget.take(cost(&record, &info)) {
                    if module == Module::MpiIo {
                        out.mpi.add(&record);
                    }
                    out.records.push((module, record));
                }
            }
        }
        out.ids = out.records.iter().map(|(_, record)| record.id).collect();
        out
    }

    /// Encodes the shared records as a region (process) of the trace that stands for all ranks; `None` without shared records. A job
    /// without I/O also gets this region, so that its trace has a process.
    pub(crate) fn region<R: Read + Seek>(
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
        let bounds = Bounds::of(&info);
        let ranks = bounds.nprocs.and_then(|ranks| u32::try_from(ranks).ok()).unwrap_or(number).max(1);
        let process = Process {
            info: process_info(&info, -1),
            notes,
            reduction: Reduction { ranks, nodes: 0, spreads: Vec::new() },
            ..Process::default()
        };
        let mut tables = Tables::new(process, &info.names);
        for (module, record) in &self.records {
            let named = Named { module: *module, record };
            if LIBRARIES.contains(module) {
                // Differences between ranks are stored per file; since a file may have several library records, their differences are not stored.
                libraries::add(named, &mut tables, &mut layouts);
                continue;
            }
            let above = match module {
                Module::Posix => self.any_mpi.above(record.id),
                Module::Dfs => self.past_posix,
                Module::Daos => self.any_dfs,
                _ => Above::default(),
            };
            let file = counted::add(named, above, &self.used, &mut tables, &mut layouts);
            if let Some(spread) = spread(named, ranks) {
                tables.process.reduction.spreads.push(SpreadDef { file, layer: named.layer(), spread });
            }
        }
        Ok(Some(encoder.region(number, &mut tables.process, &[], &TickScale::IDENTITY)?))
    }
}

/// Returns the fastest and the slowest rank and the variances over ranks; `None` if the record does not name these ranks.
fn spread(named: Named<'_>, ranks: u32) -> Option<Spread> {
    let share = |which: &str| {
        Some(RankShare {
            rank: u32::try_from(named.value(&format!("{which}_RANK"))).ok()?,
            time_ns: named.ns(&format!("{which}_RANK_TIME")),
            bytes: named.count(&format!("{which}_RANK_BYTES")),
        })
    };
    let time = named.number("READ_TIME") + named.number("WRITE_TIME") + named.number("META_TIME");
    let bytes = named.count("BYTES_READ").saturating_add(named.count("BYTES_WRITTEN")) as f64;
    let count = f64::from(ranks);
    let variance =
        |name: &str| Some(named.number(name)).filter(|value| value.is_finite() && *value > 0.0).unwrap_or(0.0);
    Some(Spread {
        ranks,
        fastest: share("FASTEST")?,
        slowest: share("SLOWEST")?,
        time_ns: Moments { mean: time * 1e9 / count, squares: variance("VARIANCE_RANK_TIME") * 1e18 * count },
        bytes: Moments { mean: bytes / count, squares: variance("VARIANCE_RANK_BYTES") * count },
    })
}
