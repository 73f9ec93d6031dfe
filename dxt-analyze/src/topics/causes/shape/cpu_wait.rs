//! Processes that were ready but waited for a processor. Only threads that run or wait for a processor during most of an interval between
//! two samples count; all others wait for something else. Share = waits / length of these intervals; saving = share x time of the run in
//! which there are any.

use crate::cube::Cube;
use crate::findings::{About, Code, Finding};
use crate::model::{Interval, Process};
use crate::thresholds::processor::AT_WORK;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeSet;

/// Waits of several processes for a processor. Times in ns, summed over threads.
#[derive(Default)]
struct Waits {
    processes: u64,
    waits_ns: u64,
    length_ns: u64,
    taken: u64,
    spans: Vec<(u64, u64)>,
    nodes: BTreeSet<u32>,
    /// CPUs on which any of the processes may run; `None` if unknown for at least one process.
    cpus: Option<Vec<u8>>,
}

impl Waits {
    fn add(&mut self, process: &Process) {
        let at_work = |of: &&Interval| (of.run_ns.saturating_add(of.wait_ns)) as f64 >= of.length_ns() as f64 * AT_WORK;
        let before = self.length_ns;
        for of in process.cpu.threads().flatten().filter(at_work) {
            self.waits_ns = self.waits_ns.saturating_add(of.wait_ns);
            self.length_ns = self.length_ns.saturating_add(of.length_ns());
            self.taken = self.taken.saturating_add(of.taken);
            self.spans.push((of.begin, of.end));
        }
        if self.length_ns == before {
            return;
        }
        self.nodes.insert(process.node);
        let theirs = &process.cpu.cpus;
        self.cpus = match self.cpus.take() {
            _ if theirs.is_empty() => Some(Vec::new()),
            None => Some(theirs.clone()),
            Some(mine) if mine.is_empty() => Some(mine),
            Some(mine) => {
                let byte = |of: &[u8], at: usize| of.get(at).copied().unwrap_or(0);
                Some((0..mine.len().max(theirs.len())).map(|at| byte(&mine, at) | byte(theirs, at)).collect())
            }
        };
        self.processes += 1;
    }

    fn share(&self) -> f64 {
        crate::shared::ratio::share(self.waits_ns, self.length_ns)
    }

    /// Returns the length of the union of all intervals, ns.
    fn covered_ns(&mut self) -> u64 {
        self.spans.sort_unstable();
        let (mut covered, mut until) = (0_u64, 0_u64);
        for &(begin, end) in &self.spans {
            covered = covered.saturating_add(end.saturating_sub(begin.max(until)));
            until = until.max(end);
        }
        covered
    }
}

/// Returns the claim (finding with its saving) about all processes that wait for a processor for at least `cpu_wait_share` of their time.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let least = cube.run.thresholds.cpu_wait_share;
    let (mut found, mut all) = (Waits::default(), Waits::default());
    for process in &cube.run.processes {
        let mut alone = Waits::default();
        alone.add(process);
        all.add(process);
        if alone.share() >= least {
            found.add(process);
        }
    }
    // Processes that need not wait may have to wait for those that do.
    if found.processes == 0 || all.share() < least {
        return None;
    }
    let cpus = found.cpus.iter().flatten().map(|byte| u64::from(byte.count_ones())).sum();
    let saved = all.share() * all.covered_ns() as f64;
    let about = About { processes: Some(found.processes), time_ns: Some(found.waits_ns), ..About::default() };
    let one_node = found.nodes.len() == 1;
    let node = found.nodes.first().filter(|_| one_node).and_then(|node| cube.run.nodes.get(*node as usize)).cloned();
    let words = words::cpu_wait(
        &words::CpuWait {
            processes: found.processes,
            cpus: if one_node { cpus } else { 0 },
            nodes: found.nodes.len() as u64,
            share: found.share(),
            waits_ns: found.waits_ns,
            length_ns: found.length_ns,
            taken: found.taken,
        },
        About { node, ..about },
    );
    let claim = Claim::new(Finding::new(Code::CPU_WAIT, words), Vec::new());
    Some(Claim { waiting_ns: saved, ..claim })
}
