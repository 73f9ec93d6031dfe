//! Tables of `layers` with calls by rank and by file.

use crate::render::{Cell, Table, TableOf};
use crate::shared::layer_calls::{CallSum, Form, Made};
use crate::topics::layers::amplification::FileRow;
use crate::topics::layers::dissection::{CallRow, RankRow};

fn rate(sum: &CallSum) -> Cell {
    Cell::rate_of(sum.bytes, sum.time_ns)
}

/// Row of a table about outer calls (MPI-IO or HDF5) and the calls made inside them.
struct Dissected<'a, Row> {
    row: &'a Row,
    made: &'a Made,
    /// Time in the outer calls (MPI-IO or HDF5) that is not spent in calls made inside them, ns.
    rest_ns: u64,
}

/// Adds columns about inner calls; with `hdf5`, also the share of time in MPI-IO itself (outside of system calls).
fn dissected<'a, Row>(table: TableOf<'a, Dissected<'a, Row>>, hdf5: bool) -> TableOf<'a, Dissected<'a, Row>> {
    let share = |of: &Dissected<'a, Row>, time_ns: u64| Cell::share_of(time_ns, of.made.of.time_ns);
    table
        .column("Calls", "calls", |of| Cell::Count(of.made.of.calls))
        .column("Bytes", "bytes", |of| Cell::Bytes(of.made.of.bytes))
        .column("Time", "time_s", |of| Cell::Duration(of.made.of.time_ns))
        .column("Reads", "posix_reads", |of| Cell::Count(of.made.inside.reads.calls))
        .column("Writes", "posix_writes", |of| Cell::Count(of.made.inside.writes.calls))
        .column("Locks", "locks", |of| Cell::Count(of.made.inside.locks.calls))
        .csv("unlocks", |of| Cell::Count(of.made.inside.unlocks.calls))
        .column("Other", "posix_others", |of| Cell::Count(of.made.inside.others.calls))
        .csv("posix_data_time_s", |of| Cell::Duration(of.made.inside.data().time_ns))
        .csv("lock_time_s", |of| Cell::Duration(of.made.inside.locks.time_ns))
        .csv("unlock_time_s", |of| Cell::Duration(of.made.inside.unlocks.time_ns))
        .csv("posix_other_time_s", |of| Cell::Duration(of.made.inside.others.time_ns))
        .csv("mpiio_rest_time_s", |of| Cell::Duration(of.made.inside.mpiio_rest_ns))
        .csv("rest_time_s", |of| Cell::Duration(of.rest_ns))
        .column("Data %", "posix_data_share", move |of| share(of, of.made.inside.data().time_ns))
        .column("Lock %", "lock_share", move |of| share(of, of.made.inside.locks.time_ns))
        .column("Unlock %", "unlock_share", move |of| share(of, of.made.inside.unlocks.time_ns))
        .column("Other %", "posix_other_share", move |of| share(of, of.made.inside.others.time_ns))
        .column(if hdf5 { "MPI-IO %" } else { "" }, "mpiio_rest_share", move |of| {
            share(of, of.made.inside.mpiio_rest_ns)
        })
        .column("Rest %", "rest_share", move |of| share(of, of.rest_ns))
}

pub(crate) fn calls(rows: &[CallRow]) -> Table {
    let title = "MPI-IO and HDF5 calls: system calls inside, and shares of the time inside and outside system calls";
    let hdf5 = rows.iter().any(|row| row.made.inside.mpiio.calls > 0);
    let rows = rows.iter().map(|row| Dissected { row, made: &row.made, rest_ns: row.rest_ns });
    let table = Table::of("calls", title, rows)
        .column("Layer", "layer", |of| Cell::Layer(of.row.layer.into()))
        .column("Operation", "op", |of| Cell::text(of.row.op))
        .column("Form", "form", |of| Cell::text(of.row.form.map_or("", Form::name)));
    dissected(table, hdf5).done()
}

/// Builds the table of calls made inside HDF5's reads and writes if the job has any, else inside MPI-IO's; one row per rank.
pub(crate) fn ranks(rows: &[RankRow], job: &RankRow, top: usize) -> Table {
    let hdf5 = job.hdf5.of.calls > 0;
    // A job with only other kinds of calls has no rows.
    let rows = if hdf5 || job.mpiio.of.calls > 0 { rows } else { &[] };
    let rows = rows.iter().map(|row| match hdf5 {
        true => Dissected { row, made: &row.hdf5, rest_ns: row.hdf5_rest_ns },
        false => Dissected { row, made: &row.mpiio, rest_ns: row.mpiio_rest_ns },
    });
    let whose = if hdf5 { "HDF5" } else { "MPI-IO" };
    let table = Table::of("ranks", format!("Ranks: blocking reads and writes of {whose}, slowest rank first"), rows)
        .column("Rank", "rank", |of| Cell::maybe((of.row.rank >= 0).then_some(of.row.rank), Cell::number))
        .csv("node", |of| Cell::text(&of.row.node))
        .csv("pid", |of| Cell::number(of.row.pid));
    dissected(table, hdf5)
        .csv("effective_bytes_per_s", |of| rate(&of.made.of))
        .csv("posix_effective_bytes_per_s", |of| rate(&of.made.inside.data()))
        .csv("other_mpiio_time_s", |of| Cell::Duration(of.row.mpiio_others.of.time_ns))
        .csv("unfinished_time_s", |of| Cell::Duration(of.row.mpiio_unfinished.of.time_ns))
        .csv("stdio_time_s", |of| Cell::Duration(of.row.stdio.time_ns))
        .csv("direct_posix_time_s", |of| Cell::Duration(of.row.posix.time_ns))
        .most(top)
        .done()
}

pub(crate) fn files(rows: &[FileRow], top: usize) -> Table {
    Table::of(
        "files",
        "Files: bytes requested from MPI-IO, and moved by POSIX inside MPI-IO (R: reads, W: writes, RMW: read-modify-write)",
        rows,
    )
    .column("File", "file", |row| Cell::path(&row.file))
    .column("Ranks", "processes", |row| Cell::Count(row.processes))
    .column("Req. R", "mpiio_bytes_read", |row| Cell::Bytes(row.mpiio_reads.bytes))
    .column("Req. W", "mpiio_bytes_written", |row| Cell::Bytes(row.mpiio_writes.bytes))
    .column("Moved R", "posix_bytes_read", |row| Cell::Bytes(row.posix_reads.bytes))
    .column("Moved W", "posix_bytes_written", |row| Cell::Bytes(row.posix_writes.bytes))
    .column("RMW", "bytes_read_in_writes", |row| Cell::Bytes(row.reads_in_writes.bytes))
    .column("R x", "read_amplification", |row| Cell::maybe(row.read_amplification, Cell::Times))
    .column("W x", "write_amplification", |row| Cell::maybe(row.write_amplification, Cell::Times))
    .column("Time", "mpiio_time_s", |row| Cell::Duration(row.time_ns()))
    .column("Locks", "lock_time_s", |row| Cell::Duration(row.locking.time_ns))
    .column("Coll.", "collective_calls", |row| Cell::Count(row.collective_calls))
    .column("Indep.", "independent_calls", |row| Cell::Count(row.independent.calls))
    .most(top)
    .done()
}
