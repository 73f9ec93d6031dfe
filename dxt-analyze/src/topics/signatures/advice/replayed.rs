//! Best stripe size and count for a file, found by replaying its recorded accesses under each candidate: applies the `what-if` of the
//! command `stripes` to the accesses made during one pattern.

use super::StripeRow;
use crate::limits::TRIAL_FILES;
use crate::model::{FileLayout, LayoutOrigin, Run};
use crate::progress::Bar;
use crate::scan::scan;
use crate::thresholds::Thresholds;
use crate::topics::signatures::uses::stripes::{LUSTRE_STEP_BYTES, OnLustre, on_lustre};
use crate::topics::stripes::trials::plan::{Candidate, Plan, grid, known_osts};
use crate::topics::stripes::trials::replay::{Replay, Wanted};
use crate::topics::stripes::trials::result::{Trial, best, results};
pub use crate::words::signatures::facts::Replayed;
use trace_format::layout::Layout;

/// Assumed stripe size in bytes if a file's layout is unknown; no cost is then compared with the assumed layout.
const ANY: u64 = 1 << 20;

/// Adds to each row the best layout by replay of the file's accesses during the row's pattern. Skips rows with one file per process.
pub(super) fn add(run: &Run, rows: &mut [StripeRow]) {
    let mut rows: Vec<&mut StripeRow> = rows.iter_mut().filter(|row| row.is_one_file).take(TRIAL_FILES).collect();
    let Ok(mut layouts) = crate::session::layouts(run, None) else { return };
    let most = rows.iter().map(|row| row.targets).max().unwrap_or(0).min(2000) as u32;
    for row in &rows {
        if let Some(layout) = layouts.get_mut(row.of.index()) {
            let guess = || FileLayout { layout: Layout::plain(ANY, 1, Vec::new()), origin: LayoutOrigin::Guess };
            layout.get_or_insert_with(guess);
        }
    }
    let known = known_osts(&layouts);
    let osts = if known.is_empty() { (0..most).collect() } else { known };
    let plan = Plan::new(candidates(&rows, &osts));
    let wanted = |row: &&mut StripeRow| {
        let operations = row.bytes.checked_div(row.request_bytes).unwrap_or(0);
        Wanted { file: row.of, operations, span: Some((row.start_ns, row.last_start_ns)) }
    };
    let wanted: Vec<Wanted> = rows.iter().map(wanted).collect();
    let replay = Replay::new(run, &layouts, &plan, &wanted);
    if replay.files.len() != rows.len() || plan.candidates.is_empty() {
        return;
    }
    let bar = Bar::new(run.segments(), "other layouts");
    let (tallies, _) = scan(run, &replay, &bar);
    let found = results(run, &layouts, &replay, tallies, true);
    if found.len() != rows.len() {
        return;
    }
    for (row, found) in rows.iter_mut().zip(found) {
        let trial = |at: usize| found.trials.get(at);
        let Some((today, best)) = trial(0).zip(best(&found.trials, &run.thresholds).and_then(trial)) else { continue };
        let is_known = !found.is_guess;
        let of_model = found.trials.iter().filter(|one| one.stripe_size == row.lustre_bytes);
        let costs_of_model = of_model.min_by_key(|one| one.cost_bytes).and_then(|model| share(model, best));
        row.replayed = Some(Replayed {
            costs_of_model,
            why_apart: why_apart(row, today.operations, best.stripe_size, costs_of_model, &run.thresholds),
            operations: today.operations,
            stripe_bytes: best.stripe_size,
            stripe_count: best.stripe_count,
            costs_of_today: is_known.then(|| share(best, today)).flatten(),
            is_better: is_known.then_some(found.recommended.is_some()),
        });
    }
}

/// Returns why the cost model and the replay find best stripe sizes that differ much; empty if they do not differ much. `operations`:
/// number of replayed calls; `replay_bytes`: best stripe size by replay; `costs_of_model`: cost of the model's best size / cost of the
/// best.
fn why_apart(
    row: &StripeRow,
    operations: u64,
    replay_bytes: u64,
    costs_of_model: Option<f64>,
    thresholds: &Thresholds,
) -> &'static str {
    let (model, replay) = (row.lustre_bytes.max(1) as f64, replay_bytes.max(1) as f64);
    if (model / replay).max(replay / model) <= thresholds.stripe_sizes_apart {
        return "";
    }
    let requests = row.bytes.checked_div(row.request_bytes).unwrap_or(0);
    if costs_of_model.is_some_and(|times| times <= 1.0 + thresholds.recommend_gain) {
        "both stripe sizes cost the same in the replay"
    } else if operations > requests {
        "only the replay includes other requests to the file at the same time"
    } else {
        "only the replay considers stripes that ranks share, and the busiest target"
    }
}

/// Returns the cost of one layout / cost of the other, by the model of the replay; `None` if the other cost is 0.
fn share(one: &Trial, other: &Trial) -> Option<f64> {
    (other.cost_bytes > 0).then(|| one.cost_bytes as f64 / other.cost_bytes as f64)
}

/// Returns the layouts to replay: those of `stripes --recommend`, plus the stripe sizes that the cost model recommends, each with all
/// stripe counts.
fn candidates(rows: &[&mut StripeRow], osts: &[u32]) -> Vec<Candidate> {
    let mut all = grid(osts);
    let counts: Vec<Vec<u32>> =
        all.iter().filter(|one| one.size == LUSTRE_STEP_BYTES).map(|one| one.osts.clone()).collect();
    let settable = |size: &u64| on_lustre(*size) == OnLustre::Settable;
    let sizes = rows.iter().flat_map(|row| [row.best_bytes, row.lustre_bytes]).filter(settable);
    let more = |size: u64| counts.iter().map(move |osts| Candidate { size, osts: osts.clone(), asked: false });
    all.extend(sizes.flat_map(more));
    all
}
