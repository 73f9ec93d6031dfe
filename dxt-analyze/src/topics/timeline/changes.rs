//! Divides successive calls without a pause at changes of activity (reading, writing), so that each part has mostly one kind of activity.

use super::series::Bin;

/// Maximum number of cells (groups of neighbouring time bins); the search takes time quadratic in this number.
const CELLS: usize = 1000;

/// Group of neighbouring time bins that [`cuts`] never divides.
struct Cell {
    first: usize,
    /// Number of bins with reads, with writes, and with calls that move no bytes; a bin with reads and writes counts in proportion.
    kinds: [f64; 3],
}

/// Returns the indices of the time bins at which the parts begin, without the first part. Minimizes the total cost, where
///
/// - a part costs its number of bins x the entropy, in bits, of its kinds of activity: 0 if all bins read, or all write;
/// - each division costs the number of all bins x the entropy of (`share`, 1 - `share`), so that a part pays to be separate if at least
///   this share has another kind of activity;
/// - no part has fewer than `least` bins.
///
/// Reads and writes that alternate repeatedly stay in one part.
pub(super) fn cuts(bins: &[Bin], share: f64, least: f64) -> Vec<usize> {
    let cells = cells(bins);
    let mut sums = vec![[0.0; 3]];
    for cell in &cells {
        let last = sums.last().copied().unwrap_or_default();
        sums.push(std::array::from_fn(|kind| last[kind] + cell.kinds[kind]));
    }
    let all = sums.last().copied().unwrap_or_default().iter().sum::<f64>();
    let of_cut = bits([share * all, (1.0 - share) * all]);
    // Per cell: minimum cost of all cells before it, and start of the last part of these cells.
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

/// Groups neighbouring time bins into cells that are never divided, merging successive cells of one pure kind of activity. Bins without
/// calls are skipped.
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

/// Returns the sum of `kinds` (number of bins of each kind) times the entropy of their shares, in bits.
fn bits<const KINDS: usize>(kinds: [f64; KINDS]) -> f64 {
    let all = kinds.iter().sum::<f64>();
    kinds.iter().filter(|part| **part > 0.0).map(|part| part * (all / part).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates one time bin per letter of `text`: with reads, writes, both, metadata calls, or nothing.
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
        // A read in a thousandth of the time is no change.
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
