//! Drawing of the figures from the binned calls.

use super::choice::{BINS, Choice};
use super::pass::{BARS, Call, Kind, Partial, SIZES, rate};
use super::words::{self, slices, times};
use crate::model::Run;
use crate::render::Figure;
use crate::render::figure::{Area, Ink, Layer, Panel};
use crate::text::units;
use std::collections::BTreeMap;

/// Resolution of bars, in steps per axis (horizontal and vertical).
const STEPS: u32 = 20_000;
/// Minimum number of octaves (factors of two) on the axis of request sizes.
const OCTAVES: usize = 4;
/// Opacity of a cell (rectangle of the figure) in percent, by level: more calls in a cell mean more opacity.
const SHADES: [u8; 4] = [30, 52, 76, 100];
/// Colours of reads and of writes, in figures without a colour per rank.
const INKS: [Ink; 2] = [Ink(0), Ink(1)];
/// Titles of the panels of reads and of writes.
const TITLES: [&str; 2] = ["Reads", "Writes"];

/// Returns the three figures of a file; without the figure of offsets if no call has an offset, and none if no bytes were moved by any
/// call.
#[must_use]
pub fn figures(run: &Run, choice: &Choice, drawing: Partial) -> Vec<Figure> {
    let kinds = drawing.kinds;
    let there: Vec<(usize, &Kind)> =
        kinds.iter().enumerate().filter(|(_, kind)| kind.bins.iter().any(|bin| bin.calls > 0)).collect();
    if there.is_empty() {
        return Vec::new();
    }
    let calls: Option<usize> = kinds.iter().map(|kind| kind.calls.as_ref().map(Vec::len)).sum();
    let single = calls.is_some_and(|calls| calls <= BARS);
    let subject = words::subject(run, choice);
    let of = |name, title, caption: String, panels: Vec<Panel>, legend| {
        let numbers = slices(choice, &kinds);
        Figure {
            name,
            title,
            subject: subject.clone(),
            caption,
            panels,
            times: times(choice),
            legend,
            slices: words::spoken(&numbers, &kinds),
            numbers: words::table(name, &numbers),
        }
    };
    let mut out = Vec::new();
    if choice.rows > 0 {
        let panels = there.iter().map(|(number, kind)| offsets(choice, TITLES[*number], kind)).collect();
        let legend = choice.legend.iter().enumerate().map(|(ink, name)| (Ink(ink as u8), name.clone())).collect();
        out.push(of("offsets", "Offsets over time", words::of_offsets(choice, &kinds), panels, legend));
    }
    let range = octaves(&kinds);
    let panels = there.iter().map(|(number, kind)| sizes(choice, *number, kind, range)).collect();
    out.push(of("sizes", "Request sizes over time", words::of_sizes(choice), panels, Vec::new()));
    let most = there.iter().map(|(_, kind)| highest(kind, single)).max().unwrap_or(0);
    let most = crate::topics::timeline::span::round_up(most.max(1));
    let panels = there.iter().map(|(number, kind)| bandwidth(choice, *number, kind, single, most)).collect();
    out.push(of(
        "bandwidth",
        "Bandwidth of calls over time",
        words::of_bandwidth(choice, &kinds, single),
        panels,
        Vec::new(),
    ));
    out
}

/// Merges adjacent cells of a figure's row that look the same (`look` returns equal values) into boxes, and calls `each` with look, left
/// end and width of each box. Cells with look `None` are not drawn.
fn runs<L: PartialEq + Copy>(bins: usize, look: impl Fn(usize) -> Option<L>, mut each: impl FnMut(L, u32, u32)) {
    let mut bin = 0;
    while bin < bins {
        let Some(this) = look(bin) else {
            bin += 1;
            continue;
        };
        let end = (bin + 1..bins).find(|&next| look(next) != Some(this)).unwrap_or(bins);
        each(this, bin as u32, (end - bin) as u32);
        bin = end;
    }
}

fn offsets(choice: &Choice, title: &'static str, kind: &Kind) -> Panel {
    let bins = choice.span.bins as usize;
    let mut by_ink: BTreeMap<Ink, Vec<Area>> = BTreeMap::new();
    for (row, cells) in kind.places.chunks(BINS as usize).enumerate() {
        let look = |bin: usize| cells.get(bin).and_then(|&mask| ink(mask, row + bin));
        runs(bins, look, |ink, left, width| {
            by_ink.entry(ink).or_default().push(Area { left, bottom: row as u32, width, height: 1 });
        });
    }
    let layer = |(ink, areas)| Layer { ink, opacity: 100, outlined: false, areas };
    let bytes = u64::from(choice.rows) << choice.row_shift;
    Panel {
        title,
        grid: (choice.span.bins, choice.rows),
        levels: vec![(0.0, "0 B".into()), (0.5, units::bytes(bytes / 2)), (1.0, units::bytes(bytes))],
        layers: by_ink.into_iter().map(layer).collect(),
    }
}

/// Returns the colour of the cell (rectangle of the figure) with index `cell`, whose ranks have the colours in `mask`; `None` if the mask
/// is empty. Several colours alternate from cell to cell.
fn ink(mask: u8, cell: usize) -> Option<Ink> {
    let turn = cell % (mask.count_ones() as usize).max(1);
    (0..8_u8).filter(|ink| mask >> ink & 1 == 1).nth(turn).map(Ink)
}

/// Returns the range of octaves (factors of two) on the axis of request sizes, as (first, end); the number of octaves is even.
fn octaves(kinds: &[Kind; 2]) -> (usize, usize) {
    let has = |row: &usize| {
        let cells =
            |kind: &Kind| kind.sizes.chunks(BINS as usize).nth(*row).is_some_and(|row| row.iter().any(|&n| n > 0));
        kinds.iter().any(cells)
    };
    let low = (0..SIZES).find(has).unwrap_or(0).saturating_sub(1) / 2;
    let high = (0..SIZES).rfind(has).unwrap_or(0).saturating_sub(1) / 2 + 1;
    let low = low.saturating_sub(1);
    let octaves = (high - low).max(OCTAVES).next_multiple_of(2);
    (low, low + octaves)
}

fn sizes(choice: &Choice, number: usize, kind: &Kind, (low, high): (usize, usize)) -> Panel {
    let bins = choice.span.bins as usize;
    let most = kind.sizes.iter().copied().max().unwrap_or(0).max(1);
    // Logarithmic scale, so that a single call is visible next to millions.
    let shade = |count: u64| {
        let share = ((count + 1).ilog2() as usize * SHADES.len()) / ((most + 1).ilog2() as usize + 1);
        SHADES.get(share).copied().unwrap_or(100)
    };
    let mut by_shade: BTreeMap<u8, Vec<Area>> = BTreeMap::new();
    for (row, cells) in kind.sizes.chunks(BINS as usize).enumerate() {
        // Calls of 0 bytes share the lowest row with calls of 1 byte.
        let bottom = row.saturating_sub(1).saturating_sub(2 * low) as u32;
        let look = |bin: usize| cells.get(bin).filter(|&&count| count > 0).map(|&count| shade(count));
        runs(bins, look, |shade, left, width| {
            by_shade.entry(shade).or_default().push(Area { left, bottom, width, height: 1 });
        });
    }
    let size = |octave: usize| units::bytes(1_u64.checked_shl(octave as u32).unwrap_or(u64::MAX));
    Panel {
        title: TITLES[number],
        grid: (choice.span.bins, 2 * (high - low) as u32),
        levels: vec![(0.0, size(low)), (0.5, size(low.midpoint(high))), (1.0, size(high))],
        layers: by_shade
            .into_iter()
            .map(|(opacity, areas)| Layer { ink: INKS[number], opacity, outlined: false, areas })
            .collect(),
    }
}

/// Returns the height of the highest bar, in bytes per second. `single`: true if each call has a bar, false if each time bin has one.
fn highest(kind: &Kind, single: bool) -> u64 {
    let of_bins = kind.bins.iter().map(|bin| rate(bin.bytes, bin.busy_ns)).max();
    match &kind.calls {
        Some(calls) if single => calls.iter().map(height).max().unwrap_or(0),
        _ => of_bins.unwrap_or(0),
    }
}

fn height(call: &Call) -> u64 {
    rate(call.bytes, call.end_ns - call.start_ns)
}

fn bandwidth(choice: &Choice, number: usize, kind: &Kind, single: bool, most: u64) -> Panel {
    let scaled = |rate: u64| ((u128::from(rate) * u128::from(STEPS)).div_ceil(u128::from(most.max(1)))) as u32;
    let mut areas: Vec<Area> = Vec::new();
    let columns = match &kind.calls {
        Some(calls) if single => {
            let mut calls: Vec<&Call> = calls.iter().filter(|call| height(call) > 0).collect();
            // High bars are drawn first, so that lower bars are visible in front of them.
            calls.sort_by_key(|call| (std::cmp::Reverse(height(call)), **call));
            let width = u128::from(choice.span.width_ns) * u128::from(choice.span.bins);
            let at = |time: u64| {
                let time = u128::from(time.saturating_sub(choice.span.from_ns)).min(width);
                (time * u128::from(STEPS) / width.max(1)) as u32
            };
            areas.extend(calls.iter().map(|call| {
                let left = at(call.start_ns).min(STEPS - 1);
                Area {
                    left,
                    bottom: 0,
                    width: (at(call.end_ns) - left.min(at(call.end_ns))).max(1),
                    height: scaled(height(call)),
                }
            }));
            STEPS
        }
        _ => {
            let shown = kind.bins.iter().take(choice.span.bins as usize).enumerate();
            areas.extend(shown.filter(|(_, bin)| rate(bin.bytes, bin.busy_ns) > 0).map(|(number, bin)| Area {
                left: number as u32,
                bottom: 0,
                width: 1,
                height: scaled(rate(bin.bytes, bin.busy_ns)),
            }));
            choice.span.bins
        }
    };
    let shown = |share: f64| units::rate(most as f64 * share);
    Panel {
        title: TITLES[number],
        grid: (columns, STEPS),
        levels: vec![(0.0, "0 B/s".into()), (0.5, shown(0.5)), (1.0, shown(1.0))],
        layers: vec![Layer { ink: INKS[number], opacity: if single { 35 } else { 80 }, outlined: single, areas }],
    }
}
