//! Command `ledger`: one pass over the trace, and the tables of the result.

use super::args::{Args, Options};
use super::arrivals::Arrivals;
use super::busy::{Busy, Times};
use super::result::{Ledger, ProcessRow};
use crate::findings::Finding;
use crate::model::Run;
use crate::progress::Bar;
use crate::render::{Cell, Part, Report, Table, View};
use crate::scan::{scan, together};
use crate::shared::completeness::Completeness;
use crate::shared::ratio::share;
use crate::shared::totals::{Totals, with_missing};
use crate::text::units;
use crate::topics::Outcome;
use anyhow::Result;
use serde::Serialize;
use std::cmp::Reverse;

together!(
    /// Analyses that share the pass of the command.
    Reading, Partials { totals, busy, arrivals }
);

/// Result of `ledger`, with the number of processes to display.
#[derive(Clone, Debug, Serialize)]
pub struct LedgerReport {
    /// Division by activity of the run time of each process and of the job.
    #[serde(flatten)]
    pub result: Ledger,
    /// Maximum number of processes in a table.
    #[serde(skip)]
    pub top: usize,
    /// Wall-clock times of processes with any thread in a call, and with asynchronous operations in flight.
    #[serde(skip)]
    pub busy: Times,
    /// Findings on the trace itself.
    pub findings: Vec<Finding>,
}

impl LedgerReport {
    pub(crate) fn of(result: Ledger, busy: Times, top: usize) -> Self {
        Self { findings: result.missing.findings(), result, top, busy }
    }
}

/// Loads a run and divides its run time by activity.
///
/// # Errors
/// Returns an error if nothing can be loaded.
pub fn ledger(args: &Args) -> Result<LedgerReport> {
    let run = crate::session::open(&args.inputs)?;
    Ok(ledger_of(&run, &args.options))
}

/// Divides the run time of a loaded run by activity.
#[must_use]
pub fn ledger_of(run: &Run, options: &Options) -> LedgerReport {
    let bar = Bar::new(run.segments(), "ledger");
    let reading = Reading { totals: Totals, busy: Busy::new(run), arrivals: Arrivals::new(run) };
    let (partials, lost) = scan(run, &reading, &bar);
    drop(bar);
    let totals = with_missing(run, partials.totals);
    let (busy, waits) = (partials.busy.times(), partials.arrivals.waits());
    LedgerReport::of(Ledger::of(run, &totals, &busy, &waits, &lost), busy, options.top)
}

impl Outcome for LedgerReport {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.result.missing]
    }
}

/// Minimum difference between a process's share of time in I/O and the mean share at which the summary sentence names the process.
const FAR_ABOVE: f64 = 0.1;

/// Formats a share in percent, after the words `at_least` if these are not empty.
fn percent(share: f64, at_least: &str) -> String {
    match share * 100.0 {
        small if small > 0.0 && small < 0.05 && at_least.is_empty() => "less than 0.1 %".to_owned(),
        percent => format!("{at_least}{percent:.1} %"),
    }
}

/// Returns a sentence that sums up the result, such as `I/O takes 93.8 % of the run time (11.3 s of 12.0 s per rank)`.
#[must_use]
pub fn lead(ledger: &Ledger) -> String {
    if ledger.missing.untimed {
        return format!("The share of I/O in the run time is not known: {}", crate::render::untimed::WHY);
    }
    let each = |ns: u64| units::duration(ns / ledger.processes.max(1));
    let whose = if ledger.processes == 1 { "" } else { ", the mean over processes" };
    // A process with much more time in I/O than the others may determine the job's run time.
    let slowest =
        ledger.rows.iter().filter(|row| row.processes == 1).max_by_key(|row| (row.parts.io_ns(), Reverse(row.rank)));
    let slowest = slowest.filter(|row| row.parts.io_share() >= ledger.io_share + FAR_ABOVE).map(|row| {
        let who = if row.rank >= 0 { format!("rank {}", row.rank) } else { format!("pid {}", row.pid) };
        format!("; {who}: {:.1} %", row.parts.io_share() * 100.0)
    });
    format!(
        "I/O takes {} of the run time ({} of {}{whose}{})",
        percent(ledger.io_share, ledger.missing.at_least()),
        each(ledger.job.io_ns()),
        each(ledger.job.total_ns()),
        slowest.unwrap_or_default()
    )
}

/// Returns a sentence like that of [`lead`] for a job without MPI, such as a script: its processes may be short, so that a mean over them says
/// little. `io_ns`: time in calls of those processes that run one after another, and take longest.
#[must_use]
pub fn lead_of_script(ledger: &Ledger, io_ns: u64, run_ns: u64) -> String {
    format!(
        "I/O takes {} of the run time ({} of {}; of processes that run at the same time, the slowest counts); below, the \
         mean over processes",
        percent(crate::shared::ratio::share(io_ns, run_ns), ledger.missing.at_least()),
        units::duration(io_ns),
        units::duration(run_ns)
    )
}

impl Report for LedgerReport {
    fn view(&self) -> View {
        let result = &self.result;
        let mut parts: Vec<Part> = result.missing.scope_part().into_iter().collect();
        parts.push(Part::Lines(vec![lead(result)]));
        if !result.missing.untimed {
            parts.push(Part::Table(job_table(result)));
        }
        parts.push(Part::Table(process_table(&result.rows, self.top)));
        let remarks = remarks(result);
        parts.extend((!remarks.is_empty()).then_some(Part::Lines(remarks)));
        parts.push(Part::Findings(self.findings.clone()));
        parts.extend(result.missing.parts());
        View { parts, max_width: None }
    }
}

fn remarks(ledger: &Ledger) -> Vec<String> {
    let mut out = Vec::new();
    if ledger.background_ns > 0 {
        out.push(format!(
            "asynchronous operations (nonblocking, split, io_submit, io_uring) run in the background and are in no row of the table: {} summed over operations, and for {} at \
             least one is in flight; {}",
            units::duration(ledger.background_ns),
            units::duration(ledger.in_flight_ns),
            if ledger.knows_waits {
                "the time to submit them and to wait for them is in the table"
            } else {
                "the program's waits for these operations are not recorded"
            }
        ));
    }
    if ledger.job.library_ns > 0 && !ledger.knows_waiting {
        out.push("waiting for the last rank is part of the time outside POSIX: single calls are not recorded".into());
    }
    if ledger.followed_one_in > 1 {
        out.push(format!(
            "the time waiting for the last rank is an estimate from 1 in {} collective operations",
            ledger.followed_one_in
        ));
    }
    if !ledger.knows_inside {
        out.push(
            "this table omits calls of HDF5 and PnetCDF: the log does not show which MPI-IO and POSIX calls were made inside them, and time would count twice"
                .into(),
        );
    }
    out
}

fn job_table(ledger: &Ledger) -> Table {
    let total = ledger.job.total_ns();
    let parts = ledger.job.named().into_iter().filter(|(_, ns)| *ns > 0);
    Table::of("ledger", "Where the run time went", parts)
        .column("Part", "part", |(name, _)| Cell::text(*name))
        .column("Per process", "mean_s", |(_, ns)| Cell::Duration(ns / ledger.processes.max(1)))
        .column("Share", "share", |(_, ns)| Cell::Share(share(*ns, total)))
        .column("All processes", "time_s", |(_, ns)| Cell::Duration(*ns))
        .done()
}

fn process_table(rows: &[ProcessRow], top: usize) -> Table {
    let node = |row: &&ProcessRow| match row.processes {
        0 | 1 => Cell::text(&row.node),
        ranks => Cell::Text(format!("{ranks} ranks together")),
    };
    Table::of("processes", "Processes", rows)
        .column("Rank", "rank", |row| {
            Cell::maybe((row.rank >= 0).then_some(row.rank), |rank| Cell::Number(rank.into()))
        })
        .column("Node", "node", node)
        .csv("pid", |row| Cell::Count(row.pid.into()))
        .column("Run time", "run_s", |row| Cell::Duration(row.run_ns))
        .column("In I/O", "io_share", |row| Cell::Share(row.parts.io_share()))
        .column("Reads", "read_s", |row| Cell::Duration(row.parts.read_ns))
        .column("Writes", "write_s", |row| Cell::Duration(row.parts.write_ns))
        .column("Metadata", "metadata_s", |row| Cell::Duration(row.parts.metadata_ns))
        .column("Syncs", "sync_s", |row| Cell::Duration(row.parts.sync_ns))
        .column("Locks", "lock_s", |row| Cell::Duration(row.parts.lock_ns))
        .column("Async", "asynchronous_s", |row| Cell::Duration(row.parts.asynchronous_ns))
        .column("Waiting", "waiting_s", |row| Cell::Duration(row.parts.waiting_ns))
        .column("System", "system_s", |row| Cell::Duration(row.parts.system_ns))
        .column("Outside", "library_s", |row| Cell::Duration(row.parts.library_ns))
        .csv("cpu_wait_s", |row| Cell::Duration(row.parts.cpu_wait_ns))
        .most(top)
        .done()
}
