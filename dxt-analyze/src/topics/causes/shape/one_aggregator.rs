//! Collective calls that go through fewer aggregators than possible because the program sets a hint.

use crate::cube::reading::callers::collective_callers;
use crate::cube::{Cell, Cube, weighted_quantile};
use crate::findings::{About, Code};
use crate::model::{Class, FileId, Hint as HintOf, ProcessId};
use crate::replay::Savings;
use crate::shared::totals::add;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::meta::HintOrigin;

/// Hints that set the number of aggregators: MPI's own, and Open MPI's parameter.
const KEYS: [&str; 2] = ["cb_nodes", "io_ompio_num_aggregators"];

/// Returns a claim (finding with its saving) per file whose collective calls go through too few aggregators.
#[must_use]
pub fn claims(cube: &Cube<'_>) -> Vec<Claim> {
    let is = |hint: &&HintOf| hint.origin == HintOrigin::Asked && KEYS.contains(&hint.key.as_str());
    let asked = cube.run.hints.iter().filter(is);
    let count = |hint: &HintOf| hint.value.trim().parse().ok().filter(|count| *count > 0);
    let asked: BTreeMap<FileId, (usize, &str)> =
        asked.filter_map(|hint| Some((hint.file, (count(hint)?, hint.key.as_str())))).collect();
    let callers = collective_callers(cube.run);
    let of = |file: FileId| callers.get(&file);
    asked.into_iter().filter_map(|(file, (count, key))| of_file(cube, file, of(file)?, count, key)).collect()
}

fn of_file(cube: &Cube<'_>, file: FileId, callers: &BTreeSet<ProcessId>, asked: usize, key: &str) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    let data = |cell: &&Cell| cell.file == file && matches!(cell.class, Class::Read | Class::Write);
    let mut moved: BTreeMap<ProcessId, u64> = BTreeMap::new();
    // More aggregators would split a request that one holds: the median request, by bytes, must be larger.
    let mut sizes: Vec<(f64, f64)> = Vec::new();
    for cell in cube.cells.iter().filter(data).filter(|cell| cell.leaf && cell.inside) {
        add(moved.entry(cell.process).or_default(), cell.sums.bytes);
        sizes.push((cell.sums.bytes as f64 / cell.sums.calls.max(1) as f64, cell.sums.bytes as f64));
    }
    if weighted_quantile(&mut sizes, 0.5).is_none_or(|bytes| bytes <= thresholds.half_time_bytes as f64) {
        return None;
    }
    // Writes of HDF5's own metadata do not count.
    let most = moved.values().copied().max().unwrap_or(0);
    let aggregators: BTreeSet<ProcessId> = moved
        .into_iter()
        .filter(|(_, bytes)| *bytes as f64 >= most as f64 * thresholds.minor_share)
        .map(|(process, _)| process)
        .collect();
    let on = callers.iter().filter_map(|process| cube.run.process(*process)).map(|process| process.node);
    let nodes = on.collect::<BTreeSet<u32>>().len();
    // With two or more on a node, it is unknown if more would be faster.
    let enough = if aggregators.len() == 1 { nodes.max(thresholds.few_min as usize) } else { nodes };
    let could = callers.len().min(enough);
    if aggregators.is_empty() || aggregators.len() > asked || could <= aggregators.len() {
        return None;
    }
    let less = 1.0 - aggregators.len() as f64 / could as f64;
    let theirs = (0_u32..).zip(&cube.cells).filter(|(_, cell)| data(cell) && cell.leaf && cell.inside);
    let savings: Savings = theirs.map(|(index, cell)| (index, cell.time_ns() * less)).collect();
    let name = cube.run.file_name(file).to_owned();
    let (aggregators, ranks) = (aggregators.len() as u64, callers.len() as u64);
    let about = About { file: Some(name.clone()), processes: Some(aggregators), ..About::default() };
    let of = words::AskedAggregators { file: &name, aggregators, ranks, key, asked, could };
    Some(Claim::on_files(cube, Code::ASKED_AGGREGATORS, savings, |lost| words::asked_aggregators(&of, about, lost)))
}
