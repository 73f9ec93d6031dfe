//! Command `counters`: one pass over the trace in call order, and the output of its result.

use super::args::Args;
use crate::findings::Finding;
use crate::model::Run;
use crate::progress::Bar;
use crate::render::{Cell, Part, Report, Table, View};
use crate::scan::scan;
use crate::shared::bandwidth::table;
use crate::shared::completeness::Completeness;
use crate::shared::totals::{Totals, with_missing};
use crate::text::units;
use crate::topics::Outcome;
use crate::topics::counters::bins::{BINS, names};
use crate::topics::counters::result::{AccessRow, PatternRow};
use crate::topics::counters::steps::Steps;
use crate::topics::counters::{Characterization, Fold, characterize, tables_steps};
use crate::topics::summary::details::ExtentRow;
use anyhow::Result;
use trace_format::common_values::CommonValue;

const BANDWIDTHS: &str =
    "Bandwidth: bytes over the time in calls of the slowest process, and from the first start to the last end";

/// Loads a run and characterizes it.
///
/// # Errors
/// Returns an error if the inputs cannot be loaded.
pub fn counters(args: &Args) -> Result<Characterization> {
    let run = crate::session::open(&args.inputs)?;
    let mut found = counters_of(&run, args.options.top);
    found.bandwidths.iter_mut().for_each(|row| row.bandwidth.measure(args.options.peak));
    Ok(found)
}

/// Characterizes a loaded run; lists at most `top` files.
#[must_use]
pub fn counters_of(run: &Run, top: usize) -> Characterization {
    let bar = Bar::new(run.segments(), "counters");
    let ((partial, totals), lost) = scan(run, &((Fold, Steps), Totals), &bar);
    drop(bar);
    characterize(run, partial, &with_missing(run, totals), &lost, top)
}

impl Outcome for Characterization {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.missing]
    }
}

impl Report for Characterization {
    fn view(&self) -> View {
        let mut parts: Vec<Part> = self.missing.scope_part().into_iter().collect();
        let tables = [
            accesses(&self.accesses),
            table::narrow("bandwidths", BANDWIDTHS, &self.bandwidths),
            histogram(&self.accesses),
            tables_steps::strides(&self.strides),
            tables_steps::seeks(&self.strides),
            tables_steps::alignment(&self.alignment),
            patterns(&self.patterns),
            memory(self),
            times(self),
            sharing(self),
            kinds(self),
            file_sizes(self),
            places(self),
            files(self),
            tables_steps::open_files(&self.open_files, self.open_file_count),
            datatypes(self),
            datatype_extents(self),
        ];
        parts.extend(tables.map(Part::Table));
        if !self.findings.is_empty() {
            parts.push(Part::Findings(self.findings.clone()));
        }
        parts.extend(self.missing.parts());
        View { parts, max_width: None }
    }
}

/// Returns a table cell with `count`, or an empty cell if `known` is false.
fn some(known: bool, count: u64) -> Cell {
    if known { Cell::Count(count) } else { Cell::None }
}

fn accesses(rows: &[AccessRow]) -> Table {
    Table::of("accesses", "Reads and writes, including those inside other layers' calls", rows)
        .column("Layer", "layer", |row| Cell::Layer(row.layer.clone()))
        .column("Direction", "direction", |row| Cell::text(row.direction))
        .column("Calls", "calls", |row| Cell::Count(row.calls))
        .column("Nested", "nested", |row| Cell::Count(row.nested))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.bytes))
        .column("Time", "time_s", |row| Cell::Duration(row.time_ns))
        .column("Longest", "longest_s", |row| Cell::maybe(row.max_ns, Cell::Duration))
        .column("Consecutive", "consecutive_share", |row| Cell::share_of(row.consecutive, row.ordered))
        .csv("consecutive", |row| some(row.ordered > 0, row.consecutive))
        .column("Sequential", "sequential_share", |row| Cell::share_of(row.sequential, row.ordered))
        .csv("sequential", |row| some(row.ordered > 0, row.sequential))
        .csv("ordered", |row| Cell::Count(row.ordered))
        .done()
}

fn histogram(rows: &[AccessRow]) -> Table {
    let bins = BINS.iter().enumerate().filter(|(bin, _)| rows.iter().any(|row| row.sizes.get(*bin) != Some(&0)));
    let title = "Calls by size of the request, bytes";
    let mut table = Table::of("sizes", title, bins).column("Size of request", "size", |(_, name)| Cell::text(**name));
    for row in rows {
        let (title, name) = names(&row.layer, row.direction);
        table = table.column(title, name, |(bin, _)| Cell::Count(row.sizes.get(*bin).copied().unwrap_or_default()));
    }
    table.done()
}

fn common(values: &[CommonValue]) -> Cell {
    let word = |value: &CommonValue| {
        let about = if value.over > 0 { "~" } else { "" };
        format!("{} ({about}{})", value.value, units::count(value.count))
    };
    Cell::Text(values.iter().map(word).collect::<Vec<String>>().join(", "))
}

fn patterns(rows: &[PatternRow]) -> Table {
    Table::of("patterns", "Access patterns", rows)
        .column("Layer", "layer", |row| Cell::Layer(row.layer.clone()))
        .column("Accesses", "accesses", |row| Cell::Count(row.accesses))
        .column("Common sizes (calls)", "sizes", |row| common(&row.sizes))
        .column("Common strides (calls)", "strides", |row| common(&row.strides))
        .column("Read/write switches", "switches", |row| Cell::Count(row.switches))
        .column("Unaligned", "unaligned_share", |row| Cell::share_of(row.file_unaligned, row.file_known))
        .csv("unaligned", |row| some(row.file_known > 0, row.file_unaligned))
        .column("in memory", "memory_unaligned_share", |row| {
            Cell::share_of(row.memory_unaligned.unwrap_or_default(), row.memory_known)
        })
        .csv("memory_unaligned", |row| Cell::maybe(row.memory_unaligned, Cell::Count))
        .csv("memory_alignment_bytes", |row| Cell::maybe(row.memory_alignment, Cell::Count))
        .done()
}

fn memory(result: &Characterization) -> Table {
    let alignment = result.patterns.iter().find_map(|row| row.memory_alignment).unwrap_or_default();
    let title = format!("Aligned memory: at a multiple of {}", units::bytes(alignment));
    let mean = |mean: Option<f64>| Cell::maybe(mean, |ns| Cell::Duration(ns as u64));
    Table::of("memory", title, result.memory.iter())
        .column("Layer", "layer", |row| Cell::Layer(row.layer.clone()))
        .column("Direction", "direction", |row| Cell::text(row.direction))
        .column("Size", "size", |row| Cell::text(BINS.get(usize::from(row.size_bin)).copied().unwrap_or("?")))
        .column("Aligned", "aligned", |row| Cell::Count(row.aligned))
        .column("Mean time", "aligned_mean_s", move |row| mean(row.aligned_mean_ns))
        .column("Unaligned", "unaligned", |row| Cell::Count(row.unaligned))
        .column("Mean time", "unaligned_mean_s", move |row| mean(row.unaligned_mean_ns))
        .done()
}

fn times(result: &Characterization) -> Table {
    Table::of("times", "Time per process; program: all calls that the program itself made", result.times.iter())
        .column("Layer", "layer", |row| Cell::Layer(row.layer.clone()))
        .column("Calls", "kind", |row| Cell::text(row.kind))
        .column("Mean time", "mean_s", |row| Cell::Duration(row.mean_ns as u64))
        .column("of run time", "of_runtime", |row| Cell::Share(row.of_runtime))
        .column("Minimum", "min_s", |row| Cell::maybe(row.min_ns, Cell::Duration))
        .column("Maximum", "max_s", |row| Cell::maybe(row.max_ns, Cell::Duration))
        .column("Slowest", "slowest", |row| if row.slowest.is_empty() { Cell::None } else { Cell::text(&row.slowest) })
        .column("Deviation", "deviation_s", |row| {
            Cell::maybe(row.deviation_ns, |deviation| Cell::Duration(deviation as u64))
        })
        .done()
}

fn sharing(result: &Characterization) -> Table {
    Table::of("sharing", "Files used by one process, and by several processes", result.sharing.iter())
        .column("Processes per file", "processes", |row| Cell::text(if row.shared { "several" } else { "one" }))
        .column("Calls", "kind", |row| Cell::text(row.kind))
        .column("Number", "calls", |row| Cell::Count(row.calls))
        .column("Bytes", "bytes", |row| Cell::Bytes(row.bytes))
        .column("Time per process", "time_per_process_s", |row| Cell::Duration(row.per_process_ns as u64))
        .done()
}

fn kinds(result: &Characterization) -> Table {
    Table::of("kinds", "Files by use; extent: highest byte accessed", result.kinds.iter().filter(|row| row.files > 0))
        .column("Files", "kind", |row| Cell::text(row.kind))
        .column("Number", "files", |row| Cell::Count(row.files))
        .column("Mean extent", "mean_bytes", |row| Cell::Bytes(row.mean_bytes as u64))
        .column("Largest", "max_bytes", |row| Cell::Bytes(row.max_bytes))
        .done()
}

fn file_sizes(result: &Characterization) -> Table {
    Table::of("file_sizes", "Files by extent, bytes", result.file_sizes.iter().filter(|row| row.files > 0))
        .column("Extent", "extent", |row| Cell::text(BINS.get(row.bin).copied().unwrap_or_default()))
        .column("Files", "files", |row| Cell::Count(row.files))
        .column("Bytes moved", "bytes", |row| Cell::Bytes(row.bytes))
        .done()
}

fn places(result: &Characterization) -> Table {
    Table::of("places", "Mount points", result.places.iter())
        .column("Mount point", "place", |row| Cell::path(&row.place))
        .column("Files", "files", |row| Cell::Count(row.files))
        .column("Read", "bytes_read", |row| Cell::Bytes(row.bytes_read))
        .column("Written", "bytes_written", |row| Cell::Bytes(row.bytes_written))
        .column("Time", "time_s", |row| Cell::Duration(row.time_ns))
        .done()
}

fn files(result: &Characterization) -> Table {
    let more = result.file_count - result.files.len() as u64;
    let more = if more > 0 { format!(", {} more: --top N", units::count(more)) } else { String::new() };
    let order = if result.missing.untimed { "Files" } else { "Files with the longest time" };
    let title = format!("{order}{more}");
    Table::of("files", title, result.files.iter())
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Procs", "processes", |row| Cell::Count(row.processes))
        .column("Opens", "opens", |row| Cell::Count(row.opens))
        .column("Reads", "reads", |row| Cell::Count(row.reads))
        .column("Writes", "writes", |row| Cell::Count(row.writes))
        .column("Read", "bytes_read", |row| Cell::Bytes(row.bytes_read))
        .column("Written", "bytes_written", |row| Cell::Bytes(row.bytes_written))
        .csv("extent_bytes", |row| Cell::Bytes(row.extent))
        .column("Read time", "read_s", |row| Cell::Duration(row.time_ns[0]))
        .column("Write time", "write_s", |row| Cell::Duration(row.time_ns[1]))
        .column("Other", "metadata_s", |row| Cell::Duration(row.time_ns[2]))
        .column("Consec.", "consecutive_share", |row| Cell::share_of(row.consecutive, row.ordered))
        .csv("sequential_share", |row| Cell::share_of(row.sequential, row.ordered))
        .csv("first_s", |row| Cell::Moment(row.first_ns))
        .csv("last_s", |row| Cell::Moment(row.last_ns))
        .done()
}

fn datatypes(result: &Characterization) -> Table {
    Table::of("datatypes", "Datatypes of MPI-IO calls", result.datatypes.iter())
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Datatype of", "role", |row| Cell::text(row.role))
        .column("Created as", "combiner", |row| Cell::text(row.combiner))
        .column("Calls", "calls", |row| Cell::Count(row.calls))
        .done()
}

fn datatype_extents(result: &Characterization) -> Table {
    let bins = |row: &'_ ExtentRow| BINS.iter().zip(row.extents).filter(|(_, calls)| *calls > 0).collect::<Vec<_>>();
    let rows = result.datatype_extents.iter().flat_map(|row| bins(row).into_iter().map(move |bin| (row, bin)));
    Table::of("datatype_extents", "Calls by extent of the datatype, bytes", rows)
        .column("File", "file", |(row, _)| Cell::path(&row.file))
        .column("Datatype of", "role", |(row, _)| Cell::text(row.role))
        .column("Extent", "extent", |(_, (bin, _))| Cell::text(**bin))
        .column("Calls", "calls", |(_, (_, calls))| Cell::Count(*calls))
        .done()
}
