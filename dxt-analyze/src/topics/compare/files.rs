//! Which file of one run is which of the other: first by path; then by path without the folder that all of the rest lie in; then
//! with the numbers in a path (job ids, dates) left open, if that says clearly which belongs to which.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How two files were found to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// The same path.
    Path,
    /// The same path below different folders.
    Folder,
    /// The same path but for numbers.
    Numbers,
}

impl How {
    /// As tables show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Folder => "folder",
            Self::Numbers => "numbers",
        }
    }
}

/// The result: places in the lists that were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Pairs, with how they were found.
    pub pairs: Vec<(usize, usize, How)>,
    /// Only in the first.
    pub gone: Vec<usize>,
    /// Only in the second.
    pub new: Vec<usize>,
}

/// Matches the paths of two runs. Within a run every path is there once.
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
        // As many on both sides: then the order of their numbers says which is which. Otherwise it is a guess.
        let Some(other) = theirs.get(key).filter(|other| other.len() == group.len()) else { continue };
        out.pairs.extend(group.iter().zip(other).map(|((_, one), (_, two))| (*one, *two, how)));
    }
    let (ours, theirs): (BTreeSet<usize>, BTreeSet<usize>) = out.pairs.iter().map(|(one, two, _)| (*one, *two)).unzip();
    out.gone.retain(|place| !ours.contains(place));
    out.new.retain(|place| !theirs.contains(place));
}

/// Bytes of the folder that all `paths` lie in, with its slash.
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

/// `out.4711.h5` as `out.#.h5`.
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

/// A form of the path in whose order 9 comes before 10.
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
        // Three against two: which is which is not clear.
        let found = matched(&["/s/a1", "/s/a2", "/s/a3"], &["/s/a4", "/s/a5"]);
        assert_eq!((found.pairs.len(), found.gone.len(), found.new.len()), (0, 3, 2));
    }

    #[test]
    fn folders_end_at_a_slash() {
        assert_eq!(common_folder(&["/a/bc/d", "/a/be/f"]), 3);
        assert_eq!(common_folder(&["/a/bc/d"]), 6);
        assert_eq!(common_folder(&["x", "y"]), 0);
    }
}
