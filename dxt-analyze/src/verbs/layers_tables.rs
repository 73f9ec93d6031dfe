//! The tables of `layers`.

use crate::analyses::layers::amplification::FileRow;
use crate::analyses::layers::bandwidth::LayerRow;
use crate::analyses::layers::buffering::{BufferingRow, Collectives};
use crate::analyses::layers::concurrency::{Concurrency, Series};
use crate::analyses::layers::dissection::{CallRow, RankRow};
use crate::analyses::layers::parts::{Form, Made, Sum};
use crate::render::{Cell, Column, Table};

fn share(part: u64, whole: u64) -> Cell {
    if whole > 0 { Cell::Share(part as f64 / whole as f64) } else { Cell::None }
}

fn ratio(part: u64, whole: u64) -> Cell {
    if whole > 0 { Cell::Times(part as f64 / whole as f64) } else { Cell::None }
}

fn rate(sum: &Sum) -> Cell {
    if sum.time_ns > 0 { Cell::Rate(sum.bytes as f64 * 1e9 / sum.time_ns as f64) } else { Cell::None }
}

/// Bandwidths.
pub(super) fn layers(rows: &[LayerRow]) -> Table {
    let row = |row: &LayerRow| {
        vec![
            Cell::Text(row.layer.into()),
            Cell::Text(row.called_by.into()),
            Cell::Text(row.op.into()),
            Cell::Count(row.processes),
            Cell::Count(row.sum.calls),
            Cell::Bytes(row.sum.bytes),
            Cell::Duration(row.sum.time_ns),
            Cell::Duration(row.wall_ns),
            Cell::Rate(row.effective),
            Cell::Rate(row.perceived),
        ]
    };
    Table {
        name: "layers",
        title: "Layers: bytes over time in calls (effective) and over wall-clock time (perceived)".into(),
        columns: vec![
            ("Layer", "layer"),
            ("Called by", "called_by"),
            ("Operation", "op"),
            ("Ranks", "processes"),
            ("Calls", "calls"),
            ("Bytes", "bytes"),
            ("Time", "time_s"),
            ("Wall", "wall_s"),
            ("Effective", "effective_bytes_per_s"),
            ("Perceived", "perceived_bytes_per_s"),
        ],
        rows: rows.iter().map(row).collect(),
        most: usize::MAX,
    }
}

/// What some calls are made of, as cells; `rest_ns` is what nothing accounts for.
fn dissected(made: &Made, rest_ns: u64) -> Vec<Cell> {
    let (inside, all) = (&made.inside, made.of.time_ns);
    let data = inside.data();
    vec![
        Cell::Count(made.of.calls),
        Cell::Bytes(made.of.bytes),
        Cell::Duration(all),
        Cell::Count(inside.reads.calls),
        Cell::Count(inside.writes.calls),
        Cell::Count(inside.locks.calls),
        Cell::Count(inside.unlocks.calls),
        Cell::Count(inside.others.calls),
        Cell::Duration(data.time_ns),
        Cell::Duration(inside.locks.time_ns),
        Cell::Duration(inside.unlocks.time_ns),
        Cell::Duration(inside.others.time_ns),
        Cell::Duration(inside.mpiio_rest_ns),
        Cell::Duration(rest_ns),
        share(data.time_ns, all),
        share(inside.locking().time_ns, all),
        share(inside.others.time_ns, all),
        share(inside.mpiio_rest_ns, all),
        share(rest_ns, all),
    ]
}

/// The columns of [`dissected`]; what MPI-IO itself takes is shown where HDF5 calls it.
fn dissected_columns(hdf5: bool) -> Vec<Column> {
    let mut columns = DISSECTED.to_vec();
    columns.push((if hdf5 { "MPI-IO %" } else { "" }, "mpiio_rest_share"));
    columns.push(("Rest %", "rest_share"));
    columns
}

const DISSECTED: [Column; 17] = [
    ("Calls", "calls"),
    ("Bytes", "bytes"),
    ("Time", "time_s"),
    ("Reads", "posix_reads"),
    ("Writes", "posix_writes"),
    ("Locks", "locks"),
    ("", "unlocks"),
    ("Other", "posix_others"),
    ("", "posix_data_time_s"),
    ("", "lock_time_s"),
    ("", "unlock_time_s"),
    ("", "posix_other_time_s"),
    ("", "mpiio_rest_time_s"),
    ("", "rest_time_s"),
    ("Data %", "posix_data_share"),
    ("Lock %", "lock_share"),
    ("Other %", "posix_other_share"),
];

/// What calls are made of, by kind of call.
pub(super) fn calls(rows: &[CallRow]) -> Table {
    let row = |row: &CallRow| {
        let mut cells = vec![
            Cell::Text(row.layer.into()),
            Cell::Text(row.op.into()),
            Cell::Text(row.form.map_or("", Form::name).into()),
        ];
        cells.extend(dissected(&row.made, row.rest_ns));
        cells
    };
    let mut columns = vec![("Layer", "layer"), ("Operation", "op"), ("Form", "form")];
    columns.extend(dissected_columns(rows.iter().any(|row| row.made.inside.mpiio.calls > 0)));
    Table {
        name: "calls",
        title: "What calls are made of: system calls inside them, and shares of their time in those and in none".into(),
        columns,
        rows: rows.iter().map(row).collect(),
        most: usize::MAX,
    }
}

/// The same by rank: of HDF5's reads and writes in a job that has them, else of MPI-IO's.
pub(super) fn ranks(rows: &[RankRow], job: &RankRow, top: usize) -> Table {
    let hdf5 = job.hdf5.of.calls > 0;
    let row = |row: &RankRow| {
        let (made, rest_ns) = if hdf5 { (&row.hdf5, row.hdf5_rest_ns) } else { (&row.mpiio, row.mpiio_rest_ns) };
        let mut cells = vec![
            if row.rank >= 0 { Cell::Number(row.rank.into()) } else { Cell::None },
            Cell::Text(row.node.clone()),
            Cell::Number(row.pid.into()),
        ];
        cells.extend(dissected(made, rest_ns));
        cells.extend([
            rate(&made.of),
            rate(&made.inside.data()),
            Cell::Duration(row.mpiio_others.of.time_ns),
            Cell::Duration(row.mpiio_unfinished.of.time_ns),
            Cell::Duration(row.stdio.time_ns),
            Cell::Duration(row.posix.time_ns),
        ]);
        cells
    };
    let mut columns = vec![("Rank", "rank"), ("", "node"), ("", "pid")];
    columns.extend(dissected_columns(hdf5));
    columns.extend([
        ("", "effective_bytes_per_s"),
        ("", "posix_effective_bytes_per_s"),
        ("", "other_mpiio_time_s"),
        ("", "unfinished_time_s"),
        ("", "stdio_time_s"),
        ("", "direct_posix_time_s"),
    ]);
    Table {
        name: "ranks",
        title: format!(
            "Ranks: blocking reads and writes of {}, the slowest first",
            if hdf5 { "HDF5" } else { "MPI-IO" }
        ),
        columns,
        rows: rows.iter().map(row).collect(),
        most: top,
    }
}

/// Amplification.
pub(super) fn files(rows: &[FileRow], top: usize) -> Table {
    let times = |ratio: Option<f64>| ratio.map_or(Cell::None, Cell::Times);
    let row = |row: &FileRow| {
        vec![
            Cell::Path(row.file.clone()),
            Cell::Count(row.processes),
            Cell::Bytes(row.mpiio_reads.bytes),
            Cell::Bytes(row.mpiio_writes.bytes),
            Cell::Bytes(row.posix_reads.bytes),
            Cell::Bytes(row.posix_writes.bytes),
            Cell::Bytes(row.reads_in_writes.bytes),
            times(row.read_amplification),
            times(row.write_amplification),
            Cell::Duration(row.time_ns()),
            Cell::Duration(row.locking.time_ns),
            Cell::Count(row.collective_calls),
            Cell::Count(row.independent.calls),
        ]
    };
    Table {
        name: "files",
        title: "Files: bytes asked of MPI-IO and moved by POSIX inside it (RMW: read in order to write)".into(),
        columns: vec![
            ("File", "file"),
            ("Ranks", "processes"),
            ("Asked R", "mpiio_bytes_read"),
            ("Asked W", "mpiio_bytes_written"),
            ("Moved R", "posix_bytes_read"),
            ("Moved W", "posix_bytes_written"),
            ("RMW", "bytes_read_in_writes"),
            ("R x", "read_amplification"),
            ("W x", "write_amplification"),
            ("Time", "mpiio_time_s"),
            ("Locks", "lock_time_s"),
            ("Coll.", "collective_calls"),
            ("Indep.", "independent_calls"),
        ],
        rows: rows.iter().map(row).collect(),
        most: top,
    }
}

/// Collective buffering.
pub(super) fn collective_files(rows: &[BufferingRow], top: usize) -> Table {
    let row = |row: &BufferingRow| {
        let data = row.made.inside.data();
        vec![
            Cell::Path(row.file.clone()),
            Cell::Text(row.op.into()),
            Cell::Count(row.made.of.calls),
            Cell::Bytes(row.mean_call_bytes),
            Cell::Count(data.calls),
            Cell::Bytes(row.mean_request_bytes),
            ratio(data.calls, row.made.of.calls),
            Cell::Count(row.processes),
            Cell::Count(row.aggregators.len() as u64),
            Cell::Text(if row.buffered { "yes" } else { "no" }.into()),
        ]
    };
    Table {
        name: "buffering",
        title: "Collective calls: do pieces of many ranks become large requests of few?".into(),
        columns: vec![
            ("File", "file"),
            ("Operation", "op"),
            ("Calls", "calls"),
            ("Mean size", "mean_call_bytes"),
            ("POSIX", "posix_data_calls"),
            ("Mean size", "mean_request_bytes"),
            ("POSIX/call", "posix_per_call"),
            ("Ranks", "processes"),
            ("Aggregators", "aggregators"),
            ("Buffered", "buffered"),
        ],
        rows: rows.iter().map(row).collect(),
        most: top,
    }
}

/// Who reaches the system in collective calls.
pub(super) fn aggregators(rows: &[BufferingRow], top: usize) -> Table {
    let of = |row: &BufferingRow| -> Vec<Vec<Cell>> {
        let all: u64 = row.aggregators.iter().fold(0, |sum, one| sum.saturating_add(one.data.bytes));
        let cells = row.aggregators.iter().map(|one| {
            vec![
                Cell::Path(row.file.clone()),
                Cell::Text(row.op.into()),
                Cell::Text(one.process.clone()),
                Cell::Text(one.node.clone()),
                Cell::Count(one.data.calls),
                Cell::Bytes(one.data.bytes),
                share(one.data.bytes, all),
                Cell::Duration(one.data.time_ns),
                rate(&one.data),
            ]
        });
        cells.collect()
    };
    Table {
        name: "aggregators",
        title: "Ranks that make system calls for data inside collective calls".into(),
        columns: vec![
            ("File", "file"),
            ("Operation", "op"),
            ("Aggregator", "process"),
            ("Node", "node"),
            ("Calls", "calls"),
            ("Bytes", "bytes"),
            ("Share", "share"),
            ("Time", "time_s"),
            ("Bandwidth", "bandwidth_bytes_per_s"),
        ],
        rows: rows.iter().flat_map(of).collect(),
        most: top,
    }
}

/// The slowest collective operations.
pub(super) fn collectives(found: &Collectives) -> Table {
    let rows = found.slowest.iter().map(|row| {
        vec![
            Cell::Path(row.file.clone()),
            Cell::Text(row.op.clone()),
            Cell::Count(row.number),
            Cell::Moment(row.start_ns),
            Cell::Count(row.calls),
            Cell::Bytes(row.bytes),
            Cell::Duration(row.wall_ns),
            Cell::Duration(row.skew_ns),
            Cell::Text(row.last.clone()),
            Cell::Duration(row.wait_ns),
            Cell::Duration(row.storage_ns),
            Cell::Text(row.busiest.clone()),
            Cell::Duration(row.rest_ns),
            Cell::Count(row.aggregators),
            Cell::Count(row.data_calls),
            Cell::Count(row.data_bytes),
        ]
    });
    Table {
        name: "collectives",
        title:
            "The slowest collective operations: wall time = until the last rank begins + busiest in system calls + rest"
                .into(),
        columns: vec![
            ("File", "file"),
            ("Operation", "op"),
            ("No", "number"),
            ("Start", "start_s"),
            ("Ranks", "calls"),
            ("Bytes", "bytes"),
            ("Wall", "wall_s"),
            ("Until last", "skew_s"),
            ("Last", "last"),
            ("", "wait_s"),
            ("Storage", "storage_s"),
            ("Busiest", "busiest"),
            ("Rest", "rest_s"),
            ("Aggr.", "aggregators"),
            ("", "posix_data_calls"),
            ("", "posix_bytes"),
        ],
        rows: rows.collect(),
        most: usize::MAX,
    }
}

/// Who is waited for.
pub(super) fn late(found: &Collectives) -> Table {
    let rows = found.late.iter().map(|row| {
        vec![
            Cell::Text(row.process.clone()),
            Cell::Text(row.node.clone()),
            Cell::Count(row.times),
            Cell::Duration(row.wait_ns),
            share(row.wait_ns, found.time_ns),
        ]
    });
    Table {
        name: "late",
        title: "Ranks that others waited for in collective operations".into(),
        columns: vec![
            ("Last", "process"),
            ("Node", "node"),
            ("Times last", "times"),
            ("Others waited", "wait_s"),
            ("Of collective time", "share"),
        ],
        rows: rows.collect(),
        most: usize::MAX,
    }
}

/// How many calls are in flight.
pub(super) fn concurrency(rows: &[Concurrency]) -> Table {
    let row = |row: &Concurrency| {
        let at = |class: usize| row.shares.get(class).copied().unwrap_or(0.0);
        let mut cells = vec![
            Cell::Text(row.what.name().into()),
            Cell::Count(row.calls),
            Cell::Duration(row.busy_ns),
            Cell::Times(row.mean),
            Cell::Count(row.max),
        ];
        cells.extend((0..5).map(|class| Cell::Share(at(class))));
        cells.push(Cell::Share(row.shares.iter().skip(5).fold(0.0, |sum, share| sum + share)));
        cells
    };
    Table {
        name: "concurrency",
        title: "Calls in flight over all ranks: share of the busy time with so many at once".into(),
        columns: vec![
            ("Calls", "what"),
            ("Number", "calls"),
            ("Busy", "busy_s"),
            ("Mean", "mean_in_flight"),
            ("Most", "most_in_flight"),
            ("1", "share_1"),
            ("2-3", "share_2_3"),
            ("4-7", "share_4_7"),
            ("8-15", "share_8_15"),
            ("16-31", "share_16_31"),
            ("32+", "share_32_or_more"),
        ],
        rows: rows.iter().map(row).collect(),
        most: usize::MAX,
    }
}

/// Mean numbers in flight over time; for CSV only.
pub(super) fn series(series: &Series, rows: &[Concurrency]) -> Table {
    let bins = (0..series.bins).flat_map(|bin| {
        let start = series.start_ns.saturating_add(series.width_ns.saturating_mul(bin as u64));
        rows.iter().map(move |row| {
            vec![
                Cell::Moment(start),
                Cell::Duration(series.width_ns),
                Cell::Text(row.what.name().into()),
                Cell::Times(row.series.get(bin).copied().unwrap_or(0.0)),
            ]
        })
    });
    Table {
        name: "series",
        title: String::new(),
        columns: vec![("Start", "start_s"), ("Width", "width_s"), ("Calls", "what"), ("Mean", "mean_in_flight")],
        rows: bins.collect(),
        most: 0,
    }
}
