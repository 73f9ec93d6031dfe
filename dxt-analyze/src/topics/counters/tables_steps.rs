//! Tables of the results of [`super::steps`] and [`super::open`].

use super::bins::{BINS, names};
use super::open::OpenRow;
use super::step_rows::{AlignmentRow, StrideRow};
use crate::render::{Cell, Table};
use crate::text::units;

/// Row of the stride table: direction (backward, none, forward) and size bin of a stride.
#[derive(Clone, Copy)]
enum Bin {
    Back(usize),
    None,
    On(usize),
}

impl Bin {
    fn name(self) -> String {
        let size = |bin: usize| BINS.get(bin).copied().unwrap_or_default();
        match self {
            Self::Back(bin) => format!("back {}", size(bin)),
            Self::None => "0 (consecutive)".into(),
            Self::On(bin) => format!("on {}", size(bin)),
        }
    }

    fn of(self, row: &StrideRow) -> u64 {
        match self {
            Self::Back(bin) => row.back.get(bin).copied().unwrap_or_default(),
            Self::None => row.none,
            Self::On(bin) => row.on.get(bin).copied().unwrap_or_default(),
        }
    }
}

/// Builds the table of signed strides, from the longest backward stride to the longest forward stride.
pub(crate) fn strides(rows: &[StrideRow]) -> Table {
    let back = (0..BINS.len()).rev().map(Bin::Back);
    let bins = back.chain([Bin::None]).chain((0..BINS.len()).map(Bin::On));
    let bins = bins.filter(|bin| rows.iter().any(|row| bin.of(row) > 0));
    let title = "Strides of recorded calls: bytes from the end of the previous call of the same direction to the start of the next";
    let mut table = Table::of("strides", title, bins).column("Stride", "stride", |bin| Cell::Text(bin.name()));
    for row in rows {
        let (title, name) = names(row.layer, row.direction);
        table = table.column(title, name, |bin| Cell::Count(bin.of(row)));
    }
    table.done()
}

/// Builds the table of reads and writes that follow a seek; empty if there are none.
pub(crate) fn seeks(rows: &[StrideRow]) -> Table {
    let rows = rows.iter().filter(|_| rows.iter().any(|row| row.after_seek > 0));
    Table::of("seeks", "Recorded reads and writes that follow a seek", rows)
        .column("Layer", "layer", |row| Cell::Layer(row.layer.into()))
        .column("Direction", "direction", |row| Cell::text(row.direction))
        .column("Calls", "calls", |row| Cell::Count(row.accesses))
        .column("After a seek", "after_seek", |row| Cell::Count(row.after_seek))
        .column("Share", "after_seek_share", |row| Cell::share_of(row.after_seek, row.accesses))
        .done()
}

pub(crate) fn alignment(rows: &[AlignmentRow]) -> Table {
    let title =
        "Recorded calls that do not begin at a multiple of the file's stripe size, or else of its preferred I/O size";
    Table::of("alignment", title, rows)
        .column("Layer", "layer", |row| Cell::Layer(row.layer.into()))
        .column("Called by", "called_by", |row| Cell::text(row.called_by))
        .column("Form", "form", |row| Cell::text(row.form))
        .column("Calls", "calls", |row| Cell::Count(row.known))
        .column("Unaligned", "unaligned", |row| Cell::Count(row.unaligned))
        .column("Share", "unaligned_share", |row| Cell::share_of(row.unaligned, row.known))
        .done()
}

pub(crate) fn open_files(rows: &[OpenRow], count: u64) -> Table {
    let more = count.saturating_sub(rows.len() as u64);
    let more = if more > 0 { format!(", {} more: --top N", units::count(more)) } else { String::new() };
    let some = rows.iter().any(|row| row.estimated);
    Table::of("open_files", format!("Files from open to close, summed over processes{more}"), rows)
        .column("File", "file", |row| Cell::path(&row.file))
        .column("Procs", "processes", |row| Cell::Count(row.processes))
        .column("Open", "open_s", |row| Cell::Duration(row.open_ns))
        .column(if some { "Estimate" } else { "" }, "estimated", |row| {
            Cell::text(if row.estimated { "yes" } else { "" })
        })
        .column("In MPI-IO", "mpiio_s", |row| Cell::Duration(row.mpiio_ns))
        .column("In POSIX", "posix_s", |row| Cell::Duration(row.posix_ns))
        .column("In calls", "called_s", |row| Cell::Duration(row.called_ns))
        .column("Open, idle", "idle_s", |row| Cell::Duration(row.idle_ns))
        .column("Idle", "idle_share", |row| Cell::share_of(row.idle_ns, row.open_ns))
        .done()
}
