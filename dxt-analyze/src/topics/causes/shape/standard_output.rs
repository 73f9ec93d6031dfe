//! Writes to standard output or standard error that wait for their reader: a terminal, or a pipe to a launcher or another program. Storage
//! has no part in them.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding, Severity};
use crate::model::{Class, Process, ProcessId};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeSet;

/// Names of the pseudo-files on which the tracer records writes to standard output and standard error, each with the name for users.
const STANDARD: [(&str, &str); 2] = [("<stdout>", "standard output"), ("<stderr>", "standard error")];

/// Returns a claim (finding with its saving) about writes to standard output and one about writes to standard error.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    STANDARD.iter().filter_map(|(file, name)| claim(cube, file, name)).collect()
}

fn claim(cube: &Cube<'_>, file: &str, name: &str) -> Option<Claim> {
    let file = cube.run.file_named(file)?;
    let is = |cell: &Cell| cell.leaf && cell.class == Class::Write && cell.file == file;
    let theirs = || (0_u32..).zip(&cube.cells).filter(|(_, cell)| is(cell));
    let savings: Savings = theirs().map(|(index, cell)| (index, cell.time_ns())).collect();
    let processes: BTreeSet<ProcessId> = theirs().map(|(_, cell)| cell.process).collect();
    let first = processes.first()?;
    let (mut calls, mut bytes, mut time_ns) = (0, 0, 0);
    for (_, cell) in theirs() {
        add(&mut calls, cell.sums.calls);
        add(&mut bytes, cell.sums.bytes);
        add(&mut time_ns, cell.sums.time_ns);
    }
    let mut ranks: Vec<i32> = processes
        .iter()
        .filter_map(|process| Some(cube.run.process(*process)?.rank))
        .filter(|rank| *rank >= 0)
        .collect();
    ranks.sort_unstable();
    let about = About {
        ranks: ranks.clone(),
        processes: Some(processes.len() as u64),
        calls: Some(calls),
        bytes: Some(bytes),
        time_ns: Some(time_ns),
        operation: Some(name.into()),
        ..About::default()
    };
    let of = words::StandardOutput {
        name,
        who: words::ranks_or(&ranks, processes.len(), cube.run.process_name(*first)),
        one: processes.len() == 1,
        calls,
        bytes,
        time_ns,
    };
    let finding = Finding::new(Code::STANDARD_OUTPUT, words::standard_output(&of)).with(about);
    let at_most = if name == STANDARD[0].1 && is_pipeline(cube, &processes) { Severity::Info } else { Severity::High };
    Some(Claim { says_why: true, at_most, ..Claim::new(finding, savings) })
}

/// True if a process that runs at the same time as one of the `writers`, and was started by the same process, may be their reader: in a pipeline,
/// all wait for the slowest.
fn is_pipeline(cube: &Cube<'_>, writers: &BTreeSet<ProcessId>) -> bool {
    let beside = |one: &Process, other: &Process| {
        (one.node, one.ppid) == (other.node, other.ppid) && one.shift_ns < other.end_ns && other.shift_ns < one.end_ns
    };
    let has_reader = |number: ProcessId, writer: &Process| {
        cube.run.numbered_processes().any(|(other, reader)| other != number && beside(writer, reader))
    };
    let all = || writers.iter().filter_map(|number| Some((*number, cube.run.process(*number)?)));
    cube.run.ranks() == 0 && all().any(|(number, writer)| writer.ppid != 0 && has_reader(number, writer))
}
