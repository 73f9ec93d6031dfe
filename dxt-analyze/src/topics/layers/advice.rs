//! Findings on the whole job from the breakdown of its layers. Findings on single files are in [`super::file_advice`].

use super::dissection::RankRow;
use super::evidence::costing;
use super::file_advice;
use super::in_flight::What;
use super::result::Layers;
use crate::findings::{About, Code, Finding};
use crate::limits::NAMED_EXAMPLES;
use crate::shared::ratio::share;
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use crate::words::layers::{self as words, Depth, Locks};

fn name(row: &RankRow) -> String {
    if row.rank >= 0 { format!("rank {}", row.rank) } else { format!("pid {}", row.pid) }
}

/// Returns all findings on the job's layers, in no particular order.
#[must_use]
pub fn findings(found: &Layers, least: &Thresholds) -> Vec<Finding> {
    let mut out = Vec::new();
    out.extend(locks(found, least));
    out.extend(late(found, least));
    out.extend(communication(found, least));
    out.extend(serial(found, least));
    out.extend(file_advice::findings(found, least));
    out
}

fn locks(found: &Layers, least: &Thresholds) -> Option<Finding> {
    let (all, locking) = (&found.job.mpiio, found.job.mpiio.inside.locking());
    if locking.calls == 0 || share(locking.time_ns, all.of.time_ns) < least.lock_share {
        return None;
    }
    let worst = found.ranks.iter().max_by_key(|row| (row.mpiio.inside.locking().time_ns, std::cmp::Reverse(row.rank)));
    let files = found.files.iter().filter(|file| file.locking.calls > 0).take(NAMED_EXAMPLES);
    let words = words::lock_time(&Locks {
        calls: all.inside.locks.calls,
        lock_ns: all.inside.locks.time_ns,
        unlock_ns: all.inside.unlocks.time_ns,
        data_ns: all.inside.data().time_ns,
        share: share(locking.time_ns, all.of.time_ns),
        files: files.map(|file| (file.file.as_str(), file.locking.calls, file.locking.time_ns)).collect(),
        worst: worst.map(|row| (name(row), row.mpiio.inside.locking().time_ns)),
        is_alone: found.ranks.len() <= 1,
    });
    let about = About { calls: Some(locking.calls), time_ns: Some(locking.time_ns), ..About::default() };
    Some(costing(found, least, locking.time_ns, Finding::new(Code::LOCK_TIME, words).with(about)))
}

fn late(found: &Layers, least: &Thresholds) -> Option<Finding> {
    let all = &found.collectives;
    let first = all.late.first()?;
    if share(all.wait_ns, all.time_ns) < least.arrival_wait_share {
        return None;
    }
    let cost = all.wait_ns.saturating_mul(all.followed_one_in.max(1));
    let those_that_matter = all.late.iter().take(NAMED_EXAMPLES).filter(|row| share(row.wait_ns, all.wait_ns) >= 0.1);
    let longest = all.slowest.iter().max_by_key(|row| (row.skew_ns, std::cmp::Reverse(row.start_ns)));
    let longest = longest.filter(|row| row.skew_ns > 0);
    let mostly = (share(first.wait_ns, all.wait_ns) >= 0.5).then_some(first.process.as_str());
    let waits = share(all.wait_ns, all.time_ns);
    let words = words::late_ranks(waits, all.followed, mostly, those_that_matter, longest);
    Some(costing(found, least, cost, Finding::new(Code::LATE_RANKS, words).with(time(all.wait_ns))))
}

fn time(ns: u64) -> About {
    About { time_ns: Some(ns), ..About::default() }
}

fn communication(found: &Layers, least: &Thresholds) -> Option<Finding> {
    let all = &found.collectives;
    let moving = all.storage_ns.saturating_add(all.rest_ns);
    if all.followed == 0 || share(all.rest_ns, moving) < least.communication_share {
        return None;
    }
    let cost = all.rest_of_all_ns.saturating_mul(all.followed_one_in.max(1));
    let words = words::communication(share(all.rest_ns, moving), &all.slowest);
    Some(costing(found, least, cost, Finding::new(Code::COMMUNICATION, words).with(time(all.rest_ns))))
}

fn serial(found: &Layers, least: &Thresholds) -> Option<Finding> {
    let of = |what| found.concurrency.iter().find(|row| row.what == what);
    let (mpiio, posix) = (of(What::Mpiio)?, of(What::Posix)?);
    let alone = posix.shares.first().copied().unwrap_or(0.0);
    let ranks = found.ranks.iter().filter(|row| row.mpiio.of.calls > 0).count() as u64;
    if ranks < least.serial_min_ranks || mpiio.mean < ranks as f64 / 2.0 || alone < least.serial_share {
        return None;
    }
    let alone_ns = (posix.busy_ns as f64 * alone) as u64;
    let waiting = alone_ns.saturating_mul((mpiio.mean as u64).saturating_sub(1)).min(found.job.mpiio_rest_ns);
    let [in_posix, in_mpiio] = [posix, mpiio].map(|of| Depth { mean: of.mean, max: of.max });
    let words = words::serial(by_turns(found), alone, ranks, &in_posix, &in_mpiio);
    Some(costing(found, least, waiting, Finding::new(Code::SERIAL, words).with(time(waiting))))
}

/// Maximum ratio of the slowest rank's time to the mean at which the ranks' times count as even.
const EVEN: f64 = 1.5;

/// Returns the number of ranks that make system calls inside MPI-IO, if there are several with about equal times; else `None`. If no two of
/// these ranks ever do so at the same time, their calls are serialized although all could work in parallel (aliasing on aggregators).
fn by_turns(found: &Layers) -> Option<u64> {
    let times = || found.ranks.iter().map(|row| row.mpiio.inside.data().time_ns).filter(|ns| *ns > 0);
    let (count, most) = (times().count() as u64, times().max()?);
    let mean = times().sum::<Sum>().get() as f64 / count.max(1) as f64;
    (count > 1 && most as f64 <= mean * EVEN).then_some(count)
}
