//! Small pieces of one collective call that several aggregators move, and that storage serves one after another: a single request with all
//! pieces would be served in the time of one. Recognized by durations of calls that begin together: once the service time, twice, three
//! times, and so on.

use crate::cube::Cube;
use crate::cube::reading::callers::collective_callers;
use crate::findings::{About, Code};
use crate::model::{Class, FileId, ProcessId};
use crate::replay::Savings;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;

/// The only call of an aggregator in a phase (from one synchronization to the next).
#[derive(Clone, Copy, Debug)]
struct Piece {
    index: u32,
    ns: f64,
    bytes: u64,
    began: Option<u64>,
}

/// Returns one claim (finding with its saving) per file whose aggregators are served one after another, separately for reads and writes.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let callers = collective_callers(cube.run);
    let mut of: BTreeMap<(FileId, Class), Pieces> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(&cube.cells) {
        let data = matches!(cell.class, Class::Read | Class::Write);
        let is = cell.leaf && cell.inside && data;
        if !is || callers.get(&cell.file).is_none_or(|who| who.len() < cube.run.thresholds.several_min as usize) {
            continue;
        }
        let began = cell.sums.longest_began();
        let piece = Piece { index, ns: cell.time_ns(), bytes: cell.sums.bytes, began };
        let pieces = of.entry((cell.file, cell.class)).or_default();
        let mine = pieces.entry(cube.phase(cell)).or_default().entry(cell.process);
        mine.and_modify(|piece| *piece = None).or_insert((cell.sums.calls == 1).then_some(piece));
    }
    of.into_iter().filter_map(|((file, class), pieces)| of_file(cube, file, class, pieces)).collect()
}

/// By phase (from one synchronization to the next) and process: the process's call, or `None` if it makes several in the phase.
type Pieces = BTreeMap<usize, BTreeMap<ProcessId, Option<Piece>>>;

fn of_file(cube: &Cube<'_>, file: FileId, class: Class, by: Pieces) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let (mut all, mut in_steps, mut services) = (0.0, 0.0, Vec::new());
    let mut savings = Savings::new();
    let mut most = 0;
    for pieces in by.into_values() {
        let Some(pieces) = pieces.into_values().collect::<Option<Vec<Piece>>>() else { continue };
        let time: f64 = pieces.iter().map(|piece| piece.ns).sum();
        all += time;
        if let Some(service) = service(thresholds, &pieces) {
            in_steps += time;
            services.push(service);
            most = most.max(pieces.len());
            savings.extend(pieces.iter().map(|piece| (piece.index, (piece.ns - service).max(0.0))));
        }
    }
    if services.len() < thresholds.several_min as usize || in_steps < all * thresholds.majority_share {
        return None;
    }
    let mean = services.iter().sum::<f64>() / services.len() as f64;
    let cells = savings.iter().filter_map(|(index, _)| cube.cells.get(*index as usize));
    let bytes = cells.fold(0_u64, |sum, cell| sum.saturating_add(cell.sums.bytes)) / savings.len().max(1) as u64;
    let name = cube.run.file_name(file).to_owned();
    let (aggregators, each_ns, calls) = (most as u64, mean as u64, services.len() as u64);
    let about = About { file: Some(name.clone()), processes: Some(aggregators), ..About::default() };
    let of = words::ManyAggregators { file: &name, class, aggregators, bytes, each_ns, calls };
    Some(Claim::on_files(cube, Code::MANY_AGGREGATORS, savings, |lost| words::many_aggregators(&of, about, lost)))
}

/// Returns the service time of a request, ns, if the durations show that the calls were served one after another; else `None`.
fn service(thresholds: &Thresholds, pieces: &[Piece]) -> Option<f64> {
    let mut times: Vec<f64> = pieces.iter().map(|piece| piece.ns).collect();
    times.sort_by(f64::total_cmp);
    // From the longest call: the first may have arrived earlier than the others.
    let service = times.last()? / times.len() as f64;
    let steps =
        (1..).zip(&times).all(|(step, ns)| (ns - service * f64::from(step)).abs() <= service * thresholds.third_share);
    let begins = || pieces.iter().filter_map(|piece| piece.began);
    let apart = begins().max().unwrap_or(0).saturating_sub(begins().min().unwrap_or(0));
    let bytes = pieces.iter().fold(0_u64, |sum, piece| sum.saturating_add(piece.bytes));
    let by_request = service
        >= (thresholds.slow_small_ns as f64).max(bytes as f64 / times.len() as f64 * thresholds.convert_ns_per_byte);
    let is =
        times.len() >= (thresholds.several_min as usize) && steps && apart as f64 <= service * thresholds.half_share;
    (is && by_request && bytes <= thresholds.half_time_bytes).then_some(service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_reported_from_what_takes_its_time() {
        let piece = |ms: &f64, bytes: u64, began: u64| Piece { index: 0, ns: ms * 1e6, bytes, began: Some(began) };
        let of = |ms: &[f64], bytes| {
            service(&Thresholds::default(), &ms.iter().map(|ms| piece(ms, bytes, 0)).collect::<Vec<Piece>>())
        };
        assert_eq!(of(&[60.0, 30.0, 90.0, 120.0], 32_768), Some(30e6));
        assert_eq!(of(&[28.0, 31.0, 30.0, 29.0], 32_768), None, "all at once");
        assert_eq!(of(&[30.0, 30.0, 30.0, 120.0], 32_768), None, "one is slow");
        assert_eq!(of(&[30.0, 60.0], 32_768), None, "of two nobody knows");
        for slow in [[10.0, 10.0, 30.0].as_slice(), &[10.0, 30.0, 30.0], &[30.0, 30.0, 45.0, 120.0]] {
            assert_eq!(of(slow, 32_768), None, "some are slow: {slow:?}");
        }
        assert_eq!(of(&[30.0, 60.0, 90.0], 32 << 20), None, "their bytes take that long");
        let apart: Vec<Piece> =
            [30.0, 60.0, 90.0].iter().zip([0, 20_000_000, 40_000_000]).map(|(ms, at)| piece(ms, 4096, at)).collect();
        assert_eq!(service(&Thresholds::default(), &apart), None, "they have begun one after another");
    }
}
