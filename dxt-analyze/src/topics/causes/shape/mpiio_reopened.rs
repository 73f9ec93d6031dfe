//! Files that ranks open together repeatedly: an MPI-IO open is a synchronization point, and in it each rank queries the file.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId, Within};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;
use trace_format::op::Layer;

/// Opens and closes of one file by one process, through MPI-IO.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    opens: u64,
    /// Time of the process in MPI-IO opens and closes of the file, ns.
    library_ns: f64,
    /// Time in system calls inside the MPI-IO opens and closes of the file, ns.
    inside_ns: f64,
}

/// Returns one claim (finding with its saving), about the file whose repeated MPI-IO opens cost most.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let name = |cell: &Cell| cube.stream(cell).map(|stream| cube.run.op(stream).name.as_str());
    let is = |cell: &Cell| cell.class == Class::Open || name(cell) == Some("close");
    let inside =
        |cell: &Cell| cell.leaf && is(cell) && cube.stream(cell).is_some_and(|stream| stream.within() == Within::Mpiio);
    let mut uses: BTreeMap<(FileId, ProcessId), Use> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| is(cell)) {
        let of = uses.entry((cell.file, cell.process)).or_default();
        if inside(cell) {
            of.inside_ns += cell.time_ns();
        } else if cube.layer(cell) == Some(Layer::Mpiio) {
            add(&mut of.opens, if cell.class == Class::Open { cell.sums.calls } else { 0 });
            of.library_ns += cell.time_ns();
        }
    }
    uses.retain(|_, of| of.opens >= cube.run.thresholds.few_min);
    let mut savings: BTreeMap<FileId, Savings> = BTreeMap::new();
    for (index, cell) in (0_u32..).zip(&cube.cells).filter(|(_, cell)| inside(cell)) {
        if let Some(of) = uses.get(&(cell.file, cell.process)) {
            let time_ns = cell.time_ns();
            savings.entry(cell.file).or_default().push((index, time_ns * (1.0 - 1.0 / of.opens.max(1) as f64)));
        }
    }
    // A straggler waits least: the least time over ranks contains no waiting for it.
    let outside = |file: FileId| {
        let theirs = uses.range((file, ProcessId(0))..=(file, ProcessId::NONE)).map(|(_, of)| of);
        let least = theirs.map(|of| (of.library_ns - of.inside_ns) * (1.0 - 1.0 / of.opens.max(1) as f64));
        least.fold(f64::INFINITY, f64::min).max(0.0)
    };
    // A file that one rank opens alone is no synchronization point.
    let ranks = cube.run.ranks() as usize;
    let opened_by = |file: FileId| uses.range((file, ProcessId(0))..=(file, ProcessId::NONE)).count();
    savings.retain(|file, _| ranks > 1 && opened_by(*file) >= ranks);
    let (file, savings) = savings.into_iter().max_by(|a, b| outside(a.0).total_cmp(&outside(b.0)))?;
    let mine: Vec<&Use> = uses.range((file, ProcessId(0))..=(file, ProcessId::NONE)).map(|(_, of)| of).collect();
    let opens = mine.iter().map(|of| of.opens).max()?;
    let library_ns = mine.iter().map(|of| of.library_ns).sum::<f64>() / mine.len().max(1) as f64;
    let path = cube.run.file_name(file).to_owned();
    let inside_ns: f64 = mine.iter().map(|of| of.inside_ns).sum::<f64>() / mine.len().max(1) as f64;
    let about = About { file: Some(path.clone()), calls: Some(opens), ..About::default() };
    let words = words::reopened_together(&path, (opens, mine.len() as u64), library_ns, inside_ns, about);
    let waiting_ns = outside(file);
    let claim = Claim::new(Finding::new(Code::REPEATED_OPENS, words), savings);
    Some(Claim { waiting_ns, ..claim })
}
