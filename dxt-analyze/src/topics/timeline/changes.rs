//! Cuts of a stretch of calls where what is done changes without a pause: of all ways to cut it, the one whose parts are the purest.

use super::series::Bin;

/// Cells that a stretch is looked at in, at most: the search takes the square of their number.
const CELLS: usize = 1000;

/// Neighbouring bins of a stretch.
struct Cell {
    /// The first of them.
    first: usize,
    /// Numbers of those that read, write, or do neither.
    kinds: [f64; 3],
}

/// Bins at which parts of a stretch begin, the first one left out. Chosen is the way to cut that costs least, where
///
/// * a part costs its bins times the entropy of their kinds, in bits: 0 if all read, or all write;
/// * a cut costs the stretch's bins times the entropy of `share` and the rest, so that it pays to part so much of another kind;
/// * no part has fewer than `least` bins.
///
/// Reads and writes that alternate again and again are one part.
pub(super) fn cuts(bins: &[Bin], share: f64, least: f64) -> Vec<usize> {
    let cells = cells(bins);
    let mut sums = vec![[0.0; 3]];
    for cell in &cells {
        let last = sums.last().copied().unwrap_or_default();
        sums.push(std::array::from_fn(|kind| last[kind] + cell.kinds[kind]));
    }
    let all = sums.last().copied().unwrap_or_default().iter().sum::<f64>();
    let of_cut = bits([share * all, (1.0 - share) * all]);
    // For each cell the least cost of all before it, and where their last part begins.
    let mut best = vec![(0.0, 0)];
    for (until, end) in sums.iter().enumerate().skip(1) {
        let part = |(from, begin): (usize, &[f64; 3])| {
            let kinds: [f64; 3] = std::array::from_fn(|kind| end[kind] - begin[kind]);
            let whole = from == 0 && until == cells.len();
            let cost = best[from].0 + bits(kinds) + if from > 0 { of_cut } else { 0.0 };
            (whole || kinds.iter().sum::<f64>() >= least).then_some((cost, from))
        };
        let found = sums.iter().enumerate().take(until).filter_map(part).min_by(|a, b| a.0.total_cmp(&b.0));
        best.push(found.unwrap_or((f64::INFINITY, 0)));
    }
    let mut out = Vec::new();
    let mut at = cells.len();
    while let Some(&(_, from)) = best.get(at).filter(|(_, from)| *from > 0) {
        out.extend(cells.get(from).map(|cell| cell.first));
        at = from;
    }
    out.reverse();
    out
}

/// Bins side by side, those of one kind only together. Quiet ones belong to none.
fn cells(bins: &[Bin]) -> Vec<Cell> {
    let step = bins.len().div_ceil(CELLS).max(1);
    let mut out: Vec<Cell> = Vec::new();
    for (number, some) in bins.chunks(step).enumerate() {
        let mut kinds = [0.0; 3];
        for bin in some.iter().filter(|bin| !bin.is_quiet()) {
            let (read, written) = (bin.bytes_read as f64, bin.bytes_written as f64);
            let moved = read + written;
            let of_bin = if moved > 0.0 { [read / moved, written / moved, 0.0] } else { [0.0, 0.0, 1.0] };
            kinds.iter_mut().zip(of_bin).for_each(|(sum, part)| *sum += part);
        }
        let only = |kinds: &[f64; 3]| kinds.iter().position(|part| *part > 0.0 && *part >= kinds.iter().sum::<f64>());
        match (only(&kinds), out.last_mut()) {
            _ if kinds == [0.0; 3] => {}
            (Some(kind), Some(last)) if only(&last.kinds) == Some(kind) => last.kinds[kind] += kinds[kind],
            _ => {
                let quiet = some.iter().take_while(|bin| bin.is_quiet()).count();
                out.push(Cell { first: number * step + quiet, kinds });
            }
        }
    }
    out
}

/// So many things of each kind, times the entropy of the kinds.
fn bits<const KINDS: usize>(kinds: [f64; KINDS]) -> f64 {
    let all = kinds.iter().sum::<f64>();
    kinds.iter().filter(|part| **part > 0.0).map(|part| part * (all / part).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bin for each letter: reads, writes, both, metadata, or nothing.
    fn bins(text: &str) -> Vec<Bin> {
        let one = |kind| match kind {
            'r' => Bin { bytes_read: 10, ..Bin::default() },
            'w' => Bin { bytes_written: 10, ..Bin::default() },
            'b' => Bin { bytes_read: 10, bytes_written: 10, ..Bin::default() },
            'm' => Bin { metadata_calls: 1, ..Bin::default() },
            _ => Bin::default(),
        };
        text.chars().map(one).collect()
    }

    fn cut(text: &str) -> Vec<usize> {
        cuts(&bins(text), 0.01, 1.0)
    }

    #[test]
    fn writes_then_both_then_reads() {
        let (writes, reads) = ("w".repeat(80), "r".repeat(80));
        for both in ["b".repeat(160), "rw".repeat(80), "rrrrrrrrrrwwwwwwwwww".repeat(8)] {
            let found = cut(&format!("{writes}{both}{reads}"));
            assert!(found.len() == 2 && found[0] == 80 && found[1].abs_diff(240) <= 10, "{both}: {found:?}");
        }
    }

    #[test]
    fn what_does_not_change_is_one() {
        for text in ["", "w", "rw", "wwww.ww", &"rw".repeat(500), &"b".repeat(999), &"wmwwr".repeat(100)] {
            assert_eq!(cuts(&bins(text), 0.01, 2.0), [0; 0], "{text}");
        }
        // A read of a thousandth of the time changes nothing.
        assert_eq!(cut(&format!("{}r{}", "w".repeat(500), "w".repeat(500))), [0; 0]);
    }

    #[test]
    fn an_end_and_a_part_in_the_middle_are_found() {
        assert_eq!(cut(&format!("{}{}", "m".repeat(50), "w".repeat(950))), [50]);
        assert_eq!(cut(&format!("{}.{}", "r".repeat(20), "w".repeat(980))), [21]);
        assert_eq!(cut(&format!("{}{}{}", "w".repeat(450), "r".repeat(50), "w".repeat(500))), [450, 500]);
        assert_eq!(cuts(&bins(&format!("{}{}", "r".repeat(20), "w".repeat(980))), 0.01, 21.0), [0; 0], "too short");
    }

    #[test]
    fn many_bins_are_looked_at_together() {
        let found = cut(&format!("{}{}", "w".repeat(40_000), "rw".repeat(30_000)));
        assert!(found.len() == 1 && found[0].abs_diff(40_000) <= 100, "{found:?}");
    }
}
