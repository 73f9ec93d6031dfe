//! Matches the files of two runs: first by path; then by path below the common folder of all unmatched files; then by path with numbers
//! (job IDs, dates) ignored, if the match is unambiguous.

use crate::sum::Sum;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Criterion by which a file of one run was matched with a file of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// Matched by path: the path is identical in both runs.
    Path,
    /// Matched by the path below the folder that all unmatched files of the run share: that part is identical.
    Folder,
    /// Matched by path with numbers ignored: the rest of the path is identical.
    Numbers,
    /// Set of files that holds as many bytes as a set of a different number of files in the other run (one file per rank, one shared file).
    #[serde(rename = "data set")]
    DataSet,
}

impl How {
    /// Returns the name, as shown in tables, of the criterion by which files of the two runs are matched.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Folder => "folder",
            Self::Numbers => "numbers",
            Self::DataSet => "data set",
        }
    }
}

/// Result of matching the files of two runs, as indices into the two lists of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Matched files: index in the first run, index in the second run, and the criterion of the match.
    pub pairs: Vec<(usize, usize, How)>,
    /// Indices of files that only the first run has.
    pub gone: Vec<usize>,
    /// Indices of files that only the second run has.
    pub new: Vec<usize>,
    /// Two sets of files (first run, second run) that hold the same data in different numbers of files: one file per rank versus one shared
    /// file.
    pub set: Option<(Vec<usize>, Vec<usize>)>,
}

/// Maximum relative difference in bytes between two sets of files with the same data; headers and padding differ.
const SET_BYTES: f64 = 0.1;

impl Matched {
    /// Treats all unmatched files that moved data as one data set if the two runs have different numbers of such files with about the same
    /// bytes. `before` and `after` return the bytes of a file.
    pub fn find_set(&mut self, before: impl Fn(usize) -> u64, after: impl Fn(usize) -> u64) {
        let with_data = |places: &[usize], bytes: &dyn Fn(usize) -> u64| {
            let kept: Vec<usize> = places.iter().copied().filter(|&place| bytes(place) > 0).collect();
            let sum = kept.iter().map(|&place| bytes(place)).sum::<Sum>().get() as f64;
            (kept, sum)
        };
        let ((one, of_one), (two, of_two)) = (with_data(&self.gone, &before), with_data(&self.new, &after));
        let similar = (of_one - of_two).abs() <= SET_BYTES * of_one.max(of_two);
        if one.is_empty() || two.is_empty() || one.len() == two.len() || !similar {
            return;
        }
        self.gone.retain(|place| !one.contains(place));
        self.new.retain(|place| !two.contains(place));
        self.set = Some((one, two));
    }
}

/// Matches the paths of the first run (`before`) with those of the second (`after`); paths must be unique within a run.
#[must_use]
pub fn matched(before: &[&str], after: &[&str]) -> Matched {
    let mut out = Matched { gone: (0..before.len()).collect(), new: (0..after.len()).collect(), ..Matched::default() };
    step(before, after, How::Path, &mut out, |_| 0, str::to_owned);
    step(before, after, How::Folder, &mut out, common_folder, str::to_owned);
    step(before, after, How::Numbers, &mut out, common_folder, without_numbers);
    out.pairs.sort_unstable();
    out
}

fn step(
    before: &[&str],
    after: &[&str],
    how: How,
    out: &mut Matched,
    skip: impl Fn(&[&str]) -> usize,
    key: impl Fn(&str) -> String,
) {
    let by_key = |paths: &[&str], left: &[usize]| {
        let names: Vec<&str> = left.iter().filter_map(|&place| paths.get(place).copied()).collect();
        let skipped = skip(&names);
        let mut groups: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
        for (&place, name) in left.iter().zip(names) {
            let rest = name.get(skipped..).unwrap_or(name);
            groups.entry(key(rest)).or_default().push((in_order(rest), place));
        }
        groups.values_mut().for_each(|group| group.sort());
        groups
    };
    let (ours, theirs) = (by_key(before, &out.gone), by_key(after, &out.new));
    for (key, group) in &ours {
        // With equal counts on both sides, the order of numbers in the paths decides the pairs. Otherwise pairs would be a guess.
        let Some(other) = theirs.get(key).filter(|other| other.len() == group.len()) else { continue };
        out.pairs.extend(group.iter().zip(other).map(|((_, one), (_, two))| (*one, *two, how)));
    }
    let (ours, theirs): (BTreeSet<usize>, BTreeSet<usize>) = out.pairs.iter().map(|(one, two, _)| (*one, *two)).unzip();
    out.gone.retain(|place| !ours.contains(place));
    out.new.retain(|place| !theirs.contains(place));
}

/// Returns the length in bytes of the deepest folder that contains all `paths`, including the folder's trailing slash.
fn common_folder(paths: &[&str]) -> usize {
    let Some((first, rest)) = paths.split_first() else { return 0 };
    let folder = |path: &str| path.rfind('/').map_or(0, |slash| slash + 1);
    let mut length = folder(first);
    for path in rest {
        let same = first.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
        length = length.min(same);
    }
    first.get(..length).map_or(0, folder)
}

/// Replaces numbers by `#`: `out.4711.h5` becomes `out.#.h5`.
fn without_numbers(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for letter in path.chars() {
        if !letter.is_ascii_digit() {
            out.push(letter);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out
}

/// Returns a sort key that orders numbers in paths by value: `out.9` before `out.10`.
fn in_order(path: &str) -> String {
    let mut out = String::with_capacity(path.len() * 2);
    let mut rest = path;
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (text, tail) = rest.split_at(at);
        let end = tail.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(tail.len());
        let (digits, tail) = tail.split_at(end);
        out.push_str(text);
        out.push_str(&format!("{:0>20}", digits.trim_start_matches('0')));
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_then_folders_then_numbers() {
        let before = ["/etc/conf", "/scratch/job1/a.h5", "/scratch/job1/sub/b.h5", "/scratch/job1/gone"];
        let after = ["/etc/conf", "/work/x/a.h5", "/work/x/sub/b.h5", "/work/x/new"];
        let found = matched(&before, &after);
        assert_eq!(found.pairs, [(0, 0, How::Path), (1, 1, How::Folder), (2, 2, How::Folder)]);
        assert_eq!((found.gone, found.new), (vec![3], vec![3]));
    }

    #[test]
    fn numbers_of_jobs_and_ranks() {
        let before = ["/s/out.4711.rank9", "/s/out.4711.rank10", "/s/log.4711"];
        let after = ["/s/log.5000", "/s/out.5000.rank10", "/s/out.5000.rank9"];
        let found = matched(&before, &after);
        let numbers = How::Numbers;
        assert_eq!(found.pairs, [(0, 2, numbers), (1, 1, numbers), (2, 0, numbers)]);
        // Three files against two: the pairs are ambiguous.
        let found = matched(&["/s/a1", "/s/a2", "/s/a3"], &["/s/a4", "/s/a5"]);
        assert_eq!((found.pairs.len(), found.gone.len(), found.new.len()), (0, 3, 2));
    }

    #[test]
    fn a_file_of_each_rank_and_one_of_all_are_one_data_set() {
        let left = || Matched { gone: vec![0, 1, 2, 3], new: vec![0, 1], ..Matched::default() };
        let mut found = left();
        found.find_set(|place| [100, 100, 100, 0][place], |place| [310, 0][place]);
        assert_eq!((found.set, found.gone, found.new), (Some((vec![0, 1, 2], vec![0])), vec![3], vec![1]));
        // Sets with different bytes, or with equal numbers of files, are not matched.
        for (ours, theirs) in [([100, 100, 100, 0], [200, 0]), ([100, 0, 0, 0], [100, 0]), ([0; 4], [0; 2])] {
            let mut found = left();
            found.find_set(|place| ours[place], |place| theirs[place]);
            assert_eq!(found, left());
        }
    }

    #[test]
    fn folders_end_at_a_slash() {
        assert_eq!(common_folder(&["/a/bc/d", "/a/be/f"]), 3);
        assert_eq!(common_folder(&["/a/bc/d"]), 6);
        assert_eq!(common_folder(&["x", "y"]), 0);
    }
}
