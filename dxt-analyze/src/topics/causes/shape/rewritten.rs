//! Files that are rewritten many times, by one process or, without MPI, by several of a node, such as a state, an index or a log: each time
//! all bytes go to storage, however few have changed.

use crate::cube::reading::renamed::{self, Name};
use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId, Within};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};

/// Rank that rewrites a file, or the processes without MPI on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Rank(ProcessId),
    Node(u32),
}

#[derive(Clone, Debug, Default)]
struct Use {
    files: BTreeSet<FileId>,
    processes: BTreeSet<ProcessId>,
    opens: u64,
    written: u64,
    read: u64,
    until: u64,
}

/// Returns one claim (finding with its saving), about the rewritten file with the largest cost. Files that are renamed to one name are one
/// file: versions of it that are written under temporary names.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let counts = |cell: &Cell| cell.leaf && cube.stream(cell).is_some_and(|stream| stream.within() == Within::Nothing);
    // Without renames, a file's number tells it from others as well as its path.
    let own = |file: FileId| {
        if cube.renamed.is_empty() { Name::from(file.0) } else { renamed::name(cube.run.file_name(file)) }
    };
    // Each rank rewrites a file for itself; a program that is started again and again goes on with the file of the one before.
    let who = |cell: &Cell| {
        let node = cube.run.process(cell.process).map(|process| process.node).filter(|_| cube.run.ranks() == 0);
        node.map_or(By::Rank(cell.process), By::Node)
    };
    // Versions under names of their own are kept.
    let key = |cell: &Cell| match cube.renamed.get(&(cell.process, cell.file)) {
        Some(name) => name.map(|name| (who(cell), name)),
        None => Some((who(cell), own(cell.file))),
    };
    // A process that only reads the file does not rewrite it.
    let mut writers: BTreeSet<(ProcessId, Name)> = BTreeSet::new();
    for cell in cube.cells.iter().filter(|cell| counts(cell) && cell.class == Class::Write) {
        writers.extend(key(cell).map(|(_, name)| (cell.process, name)));
    }
    let writes = |cell: &Cell, name: Name| writers.contains(&(cell.process, name));
    let mut by: BTreeMap<(By, Name), Use> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| counts(cell)) {
        let Some(key) = key(cell).filter(|(_, name)| writes(cell, *name)) else { continue };
        let of = by.entry(key).or_default();
        of.files.insert(cell.file);
        of.processes.insert(cell.process);
        match cell.class {
            Class::Open => add(&mut of.opens, cell.sums.calls),
            Class::Read => add(&mut of.read, cell.sums.bytes),
            Class::Write => {
                add(&mut of.written, cell.sums.bytes);
                of.until = of.until.max(cell.sums.range.1);
            }
            _ => {}
        }
    }
    // Read as often as it is written, and each time as a whole for the most part. (A database is written in places.)
    let is_read = |of: &Use| {
        let (read, written) = (of.read as f64, of.written as f64);
        let each = written / of.opens.max(1) as f64;
        read >= written * thresholds.half_share
            && written >= read * thresholds.half_share
            && each >= of.until as f64 * thresholds.some_share
    };
    by.retain(|_, of| {
        let times = of.written as f64 / of.until.max(1) as f64;
        // Reading all and writing all shows the purpose after fewer rounds.
        of.opens >= if is_read(of) { thresholds.calls_min } else { thresholds.many_calls_min }
            && of.until > 0
            // A large file that is only written may be a checkpoint.
            && (of.until <= thresholds.block_read_bytes || is_read(of))
            && times >= thresholds.far_ratio
    });
    let mut savings: BTreeMap<(By, Name), Savings> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| counts(cell)) {
        let key = key(cell).filter(|(_, name)| writes(cell, *name));
        if let Some((key, of)) = key.and_then(|key| Some((key, by.get(&key)?))) {
            let time_ns = cell.time_ns();
            let stays = 1.0 / of.opens.min(thresholds.many_calls_min) as f64;
            savings.entry(key).or_default().push((index, time_ns * (1.0 - stays)));
        }
    }
    let cost = |of: &Savings| of.iter().map(|(_, ns)| ns).sum::<f64>();
    let ((who, name), savings) = savings.into_iter().max_by(|a, b| cost(&a.1).total_cmp(&cost(&b.1)))?;
    let of = by.get(&(who, name))?;
    let temporary = of.files.iter().filter(|file| own(**file) != name).count() as u64;
    let known = cube.run.numbered_files().map(|(file, _)| file).find(|file| own(*file) == name);
    let name = cube.run.file_name(known.or_else(|| of.files.first().copied())?).to_owned();
    let processes = of.processes.len() as u64;
    let about = About {
        file: Some(name.clone()),
        processes: Some(processes).filter(|&processes| processes > 1),
        calls: Some(of.opens),
        bytes: Some(of.written),
        ..About::default()
    };
    let of = words::Rewritten {
        process: &of.processes.first().map_or_else(String::new, |process| cube.run.process_name(*process)),
        processes,
        file: &name,
        temporary,
        opens: of.opens,
        is_read: is_read(of),
        written: of.written,
        bytes: of.until,
        time_ns: cost(&savings) as u64,
    };
    Some(Claim::new(Finding::new(Code::REWRITTEN, words::rewritten(&of, about)), savings))
}
