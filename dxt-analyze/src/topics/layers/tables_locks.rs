//! Table of file locks in `layers`: acquisitions and releases, each in seconds and as a share of the time in MPI-IO or HDF5.

use super::result::Layers;
use crate::render::{Cell, Table};
use crate::shared::calls::CallSum;
use crate::shared::layer_calls::{Form, Made};

struct Row {
    layer: &'static str,
    op: &'static str,
    form: &'static str,
    /// Time in the MPI-IO or HDF5 calls inside which the locks were acquired and released, ns.
    of_ns: u64,
    /// Acquisitions of file locks inside the MPI-IO or HDF5 calls: number and time.
    locks: CallSum,
    /// Releases of file locks inside the MPI-IO or HDF5 calls: number and time.
    unlocks: CallSum,
}

impl Row {
    fn of(layer: &'static str, op: &'static str, form: Option<Form>, made: &Made) -> Self {
        let form = form.map_or("", Form::name);
        Self { layer, op, form, of_ns: made.of.time_ns, locks: made.inside.locks, unlocks: made.inside.unlocks }
    }
}

/// Builds the table of time in locks, by kind of call and for all MPI-IO calls together.
pub(crate) fn locks(result: &Layers) -> Table {
    let all = &result.mpiio_time;
    let of = result.calls.iter().map(|row| Row::of(row.layer, row.op, row.form, &row.made));
    let whole =
        Row { layer: "MPIIO", op: "all", form: "", of_ns: all.mpiio.time_ns, locks: all.locks, unlocks: all.unlocks };
    let rows = of.chain([whole]).filter(|row| row.locks.calls > 0 || row.unlocks.calls > 0);
    Table::of("locks", "File locks inside MPI-IO and HDF5: acquiring (waiting included) and releasing", rows)
        .column("Layer", "layer", |row| Cell::Layer(row.layer.into()))
        .column("Operation", "op", |row| Cell::text(row.op))
        .column("Form", "form", |row| Cell::text(row.form))
        .column("Time", "time_s", |row| Cell::Duration(row.of_ns))
        .column("Locks", "locks", |row| Cell::Count(row.locks.calls))
        .column("Lock time", "lock_time_s", |row| Cell::Duration(row.locks.time_ns))
        .column("Lock %", "lock_share", |row| Cell::share_of(row.locks.time_ns, row.of_ns))
        .column("Unlocks", "unlocks", |row| Cell::Count(row.unlocks.calls))
        .column("Unlock time", "unlock_time_s", |row| Cell::Duration(row.unlocks.time_ns))
        .column("Unlock %", "unlock_share", |row| Cell::share_of(row.unlocks.time_ns, row.of_ns))
        .done()
}
