//! Names of units (ranks, nodes, storage targets, time windows, files), for sentences and as subjects of findings.

use crate::cube::Cube;
use crate::effects::unit::Unit;
use crate::findings::About;
use crate::words::units::Subject;
use std::collections::BTreeSet;

/// Returns a unit (rank, node, target, ...) as the subject of a sentence, and as the fields of a finding that name it.
pub(super) fn named(cube: &Cube<'_>, unit: Unit) -> (Subject, About) {
    let (run, slots) = (cube.run, &cube.slots);
    let on_file = |name: &str| About { file: Some(name.to_owned()), ..About::default() };
    match unit {
        Unit::Target(ost) => (Subject::Target(ost), About { ost: Some(ost), ..About::default() }),
        Unit::Node(node) => {
            let name = run.nodes.get(node as usize).cloned().unwrap_or_default();
            // A process that continues after its trace is written has a second cell: count it once.
            let here = run.processes.iter().filter(|process| process.node == node);
            let each: BTreeSet<(i64, u32)> = here.map(|process| (i64::from(process.rank), process.pid)).collect();
            let ranks: BTreeSet<i64> = each.iter().map(|(rank, _)| *rank).filter(|rank| *rank >= 0).collect();
            let processes = if ranks.is_empty() { each.len() } else { ranks.len() } as u64;
            (Subject::Node { name: name.clone(), processes }, About { node: Some(name), ..About::default() })
        }
        Unit::Process(number) => {
            let process = run.process(number);
            let rank = process.map(|process| process.rank).filter(|&rank| rank >= 0);
            let node = process.map(|process| run.node(process).to_owned());
            let subject = Subject::Process { name: run.process_name(number), is_rank: rank.is_some() };
            (subject, About { rank, node, ..About::default() })
        }
        Unit::Folder(folder) => {
            let name = cube.folders.name(folder);
            (Subject::Folder(name.to_owned()), on_file(name))
        }
        Unit::File(file) => {
            let name = run.file_name(file);
            (Subject::File(name.to_owned()), on_file(name))
        }
        Unit::Region(region) => {
            let file = run.file_name(region.file).to_owned();
            let (offset, end) = cube.regions.range(region).unwrap_or_default();
            let length = end - offset;
            let about = About { offset: Some(offset), bytes: Some(length), ..on_file(&file) };
            (Subject::Region { file, offset, length }, about)
        }
        Unit::Moment(from, until) => {
            let from = slots.begin(usize::from(from)).unwrap_or_default();
            let until = slots.begin(usize::from(until) + 1).unwrap_or_else(|| run.length_ns());
            (Subject::Span(from, until), About { span_ns: Some((from, until)), ..About::default() })
        }
    }
}
