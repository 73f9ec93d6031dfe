//! Tilings: lines (loop nests shared by ranks) that together fill a range of a file or begin at equal distances, although their lengths or
//! order are not linear in the rank.

use super::Line;
use std::collections::{BTreeMap, HashSet};

/// Minimum number of members (ranks) in a pattern across ranks; equals the minimum number of iterations of a loop.
pub(super) const FEWEST: u64 = 3;

/// Lines (loop nests shared by ranks) that together form one pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Indices of the lines that form the pattern, in the list given to [`tilings`].
    pub lines: Vec<usize>,
    /// Arrangement of the lines (loop nests shared by ranks) in the file.
    pub arrangement: Arrangement,
}

/// Arrangement in the file of lines (loop nests shared by ranks) that form a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// The lines (loop nests shared by ranks) together cover a range of the file without gaps, each byte once.
    Filled {
        /// File offset of the first byte of the range that the lines cover.
        first: u64,
        /// Length of the range that the lines cover, in bytes.
        bytes: u128,
        /// True if each member (rank) begins where the member before it in numerical order ends.
        in_order: bool,
    },
    /// The lines (loop nests shared by ranks) begin at equal distances in the file, with gaps.
    Even {
        /// Distance in the file per increment of the member number (rank), in bytes.
        stride: i64,
    },
}

/// Line (loop nest shared by ranks), with the byte range that it fills without gaps.
struct Tile {
    at: usize,
    first: u64,
    end: u64,
    members: Vec<u64>,
}

/// Returns the patterns that several of `lines` (loop nests shared by ranks) form together: they fill a range, or begin at equal distances.
/// `part` maps a member (rank) to its file.
#[must_use]
pub fn tilings(lines: &[Line], part: &dyn Fn(u64) -> u64) -> Vec<Tiling> {
    // Grouped by file and operation, because a read does not continue a write.
    let mut by: BTreeMap<(u64, u16), Vec<Tile>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        let all = line.nest.leaves();
        let Some(op) = all.first().map(|leaf| leaf.op).filter(|op| all.iter().all(|leaf| leaf.op == *op)) else {
            continue;
        };
        let Some((first, bytes)) = line.contiguous() else { continue };
        let Some(end) = u64::try_from(bytes).ok().and_then(|bytes| first.checked_add(bytes)) else { continue };
        let members: Vec<u64> = line.numbers().collect();
        by.entry((part(line.first_rank), op)).or_default().push(Tile { at, first, end, members });
    }
    by.into_values().flat_map(of_part).collect()
}

fn of_part(mut tiles: Vec<Tile>) -> Vec<Tiling> {
    if tiles.len() < 2 {
        return Vec::new();
    }
    tiles.sort_by_key(|tile| (tile.first, tile.at));
    let mut out = Vec::new();
    let mut rest: Vec<Tile> = Vec::new();
    let mut chain: Vec<Tile> = Vec::new();
    let mut seen: HashSet<u64> = HashSet::new();
    for tile in tiles {
        let follows = chain.last().is_none_or(|last| last.end == tile.first);
        let others = tile.members.iter().all(|member| !seen.contains(member));
        if !(follows && others) {
            close(std::mem::take(&mut chain), &mut out, &mut rest);
            seen.clear();
        }
        seen.extend(&tile.members);
        chain.push(tile);
    }
    close(chain, &mut out, &mut rest);
    out.extend(even(&rest));
    out
}

/// Ends a chain of adjacent byte ranges: adds it to `out` as a pattern if it has enough members (ranks), else to `rest`.
fn close(chain: Vec<Tile>, out: &mut Vec<Tiling>, rest: &mut Vec<Tile>) {
    let members = || chain.iter().flat_map(|tile| &tile.members);
    if chain.len() < 2 || (members().count() as u64) < FEWEST {
        rest.extend(chain);
        return;
    }
    let (first, end) = chain.first().zip(chain.last()).map_or((0, 0), |(first, last)| (first.first, last.end));
    let in_order = chain.iter().all(|tile| tile.members.is_sorted()) && members().is_sorted();
    let arrangement = Arrangement::Filled { first, bytes: u128::from(end - first), in_order };
    out.push(Tiling { lines: chain.into_iter().map(|tile| tile.at).collect(), arrangement });
}

/// Returns a pattern of lines with one member (rank) each, if their first bytes are linear in the member number; else `None`.
fn even(rest: &[Tile]) -> Option<Tiling> {
    let mut all: Vec<(u64, &Tile)> = Vec::new();
    for tile in rest {
        let [member] = tile.members.as_slice() else { return None };
        all.push((*member, tile));
    }
    all.sort_by_key(|(member, _)| *member);
    let [(member, a), (next, b), ..] = all.as_slice() else { return None };
    let stride = |from: u64, to: u64| i128::from(to) - i128::from(from);
    let (across, along) = (stride(*member, *next), stride(a.first, b.first));
    let lies = |(other, tile): &(u64, &Tile)| {
        Some(stride(*member, *other).checked_mul(along)? == stride(a.first, tile.first).checked_mul(across)?)
    };
    let each_once = all.windows(2).all(|pair| matches!(pair, [(a, _), (b, _)] if a < b));
    let in_line = each_once && along != 0 && all.iter().all(|one| lies(one) == Some(true));
    if (all.len() as u64) < FEWEST || !in_line || along % across != 0 {
        return None;
    }
    let arrangement = Arrangement::Even { stride: i64::try_from(along / across).ok()? };
    Some(Tiling { lines: all.iter().map(|(_, tile)| tile.at).collect(), arrangement })
}
