//! Findings on the job as a whole, derived from its layers. Findings on single files are in [`super::file_advice`].

use super::dissection::RankRow;
use super::evidence::severity;
use super::file_advice;
use super::in_flight::What;
use super::result::Layers;
use crate::findings::{About, Code, Finding, said};
use crate::shared::ratio::share;
use crate::sum::Sum;
use crate::text::units;
use crate::thresholds::Thresholds;

fn percent(part: u64, whole: u64) -> String {
    format!("{:.0} %", 100.0 * share(part, whole))
}

fn name(row: &RankRow) -> String {
    if row.rank >= 0 { format!("rank {}", row.rank) } else { format!("pid {}", row.pid) }
}

/// Returns all findings, in no particular order.
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
    let mut evidence = vec![format!(
        "{} {} {}, unlocks {}; POSIX reads and writes take {}",
        units::counted(all.inside.locks.calls, "lock call"),
        units::agree(all.inside.locks.calls, "takes", "take"),
        units::duration(all.inside.locks.time_ns),
        units::duration(all.inside.unlocks.time_ns),
        units::duration(all.inside.data().time_ns)
    )];
    let files = found.files.iter().filter(|file| file.locking.calls > 0).take(3);
    evidence.extend(files.map(|file| {
        format!(
            "{}: {}, {} in total",
            file.file,
            units::counted(file.locking.calls, "lock and unlock call"),
            units::duration(file.locking.time_ns)
        )
    }));
    let worst = found.ranks.iter().max_by_key(|row| (row.mpiio.inside.locking().time_ns, std::cmp::Reverse(row.rank)));
    evidence.extend(worst.map(|row| {
        let time_ns = row.mpiio.inside.locking().time_ns;
        format!("most lock time on {}: {}", name(row), units::duration(time_ns))
    }));
    Some(Finding {
        code: Code::LOCK_TIME,
        about: About { calls: Some(locking.calls), time_ns: Some(locking.time_ns), ..About::default() },
        severity: severity(found, locking.time_ns, least),
        title: format!("MPI-IO reads and writes spend {} of their time in file locks", percent(locking.time_ns, all.of.time_ns)).into(),
        evidence: said(evidence),
        cost_ns: Some(locking.time_ns),
        // A single rank cannot benefit from collective writes.
        saving: None, hint: if found.ranks.len() > 1 {
            "set the hint romio_ds_write=disable, or write collectively (romio_cb_write=enable), so that few aggregators write \
             separate regions: MPI-IO locks files for data sieving, atomic mode and the shared file pointer"
        } else {
            "set the hint romio_ds_write=disable: MPI-IO locks files for data sieving, atomic mode and the shared file pointer"
        }
        .into(),
    })
}

fn late(found: &Layers, least: &Thresholds) -> Option<Finding> {
    let all = &found.collectives;
    let first = all.late.first()?;
    if share(all.wait_ns, all.time_ns) < least.arrival_wait_share {
        return None;
    }
    let cost = all.wait_ns.saturating_mul(all.followed_one_in.max(1));
    let those_that_matter = all.late.iter().take(3).filter(|row| share(row.wait_ns, all.wait_ns) >= 0.1);
    let mut evidence: Vec<String> = those_that_matter
        .map(|row| {
            format!(
                "{} on {} arrives last in {} of {}; the other ranks wait {} for this straggler",
                row.process,
                row.node,
                units::count(row.times),
                units::counted(all.followed, "operation"),
                units::duration(row.wait_ns)
            )
        })
        .collect();
    let longest = all.slowest.iter().max_by_key(|row| (row.skew_ns, std::cmp::Reverse(row.start_ns)));
    evidence.extend(longest.filter(|row| row.skew_ns > 0).map(|row| {
        format!(
            "{} number {} on {}: {} arrives {} after the first rank",
            row.op,
            row.number,
            row.file,
            row.last,
            units::duration(row.skew_ns)
        )
    }));
    let whom =
        if share(first.wait_ns, all.wait_ns) >= 0.5 { format!(", mostly {}", first.process) } else { String::new() };
    Some(Finding {
        code: Code::LATE_RANKS,
        about: About { time_ns: Some(all.wait_ns), ..About::default() },
        severity: severity(found, cost, least),
        title: format!("ranks spend {} of the time in collective calls waiting for stragglers{whom}", percent(all.wait_ns, all.time_ns)).into(),
        evidence: said(evidence),
        cost_ns: Some(cost),
        saving: None, hint: "check what the stragglers do between two collective calls (more work, a slow node, I/O of their own), and balance \
               that work: the time is lost before the I/O"
            .into(),
    })
}

fn communication(found: &Layers, least: &Thresholds) -> Option<Finding> {
    let all = &found.collectives;
    let moving = all.storage_ns.saturating_add(all.rest_ns);
    if all.followed == 0 || share(all.rest_ns, moving) < least.communication_share {
        return None;
    }
    let cost = all.rest_of_all_ns.saturating_mul(all.followed_one_in.max(1));
    let evidence = all.slowest.iter().take(3).map(|row| {
        format!(
            "{} number {} on {}: {} of {} in system calls of the busiest process, {}",
            row.op,
            row.number,
            row.file,
            units::duration(row.storage_ns),
            units::duration(row.wall_ns),
            row.busiest
        )
    });
    Some(Finding {
        code: Code::COMMUNICATION,
        about: About { time_ns: Some(all.rest_ns), ..About::default() },
        severity: severity(found, cost, least),
        title: format!(
            "after the last rank arrives, collective calls spend {} of the time outside storage calls",
            percent(all.rest_ns, moving)
        ).into(),
        evidence: said(evidence),
        cost_ns: Some(cost),
        saving: None, hint: "use fewer, larger calls; raise cb_nodes (more aggregators) or cb_buffer_size for fewer rounds; if ranks write \
               large contiguous parts, set romio_cb_write=disable, which avoids the data exchange"
            .into(),
    })
}

fn serial(found: &Layers, least: &Thresholds) -> Option<Finding> {
    let of = |what| found.concurrency.iter().find(|row| row.what == what);
    let (mpiio, posix) = (of(What::Mpiio)?, of(What::Posix)?);
    let alone = posix.shares.first().copied().unwrap_or(0.0);
    let ranks = found.ranks.iter().filter(|row| row.mpiio.of.calls > 0).count() as u64;
    if ranks < least.serial_min_ranks || mpiio.mean < ranks as f64 / 2.0 || alone < least.serial_share {
        return None;
    }
    let aggregators = by_turns(found);
    let alone_ns = (posix.busy_ns as f64 * alone) as u64;
    let waiting = alone_ns.saturating_mul((mpiio.mean as u64).saturating_sub(1)).min(found.job.mpiio_rest_ns);
    Some(Finding {
        code: Code::SERIAL,
        about: About { time_ns: Some(waiting), ..About::default() },
        severity: severity(found, waiting, least),
        title: format!(
            "{}only one POSIX call runs during {:.0} % of POSIX I/O time, while {:.0} ranks are in MPI-IO",
            aggregators.map_or_else(String::new, |count| format!("{} are serialized: ", units::counted(count, "rank"))),
            100.0 * alone,
            mpiio.mean
        ).into(),
        evidence: said([
            format!("POSIX: {} calls in flight on average, {} at most", number(posix.mean), posix.max),
            format!("MPI-IO: {} calls in flight on average, {} at most, on {ranks} ranks", number(mpiio.mean), mpiio.max),
        ]),
        cost_ns: Some(waiting),
        saving: None, hint: if aggregators.is_some() {
            "use larger parts per call, so that each call reaches all aggregators, or let ranks begin at different parts: the data of one moment lie in \
             one aggregator's region; or a lock on the whole file (data sieving, atomic mode) admits one rank at a time"
        } else {
            "use more aggregators (cb_nodes) and a stripe count above 1, avoid locks on the whole file, and do not send all \
               data through one rank: one rank does the work of all"
        }
        .into(),
    })
}

/// Maximum ratio of the slowest rank's time to the mean at which times still count as evenly distributed.
const EVEN: f64 = 1.5;

/// Returns the number of ranks that make system calls inside MPI-IO, if there are several and their times are about equal. If no two of
/// them ever do so at the same time, their calls are serialized although all could work in parallel (aliasing on aggregators).
fn by_turns(found: &Layers) -> Option<u64> {
    let times = || found.ranks.iter().map(|row| row.mpiio.inside.data().time_ns).filter(|ns| *ns > 0);
    let (count, most) = (times().count() as u64, times().max()?);
    let mean = times().sum::<Sum>().get() as f64 / count.max(1) as f64;
    (count > 1 && most as f64 <= mean * EVEN).then_some(count)
}

fn number(value: f64) -> String {
    format!("{value:.1}")
}
