//! Errors for selections that match nothing in a run: the message lists what can be selected.

use super::run::{Process, Run};
use super::select::{Selection, overlaps};
use crate::exit::UsageError;
use crate::text::{layers::layer, units};
use std::collections::BTreeSet;
use trace_format::op::Layer;

const SHOWN: usize = 3;

impl Run {
    /// Checks that each option of `selection` matches something in the run.
    ///
    /// # Errors
    /// Fails with the name of the option that matches nothing, and the alternatives. A run without any data never fails.
    pub fn check_for(&self, selection: &Selection) -> Result<(), UsageError> {
        let said = |option: &str| {
            let words = selection.words.iter().find(|(name, _)| *name == option);
            words.map_or_else(|| option.to_owned(), |(name, value)| format!("{name} {value}"))
        };
        let none = |option: &str, there: String| Err(UsageError(format!("{} selects nothing: {there}", said(option))));
        if !self.processes.is_empty() && !self.processes.iter().any(|process| selection.has_rank(process.rank)) {
            return none("--ranks", self.which_ranks());
        }
        if !self.files.is_empty() && !self.files.iter().any(|file| selection.has_file(&file.name)) {
            return none("--files", self.which_files());
        }
        let layers = self.layers();
        if !layers.is_empty() && !layers.iter().any(|layer| selection.has_layer(Some(*layer))) {
            let names: Vec<&str> = layers.iter().map(|layer| layer.name()).collect();
            return none("--layer", format!("the calls are of {}", layer(&names.join(", "))));
        }
        if let Some(window) = selection.window {
            let all = || self.processes.iter().flat_map(spans);
            let bounds = all().map(|(start, _)| start).min().zip(all().map(|(_, end)| end).max());
            if let Some((first, last)) = bounds.filter(|_| !all().any(|(start, end)| overlaps(start, end, window))) {
                let seconds = |ns: u64| ns as f64 / 1e9;
                return none("--time", format!("calls are recorded from {} s to {} s", seconds(first), seconds(last)));
            }
        }
        Ok(())
    }

    fn which_ranks(&self) -> String {
        let ranks: BTreeSet<i32> =
            self.processes.iter().map(|process| process.rank).filter(|rank| *rank >= 0).collect();
        match (ranks.first(), ranks.last()) {
            (Some(first), Some(last)) if first == last => format!("there is rank {first} only"),
            (Some(first), Some(last)) => {
                format!("there are {} from {first} to {last}", units::counted(ranks.len() as u64, "rank"))
            }
            _ if self.reduced_ranks() > 0 || self.info.mpi.as_ref().is_some_and(|mpi| mpi.ranks > 0) => {
                let what = if self.was_log() { "log" } else { "trace" };
                format!("the {what} has sums over all ranks, not single ranks")
            }
            _ => "no process has a rank".to_owned(),
        }
    }

    fn which_files(&self) -> String {
        let names: Vec<&str> = self.files.iter().map(|file| file.name.as_str()).take(SHOWN).collect();
        let more = self.files.len().saturating_sub(names.len());
        let more = if more == 0 { String::new() } else { format!(" and {} more", units::count(more as u64)) };
        format!(
            "there are {}{more} (`dxt-analyze summary` lists the files that matter; quote wildcards)",
            names.join(", ")
        )
    }

    fn layers(&self) -> BTreeSet<Layer> {
        let mut layers = BTreeSet::new();
        for process in &self.processes {
            let ops = process.streams.iter().filter_map(|stream| self.ops.get(usize::from(stream.op)));
            layers.extend(ops.filter_map(|op| op.layer).filter(|layer| layer.is_io()));
            layers.extend(process.profiles.iter().map(|def| def.layer));
            layers.extend(process.whole.iter().map(|def| def.layer));
        }
        layers
    }
}

/// Returns the time intervals in which the process was active, in ns since the job's start.
fn spans(process: &Process) -> impl Iterator<Item = (u64, u64)> + '_ {
    let blocks = process.blocks.iter().map(|block| (block.head.min_start, block.head.max_end));
    let missing = process.missing.iter().map(|missing| (missing.counters.first_start, missing.counters.last_end));
    let shift = process.shift_ns;
    blocks.chain(missing).map(move |(start, end)| (start.saturating_add(shift), end.saturating_add(shift)))
}
