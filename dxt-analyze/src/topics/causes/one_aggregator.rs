//! Collective calls that all go through fewer processes than there are, since a hint of the program says so.

use super::claim::{Claim, files, finding};
use super::class::Class;
use super::grid::{Entry, Grid};
use super::replay::Shortened;
use crate::findings::{About, Code, Evidence};
use crate::model::{FileId, ProcessId};
use crate::text::units as show;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::meta::HintOrigin;

/// Aggregators that would do at least, where more nodes than that do not say so.
const ENOUGH: usize = 4;

/// One for each file.
#[must_use]
pub fn claims(grid: &Grid<'_>) -> Vec<Claim> {
    let asked = grid.run.hints.iter().filter(|hint| hint.origin == HintOrigin::Asked && hint.key == "cb_nodes");
    let asked: BTreeMap<FileId, usize> =
        asked.filter_map(|hint| Some((hint.file, hint.value.trim().parse().ok()?))).collect();
    asked.into_iter().filter_map(|(file, count)| of_file(grid, file, count)).collect()
}

fn of_file(grid: &Grid<'_>, file: FileId, asked: usize) -> Option<Claim> {
    let data = |entry: &&Entry| entry.file == file && matches!(entry.class, Class::Read | Class::Write);
    let who = |is: &dyn Fn(&Entry) -> bool| -> BTreeSet<ProcessId> {
        grid.entries.iter().filter(data).filter(|entry| is(entry)).map(|entry| entry.process).collect()
    };
    let callers = who(&|entry| entry.collective && !entry.inside);
    let aggregators = who(&|entry| entry.leaf && entry.inside);
    let on = callers.iter().filter_map(|process| grid.run.process(*process)).map(|process| process.node);
    let nodes = on.collect::<BTreeSet<u32>>().len();
    // Of a node with two or more nobody knows whether more would do better.
    let enough = if aggregators.len() == 1 { nodes.max(ENOUGH) } else { nodes };
    let could = callers.len().min(enough);
    if aggregators.is_empty() || aggregators.len() > asked || could <= aggregators.len() {
        return None;
    }
    let less = 1.0 - aggregators.len() as f64 / could as f64;
    let theirs = (0_u32..).zip(&grid.entries).filter(|(_, entry)| data(entry) && entry.leaf && entry.inside);
    let shortened: Shortened = theirs.map(|(index, entry)| (index, entry.left_ns * less)).collect();
    let name = grid.run.file_name(file).to_owned();
    let title = format!(
        "{} for the collective calls of {} on {name}: the hint cb_nodes={asked} asks for no more",
        show::counted(aggregators.len() as u64, "aggregator"),
        show::counted(callers.len() as u64, "rank")
    );
    let about = About { file: Some(name), ..About::default() };
    let words = format!("what they read and write one after another, {could} would do at the same time");
    let hint = format!(
        "set cb_nodes={could}, and on a single node cb_config_list=*:{could}, or leave both hints out: the default is one aggregator per node"
    );
    let evidence = std::iter::once(Evidence::of(words, about)).chain(files(grid, &shortened)).collect();
    Some(Claim::new(finding(Code::ASKED_AGGREGATORS, title, evidence, &hint), shortened))
}
