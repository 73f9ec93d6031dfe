//! A header, index, record count or state that is rewritten in place: only the last version counts, and a seek there and back is added for
//! each.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code};
use crate::model::{Class, FileId, ProcessId, Within};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Writes {
    calls: u64,
    bytes: u64,
    range: (u64, u64),
}

/// Writes of one process to one file, by size octave (bit length of the bytes); one entry per cell (process, time window, stream and size).
type Sizes = BTreeMap<u8, Vec<Writes>>;

impl Writes {
    fn reaches(&self) -> u64 {
        self.range.1.saturating_sub(self.range.0)
    }

    fn is_again(&self, thresholds: &Thresholds) -> bool {
        let times = self.bytes as f64 / self.reaches().max(1) as f64;
        self.calls >= thresholds.calls_min
            && self.reaches() > 0
            && self.reaches() <= thresholds.small_bytes
            && times >= thresholds.few_min as f64
    }
}

/// A byte range that a process rewrites between other writes.
#[derive(Clone, Copy, Debug)]
struct Header {
    size: u8,
    calls: u64,
    range: (u64, u64),
    others: u64,
}

/// Finds the short byte range with most of the writes of one size octave (bit length of the bytes), and returns these writes merged, and
/// calls and bytes of the octave's other writes. `None` if no range is short.
fn in_one_place(thresholds: &Thresholds, all: &[Writes]) -> Option<(Writes, u64, u64)> {
    let short = all.iter().filter(|of| of.reaches() > 0 && of.reaches() <= thresholds.small_bytes);
    let mut mine = *short.max_by_key(|of| (of.calls, std::cmp::Reverse(of.range)))?;
    let (place, mut elsewhere) = (mine.range, (0_u64, 0_u64));
    (mine.calls, mine.bytes) = (0, 0);
    for of in all {
        if of.range.0 < place.1 && of.range.1 > place.0 && of.reaches() <= thresholds.small_bytes {
            add(&mut mine.calls, of.calls);
            add(&mut mine.bytes, of.bytes);
            mine.range = (mine.range.0.min(of.range.0), mine.range.1.max(of.range.1));
        } else {
            add(&mut elsewhere.0, of.calls);
            add(&mut elsewhere.1, of.bytes);
        }
    }
    Some((mine, elsewhere.0, elsewhere.1))
}

/// Returns the header that one process writes to one file; `None` if no range is rewritten like a header.
fn header(thresholds: &Thresholds, sizes: &Sizes) -> Option<Header> {
    let places = sizes.iter().filter_map(|(size, all)| Some((*size, in_one_place(thresholds, all)?)));
    let (size, (mine, mut calls, mut bytes)) =
        places.filter(|(_, (of, ..))| of.is_again(thresholds)).max_by_key(|(_, (of, ..))| of.calls)?;
    for of in sizes.iter().filter(|(other, _)| **other != size).flat_map(|(_, all)| all) {
        add(&mut calls, of.calls);
        add(&mut bytes, of.bytes);
    }
    let often = mine.calls as f64 >= calls as f64 * thresholds.third_share;
    // With few records, each write replaces most of a state.
    let each = mine.bytes as f64 / mine.calls.max(1) as f64;
    let is_state = mine.calls as f64 >= calls as f64 * thresholds.treble_ratio
        && mine.reaches() as f64 <= each * thresholds.double_ratio;
    let is = often && (is_state || mine.reaches() as f64 <= bytes as f64 * thresholds.quarter_share);
    is.then_some(Header { size, calls: mine.calls, range: mine.range, others: calls })
}

/// Returns one claim (finding with its saving) about the headers in all files.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let counts = |cell: &Cell| {
        let own = cube.stream(cell).is_some_and(|stream| stream.within() == Within::Nothing);
        cell.leaf && own && cell.class == Class::Write && cell.sums.range.0 < cell.sums.range.1
    };
    // A file that is rewritten whole has its header written each time: not counted.
    let mut opens: BTreeMap<(ProcessId, FileId), u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && cell.class == Class::Open) {
        add(opens.entry((cell.process, cell.file)).or_default(), cell.sums.calls);
    }
    let once =
        |key: &(ProcessId, FileId), of: &Header| opens.get(key).is_none_or(|opens| opens.saturating_mul(2) < of.calls);
    let mut by: BTreeMap<(ProcessId, FileId), Sizes> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| counts(cell)) {
        let of = by.entry((cell.process, cell.file)).or_default().entry(cell.size).or_default();
        of.push(Writes { calls: cell.sums.calls, bytes: cell.sums.bytes, range: cell.sums.range });
    }
    let found: BTreeMap<(ProcessId, FileId), Header> = by
        .into_iter()
        .filter_map(|(key, sizes)| Some((key, header(&cube.run.thresholds, &sizes).filter(|of| once(&key, of))?)))
        .collect();
    let (mut savings, mut time) = (Savings::new(), 0.0);
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cell)) {
        let here = |of: &&Header| {
            let (from, until) = cell.sums.range;
            of.size == cell.size && from >= of.range.0 && until <= of.range.1
        };
        if let Some(of) = found.get(&(cell.process, cell.file)).filter(here) {
            let time_ns = cell.time_ns();
            time += time_ns;
            savings.push((index, time_ns * (1.0 - 1.0 / of.calls as f64)));
        }
    }
    let ((_, file), one) = found.iter().max_by_key(|(_, of)| of.calls)?;
    let sum = |of: fn(&Header) -> u64| found.values().fold(0_u64, |sum, one| sum.saturating_add(of(one)));
    let (calls, others) = (sum(|of| of.calls), sum(|of| of.others));
    let name = cube.run.file_name(*file).to_owned();
    let about = About { file: Some(name.clone()), offset: Some(one.range.0), calls: Some(calls), ..About::default() };
    let of = words::Header {
        file: &name,
        others: found.len() as u64 - 1,
        range: one.range,
        calls,
        records: others,
        time_ns: time as u64,
    };
    Some(Claim::on_files(cube, Code::HEADER_REWRITTEN, savings, |lost| words::header_rewritten(&of, about, lost)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_small_and_written_for_each_record() {
        let writes = |calls, bytes, range| vec![Writes { calls, bytes, range }];
        let records = writes(60, 60 << 15, (512, 512 + (60 << 15)));
        let thresholds = Thresholds::default();
        let of = |small: Vec<Writes>| {
            header(&thresholds, &Sizes::from([(10, small), (16, records.clone())])).map(|of| of.calls)
        };
        assert_eq!(of(writes(60, 60 << 9, (0, 512))), Some(60));
        let last = [writes(60, 60 << 9, (0, 512)), writes(1, 512, (2 << 20, (2 << 20) + 512))].concat();
        assert_eq!(of(last), Some(60), "one of the same size elsewhere");
        assert_eq!(of(writes(60, 60 << 9, (0, 60 << 9))), None, "a log");
        assert_eq!(of(writes(4, 4 << 9, (0, 512))), None, "now and then");
        assert_eq!(of(writes(6000, 6000 << 9, (0, 512))), Some(6000), "far more often than records are written");
        assert_eq!(
            header(&thresholds, &Sizes::from([(10, writes(60, 60 << 9, (0, 512)))])).map(|of| of.calls),
            Some(60),
            "a state, without records"
        );
    }
}
