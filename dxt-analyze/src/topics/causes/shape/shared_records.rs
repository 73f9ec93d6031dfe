//! Files with one record for several ranks: Darshan logs, and traces with counters only, contain the slowest rank and the spread over
//! ranks, but not each rank's share. If one rank spends far longer in system calls than the mean over the file's ranks, the others wait for
//! it.

use crate::findings::{About, Code, Finding};
use crate::model::{FileId, Run, Within};
use crate::topics::causes::claim::Claim;
use crate::topics::checks::file_calls::is_collective;
use crate::words::shape::{self as words, Role};
use rustc_hash::FxHashSet;
use trace_format::op::Layer;
use trace_format::spread::Spread;

/// A file of several ranks on which one rank takes far longer than the mean.
#[derive(Clone, Debug)]
pub struct Apart<'a> {
    /// File with one record for several ranks, as an index into [`Run::files`].
    pub file: FileId,
    /// True if the calls on the file are made inside MPI-IO.
    pub inside: bool,
    /// True if ranks make collective MPI-IO calls on the file: few of them then move the bytes of all.
    pub collective: bool,
    /// Statistics over the file's ranks: slowest and fastest rank, means and variances of time and bytes.
    pub spread: &'a Spread,
}

impl Apart<'_> {
    /// Returns the time of the slowest rank in system calls on the file, and the mean over ranks, ns.
    #[must_use]
    pub fn times(&self) -> (f64, f64) {
        (self.spread.slowest.time_ns as f64, self.spread.time_ns.mean)
    }

    /// Returns the part of the file's bytes that the slowest rank moves.
    #[must_use]
    pub fn part(&self) -> f64 {
        let all = self.spread.bytes.mean * f64::from(self.spread.ranks);
        self.spread.slowest.bytes as f64 / all.max(1.0)
    }

    /// True if the slowest rank's time follows from its bytes, as that of one of several aggregators of collective calls: its time per byte is
    /// less than `ratio` times the mean.
    fn is_by_bytes(&self, ratio: f64) -> bool {
        let (slowest, mean) = self.times();
        slowest * self.spread.bytes.mean < ratio * mean * self.spread.slowest.bytes as f64
    }
}

/// Returns all files on which one rank takes far longer, separately for POSIX and C streams.
#[must_use]
pub fn apart(run: &Run) -> Vec<Apart<'_>> {
    let mut out = Vec::new();
    for process in run.processes.iter().filter(|process| !process.reduction.is_none()) {
        let (mut inside, mut collective) = (FxHashSet::default(), FxHashSet::default());
        for stream in &process.streams {
            let op = run.op(stream);
            if stream.within() > Within::Nothing {
                inside.insert((stream.file, op.layer));
            }
            if op.layer == Some(Layer::Mpiio) && op.is_data() && is_collective(op.mode, &op.name) {
                collective.insert(stream.file);
            }
        }
        for def in process.reduction.spreads.iter().filter(|def| matches!(def.layer, Layer::Posix | Layer::Stdio)) {
            let file = FileId(def.file);
            let inside = inside.contains(&(file, Some(def.layer)));
            let apart = Apart { file, inside, collective: collective.contains(&file), spread: &def.spread };
            let (slowest, mean) = apart.times();
            if u64::from(def.spread.ranks) >= run.thresholds.several_min
                && slowest >= mean * run.thresholds.double_ratio
            {
                out.push(apart);
            }
        }
    }
    out
}

/// Returns the largest excess of a rank's time in system calls inside MPI-IO over the mean, ns: summed over the files on which that rank is
/// slowest.
#[must_use]
pub fn beyond_mean_inside(run: &Run) -> f64 {
    let mut by: std::collections::BTreeMap<u32, f64> = std::collections::BTreeMap::new();
    for apart in apart(run).iter().filter(|apart| apart.inside) {
        let (slowest, mean) = apart.times();
        *by.entry(apart.spread.slowest.rank).or_default() += slowest - mean;
    }
    by.values().copied().fold(0.0, f64::max)
}

/// Returns one claim (finding with its saving) per file on which one rank takes far longer: the others wait for it.
#[must_use]
pub fn claims(run: &Run) -> Vec<Claim> {
    let least = &run.thresholds;
    let is_aggregator = |apart: &Apart<'_>| {
        apart.inside
            && apart.collective
            && apart.part() < least.nearly_all_share
            && apart.is_by_bytes(least.double_ratio)
    };
    apart(run).iter().filter(|apart| !is_aggregator(apart)).map(|apart| claim(run, apart)).collect()
}

fn claim(run: &Run, apart: &Apart<'_>) -> Claim {
    let (slowest, mean) = apart.times();
    let rank = apart.spread.slowest.rank;
    let name = run.file_name(apart.file).to_owned();
    let about = About {
        rank: i32::try_from(rank).ok(),
        file: Some(name.clone()),
        bytes: Some(apart.spread.slowest.bytes),
        time_ns: Some(slowest as u64),
        ..About::default()
    };
    let (code, role, waiting_ns) = match (apart.part() >= run.thresholds.nearly_all_share, apart.inside) {
        // The geometric mean of the savings with two aggregators and with many.
        (true, true) => {
            (Code::AGGREGATORS, Role::Aggregator, slowest * (0.5 * (1.0 - 1.0 / run.thresholds.far_ratio)).sqrt())
        }
        (true, false) => (Code::ONE_RANK, Role::Mover, slowest - mean),
        (false, _) => (Code::TIME_IMBALANCE, Role::Slow, slowest - mean),
    };
    let of = words::Slowest {
        rank,
        role,
        file: &name,
        inside: apart.inside,
        users: u64::from(apart.spread.ranks),
        ranks: run.ranks(),
        bytes: apart.spread.slowest.bytes,
        part: apart.part(),
        time_ns: slowest,
        mean_bytes: apart.spread.bytes.mean as u64,
        mean_ns: mean,
    };
    let finding = Finding::new(code, words::slowest(&of, about));
    Claim { waiting_ns, outside_ns: waiting_ns, ..Claim::new(finding, Vec::new()) }
}
