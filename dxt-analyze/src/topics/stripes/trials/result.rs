//! Results of the simulated layouts, their cost by a simple model, and the recommendation.
//!
//! The model: a request to a storage target costs as much as the transfer of `request_bytes`; passing a stripe's lock to another node
//! costs as much as the transfer of `handover_bytes`.
//!
//! - Servers: sum over time windows of the cost of the busiest target's bytes and requests; targets work in parallel.
//! - Clients: in each operation, a process waits for the target with most of its bytes; processes work in parallel.
//!
//! The cost is the larger of the two. It serves to rank layouts; it does not predict times.

use super::plan::{Candidate, Plan};
use super::replay::{FileTally, Fit, Replay, Work};
use crate::model::{FileId, FileLayout, Run};
use crate::sum::Sum;
use crate::text::units;
use crate::thresholds::Thresholds;
use serde::Serialize;

/// Simulated layout, and its effect on a file's accesses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// Reason for simulating the layout: `today` (current layout), `asked` (`--what-if`) or `grid` (`--recommend`).
    pub kind: &'static str,
    /// Stripe size in bytes; for a composite current layout, stripe size of its last component in use.
    pub stripe_size: u64,
    /// Stripe count: number of objects of the layout.
    pub stripe_count: u64,
    /// Number of reads and writes that access objects of the layout.
    pub operations: u64,
    /// Number of operations that do not begin and end at stripe boundaries of the layout.
    pub unaligned: u64,
    /// Number of operations that touch more than one stripe of the layout.
    pub crossing: u64,
    /// Number of contested stripes: several processes wrote a part of them, at any time.
    pub contested_stripes: u64,
    /// Number of contested stripes of which several nodes wrote a part.
    pub contested_between_nodes: u64,
    /// Number of writes to contested stripes of which several nodes wrote a part.
    pub writes_contested_between_nodes: u64,
    /// Sampling factor n of the contested counts: one in n stripes was counted, and the counts are multiplied by n.
    pub estimated_times: u64,
    /// Mean number of storage targets that an operation accesses under the layout.
    pub osts_per_operation: f64,
    /// Number of storage targets that got any bytes under the layout.
    pub osts_used: u64,
    /// Bytes on the busiest target / mean bytes over all targets of the layout.
    pub busiest_to_mean: f64,
    /// Mean number of targets that work in parallel: total bytes / sum over time windows of the busiest target's bytes.
    pub parallelism: f64,
    /// Cost of the layout by the model, expressed as the bytes that one storage target could transfer in that time.
    pub cost_bytes: u64,
}

/// Results of all layouts simulated for a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileTrials {
    /// Path of the file whose accesses are simulated.
    pub file: String,
    /// True if the file's current layout is a guess.
    pub is_guess: bool,
    /// Number of processes that read or wrote the file.
    pub processes: u64,
    /// Number of time windows for which the cost on the servers is computed separately.
    pub moments: u64,
    /// Simulated layouts: first the current one, then layouts of `--what-if`, then layouts of `--recommend`.
    pub trials: Vec<Trial>,
    /// Index in `trials` of the best layout; `None` if it gains less than `recommend_gain` over the current one.
    pub recommended: Option<usize>,
    /// Commands and hints by which the user gets the recommended layout.
    pub how: Vec<String>,
}

/// Returns the results of a simulation pass: one per file, each with its layouts.
#[must_use]
pub fn results(
    run: &Run,
    layouts: &[Option<FileLayout>],
    replay: &Replay<'_>,
    tallies: Vec<FileTally>,
    search: bool,
) -> Vec<FileTrials> {
    let plan = replay.plan;
    let one = |(tried, tally): (&super::replay::Tried, FileTally)| {
        let layout = layouts.get(tried.file.index())?.as_ref()?;
        let processes = processes(run, tried.file);
        let main = crate::topics::stripes::layout_part::LayoutPart::of(layout).main_stripe_size();
        let today = Subject { kind: "today", size: main, targets: tried.targets.clone(), processes };
        let mut trials = vec![today.trial(&tally.today.0, &tally.today.1, &run.thresholds)];
        trials.extend(of_plan(plan, &tally, processes, &run.thresholds));
        // A comparison with a guessed current layout would be meaningless.
        let recommended = if search && !layout.is_guess() { recommend(&trials, &run.thresholds) } else { None };
        let how = recommended.and_then(|best| trials.get(best)).map(how).unwrap_or_default();
        Some(FileTrials {
            file: run.file(tried.file)?.name.clone(),
            is_guess: layout.is_guess(),
            processes,
            moments: tried.timeline.bins as u64,
            trials,
            recommended,
            how,
        })
    };
    replay.files.iter().zip(replay.settled(tallies)).filter_map(one).collect()
}

fn of_plan(plan: &Plan, tally: &FileTally, processes: u64, least: &Thresholds) -> Vec<Trial> {
    let mut numbered: Vec<(usize, Trial)> = Vec::new();
    for ((_, numbers), fit) in plan.sizes.iter().zip(&tally.fits) {
        for &number in numbers {
            if let (Some(candidate), Some(work)) = (plan.candidates.get(number), tally.works.get(number)) {
                numbered.push((number, Subject::of(candidate, processes).trial(fit, work, least)));
            }
        }
    }
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, trial)| trial).collect()
}

fn processes(run: &Run, file: FileId) -> u64 {
    let uses =
        |process: &&crate::model::Process| process.streams.iter().any(|stream| stream.storage && stream.file == file);
    run.processes.iter().filter(uses).count() as u64
}

/// Layout whose cost is computed from the data of the simulation pass.
struct Subject {
    kind: &'static str,
    size: u64,
    targets: Vec<u32>,
    processes: u64,
}

impl Subject {
    fn of(candidate: &Candidate, processes: u64) -> Self {
        let kind = if candidate.asked { "asked" } else { "grid" };
        Self { kind, size: candidate.size, targets: candidate.osts.clone(), processes }
    }

    fn trial(&self, fit: &Fit, work: &Work, least: &Thresholds) -> Trial {
        let contested = fit.followed.contested_sums();
        let times = fit.followed.one_in();
        let own = TargetLoad::of(work, &self.targets, least.request_bytes);
        let ratio = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let handovers = contested.writes_between_nodes.saturating_mul(times);
        let parallelism = ratio(own.bytes, own.busiest_bytes_of_moments);
        let servers =
            own.busiest_cost_of_moments as f64 + handovers as f64 * least.handover_bytes as f64 / parallelism.max(1.0);
        let requests = fit.operations.get() as f64 * least.request_bytes as f64;
        let clients = (work.longest.get() as f64 + requests + handovers as f64 * least.handover_bytes as f64)
            / self.processes.max(1) as f64;
        Trial {
            kind: self.kind,
            stripe_size: self.size,
            stripe_count: self.targets.len() as u64,
            operations: fit.operations.get(),
            unaligned: fit.unaligned.get(),
            crossing: fit.crossing.get(),
            contested_stripes: contested.stripes.saturating_mul(times),
            contested_between_nodes: contested.between_nodes.saturating_mul(times),
            writes_contested_between_nodes: handovers,
            estimated_times: times,
            osts_per_operation: ratio(work.touched.get(), fit.operations.get()),
            osts_used: own.used,
            busiest_to_mean: ratio(own.busiest_bytes, own.bytes) * own.targets as f64,
            parallelism,
            cost_bytes: servers.max(clients) as u64,
        }
    }
}

/// Totals of bytes and requests by storage target; several objects on one target are added up.
#[derive(Default)]
struct TargetLoad {
    bytes: u64,
    used: u64,
    targets: u64,
    busiest_bytes: u64,
    busiest_bytes_of_moments: u64,
    busiest_cost_of_moments: u64,
}

impl TargetLoad {
    fn of(work: &Work, osts: &[u32], request_bytes: u64) -> Self {
        let mut targets = osts.to_vec();
        targets.sort_unstable();
        targets.dedup();
        let slots: Vec<usize> = osts.iter().map(|ost| targets.binary_search(ost).unwrap_or(0)).collect();
        let mut out = Self { targets: targets.len() as u64, ..Self::default() };
        let mut totals = vec![0_u64; targets.len()];
        for moment in work.cells.chunks_exact(osts.len().max(1)) {
            let mut now = vec![[0_u64; 2]; targets.len()];
            for (&slot, [bytes, requests]) in slots.iter().zip(moment) {
                if let Some([sum, count]) = now.get_mut(slot) {
                    *sum = sum.saturating_add(*bytes);
                    *count = count.saturating_add(*requests);
                }
            }
            let most =
                |of: fn(&[u64; 2], u64) -> u64| now.iter().map(|cell| of(cell, request_bytes)).max().unwrap_or(0);
            let bytes = most(|cell, _| cell[0]);
            let cost = most(|cell, each| cell[0].saturating_add(cell[1].saturating_mul(each)));
            out.busiest_bytes_of_moments = out.busiest_bytes_of_moments.saturating_add(bytes);
            out.busiest_cost_of_moments = out.busiest_cost_of_moments.saturating_add(cost);
            totals.iter_mut().zip(&now).for_each(|(total, cell)| *total = total.saturating_add(cell[0]));
        }
        out.bytes = totals.iter().sum::<Sum>().get();
        out.used = totals.iter().filter(|&&bytes| bytes > 0).count() as u64;
        out.busiest_bytes = totals.into_iter().max().unwrap_or(0);
        out
    }
}

/// Returns the index of the best layout if cost of the current layout > (1 + `recommend_gain`) × cost of the cheapest; else `None`.
fn recommend(trials: &[Trial], least: &Thresholds) -> Option<usize> {
    let today = trials.first()?;
    let cheapest = trials.iter().map(|trial| trial.cost_bytes).min()?;
    let is_better = today.cost_bytes as f64 > cheapest as f64 * (1.0 + least.recommend_gain);
    if is_better { best(trials, least) } else { None }
}

/// Returns the index of the best layout other than the current one: among layouts that cost at most `recommend_gain` / 5 more than the
/// cheapest, the one with fewest targets, then fewest contested stripes, then the current stripe size, then the smallest stripe size.
/// `None` without accesses or other layouts.
#[must_use]
pub fn best(trials: &[Trial], least: &Thresholds) -> Option<usize> {
    let today = trials.first().filter(|today| today.operations > 0)?;
    let cheapest = trials.iter().skip(1).map(|trial| trial.cost_bytes).min()?;
    let enough = cheapest as f64 * (1.0 + least.recommend_gain / 5.0);
    let close = trials.iter().enumerate().skip(1).filter(|(_, trial)| trial.cost_bytes as f64 <= enough);
    let best = close.min_by_key(|(number, trial)| {
        let keeps_size = trial.stripe_size == today.stripe_size;
        (trial.stripe_count, trial.contested_stripes, !keeps_size, trial.stripe_size, *number)
    });
    best.map(|(number, _)| number)
}

fn how(best: &Trial) -> Vec<String> {
    let (size, count) = (best.stripe_size, best.stripe_count);
    vec![
        format!(
            "lfs setstripe -S {} -c {count} DIR   (for new files in DIR; lfs migrate for old ones)",
            units::size_option(size)
        ),
        format!("MPI-IO: hints striping_unit={size}, striping_factor={count} when the file is created"),
        format!(
            "HDF5: H5Pset_alignment(fapl, {}, {size}), so that data sets begin at stripe boundaries",
            size.min(1 << 20)
        ),
    ]
}
