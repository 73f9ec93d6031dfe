//! Groups of signatures to compare: signatures of a file that processes share, and signatures of files used by one process each whose names
//! differ only in numbers or in a random part.

use super::pass::Signed;
use super::random_names::{Forms, form, places, starred};
use crate::model::{FileId, ProcessId, Run, Within};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Group of signatures that are compared with each other to find a pattern across processes or files.
#[derive(Debug)]
pub struct Group<'a> {
    /// I/O interface of the group's calls, e.g. MPI-IO.
    pub layer: Layer,
    /// True for calls made inside another interface's calls, false for calls made by the program.
    pub inside: bool,
    /// True if all signatures of the group are of one file.
    pub one_file: bool,
    /// True if the signatures are of a series: several shared files, one per step.
    pub is_series: bool,
    /// Signatures, each with the place (index) of its process in [`Order`]; sorted by place, in a series of files by file, then place.
    pub members: Vec<(u64, &'a Signed)>,
}

/// Order of processes: the place (index) of a rank is its rank number; processes without a rank follow.
#[derive(Debug)]
pub struct Order<'a> {
    run: &'a Run,
    ranks: u64,
}

impl<'a> Order<'a> {
    /// Creates the order of a run's processes: ranks by number, then processes without a rank.
    #[must_use]
    pub fn new(run: &'a Run) -> Self {
        let ranks = run.processes.iter().map(|process| i64::from(process.rank) + 1).max().unwrap_or(0);
        Self { run, ranks: u64::try_from(ranks).unwrap_or(0) }
    }

    pub(super) fn place(&self, process: ProcessId) -> u64 {
        let rank = self.run.process(process).map_or(-1, |process| process.rank);
        u64::try_from(rank).unwrap_or_else(|_| self.ranks + u64::from(process.0))
    }

    /// True if all `places` (indices of processes in this order) belong to ranks, and none to a process without a rank.
    #[must_use]
    pub fn are_ranks(&self, places: &[u64]) -> bool {
        places.iter().all(|place| *place < self.ranks)
    }

    /// Returns the names of the processes at `places`, e.g. `ranks 0-7`; `places` must be sorted and unique.
    #[must_use]
    pub fn names(&self, places: &[u64]) -> String {
        match places {
            [place] if *place >= self.ranks => {
                self.run.process_name(u32::try_from(place - self.ranks).map_or(ProcessId::NONE, ProcessId))
            }
            [place] => format!("rank {place}"),
            _ if self.are_ranks(places) => format!("ranks {}", crate::text::units::ranges(places)),
            _ => crate::text::units::counted(places.len() as u64, "process"),
        }
    }
}

/// Returns the groups of signatures to compare, in a deterministic order.
#[must_use]
pub fn groups<'a>(run: &Run, order: &Order<'_>, signed: &'a [Signed]) -> Vec<Group<'a>> {
    let mut user: FxHashMap<FileId, Option<ProcessId>> = FxHashMap::default();
    for Signed { whose, .. } in signed {
        let one = user.entry(whose.file).or_insert(Some(whose.process));
        *one = one.filter(|process| *process == whose.process);
    }
    let is_own = |file: FileId| user.get(&file).is_some_and(Option::is_some);
    let own = run.files.iter().enumerate().filter(|(at, _)| is_own(FileId::at(*at)));
    let forms = Forms::of(own.map(|(_, file)| file.name.as_str()));
    let names: Vec<String> = run.files.iter().map(|file| forms.key(&file.name)).collect();
    let mut by: BTreeMap<(u8, Within, Option<FileId>, &str), Group<'a>> = BTreeMap::new();
    for signed in signed {
        let whose = signed.whose;
        let own = is_own(whose.file);
        let name = names.get(whose.file.index()).filter(|_| own).map_or("", String::as_str);
        let key = (whose.layer as u8, whose.within, (!own).then_some(whose.file), name);
        let group = by.entry(key).or_insert_with(|| Group {
            layer: whose.layer,
            inside: whose.within > Within::Nothing,
            one_file: !own,
            is_series: false,
            members: Vec::new(),
        });
        group.members.push((order.place(whose.process), signed));
    }
    let mut out: Vec<Group<'a>> = by.into_values().collect();
    for group in &mut out {
        group.members.sort_by_key(|(place, signed)| (*place, signed.whose));
        let first = group.members.first().map(|(_, signed)| signed.whose.file);
        group.one_file |= group.members.iter().all(|(_, signed)| Some(signed.whose.file) == first);
    }
    out
}

/// Merges groups of shared files whose names differ only in numbers into series, e.g. one checkpoint per step.
#[must_use]
pub(super) fn series<'a>(run: &Run, groups: Vec<Group<'a>>) -> Vec<Group<'a>> {
    let mut out: Vec<Group<'a>> = Vec::new();
    let mut known: FxHashMap<(Layer, Within, String), usize> = FxHashMap::default();
    for mut group in groups {
        let mut processes = group.members.iter().map(|(place, _)| place);
        let first = processes.next();
        let is_shared = group.one_file && processes.any(|place| Some(place) != first);
        let whose = group.members.first().map(|(_, signed)| signed.whose).filter(|_| is_shared);
        let name = whose.and_then(|whose| Some((whose, starred(&run.file(whose.file)?.name))));
        let Some((whose, name)) = name else {
            out.push(group);
            continue;
        };
        let at = *known.entry((whose.layer, whose.within, name)).or_insert(out.len());
        match out.get_mut(at) {
            Some(series) => {
                (series.is_series, series.one_file) = (true, false);
                series.members.append(&mut group.members);
            }
            None => out.push(group),
        }
    }
    out
}

/// Returns the common pattern of file names that differ in numbers or in a random part, with a star for each of these parts.
#[must_use]
pub fn common<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let Some(first) = names.clone().next() else { return String::new() };
    let stars = starred(first);
    if names.clone().all(|name| starred(name) == stars) {
        return of_numbers(names);
    }
    // Byte range of the random part in a name.
    let at = |name: &str, form: &str| places(name).find(|place| self::form(name, place) == form);
    let is_common = |form: &String| names.clone().all(|name| at(name, form).is_some());
    let Some(form) = places(first).map(|place| form(first, &place)).find(is_common) else { return of_numbers(names) };
    let before = names.clone().filter_map(|name| name.get(..at(name, &form)?.start));
    let behind = names.clone().filter_map(|name| name.get(at(name, &form)?.end..));
    format!("{}*{}", of_numbers(before), of_numbers(behind))
}

fn of_numbers<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    let Some(first) = names.next() else { return String::new() };
    let mut parts: Vec<Option<&str>> = parts(first).map(Some).collect();
    for name in names {
        let mut others = self::parts(name);
        for part in &mut parts {
            let other = others.next();
            *part = part.filter(|part| other == Some(part));
        }
    }
    parts.into_iter().map(|part| part.unwrap_or("*")).collect()
}

/// Splits a file name into numbers and the text between them.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let digits = rest.starts_with(|c: char| c.is_ascii_digit());
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        rest = behind;
        (!part.is_empty()).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_differ_are_stars() {
        assert_eq!(starred("/a1/b22.3"), "/a*/b*.*");
        assert_eq!(common(["/a1/b22.3", "/a1/b7.3", "/a1/b9.3"].into_iter()), "/a1/b*.3");
        assert_eq!(common(["/a"].into_iter()), "/a");
        assert_eq!(common(std::iter::empty()), "");
        let random = ["/a1/out.k3JdQa.tmp", "/a2/out.aBcDeF.tmp", "/a3/out.words9.tmp"];
        assert_eq!(common(random.into_iter()), "/a*/out.*.tmp");
        assert_eq!(common(random.into_iter().take(1)), random[0]);
    }
}
