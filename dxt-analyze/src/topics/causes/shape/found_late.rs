//! Files that a process finds some time after another has made them, since it asks for them only now and then. The trace tells when each file was there
//! ([`Found`]): what is lost is the time from then to the question that finds it. How long it took to make the file is another matter.

use crate::findings::{About, Code, Evidence};
use crate::model::{FileId, ProcessId};
use crate::text::units as show;
use crate::topics::causes::claim::{Claim, finding};
use crate::topics::causes::grid::Grid;
use crate::topics::causes::reading::questions::Found;
use crate::topics::causes::replay::Shortened;
use crate::topics::causes::shape::polled::Others;
use std::collections::BTreeMap;

/// Waits of a process from which it is its way to wait, however often it asks in each; or for one file by several, each of which asks [`TWICE`].
const SEVERAL: usize = 3;
const TWICE: u64 = 2;
/// Questions in vain from which a single wait is one: four, as for a lock file, if one a second: who asks less often may look for something after each step.
const FEWEST: u64 = 4;
const SELDOM_NS: u64 = 1_000_000_000;

/// All of them together. What a process does in `grid` between its questions tells whether it waits.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    if grid.found.is_empty() {
        return None;
    }
    let others = Others::of(grid);
    let mut found: Vec<&Found> = grid.found.iter().filter(|found| !others.are_work(grid, found)).collect();
    let (mut of_process, mut for_file) = (BTreeMap::<ProcessId, usize>::new(), BTreeMap::<FileId, usize>::new());
    for one in &found {
        *of_process.entry(one.process).or_default() += 1;
        *for_file.entry(one.file).or_default() += usize::from(one.calls >= TWICE);
    }
    let is_several = |count: Option<&usize>| count.is_some_and(|count| *count >= SEVERAL);
    found.retain(|one| {
        let lasts = one.found_ns.saturating_sub(one.asked_ns);
        one.calls >= FEWEST && lasts <= one.calls.saturating_mul(SELDOM_NS)
            || is_several(of_process.get(&one.process))
            || one.calls >= TWICE && is_several(for_file.get(&one.file))
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
    let who = match by_process.len() {
        1 => format!("{} finds", grid.run.process_name(*longest)),
        many => format!("{} find", show::counted(many as u64, "process")),
    };
    let (what, made) = match files.as_slice() {
        [file] => (grid.run.file_name(*file).to_owned(), "it is"),
        _ => (named(grid, &files), "they are"),
    };
    let (ask, waits) = (if by_process.len() == 1 { "polls" } else { "poll" }, found.len() as u64);
    let each = |ns: u64, of: u64| show::duration(ns / of.max(1));
    let title = format!(
        "{who} {what} {} after {made} available, on average: {} {ask} only every {}",
        each(all, waits),
        if by_process.len() == 1 { "the process" } else { "the processes" },
        each(asked, calls)
    );
    let words = format!(
        "{} in total from the end of another process's first call on a file to the query that finds the file, {} in the process that waits longest; {} failed \
         before; computing in between is not recorded",
        show::duration(all),
        show::duration(*most),
        show::counted(calls, "call")
    );
    let rank =
        grid.run.process(*longest).map(|process| process.rank).filter(|rank| *rank >= 0 && by_process.len() == 1);
    let file = files.first().filter(|_| files.len() == 1).map(|file| grid.run.file_name(*file).to_owned());
    let about = About { rank, file, calls: Some(calls), ..About::default() };
    let hint = "let the process that creates the file send a message (MPI, a pipe, a socket), or use inotify(7) on one node; or poll more often, starting with a \
                short pause that grows";
    let claim = Claim::new(finding(Code::POLLED, title, vec![Evidence::of(words, about)], hint), Shortened::new());
    Some(Claim { waiting_ns: *most as f64, ..claim })
}

/// `8 files /run/ready_*`, of those that differ in numbers only; else `8 files`.
fn named(grid: &Grid<'_>, files: &[FileId]) -> String {
    let all = show::counted(files.len() as u64, "file");
    let mut names = files.iter().map(|file| without_numbers(grid.run.file_name(*file)));
    let first = names.next().unwrap_or_default();
    if names.all(|name| name == first) { format!("{all} {first}") } else { all }
}

/// A path with each number of its last part as a star.
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
    fn numbers_of_a_name_are_stars() {
        assert_eq!(without_numbers("/run/4/ready_12.3"), "/run/4/ready_*.*");
        assert_eq!(without_numbers("step17"), "step*");
    }
}
