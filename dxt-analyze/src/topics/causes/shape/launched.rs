//! Programs that are started again and again, by a script or a workflow, each time for a little work: every process opens, queries and reads
//! the same files.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, Process, ProcessId};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::OpClass;

/// Returns one claim (finding with its saving) per program that is started repeatedly.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    if cube.run.ranks() > 0 {
        return Vec::new();
    }
    let mut programs: BTreeMap<(u32, &str), Program<'_>> = BTreeMap::new();
    for (number, process) in cube.run.numbered_processes().filter(|(_, process)| !process.exe.is_empty()) {
        programs.entry((process.node, process.exe.as_str())).or_default().started.push((number, process));
    }
    programs.retain(|_, of| of.started.len() as u64 >= cube.run.thresholds.more_calls_min);
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| cell.leaf) {
        let Some(process) = cube.run.process(cell.process) else { continue };
        if let Some(of) = programs.get_mut(&(process.node, process.exe.as_str())) {
            of.cells.push((index, cell));
        }
    }
    programs.iter().filter_map(|((_, exe), of)| of_program(cube, exe, of)).collect()
}

/// Processes of one program on one node, and their calls that reach the kernel.
#[derive(Default)]
struct Program<'c> {
    started: Vec<(ProcessId, &'c Process)>,
    cells: Vec<(u32, &'c Cell)>,
}

/// Calls of one program's processes on a file.
#[derive(Debug, Default)]
struct Use {
    processes: BTreeSet<ProcessId>,
    read: u64,
    /// End of the last byte that is read; 0 if unknown.
    until: u64,
    is_written: bool,
}

fn of_program(cube: &Cube<'_>, exe: &str, program: &Program<'_>) -> Option<Claim> {
    let (thresholds, count) = (&cube.run.thresholds, program.started.len() as u64);
    let life_ns = program.started.iter().map(|(_, process)| process.life_ns()).fold(0, u64::saturating_add);
    // Workers of a pool are started once.
    if cube.run.are_together(program.started.iter().map(|(_, process)| *process)) {
        return None;
    }
    let mut uses: BTreeMap<FileId, Use> = BTreeMap::new();
    for (_, cell) in &program.cells {
        let of = uses.entry(cell.file).or_default();
        of.processes.insert(cell.process);
        of.is_written |= cell.class == Class::Write;
        if cell.class == Class::Read {
            add(&mut of.read, cell.sums.bytes);
            of.until = of.until.max(cell.sums.range.1);
        }
    }
    uses.retain(|_, of| of.processes.len() as f64 >= count as f64 * thresholds.half_share);
    let mut savings = Savings::new();
    for (index, cell) in &program.cells {
        let part = uses.get(&cell.file).map_or(0.0, |file| again(cube, cell, file));
        if part > 0.0 {
            savings.push((*index, cell.time_ns() * part));
        }
    }
    let again_ns: f64 = savings.iter().map(|(_, ns)| ns).sum();
    // No process takes less time than its start, apart from its own calls.
    let mut own: BTreeMap<ProcessId, f64> = BTreeMap::new();
    for (_, cell) in &program.cells {
        *own.entry(cell.process).or_default() += cell.time_ns();
    }
    for (index, ns) in &savings {
        if let Some(cell) = cube.cells.get(*index as usize) {
            *own.entry(cell.process).or_default() -= ns;
        }
    }
    let start = |(number, process): &(ProcessId, &Process)| {
        process.life_ns().saturating_sub(own.get(number).copied().unwrap_or_default() as u64)
    };
    let start_ns = program.started.iter().map(start).min()?.min(thresholds.start_ns);
    let at_once = (life_ns as f64 / cube.run.length_ns().max(1) as f64).max(1.0);
    let starts_ns = start_ns as f64 * count.saturating_sub(1) as f64;
    let of = words::Launched { program: exe, processes: count, files: uses.len() as u64, life_ns, again_ns, start_ns };
    let about = About { processes: Some(count), ..About::default() };
    let claim = Claim::new(Finding::new(Code::LAUNCHED, words::launched(&of, about)), savings);
    let waiting_ns = (starts_ns - again_ns).max(0.0) / at_once;
    (again_ns > 0.0).then_some(Claim { waiting_ns, ..claim })
}

/// Returns the part of a cell's time (similar calls of one process) that a single process for all work would not need: all but one of the
/// processes open, close and query the file, and read bytes again.
fn again(cube: &Cube<'_>, cell: &Cell, file: &Use) -> f64 {
    let class = cube.stream(cell).and_then(|stream| cube.run.op(stream).class);
    match class {
        Some(OpClass::Open | OpClass::Close | OpClass::Seek | OpClass::Metadata) => {
            1.0 - 1.0 / file.processes.len() as f64
        }
        Some(OpClass::Read) if !file.is_written && file.until > 0 => 1.0 - file.until as f64 / file.read.max(1) as f64,
        _ => 0.0,
    }
    .max(0.0)
}
