//! Processes that were ready but waited for a processor. An interval between two samples of a thread counts if the thread runs or waits for
//! a processor during most of it, or waits for so much of it that the wait is taken out of its calls; in others it waits for something else.
//! The thread that waits most stands for its process. Share = waits / length of its intervals; saving = share x time with such intervals, on
//! the node where that is most. A rank that waits for a processor in a collective MPI call waits for other ranks anyway: as samples do not say
//! when a thread waited, the part of a process's time outside of such calls counts, of its waits as of its intervals.

use crate::cube::Cube;
use crate::findings::{About, Code, Finding};
use crate::model::{Interval, Process};
use crate::shared::ratio::share;
use crate::shared::spans::Spans;
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use crate::topics::causes::claim::Claim;
use crate::words::shape as words;
use std::collections::BTreeMap;

/// Waits of several processes for a processor. Times in ns, of the thread of each process that waits most.
#[derive(Default)]
struct Waits {
    processes: u64,
    waits_ns: u64,
    length_ns: u64,
    taken: u64,
    /// Waits outside of collective MPI calls.
    outside_waits_ns: f64,
    /// Length of the intervals outside of collective MPI calls.
    outside_ns: f64,
    /// Largest part of a waiting process's time outside of collective MPI calls, 0 to 1.
    most_outside: f64,
    spans: Spans,
    /// CPUs on which any of the processes may run, one bit each: empty if unknown for at least one process, `None` without processes.
    cpus: Option<Vec<u8>>,
}

impl Waits {
    /// Returns the waits of one process; `collective_ns`: its time in collective MPI calls.
    fn of(thresholds: &Thresholds, process: &Process, collective_ns: f64) -> Self {
        let mut out = Self::default();
        out.add(thresholds, process, collective_ns);
        out
    }

    fn add(&mut self, thresholds: &Thresholds, process: &Process, collective_ns: f64) {
        let works = |of: &Interval| {
            of.run_ns.saturating_add(of.wait_ns) as f64 >= of.length_ns() as f64 * thresholds.half_share
        };
        let waits = |of: &Interval| of.waiting() >= thresholds.barely_share;
        let wait_of =
            |thread: &[Interval]| thread.iter().filter(|of| waits(of)).map(|of| of.wait_ns).sum::<Sum>().get();
        let counts = |thread: &&[Interval]| thread.iter().any(|of| waits(of) || works(of));
        // Threads that sleep most of the time must not hide the one that waits.
        let Some(thread) = process.cpu.threads().filter(counts).max_by_key(|thread| wait_of(thread)) else { return };
        let mut length_ns = 0_u64;
        for of in thread.iter().filter(|of| waits(of) || works(of)) {
            if waits(of) {
                self.taken = self.taken.saturating_add(of.taken);
            }
            length_ns = length_ns.saturating_add(of.length_ns());
            self.spans.add(of.begin, of.end);
        }
        // Collective calls in which the thread sleeps fill the intervals that do not count.
        let asleep_ns = thread.iter().map(Interval::length_ns).sum::<Sum>().get().saturating_sub(length_ns);
        let waits_ns = wait_of(thread);
        let in_collective = (collective_ns - asleep_ns as f64).max(0.0) / length_ns.max(1) as f64;
        let outside = 1.0 - in_collective.min(1.0);
        self.waits_ns = self.waits_ns.saturating_add(waits_ns);
        self.length_ns = self.length_ns.saturating_add(length_ns);
        self.outside_waits_ns += waits_ns as f64 * outside;
        self.outside_ns += length_ns as f64 * outside;
        if share(waits_ns, length_ns) >= thresholds.cpu_wait_share {
            self.most_outside = self.most_outside.max(outside);
        }
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
        share(self.waits_ns, self.length_ns)
    }

    /// Returns the run time that the processes would save without waits, ns.
    fn saving_ns(self) -> f64 {
        let share = (self.outside_waits_ns / self.outside_ns.max(1.0)).min(1.0);
        share * self.most_outside * self.spans.time().0 as f64
    }
}

/// Returns the claim (finding with its saving) about all processes that wait for a processor for at least `cpu_wait_share` of their time.
#[must_use]
pub fn claim(cube: &Cube<'_>) -> Option<Claim> {
    let thresholds = &cube.run.thresholds;
    // By node: all processes, and true if any of them waits for long.
    let mut nodes: BTreeMap<u32, (Waits, bool)> = BTreeMap::new();
    let mut found = Waits::default();
    for (process, collective_ns) in cube.run.processes.iter().zip(cube.in_collective_calls()) {
        let waits = Waits::of(thresholds, process, collective_ns).share() >= thresholds.cpu_wait_share;
        if waits {
            found.add(thresholds, process, collective_ns);
        }
        let node = nodes.entry(process.node).or_default();
        node.0.add(thresholds, process, collective_ns);
        node.1 |= waits;
    }
    nodes.retain(|_, (_, waits)| *waits);
    let node = nodes.keys().next().filter(|_| nodes.len() == 1).copied();
    let busy_nodes = nodes.len() as u64;
    // Processes of a node that need not wait may have to wait for those that do, and all nodes for the one that is late.
    let saved = nodes.into_values().map(|(of, _)| of.saving_ns()).max_by(f64::total_cmp)?;
    let cpus = found.cpus.iter().flatten().map(|byte| u64::from(byte.count_ones())).sum();
    let about = About {
        processes: Some(found.processes),
        time_ns: Some(found.waits_ns),
        node: node.and_then(|node| cube.run.nodes.get(node as usize)).cloned(),
        ..About::default()
    };
    let words = words::cpu_wait(
        &words::CpuWait {
            processes: found.processes,
            cpus: if node.is_some() { cpus } else { 0 },
            nodes: busy_nodes,
            share: found.share(),
            waits_ns: found.waits_ns,
            length_ns: found.length_ns,
            taken: found.taken,
        },
        about,
    );
    let claim = Claim::new(Finding::new(Code::CPU_WAIT, words), Vec::new());
    Some(Claim { waiting_ns: saved, ..claim })
}

/// Returns the run time for which the ranks or the node of `about`, or else any process, wait for a processor, ns: that of the process that waits
/// longest.
#[must_use]
pub fn of_unit(cube: &Cube<'_>, about: &About) -> f64 {
    let node = about.node.as_ref().filter(|_| about.rank.is_none() && about.ranks.is_empty());
    let is = |(process, _): &(&Process, f64)| {
        let name = cube.run.nodes.get(process.node as usize);
        about.rank.is_none_or(|rank| rank == process.rank)
            && (about.ranks.is_empty() || about.ranks.contains(&process.rank))
            && node.is_none_or(|node| name == Some(node))
    };
    let all = cube.run.processes.iter().zip(cube.in_collective_calls()).filter(is);
    all.map(|(process, ns)| Waits::of(&cube.run.thresholds, process, ns).saving_ns()).fold(0.0, f64::max)
}
