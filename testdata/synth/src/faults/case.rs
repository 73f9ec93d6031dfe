//! Case: a simulated job with its faults. The cost of a fault is known from simulating the job with and without the fault.

use super::change::Change;
use super::engine::{Outcome, run};
use super::injected::Fault;
use super::job::Job;
use super::log;
use super::truth::{Injected, Truth};
use std::path::Path;

pub(super) struct Case {
    pub(super) name: String,
    /// True if the case (simulated job) is on the short list of cases (option `--short`).
    pub(super) short: bool,
    pub(super) job: Job,
    pub(super) faults: Vec<Fault>,
    /// True if the faults cost so little that the job counts as healthy.
    pub(super) negligible: bool,
}

impl Case {
    pub(super) fn new(name: &str, job: Job, faults: impl IntoIterator<Item = Fault>) -> Self {
        Self { name: name.into(), short: false, job, faults: faults.into_iter().collect(), negligible: false }
    }

    pub(super) fn short(self) -> Self {
        Self { short: true, ..self }
    }

    /// Returns the job with all faults except fault number `left_out`.
    pub(super) fn without(&self, left_out: Option<usize>) -> Job {
        let mut job = self.job.clone();
        for (_, fault) in self.faults.iter().enumerate().filter(|(place, _)| Some(*place) != left_out) {
            (fault.inject)(&mut job);
        }
        job
    }

    /// Changes the job and writes the trace to `folder`; returns the true costs of the faults.
    pub(super) fn write(&mut self, folder: &Path, change: &Change) -> anyhow::Result<Truth> {
        self.faults.truncate(change.faults);
        self.job.ranks *= change.ranks;
        self.job.nodes *= change.ranks;
        self.job.aggregators *= change.ranks;
        let (job, outcome, truth) = self.truth();
        log::write(&job, &outcome, &folder.join(&truth.log), change)?;
        Ok(truth)
    }

    /// Simulates the job with all faults, without faults, and without each single fault. Returns the faulty job, its result, and the true costs.
    pub(super) fn truth(&mut self) -> (Job, Outcome, Truth) {
        let undisturbed = run(&self.job).run_ns;
        self.job.undisturbed_ns = undisturbed as f64;
        let job = self.without(None);
        let outcome = run(&job);
        let more = |than: u64| outcome.run_ns.saturating_sub(than);
        let each = |place: usize| {
            if self.faults.len() == 1 { undisturbed } else { run(&self.without(Some(place))).run_ns }
        };
        let injected = |(place, fault): (usize, &Fault)| Injected {
            cause: fault.cause.clone(),
            truth_ns: more(each(place)),
            right: fault.right.clone(),
        };
        let mut faults: Vec<Injected> = self.faults.iter().enumerate().map(injected).collect();
        if self.negligible {
            faults.clear();
        }
        faults.sort_by_key(|fault| std::cmp::Reverse(fault.truth_ns));
        let truth_ns = if faults.is_empty() { 0 } else { more(undisturbed) };
        let truth = Truth {
            name: self.name.clone(),
            log: format!("{}.dxt", self.name),
            short: self.short,
            barriers: job.shown,
            options: Vec::new(),
            run_ns: outcome.run_ns,
            truth_ns,
            faults,
        };
        (job, outcome, truth)
    }
}
