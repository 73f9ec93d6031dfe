//! `counters`: one ordered pass, and how the characterization looks.

use super::args::Args;
use crate::findings::Finding;
use crate::model::Run;
use crate::progress::Bar;
use crate::render::{Cell, Column, Part, Report, Table, View};
use crate::scan::scan;
use crate::text::units;
use crate::topics::Outcome;
use crate::topics::counters::files::FileUse;
use crate::topics::counters::result::{AccessRow, PatternRow};
use crate::topics::counters::{Characterization, Fold, characterize};
use anyhow::Result;
use trace_format::common_values::CommonValue;
use trace_format::counters::SIZE_BINS;

/// Names of the bins of sizes, with bounds that belong to the lower bin.
pub(crate) const BINS: [&str; SIZE_BINS] =
    ["0-100", "100-1K", "1K-10K", "10K-100K", "100K-1M", "1M-4M", "4M-10M", "10M-100M", "100M-1G", "1G+"];

/// Loads and characterizes.
///
/// # Errors
/// If nothing can be loaded.
pub fn counters(args: &Args) -> Result<Characterization> {
    let run = crate::session::open(&args.inputs)?;
    Ok(counters_of(&run, args.options.top))
}

/// Characterizes a run that is loaded; `top` files are listed.
#[must_use]
pub fn counters_of(run: &Run, top: usize) -> Characterization {
    let bar = Bar::new(run.segments(), "counters");
    let (partial, lost) = scan(run, &Fold, &bar);
    drop(bar);
    characterize(run, partial, &lost, top)
}

impl Outcome for Characterization {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn complete(&self) -> bool {
        self.missing.complete
    }
}

impl Report for Characterization {
    fn view(&self) -> View {
        let mut parts: Vec<Part> = self.missing.scope_part().into_iter().collect();
        let tables = [
            accesses(&self.accesses),
            histogram(&self.accesses),
            patterns(&self.patterns),
            times(self),
            sharing(self),
            kinds(self),
            file_sizes(self),
            places(self),
            files(self),
            datatypes(self),
        ];
        parts.extend(tables.into_iter().filter(|table| !table.rows.is_empty()).map(Part::Table));
        if !self.findings.is_empty() {
            parts.push(Part::Findings(self.findings.clone()));
        }
        parts.extend(self.missing.parts());
        View { parts, max_width: None }
    }
}

fn table(name: &'static str, title: &str, columns: Vec<Column>, rows: Vec<Vec<Cell>>) -> Table {
    Table { name, title: title.into(), columns, rows, most: usize::MAX }
}

fn share(part: u64, whole: u64) -> Cell {
    if whole > 0 { Cell::Share(part as f64 / whole as f64) } else { Cell::None }
}

/// A count that may not be known.
fn some(known: bool, count: u64) -> Cell {
    if known { Cell::Count(count) } else { Cell::None }
}

fn accesses(rows: &[AccessRow]) -> Table {
    let row = |row: &AccessRow| {
        vec![
            Cell::Text(row.layer.clone()),
            Cell::Text(row.direction.into()),
            Cell::Count(row.calls),
            Cell::Count(row.nested),
            Cell::Bytes(row.bytes),
            Cell::Duration(row.time_ns),
            row.max_ns.map_or(Cell::None, Cell::Duration),
            share(row.consecutive, row.ordered),
            some(row.ordered > 0, row.consecutive),
            share(row.sequential, row.ordered),
            some(row.ordered > 0, row.sequential),
            Cell::Count(row.ordered),
        ]
    };
    let columns = vec![
        ("Layer", "layer"),
        ("Direction", "direction"),
        ("Calls", "calls"),
        ("Nested", "nested"),
        ("Bytes", "bytes"),
        ("Time", "time_s"),
        ("Longest", "longest_s"),
        ("Consecutive", "consecutive_share"),
        ("", "consecutive"),
        ("Sequential", "sequential_share"),
        ("", "sequential"),
        ("", "ordered"),
    ];
    let title = "Reads and writes, those inside other layers' calls too";
    table("accesses", title, columns, rows.iter().map(row).collect())
}

fn histogram(rows: &[AccessRow]) -> Table {
    let mut columns = vec![("Size of request", "size")];
    let names = |row: &AccessRow| match (row.layer.as_str(), row.direction) {
        ("POSIX", "read") => ("POSIX read", "posix_read"),
        ("POSIX", _) => ("POSIX write", "posix_write"),
        ("STDIO", "read") => ("STDIO read", "stdio_read"),
        ("STDIO", _) => ("STDIO write", "stdio_write"),
        ("MPIIO", "read") => ("MPIIO read", "mpiio_read"),
        ("MPIIO", _) => ("MPIIO write", "mpiio_write"),
        ("HDF5", "read") => ("HDF5 read", "hdf5_read"),
        ("HDF5", _) => ("HDF5 write", "hdf5_write"),
        (_, "read") => ("other read", "other_read"),
        _ => ("other write", "other_write"),
    };
    columns.extend(rows.iter().map(names));
    let bins = BINS.iter().enumerate().filter(|(bin, _)| rows.iter().any(|row| row.sizes.get(*bin) != Some(&0)));
    let rows = bins.map(|(bin, name)| {
        let counts = rows.iter().map(|row| Cell::Count(row.sizes.get(bin).copied().unwrap_or_default()));
        std::iter::once(Cell::Text((*name).into())).chain(counts).collect()
    });
    let rows = rows.collect();
    table("sizes", "Calls by size of the request, bytes", columns, rows)
}

fn common(values: &[CommonValue]) -> Cell {
    let word = |value: &CommonValue| {
        let about = if value.over > 0 { "~" } else { "" };
        format!("{} ({about}{})", value.value, units::count(value.count))
    };
    Cell::Text(values.iter().map(word).collect::<Vec<String>>().join(", "))
}

fn patterns(rows: &[PatternRow]) -> Table {
    let row = |row: &PatternRow| {
        vec![
            Cell::Text(row.layer.clone()),
            Cell::Count(row.accesses),
            common(&row.sizes),
            common(&row.strides),
            Cell::Count(row.switches),
            share(row.file_unaligned, row.file_known),
            some(row.file_known > 0, row.file_unaligned),
            share(row.memory_unaligned, row.memory_known),
            some(row.memory_known > 0, row.memory_unaligned),
        ]
    };
    let columns = vec![
        ("Layer", "layer"),
        ("Accesses", "accesses"),
        ("Common sizes (calls)", "sizes"),
        ("Common strides (calls)", "strides"),
        ("Read/write switches", "switches"),
        ("Unaligned", "unaligned_share"),
        ("", "unaligned"),
        ("in memory", "memory_unaligned_share"),
        ("", "memory_unaligned"),
    ];
    table("patterns", "Patterns of access", columns, rows.iter().map(row).collect())
}

fn times(result: &Characterization) -> Table {
    let rows = result.times.iter().map(|row| {
        vec![
            Cell::Text(row.layer.clone()),
            Cell::Text(row.kind.into()),
            Cell::Duration(row.mean_ns as u64),
            Cell::Share(row.of_runtime),
            row.min_ns.map_or(Cell::None, Cell::Duration),
            row.max_ns.map_or(Cell::None, Cell::Duration),
            if row.slowest.is_empty() { Cell::None } else { Cell::Text(row.slowest.clone()) },
            row.deviation_ns.map_or(Cell::None, |deviation| Cell::Duration(deviation as u64)),
        ]
    });
    let columns = vec![
        ("Layer", "layer"),
        ("Calls", "kind"),
        ("Mean time", "mean_s"),
        ("of run time", "of_runtime"),
        ("Least", "min_s"),
        ("Most", "max_s"),
        ("by", "slowest"),
        ("Deviation", "deviation_s"),
    ];
    table("times", "Time per process; program: all calls that it made itself", columns, rows.collect())
}

fn sharing(result: &Characterization) -> Table {
    let rows = result.sharing.iter().map(|row| {
        vec![
            Cell::Text(if row.shared { "several".into() } else { "one".into() }),
            Cell::Text(row.kind.into()),
            Cell::Count(row.calls),
            Cell::Bytes(row.bytes),
            Cell::Duration(row.per_process_ns as u64),
        ]
    });
    let columns = vec![
        ("Files of processes", "processes"),
        ("Calls", "kind"),
        ("Number", "calls"),
        ("Bytes", "bytes"),
        ("Time per process", "time_per_process_s"),
    ];
    table("sharing", "Files of one process, files of several", columns, rows.collect())
}

fn kinds(result: &Characterization) -> Table {
    let rows = result.kinds.iter().filter(|row| row.files > 0).map(|row| {
        vec![
            Cell::Text(row.kind.into()),
            Cell::Count(row.files),
            Cell::Bytes(row.mean_bytes as u64),
            Cell::Bytes(row.max_bytes),
        ]
    });
    let columns = vec![("Files", "kind"), ("Number", "files"), ("Mean extent", "mean_bytes"), ("Largest", "max_bytes")];
    table("kinds", "Files by use; extent: highest byte touched", columns, rows.collect())
}

fn file_sizes(result: &Characterization) -> Table {
    let rows = result.file_sizes.iter().filter(|row| row.files > 0).map(|row| {
        let name = BINS.get(row.bin).copied().unwrap_or_default();
        vec![Cell::Text(name.into()), Cell::Count(row.files), Cell::Bytes(row.bytes)]
    });
    let columns = vec![("Extent", "extent"), ("Files", "files"), ("Bytes moved", "bytes")];
    table("file_sizes", "Files by extent, bytes", columns, rows.collect())
}

fn places(result: &Characterization) -> Table {
    let rows = result.places.iter().map(|row| {
        vec![
            Cell::Path(row.place.clone()),
            Cell::Count(row.files),
            Cell::Bytes(row.bytes_read),
            Cell::Bytes(row.bytes_written),
            Cell::Duration(row.time_ns),
        ]
    });
    let columns = vec![
        ("Mount point", "place"),
        ("Files", "files"),
        ("Read", "bytes_read"),
        ("Written", "bytes_written"),
        ("Time", "time_s"),
    ];
    table("places", "Where", columns, rows.collect())
}

fn files(result: &Characterization) -> Table {
    let row = |row: &FileUse| {
        let [read, write, other] = row.time_ns;
        vec![
            Cell::Path(row.file.clone()),
            Cell::Count(row.processes),
            Cell::Count(row.opens),
            Cell::Count(row.reads),
            Cell::Count(row.writes),
            Cell::Bytes(row.bytes_read),
            Cell::Bytes(row.bytes_written),
            Cell::Bytes(row.extent),
            Cell::Duration(read),
            Cell::Duration(write),
            Cell::Duration(other),
            share(row.consecutive, row.ordered),
            share(row.sequential, row.ordered),
            Cell::Moment(row.first_ns),
            Cell::Moment(row.last_ns),
        ]
    };
    let columns = vec![
        ("File", "file"),
        ("Procs", "processes"),
        ("Opens", "opens"),
        ("Reads", "reads"),
        ("Writes", "writes"),
        ("Read", "bytes_read"),
        ("Written", "bytes_written"),
        ("", "extent_bytes"),
        ("Read time", "read_s"),
        ("Write time", "write_s"),
        ("Other", "metadata_s"),
        ("Consec.", "consecutive_share"),
        ("", "sequential_share"),
        ("", "first_s"),
        ("", "last_s"),
    ];
    let more = result.file_count - result.files.len() as u64;
    let more = if more > 0 { format!(", {} more: --top N", units::count(more)) } else { String::new() };
    let title = format!("Files with most time{more}");
    table("files", &title, columns, result.files.iter().map(row).collect())
}

fn datatypes(result: &Characterization) -> Table {
    let rows = result.datatypes.iter().map(|row| {
        vec![
            Cell::Path(row.file.clone()),
            Cell::Text(row.role.into()),
            Cell::Text(row.combiner.into()),
            Cell::Count(row.calls),
        ]
    });
    let columns = vec![("File", "file"), ("Datatype of", "role"), ("Made as", "combiner"), ("Calls", "calls")];
    table("datatypes", "Datatypes of MPI-IO calls", columns, rows.collect())
}
