//! Processes that ask for the same names again and again: what is there, how large it is, who may read it.

use crate::findings::{Code, Evidence};
use crate::model::{FileId, ProcessId};
use crate::text::units as show;
use crate::topics::causes::claim::{Claim, files, finding};
use crate::topics::causes::class::Class;
use crate::topics::causes::grid::{Entry, Grid};
use crate::topics::causes::replay::Shortened;
use rustc_hash::FxHashSet;

/// Operations that ask and change nothing.
const ASK: [&str; 2] = ["stat", "access"];
/// Times that a process asks for a name on the mean, at least.
const AGAIN: u64 = 4;
/// Fewest calls of which it says something; and of those that find nothing.
const FEWEST: u64 = 100;
const FEWEST_IN_VAIN: u64 = 1000;

/// Of all processes together.
#[must_use]
pub fn claim(grid: &Grid<'_>) -> Option<Claim> {
    let asks = |entry: &Entry| {
        let name = grid.stream(entry).map(|stream| grid.run.op(stream).name.as_str());
        entry.leaf && !entry.inside && name.is_some_and(|name| ASK.contains(&name))
    };
    let mut names: FxHashSet<(ProcessId, FileId)> = FxHashSet::default();
    let (mut calls, mut time) = (0_u64, 0.0);
    for entry in grid.entries.iter().filter(|entry| asks(entry)) {
        names.insert((entry.process, entry.file));
        calls = calls.saturating_add(entry.cell.calls);
        time += entry.left_ns;
    }
    let (known, processes) =
        (names.len() as u64, names.iter().map(|(process, _)| process).collect::<FxHashSet<_>>().len() as u64);
    if calls < FEWEST.max(known.saturating_mul(AGAIN)) {
        return in_vain(grid, asks, calls);
    }
    // All but the first of each.
    let part = 1.0 - known as f64 / calls as f64;
    let shortened: Shortened = (0_u32..)
        .zip(&grid.entries)
        .filter(|(_, entry)| asks(entry))
        .map(|(index, entry)| (index, entry.left_ns * part))
        .collect();
    let called = |name: &&&str| {
        let is = |entry: &Entry| grid.stream(entry).is_some_and(|stream| grid.run.op(stream).name == **name);
        grid.entries.iter().any(|entry| asks(entry) && is(entry))
    };
    let files_asked = names.iter().map(|(_, file)| file).collect::<FxHashSet<_>>().len() as u64;
    let who = match (processes, grid.run.ranks() > 0) {
        (1, _) => String::new(),
        (_, true) => format!(" of {}", show::counted(processes, "rank")),
        _ => format!(" of {}", show::counted(processes, "process")),
    };
    let by_each = match (processes > 1 && files_asked < known, grid.run.ranks() > 0) {
        (true, true) => "by each rank",
        (true, false) => "by each process",
        _ => "each",
    };
    let title = format!(
        "{} ({}){who} repeatedly query the same {}, {} {}",
        show::counted(calls, "metadata call"),
        ASK.iter().filter(called).copied().collect::<Vec<_>>().join(", "),
        show::counted(files_asked, "name"),
        show::counted(calls / known.max(1), "time"),
        by_each
    );
    let words = format!(
        "{} in stat and access, {} each, by {}",
        show::duration(time as u64),
        show::duration((time / calls as f64) as u64),
        show::counted(processes, "process")
    );
    let evidence = std::iter::once(Evidence::from(words)).chain(files(grid, &shortened)).collect();
    let hint = "query each name once and cache the answer, or list the folder once (readdir); in Python, one os.scandir instead of os.path.exists for each name";
    Some(Claim::new(finding(Code::ASKED_AGAIN, title, evidence, hint), shortened))
}

/// Of `calls` that ask, those that find nothing where there is something later: who asks waits for others' files.
fn in_vain(grid: &Grid<'_>, asks: impl Fn(&Entry) -> bool, calls: u64) -> Option<Claim> {
    let failed = |entry: &Entry| grid.stream(entry).is_some_and(|stream| stream.failed);
    let found: FxHashSet<(ProcessId, FileId)> = grid
        .entries
        .iter()
        .filter(|entry| (asks(entry) || entry.class == Class::Open) && !failed(entry))
        .map(|entry| (entry.process, entry.file))
        .collect();
    let (mut vain, mut shortened) = (0_u64, Shortened::new());
    let mut processes: FxHashSet<ProcessId> = FxHashSet::default();
    for (index, entry) in (0_u32..).zip(&grid.entries) {
        if asks(entry) && failed(entry) && found.contains(&(entry.process, entry.file)) {
            vain = vain.saturating_add(entry.cell.calls);
            processes.insert(entry.process);
            shortened.push((index, entry.left_ns));
        }
    }
    if vain < FEWEST_IN_VAIN || vain < calls / 2 {
        return None;
    }
    let title = format!(
        "{} of {} {} no file yet: {} {} for files that appear later",
        show::count(vain),
        show::counted(calls, "metadata query"),
        show::agree(vain, "finds", "find"),
        show::counted(processes.len() as u64, "process"),
        show::agree(processes.len() as u64, "polls", "poll")
    );
    let evidence = files(grid, &shortened).into_iter().collect();
    let hint = "let the process that creates the files send a message (MPI, a pipe, inotify on the same node), or poll with growing pauses: each query loads \
                the metadata server";
    Some(Claim::new(finding(Code::ASKED_AGAIN, title, evidence, hint), shortened))
}
