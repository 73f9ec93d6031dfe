//! Ranks that come late where all open files together, by how little time they spend in that: of logs, which have one time for all metadata calls on a file and do
//! not tell when these were.

use super::late::matters_ns;
use super::who_is_late::{Meeting, late};
use crate::findings::{About, Code, Evidence};
use crate::model::{FileId, ProcessId};
use crate::text::units as show;
use crate::topics::causes::claim::{Claim, finding};
use crate::topics::causes::class::Class;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::layers::parts::Form;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Fewest ranks of which one is late, and files that it comes late to.
const RANKS: usize = 3;
const FEWEST: usize = 2;
/// Share of all that late ranks cost that these must cost to be those who are late.
const MOSTLY: f64 = 0.7;

/// Those that cost most.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let ranks = usize::try_from(grid.run.ranks()).unwrap_or(usize::MAX);
    if !grid.run.was_log() || ranks < RANKS {
        return None;
    }
    let together = |entry: &&Entry| {
        let mode = grid.stream(entry).map(|stream| grid.run.op(stream).mode);
        entry.class == Class::Open
            && grid.layer(entry) == Some(Layer::Mpiio)
            && mode.is_some_and(|mode| Form::of(mode) == Form::Collective)
    };
    let mut by: BTreeMap<FileId, BTreeMap<ProcessId, f64>> = BTreeMap::new();
    for entry in grid.entries.iter().filter(together) {
        *by.entry(entry.file).or_default().entry(entry.process).or_default() += entry.cell.time_ns as f64;
    }
    // Who waits for nobody has come last.
    let meeting = |of: BTreeMap<ProcessId, f64>| -> Meeting {
        let most = of.values().copied().fold(0.0, f64::max);
        of.into_iter().map(|(process, ns)| (process, most - ns)).collect()
    };
    let meetings: Vec<Meeting> = by.into_values().filter(|of| of.len() == ranks).map(meeting).collect();
    let found = late(&meetings)?;
    let times = found.last.len();
    if times < FEWEST || found.saves_ns <= found.all_ns * MOSTLY {
        return None;
    }
    if found.may_be_chance(&meetings) && found.saves_ns < matters_ns(grid) {
        return None;
    }
    let (name, one, about) = found.named(grid.run);
    let (comes, whose) = if one { ("arrives", "its") } else { ("arrive", "their") };
    let title = format!(
        "{name} {comes} last at {} of {}: the others wait {} in these opens",
        show::count(times as u64),
        show::counted(meetings.len() as u64, "collective MPI-IO open"),
        show::duration(found.saves_ns as u64)
    );
    let words = "derived from the short time in MPI-IO opens, compared with the other ranks: the log has no times of single opens";
    let about = About { calls: Some(times as u64), ..about };
    let hint = format!(
        "give {name} less to compute, or find out what slows {whose} computing: the calls themselves are not slow"
    );
    let evidence = vec![Evidence::of(words.to_owned(), about)];
    let claim = Claim::new(finding(Code::LATE_RANKS, title, evidence, &hint), Vec::new());
    Some(Claim { waiting_ns: found.saves_ns, ..claim })
}
