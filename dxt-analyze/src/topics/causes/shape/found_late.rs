//! Files that a process finds some time after they exist, since it polls rarely. The trace contains when each file came into existence
//! ([`Found`]). The loss is the time from then to the query that finds the file, not the time to make the file.

use crate::cube::Cube;
use crate::cube::reading::questions::Found;
use crate::findings::{About, Code, Finding};
use crate::model::{FileId, ProcessId};
use crate::replay::Savings;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::shape::polled::Others;
use crate::words::common::Who;
use crate::words::shape as words;
use std::collections::BTreeMap;

/// Returns one claim (finding with its saving) about all files that processes find late. Leaves out waits during which the process makes
/// other calls, as it then does other work.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    if cube.found.is_empty() {
        return None;
    }
    let others = Others::of(cube);
    let at_once = at_the_same_time(&cube.found);
    let asks = |(found, at_once): &(&Found, bool)| found.calls >= thresholds.repeated_min || !at_once;
    let all = cube.found.iter().zip(at_once).filter(asks).map(|(found, _)| found);
    let mut found: Vec<&Found> = all.filter(|found| !others.are_work(cube, found)).collect();
    let (mut of_process, mut for_file) = (BTreeMap::<ProcessId, usize>::new(), BTreeMap::<FileId, usize>::new());
    for one in &found {
        *of_process.entry(one.process).or_default() += 1;
        *for_file.entry(one.file).or_default() += usize::from(one.calls >= thresholds.repeated_min);
    }
    let is_several = |count: Option<&usize>| count.is_some_and(|count| *count >= thresholds.several_min as usize);
    found.retain(|one| {
        let lasts = one.found_ns.saturating_sub(one.asked_ns);
        one.calls >= thresholds.few_min && lasts <= one.calls.saturating_mul(thresholds.poll_interval_ns)
            || is_several(of_process.get(&one.process))
            || one.calls >= thresholds.repeated_min && is_several(for_file.get(&one.file))
    });
    let mut by_process: BTreeMap<ProcessId, u64> = BTreeMap::new();
    let mut files: Vec<FileId> = Vec::new();
    let (mut all, mut asked, mut calls) = (0_u64, 0_u64, 0_u64);
    for one in &found {
        let lost = one.found_ns.saturating_sub(one.there_ns);
        let of = by_process.entry(one.process).or_default();
        (*of, all) = (of.saturating_add(lost), all.saturating_add(lost));
        asked = asked.saturating_add(one.found_ns.saturating_sub(one.asked_ns));
        calls = calls.saturating_add(one.calls);
        files.push(one.file);
    }
    files.sort_unstable();
    files.dedup();
    let (longest, most) = by_process.iter().max_by_key(|(process, ns)| (**ns, std::cmp::Reverse(**process)))?;
    let rank =
        cube.run.process(*longest).map(|process| process.rank).filter(|rank| *rank >= 0 && by_process.len() == 1);
    let file = files.first().filter(|_| files.len() == 1).map(|file| cube.run.file_name(*file).to_owned());
    let about = About { rank, file, calls: Some(calls), ..About::default() };
    let of = words::FoundLate {
        who: Who::of(by_process.len(), cube.run.process_name(*longest)),
        files: files.len() as u64,
        name: pattern(cube, &files),
        waits: found.len() as u64,
        calls,
        asked_ns: asked,
        late_ns: all,
        longest_ns: *most,
    };
    let claim = Claim::new(Finding::new(Code::POLLED, words::found_late(&of, about)), Savings::new());
    Some(Claim { waiting_ns: *most as f64, ..claim })
}

/// For each wait, sorted by process and first query: true if the process waits for another file at the same time. (A process that looks
/// for several files once, does other work, and finds all of them, such as make, does not poll.)
fn at_the_same_time(all: &[Found]) -> Vec<bool> {
    let mut out = vec![false; all.len()];
    // Position and end of the wait that lasts longest so far.
    let mut open: Option<(usize, ProcessId, u64)> = None;
    for (at, one) in all.iter().enumerate() {
        if let Some((before, _, _)) =
            open.filter(|(_, process, until)| *process == one.process && *until > one.asked_ns)
        {
            out[before] = true;
            out[at] = true;
        }
        if open.is_none_or(|(_, process, until)| process != one.process || one.found_ns > until) {
            open = Some((at, one.process, one.found_ns));
        }
    }
    out
}

/// Returns the path of the only file, or a pattern such as `/run/ready_*` if the paths of all files differ in numbers only; else `None`.
fn pattern(cube: &Cube<'_>, files: &[FileId]) -> Option<String> {
    if let [file] = files {
        return Some(cube.run.file_name(*file).to_owned());
    }
    let mut names = files.iter().map(|file| without_numbers(cube.run.file_name(*file)));
    let first = names.next()?;
    names.all(|name| name == first).then_some(first)
}

/// Returns a path with each number in its last component replaced by a star.
fn without_numbers(path: &str) -> String {
    let (folder, name) = path.split_at(path.rfind('/').map_or(0, |at| at + 1));
    let mut out = folder.to_owned();
    for letter in name.chars() {
        match letter {
            _ if !letter.is_ascii_digit() => out.push(letter),
            _ if out.ends_with('*') => {}
            _ => out.push('*'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_at_the_same_time_are_found() {
        let of = |process: u32, asked_ns: u64, found_ns: u64| Found {
            process: ProcessId(process),
            file: FileId(1),
            calls: 1,
            asked_ns,
            there_ns: asked_ns,
            found_ns,
        };
        let all =
            [of(1, 0, 10), of(1, 10, 20), of(1, 30, 90), of(1, 31, 40), of(1, 80, 95), of(2, 85, 99), of(2, 99, 100)];
        assert_eq!(at_the_same_time(&all), [false, false, true, true, true, false, false]);
    }

    #[test]
    fn numbers_of_a_name_are_stars() {
        assert_eq!(without_numbers("/run/4/ready_12.3"), "/run/4/ready_*.*");
        assert_eq!(without_numbers("step17"), "step*");
    }
}
