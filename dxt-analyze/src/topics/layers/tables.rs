//! The tables of `layers` on bandwidths, ranks and files.

use crate::render::{Cell, Column, Table};
use crate::topics::layers::amplification::FileRow;
use crate::topics::layers::bandwidth::LayerRow;
use crate::topics::layers::dissection::{CallRow, RankRow};
use crate::topics::layers::parts::{Form, Made, Sum};

pub(crate) fn share(part: u64, whole: u64) -> Cell {
    if whole > 0 { Cell::Share(part as f64 / whole as f64) } else { Cell::None }
}

pub(crate) fn rate(sum: &Sum) -> Cell {
    if sum.time_ns > 0 { Cell::Rate(sum.bytes as f64 * 1e9 / sum.time_ns as f64) } else { Cell::None }
}

/// Bandwidths.
pub(crate) fn layers(rows: &[LayerRow]) -> Table {
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
pub(crate) fn calls(rows: &[CallRow]) -> Table {
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
pub(crate) fn ranks(rows: &[RankRow], job: &RankRow, top: usize) -> Table {
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
        // Where all calls are of other kinds there is nothing to say of ranks.
        rows: if hdf5 || job.mpiio.of.calls > 0 { rows.iter().map(row).collect() } else { Vec::new() },
        most: top,
    }
}

/// Amplification.
pub(crate) fn files(rows: &[FileRow], top: usize) -> Table {
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
