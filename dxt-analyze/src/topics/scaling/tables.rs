//! Tables of the groups of runs: several that fit a terminal, each with related measures, and one of all measures for CSV.

use super::measure::RunRow;
use super::measures::{self, Measure};
use super::result::{Group, Scaling, Sizes};
use super::spread::Spread;
use crate::render::{Cell, Part, Report, Table, TableOf, View};
use crate::text::units;
use crate::topics::counters::bins::BINS;

/// Maximum number of runs shown in the terminal; CSV has all.
const RUNS: usize = 40;

impl Report for Scaling {
    fn view(&self) -> View {
        let mut parts = vec![Part::Table(every(self))];
        parts.extend(super::charts::figures(self).into_iter().map(|figure| Part::Figure(Box::new(figure))));
        let shown = [
            shape(self),
            calls(self),
            inside(self),
            writes(self),
            mpiio(self),
            posix(self),
            patterns(self),
            sizes(self),
            runs(self),
        ];
        let has_rates = shown.iter().any(|table| table.name.ends_with("bandwidth") && !table.is_empty());
        parts.extend(shown.map(Part::Table));
        let mut lines: Vec<String> = has_rates.then(|| RATES.to_owned()).into_iter().collect();
        lines.extend(self.remarks.iter().cloned());
        lines.extend(self.left_out.iter().map(|left| format!("left out: {}: {}", left.file, left.why)));
        if !lines.is_empty() {
            parts.push(Part::Lines(lines));
        }
        View { parts, max_width: None }
    }
}

/// Formats a measure of a group: median over its runs, and range if the runs differ.
fn cell(measure: &Measure, group: &Group) -> Cell {
    Cell::maybe(group.get(measure), |spread| measures::ranged(measure.unit, spread.median, &spread))
}

fn median(measure: &Measure, group: &Group) -> Cell {
    Cell::maybe(group.get(measure), |spread: Spread| measure.unit.cell(spread.median))
}

type Rows<'a> = TableOf<'a, &'a Group>;

fn of<'a>(result: &'a Scaling, name: &'static str, title: &str, has: &[Measure]) -> Rows<'a> {
    let any = |group: &Group| {
        has.is_empty() || has.iter().any(|measure| group.get(measure).is_some_and(|spread| spread.most > 0.0))
    };
    let rows: Vec<&Group> = if result.groups.iter().any(any) { result.groups.iter().collect() } else { Vec::new() };
    let is_path = result.group_by == "run";
    let cell = move |group: &&Group| if is_path { Cell::path(&group.group) } else { Cell::text(&group.group) };
    Table::of(name, title, rows).column("Group", "group", cell)
}

trait WithMeasure: Sized {
    fn with(self, title: &'static str, measure: &'static Measure) -> Self;
    fn plain(self, title: &'static str, measure: &'static Measure) -> Self;
}

impl WithMeasure for Rows<'_> {
    fn with(self, title: &'static str, measure: &'static Measure) -> Self {
        let [name, _, _] = measure.columns;
        self.column(title, name, |group| cell(measure, group))
    }

    fn plain(self, title: &'static str, measure: &'static Measure) -> Self {
        let [name, _, _] = measure.columns;
        self.column(title, name, |group| median(measure, group))
    }
}

/// Returns the table of all measures with their ranges, for CSV only. The first table is written as CSV by default, so this one comes
/// first.
fn every(result: &Scaling) -> Table {
    let mut table = Table::of("groups", "", result.groups.iter())
        .csv("group", |group| Cell::text(&group.group))
        .csv("runs", |group| Cell::Count(group.runs));
    for measure in measures::ALL {
        let [name, least, most] = measure.columns;
        let value = move |pick: fn(&Spread) -> f64| {
            move |group: &&Group| Cell::maybe(group.get(measure), |spread| measure.unit.cell(pick(&spread)))
        };
        table = table
            .csv(name, value(|spread| spread.median))
            .csv(least, value(|spread| spread.least))
            .csv(most, value(|spread| spread.most));
    }
    table
        .csv("speedup", |group| Cell::maybe(group.speedup, Cell::Times))
        .csv("efficiency", |group| Cell::maybe(group.efficiency, Cell::Times))
        .csv("program", |group| Cell::text(&group.program))
        .done()
}

fn shape(result: &Scaling) -> Table {
    let by = &result.group_by;
    let efficiency = if result.groups.iter().any(|group| group.efficiency.is_some()) { "Efficiency" } else { "" };
    of(result, "run_time", &format!("Runs by {by}: medians, and (minimum - maximum) of repeats"), &[])
        .column("Runs", "runs", |group| Cell::Count(group.runs))
        .plain("Ranks", &measures::RANKS)
        .plain("Nodes", &measures::NODES)
        .with("Run time", &measures::RUN_TIME)
        .plain("I/O", &measures::IO_SHARE)
        .plain("Read", &measures::BYTES_READ)
        .plain("Written", &measures::BYTES_WRITTEN)
        .column(efficiency, "efficiency", |group| Cell::maybe(group.efficiency, Cell::Times))
        .done()
}

fn calls(result: &Scaling) -> Table {
    let has = [measures::MPIIO_CALLS, measures::POSIX_CALLS];
    of(result, "calls", "Calls by layer, and share of collective MPI-IO calls", &has)
        .plain("MPI-IO", &measures::MPIIO_CALLS)
        .plain("Collective", &measures::COLLECTIVE_SHARE)
        .plain("POSIX", &measures::POSIX_CALLS)
        .plain("Locks", &measures::LOCK_CALLS)
        .plain("Unlocks", &measures::UNLOCK_CALLS)
        .plain("Files", &measures::FILES)
        .done()
}

fn inside(result: &Scaling) -> Table {
    let title = "Time in MPI-IO, in POSIX calls inside, and of these in acquiring and releasing locks; summed over ranks, with shares of MPI-IO";
    of(result, "time", title, &[measures::MPIIO_TIME])
        .with("MPI-IO", &measures::MPIIO_TIME)
        .plain("POSIX inside", &measures::POSIX_IN_MPIIO)
        .plain("Share", &measures::POSIX_IN_MPIIO_SHARE)
        .plain("Lock", &measures::LOCK_TIME)
        .plain("Share ", &measures::LOCK_SHARE)
        .plain("Unlock", &measures::UNLOCK_TIME)
        .plain(" Share", &measures::UNLOCK_SHARE)
        .done()
}

/// Returns the table of MPI-IO writes with the POSIX calls and locks inside them, as in Table 4 of the RIOT paper.
fn writes(result: &Scaling) -> Table {
    let title = "Time in MPI-IO writes, in POSIX inside, and in acquiring and releasing locks; summed over ranks, with shares of MPI-IO writes";
    of(result, "write_locks", title, &[measures::MPIIO_WRITE_TIME])
        .with("MPI-IO writes", &measures::MPIIO_WRITE_TIME)
        .plain("POSIX inside", &measures::POSIX_IN_WRITES)
        .plain("Share", &measures::POSIX_IN_WRITES_SHARE)
        .plain("Lock", &measures::LOCK_IN_WRITES)
        .plain("Share ", &measures::LOCK_IN_WRITES_SHARE)
        .plain("Unlock", &measures::UNLOCK_IN_WRITES)
        .plain(" Share", &measures::UNLOCK_IN_WRITES_SHARE)
        .done()
}

const RATES: &str = "Bandwidths: bytes over the sum of the times in calls (effective), over the time in calls of the slowest process, and over the \
                     span from the first start to the last end, pauses included.";

fn mpiio(result: &Scaling) -> Table {
    use measures::{
        MPIIO_READ_BY_SLOWEST, MPIIO_READ_EFFECTIVE, MPIIO_READ_OVER_SPAN, MPIIO_WRITE_BY_SLOWEST,
        MPIIO_WRITE_EFFECTIVE, MPIIO_WRITE_OVER_SPAN,
    };
    of(
        result,
        "mpiio_bandwidth",
        "Bandwidth of MPI-IO, calls by HDF5 included",
        &[MPIIO_READ_EFFECTIVE, MPIIO_WRITE_EFFECTIVE],
    )
    .plain("Read effective", &MPIIO_READ_EFFECTIVE)
    .with("by slowest", &MPIIO_READ_BY_SLOWEST)
    .plain("over span", &MPIIO_READ_OVER_SPAN)
    .plain("Write effective", &MPIIO_WRITE_EFFECTIVE)
    .with("by slowest ", &MPIIO_WRITE_BY_SLOWEST)
    .plain("over span ", &MPIIO_WRITE_OVER_SPAN)
    .done()
}

fn posix(result: &Scaling) -> Table {
    use measures::{
        POSIX_READ_BY_SLOWEST, POSIX_READ_EFFECTIVE, POSIX_READ_OVER_SPAN, POSIX_WRITE_BY_SLOWEST,
        POSIX_WRITE_EFFECTIVE, POSIX_WRITE_OVER_SPAN,
    };
    of(
        result,
        "posix_bandwidth",
        "Bandwidth of POSIX, regardless of the caller",
        &[POSIX_READ_EFFECTIVE, POSIX_WRITE_EFFECTIVE],
    )
    .plain("Read effective", &POSIX_READ_EFFECTIVE)
    .with("by slowest", &POSIX_READ_BY_SLOWEST)
    .plain("over span", &POSIX_READ_OVER_SPAN)
    .plain("Write effective", &POSIX_WRITE_EFFECTIVE)
    .with("by slowest ", &POSIX_WRITE_BY_SLOWEST)
    .plain("over span ", &POSIX_WRITE_OVER_SPAN)
    .done()
}

fn patterns(result: &Scaling) -> Table {
    let has = [measures::CONSECUTIVE_SHARE, measures::SEQUENTIAL_SHARE, measures::UNALIGNED_SHARE];
    of(result, "patterns", "POSIX reads and writes: shares of consecutive, sequential and unaligned calls", &has)
        .plain("Consecutive", &measures::CONSECUTIVE_SHARE)
        .plain("Sequential", &measures::SEQUENTIAL_SHARE)
        .plain("Unaligned", &measures::UNALIGNED_SHARE)
        .done()
}

fn sizes(result: &Scaling) -> Table {
    let rows = result.groups.iter().flat_map(|group| group.sizes.iter().map(move |sizes| (group, sizes)));
    let mut table = Table::of("sizes", "Calls by size in bytes, as shares of the row's calls", rows)
        .column("Group", "group", |(group, _): &(&Group, &Sizes)| Cell::text(&group.group))
        .column("Layer", "layer", |(_, sizes)| Cell::Layer(sizes.layer.clone()))
        .column("Operation", "operation", |(_, sizes)| Cell::text(sizes.direction))
        .csv("calls", |(_, sizes)| Cell::Count(sizes.calls));
    for (place, name) in BINS.iter().enumerate() {
        // Size bins that no group uses get no visible column.
        let used = result
            .groups
            .iter()
            .flat_map(|group| &group.sizes)
            .any(|sizes| sizes.sizes.get(place).is_some_and(|calls| *calls > 0));
        let title = if used { *name } else { "" };
        table = table.column(title, name, move |(_, sizes)| {
            let calls = sizes.sizes.get(place).copied().unwrap_or(0);
            if calls > 0 { Cell::share_of(calls, sizes.calls) } else { Cell::None }
        });
    }
    table.done()
}

fn runs(result: &Scaling) -> Table {
    let rows = result.grouped();
    let mut table = Table::of("runs", format!("The {}", units::counted(result.runs.len() as u64, "run")), rows)
        .column("Group", "group", |(group, _): &(String, &RunRow)| Cell::text(group))
        .csv("job", |(_, run)| Cell::text(&run.job.job))
        .csv("start", |(_, run)| Cell::text(&run.job.start))
        .csv("program", |(_, run)| Cell::text(&run.job.program))
        .csv("arguments", |(_, run)| Cell::Text(run.args.join(" ")))
        .csv("mpi", |(_, run)| Cell::maybe(run.mpi.clone(), Cell::Text));
    let shown = [
        (&measures::RUN_TIME, "Run time"),
        (&measures::IO_SHARE, "I/O"),
        (&measures::MPIIO_TIME, "MPI-IO"),
        (&measures::POSIX_TIME, "POSIX"),
    ];
    for measure in measures::ALL {
        let title = shown.iter().find(|(known, _)| *known == measure).map_or("", |(_, title)| title);
        let [name, _, _] = measure.columns;
        table = table.column(title, name, |(_, run)| Cell::maybe(measure.of(run), |value| measure.unit.cell(value)));
    }
    table
        .column("Complete", "complete", |(_, run)| Cell::text(if run.job.complete { "yes" } else { "no" }))
        .column("Log", "source", |(_, run)| Cell::path(&run.job.source))
        .most(RUNS)
        .done()
}
