//! What units are called.

use super::grid::Grid;
use super::slow::unit::Unit;
use crate::findings::About;
use crate::text::units as show;
use std::collections::BTreeSet;

/// What a unit is called, what its like are, and what it is in a form for programs.
pub fn named(grid: &Grid<'_>, unit: Unit) -> (String, &'static str, About) {
    let (run, slots) = (grid.run, &grid.slots);
    match unit {
        Unit::Target(ost) => (format!("OST {ost}"), "other OSTs", About { ost: Some(ost), ..About::default() }),
        Unit::Node(node) => {
            let name = run.nodes.get(node as usize).cloned().unwrap_or_default();
            // What a process leaves after its trace is written is a second one of the same.
            let here = run.processes.iter().filter(|process| process.node == node);
            let each: BTreeSet<(i64, u32)> = here.map(|process| (i64::from(process.rank), process.pid)).collect();
            let ranks: BTreeSet<i64> = each.iter().map(|(rank, _)| *rank).filter(|rank| *rank >= 0).collect();
            let ranks = if ranks.is_empty() { each.len() } else { ranks.len() };
            (
                format!("node {name} ({})", show::counted(ranks as u64, "process")),
                "other nodes",
                About { node: Some(name), ..About::default() },
            )
        }
        Unit::Process(number) => {
            let process = run.process(number);
            let rank = process.map(|process| process.rank).filter(|&rank| rank >= 0);
            let node = process.map(|process| run.node(process).to_owned());
            let others = if rank.is_some() { "other ranks" } else { "other processes" };
            (run.process_name(number), others, About { rank, node, ..About::default() })
        }
        Unit::Folder(folder) => {
            let name = grid.folders.name(folder).to_owned();
            (format!("files in {name}"), "files in other folders", About { file: Some(name), ..About::default() })
        }
        Unit::File(file) => {
            let name = run.file_name(file).to_owned();
            (format!("file {name}"), "other files", About { file: Some(name), ..About::default() })
        }
        Unit::Region(region) => {
            let name = run.file_name(region.file).to_owned();
            let range = grid.regions.range(region).unwrap_or_default();
            (
                format!("{} of {name} at offset {}", show::bytes(range.1 - range.0), show::bytes(range.0)),
                "other parts of the file",
                About { file: Some(name), offset: Some(range.0), bytes: Some(range.1 - range.0), ..About::default() },
            )
        }
        Unit::Moment(from, until) => {
            let from = slots.begin(usize::from(from)).unwrap_or_default();
            let until = slots.begin(usize::from(until) + 1).unwrap_or_else(|| super::reading::phases::length(run));
            let name = format!("from {} to {}", show::moment(from), show::moment(until));
            (name, "at other times", About { span_ns: Some((from, until)), ..About::default() })
        }
    }
}
