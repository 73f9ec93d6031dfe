//! Captions and tables of the three figures of a file.

use super::choice::{BINS, Choice, NO_INK};
use super::pass::{BARS, Bin, Kind, rate};
use crate::model::{Run, Within};
use crate::render::figure::Slice;
use crate::render::{Cell, Table};
use crate::text::layers::layer;
use crate::text::units;

/// Maximum number of time slices (table rows) in the tables.
const SLICES: usize = 20;
/// Number of tick marks on the time axis, besides its origin.
const MARKS: u64 = 4;

/// Totals of reads and writes in one time slice.
#[derive(Clone, Debug)]
pub(super) struct Row {
    from_ns: u64,
    until_ns: u64,
    kinds: [Bin; 2],
    place: (f64, f64),
}

/// Returns the subject of the captions: the file's name, and the I/O interface of the calls.
pub(super) fn subject(run: &Run, choice: &Choice) -> String {
    let name = super::super::words::file(run, choice.file);
    let layers: Vec<String> = choice.layers.iter().map(|name| layer(name).to_string()).collect();
    let inside = match choice.within {
        Within::Overview | Within::Nothing => "",
        Within::Hdf5 => " inside HDF5",
        Within::Mpiio => " inside MPI-IO",
    };
    format!("{name}, {} calls{inside}", layers.join(" and "))
}

fn nowhere(kinds: &[Kind; 2]) -> String {
    match kinds.iter().map(|kind| kind.nowhere).sum() {
        0 => String::new(),
        calls => format!(" {} without a recorded offset are not shown.", units::counted(calls, "call")),
    }
}

pub(super) fn of_offsets(choice: &Choice, kinds: &[Kind; 2]) -> String {
    let processes = choice.inks.iter().filter(|ink| **ink != NO_INK).count();
    let whose = match processes > choice.legend.len() {
        true => format!("Adjacent processes of the {} share a colour", units::counted(processes as u64, "process")),
        false => "Each process has a colour".to_owned(),
    };
    format!(
        "Each cell is {} of the file by {}, coloured where calls access it. {whose}; where several processes access the same area, their colours alternate.{}",
        units::bytes(1 << choice.row_shift),
        units::duration(choice.span.width_ns),
        nowhere(kinds)
    )
}

pub(super) fn of_sizes(choice: &Choice) -> String {
    format!(
        "Each cell is half a power of two by {}, darker the more calls begin in it. Calls of no bytes are in the lowest row.",
        units::duration(choice.span.width_ns)
    )
}

pub(super) fn of_bandwidth(choice: &Choice, kinds: &[Kind; 2], single: bool) -> String {
    let calls = kinds.iter().flat_map(|kind| &kind.bins).map(|bin| bin.calls).sum();
    if single {
        let flat: usize = kinds
            .iter()
            .flat_map(|kind| kind.calls.iter().flatten())
            .filter(|call| call.end_ns <= call.start_ns)
            .count();
        let flat = match flat {
            0 => String::new(),
            some => format!(" {} without a measurable duration have no bar.", units::counted(some as u64, "call")),
        };
        format!(
            "One bar for each of {}, from the call's start to its end, as high as its bandwidth.{flat}",
            units::counted(calls, "call")
        )
    } else {
        format!(
            "{} are too many for one bar per call (more than {}): one bar per {}, as high as the bytes moved / time in calls.",
            units::counted(calls, "call"),
            units::count(BARS as u64),
            units::duration(choice.span.width_ns)
        )
    }
}

/// Returns the tick labels of the time axis: times since the job's start, or, far from the start, times relative to the first label.
pub(super) fn times(choice: &Choice) -> Vec<String> {
    let span = &choice.span;
    let whole = span.width_ns.saturating_mul(u64::from(span.bins));
    let one = |mark: u64| {
        let later = (u128::from(whole) * u128::from(mark) / u128::from(MARKS)) as u64;
        match (span.from_ns, later) {
            (0, later) => units::duration(later),
            (from, 0) => format!("{} s", units::seconds(from)),
            (_, later) => format!("+{}", units::duration(later)),
        }
    };
    (0..=MARKS).map(one).collect()
}

pub(super) fn slices(choice: &Choice, kinds: &[Kind; 2]) -> Vec<Row> {
    let bins = choice.span.bins as usize;
    let each = bins.div_ceil(SLICES).max(1);
    let row = |first: usize| {
        let end = (first + each).min(bins);
        let sum = |kind: &Kind| Bin::sum(kind.bins.get(first..end.min(BINS as usize)).unwrap_or_default());
        let [reads, writes] = kinds;
        Row {
            from_ns: choice.span.start_of(first),
            until_ns: choice.span.start_of(end),
            kinds: [sum(reads), sum(writes)],
            place: (first as f64 / bins as f64, (end - first) as f64 / bins as f64),
        }
    };
    (0..bins).step_by(each).map(row).collect()
}

/// Returns the tooltip of each time slice: the figure's numbers as text.
pub(super) fn spoken(rows: &[Row], kinds: &[Kind; 2]) -> Vec<Slice> {
    let there = kinds.each_ref().map(|kind| kind.bins.iter().any(|bin| bin.calls > 0));
    let words = |row: &Row| {
        let of = |(what, bin): (&str, &Bin)| {
            let range = |(low, high)| {
                if low == high { units::bytes(low) } else { format!("{} to {}", units::bytes(low), units::bytes(high)) }
            };
            let mut words = format!(
                "{what}: {}, {}",
                units::counted(bin.calls, "call"),
                units::rate(rate(bin.bytes, bin.busy_ns) as f64)
            );
            if bin.calls > 0 {
                words.push_str(&format!(", each of {}", range(bin.sizes)));
            }
            if bin.offsets.0 < bin.offsets.1 {
                words.push_str(&format!(", offsets {}", range(bin.offsets)));
            }
            words
        };
        let all = ["Reads", "Writes"].into_iter().zip(&row.kinds).zip(there).filter(|(_, there)| *there);
        let mut lines = vec![format!("{} to {} s", units::seconds(row.from_ns), units::seconds(row.until_ns))];
        lines.extend(all.map(|(one, _)| of(one)));
        lines.join("\n")
    };
    rows.iter().map(|row| Slice { from: row.place.0, width: row.place.1, words: words(row) }).collect()
}

/// Returns the time slices as a table, with the columns that fit the figure `name`.
pub(super) fn table(name: &'static str, rows: &[Row]) -> Table {
    let some = |bin: &Bin, cell: Cell| if bin.calls == 0 { Cell::None } else { cell };
    let [reads, writes] = [|row: &Row| row.kinds[0], |row: &Row| row.kinds[1]];
    let table = Table::of(name, "", rows.to_vec())
        .column("From", "from_s", |row| Cell::Moment(row.from_ns))
        .column("Reads", "reads", move |row| Cell::Count(reads(row).calls))
        .column("Writes", "writes", move |row| Cell::Count(writes(row).calls));
    match name {
        "offsets" => table
            .column("read from", "read_from", move |row| some(&reads(row), Cell::Bytes(reads(row).offsets.0)))
            .column("up to", "read_to", move |row| some(&reads(row), Cell::Bytes(reads(row).offsets.1)))
            .column("written from", "written_from", move |row| some(&writes(row), Cell::Bytes(writes(row).offsets.0)))
            .column("up to", "written_to", move |row| some(&writes(row), Cell::Bytes(writes(row).offsets.1))),
        "sizes" => table
            .column("shortest read", "shortest_read", move |row| some(&reads(row), Cell::Bytes(reads(row).sizes.0)))
            .column("longest", "longest_read", move |row| some(&reads(row), Cell::Bytes(reads(row).sizes.1)))
            .column("shortest write", "shortest_write", move |row| some(&writes(row), Cell::Bytes(writes(row).sizes.0)))
            .column("longest", "longest_write", move |row| some(&writes(row), Cell::Bytes(writes(row).sizes.1))),
        _ => table
            .column("Read", "read_bytes", move |row| Cell::Bytes(reads(row).bytes))
            .column("bandwidth", "read_rate", move |row| Cell::Rate(rate(reads(row).bytes, reads(row).busy_ns) as f64))
            .column("fastest call", "fastest_read", move |row| some(&reads(row), Cell::Rate(reads(row).fastest as f64)))
            .column("Written", "written_bytes", move |row| Cell::Bytes(writes(row).bytes))
            .column("bandwidth", "write_rate", move |row| {
                Cell::Rate(rate(writes(row).bytes, writes(row).busy_ns) as f64)
            })
            .column("fastest call", "fastest_write", move |row| {
                some(&writes(row), Cell::Rate(writes(row).fastest as f64))
            }),
    }
    .done()
}
