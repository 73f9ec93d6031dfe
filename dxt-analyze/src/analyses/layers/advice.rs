//! What to change, from what the layers show.

use super::amplification::FileRow;
use super::buffering::BufferingRow;
use super::concurrency::What;
use super::dissection::RankRow;
use super::report::Layers;
use crate::findings::{Code, Finding, Severity};
use crate::render::units;
use crate::thresholds::Thresholds;

/// Findings of one code that are given; the rest is counted.
const PER_CODE: usize = 5;

fn share(part: u64, whole: u64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.0} %", 100.0 * share(part, whole))
}

fn name(row: &RankRow) -> String {
    if row.rank >= 0 { format!("rank {}", row.rank) } else { format!("pid {}", row.pid) }
}

/// All findings, in no order.
#[must_use]
pub fn findings(found: &Layers, least: &Thresholds) -> Vec<Finding> {
    let mut out = Vec::new();
    out.extend(locks(found, least));
    out.extend(late(found, least));
    out.extend(communication(found, least));
    out.extend(serial(found, least));
    listed(&mut out, &found.files, |file| sieving(found, file, least));
    listed(&mut out, &found.files, |file| independent(found, file, least));
    listed(&mut out, &found.collective_files, |file| unbuffered(found, file, least));
    listed(&mut out, &found.collective_files, |file| aggregators(found, file, least));
    out
}

/// Adds the findings of the first few rows that have one, and says how many more have.
fn listed<T>(out: &mut Vec<Finding>, rows: &[T], of: impl Fn(&T) -> Option<Finding>) {
    let mut all: Vec<Finding> = rows.iter().filter_map(of).collect();
    let more = all.len().saturating_sub(PER_CODE);
    all.truncate(PER_CODE);
    if let (Some(last), true) = (all.last_mut(), more > 0) {
        last.evidence.push(format!("and {more} more files"));
    }
    out.extend(all);
}

fn severity(found: &Layers, cost_ns: u64, least: &Thresholds) -> Severity {
    Severity::of_cost(cost_ns, found.job.mpiio.of.time_ns, least)
}

fn locks(found: &Layers, least: &Thresholds) -> Option<Finding> {
    let (all, locking) = (&found.job.mpiio, found.job.mpiio.inside.locking());
    if locking.calls == 0 || share(locking.time_ns, all.of.time_ns) < least.lock_share {
        return None;
    }
    let mut evidence = vec![format!(
        "{} locks taken in {} and given back in {}, against {} in POSIX reads and writes",
        units::count(all.inside.locks.calls),
        units::duration(all.inside.locks.time_ns),
        units::duration(all.inside.unlocks.time_ns),
        units::duration(all.inside.data().time_ns)
    )];
    let files = found.files.iter().filter(|file| file.locking.calls > 0).take(3);
    evidence.extend(files.map(|file| {
        format!(
            "{}: {} lock calls, {}",
            file.file,
            units::count(file.locking.calls),
            units::duration(file.locking.time_ns)
        )
    }));
    let worst = found.ranks.iter().max_by_key(|row| (row.mpiio.inside.locking().time_ns, std::cmp::Reverse(row.rank)));
    evidence.extend(worst.map(|row| {
        let time_ns = row.mpiio.inside.locking().time_ns;
        format!("most on {}: {} in locks", name(row), units::duration(time_ns))
    }));
    Some(Finding {
        code: Code::LockTime,
        severity: severity(found, locking.time_ns, least),
        title: format!("{} of the time in MPI-IO's reads and writes goes into file locks", percent(locking.time_ns, all.of.time_ns)),
        evidence,
        cost_ns: Some(locking.time_ns),
        hint: "locks protect data sieving, atomic mode and the shared file pointer: set the hint romio_ds_write=disable, or \
               write collectively (romio_cb_write=enable), so that few aggregators write regions of their own"
            .into(),
    })
}

fn sieving(found: &Layers, file: &FileRow, least: &Thresholds) -> Option<Finding> {
    let writes = file.write_amplification.unwrap_or(0.0);
    let reads = file.read_amplification.unwrap_or(0.0);
    if writes.max(reads) < least.sieving_amplification {
        return None;
    }
    // Of each side, the part of the time that goes with the bytes beyond those asked for.
    let extra = |time_ns: u64, ratio: f64| if ratio > 1.0 { (time_ns as f64 * (1.0 - 1.0 / ratio)) as u64 } else { 0 };
    let for_writes = file.posix_writes.time_ns.saturating_add(file.reads_in_writes.time_ns);
    let for_reads = file.posix_reads.time_ns.saturating_sub(file.reads_in_writes.time_ns);
    let cost = extra(for_writes, writes).saturating_add(extra(for_reads, reads));
    let mut evidence = Vec::new();
    if writes >= least.sieving_amplification {
        evidence.push(format!(
            "{} asked of MPI-IO to write; POSIX wrote {} and read {} for it",
            units::bytes(file.mpiio_writes.bytes),
            units::bytes(file.posix_writes.bytes),
            units::bytes(file.reads_in_writes.bytes)
        ));
    }
    if reads >= least.sieving_amplification {
        evidence.push(format!(
            "{} asked of MPI-IO to read; POSIX read {} for it",
            units::bytes(file.mpiio_reads.bytes),
            units::bytes(file.posix_reads.bytes.saturating_sub(file.reads_in_writes.bytes))
        ));
    }
    let hint = if writes >= least.sieving_amplification {
        "many small pieces per call: write them with a collective call (MPI_File_write_all with a file view), or set the \
         hint romio_ds_write=disable if the pieces are few and large"
    } else {
        "many small pieces per call: read them with a collective call (MPI_File_read_all with a file view), or set the hint \
         romio_ds_read=disable if the pieces are few and large"
    };
    Some(Finding {
        code: Code::Sieving,
        severity: severity(found, cost, least),
        title: format!(
            "data sieving moves {:.1} times the bytes that were asked for on {}",
            writes.max(reads),
            file.file
        ),
        evidence,
        cost_ns: Some(cost),
        hint: hint.into(),
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
                "{} on {} came last in {} of {} operations; the others waited {} for it",
                row.process,
                row.node,
                units::count(row.times),
                units::count(all.followed),
                units::duration(row.wait_ns)
            )
        })
        .collect();
    let longest = all.slowest.iter().max_by_key(|row| (row.skew_ns, std::cmp::Reverse(row.start_ns)));
    evidence.extend(longest.filter(|row| row.skew_ns > 0).map(|row| {
        format!(
            "{} number {} on {}: {} came {} after the first",
            row.op,
            row.number,
            row.file,
            row.last,
            units::duration(row.skew_ns)
        )
    }));
    let whom = if share(first.wait_ns, all.wait_ns) >= 0.5 {
        format!(", mostly for {}", first.process)
    } else {
        String::new()
    };
    Some(Finding {
        code: Code::LateRanks,
        severity: severity(found, cost, least),
        title: format!("{} of the time in collective calls is waiting for ranks that come late{whom}", percent(all.wait_ns, all.time_ns)),
        evidence,
        cost_ns: Some(cost),
        hint: "the time is lost before the I/O: see what the late rank does between two calls (more work than the others, a \
               slow node, I/O of its own) and balance that"
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
            "{} number {} on {}: {} of {} in system calls of the busiest, {}",
            row.op,
            row.number,
            row.file,
            units::duration(row.storage_ns),
            units::duration(row.wall_ns),
            row.busiest
        )
    });
    Some(Finding {
        code: Code::Communication,
        severity: severity(found, cost, least),
        title: format!(
            "collective calls spend {} of their time, once all ranks have come, in communication",
            percent(all.rest_ns, moving)
        ),
        evidence: evidence.collect(),
        cost_ns: Some(cost),
        hint: "larger calls, fewer of them; more aggregators (cb_nodes) or a larger cb_buffer_size make fewer rounds; ranks \
               that write large contiguous parts need no exchange (romio_cb_write=disable)"
            .into(),
    })
}

fn aggregators(found: &Layers, file: &BufferingRow, least: &Thresholds) -> Option<Finding> {
    let count = file.aggregators.len() as u64;
    if !file.buffered || count == 0 || file.with_bytes < 2 {
        return None;
    }
    let names: Vec<&str> = file.aggregators.iter().take(8).map(|row| row.process.as_str()).collect();
    let more = if count > 8 { format!(" and {} more", count - 8) } else { String::new() };
    let mut evidence =
        vec![format!("{count} of {} ranks on {} nodes: {}{more}", file.processes, file.nodes, names.join(", "))];
    if !file.hints.is_empty() {
        let hints: Vec<String> = file.hints.iter().map(|(key, value)| format!("{key}={value}")).collect();
        evidence.push(format!("hints in effect: {}", hints.join(" ")));
    }
    let wanted = file.stripe_count.map_or(file.nodes, |stripes| stripes.min(file.processes)).max(1);
    let busiest = file.aggregators.iter().map(|row| row.data.time_ns).max().unwrap_or(0);
    // With fewer aggregators than could work at once, the busiest one's time shrinks by that much at best.
    if count < wanted && busiest > 0 {
        let saved = (busiest as f64 * (1.0 - count as f64 / wanted as f64)) as u64;
        let cost = saved.saturating_mul(file.processes);
        let storage = share(busiest.saturating_mul(file.processes), file.made.of.time_ns);
        if storage < least.storage_share {
            return None;
        }
        return Some(Finding {
            code: Code::Aggregators,
            severity: severity(found, cost, least),
            title: format!(
                "{count} aggregators for {wanted} {} on {}",
                if file.stripe_count.is_some() { "stripes" } else { "nodes" },
                file.file
            ),
            evidence,
            cost_ns: Some(cost),
            hint: format!(
                "all ranks wait for the aggregators' system calls: set the hint cb_nodes={wanted} (with Open MPI's own \
                 component: the parameter io_ompio_num_aggregators)"
            ),
        });
    }
    let stripes = file.stripe_count?;
    (count > stripes.saturating_mul(2) && file.op == "write").then(|| Finding {
        code: Code::Aggregators,
        severity: Severity::Info,
        title: format!("{count} aggregators write the {stripes} stripes of {}", file.file),
        evidence,
        cost_ns: None,
        hint: format!(
            "aggregators that share a storage target pass its locks around: set cb_nodes={stripes}, or stripe wider"
        ),
    })
}

fn unbuffered(found: &Layers, file: &BufferingRow, least: &Thresholds) -> Option<Finding> {
    let data = file.made.inside.data();
    let calls = file.made.of.calls;
    if file.buffered
        || file.with_bytes < 2
        || data.calls < calls
        || file.mean_request_bytes >= least.small_request_bytes
    {
        return None;
    }
    let cost = data.time_ns;
    let mut evidence = vec![format!(
        "{} collective calls of {} on average became {} system calls of {} on average, by {} of {} ranks",
        units::count(calls),
        units::bytes(file.mean_call_bytes),
        units::count(data.calls),
        units::bytes(file.mean_request_bytes),
        file.aggregators.len(),
        file.processes
    )];
    if !file.hints.is_empty() {
        let hints: Vec<String> = file.hints.iter().map(|(key, value)| format!("{key}={value}")).collect();
        evidence.push(format!("hints in effect: {}", hints.join(" ")));
    }
    let key = if file.op == "write" { "romio_cb_write" } else { "romio_cb_read" };
    Some(Finding {
        code: Code::NoBuffering,
        severity: severity(found, cost, least),
        title: format!(
            "collective {}s on {} are not buffered: each rank makes its own small requests",
            file.op, file.file
        ),
        evidence,
        cost_ns: Some(cost),
        hint: format!("set the hint {key}=enable, so that aggregators put the pieces of all ranks together"),
    })
}

fn independent(found: &Layers, file: &FileRow, least: &Thresholds) -> Option<Finding> {
    let all = file.independent.calls.saturating_add(file.collective_calls);
    let mean = file.independent.bytes.checked_div(file.independent.calls).unwrap_or(0);
    if file.processes < 2
        || all <= least.independent_min_operations
        || share(file.collective_calls, all) >= least.collective_share
        || mean >= least.small_request_bytes
    {
        return None;
    }
    let cost = file.independent.time_ns;
    Some(Finding {
        code: Code::Independent,
        severity: severity(found, cost, least),
        title: format!(
            "{} small independent calls of {} ranks on the shared file {}",
            units::count(file.independent.calls),
            file.processes,
            file.file
        ),
        evidence: vec![format!(
            "{} of {} blocking calls are collective; an independent one moves {} on average and takes {}",
            units::count(file.collective_calls),
            units::count(all),
            units::bytes(mean),
            units::duration(cost.checked_div(file.independent.calls).unwrap_or(0))
        )],
        cost_ns: Some(cost),
        hint: "let all ranks call MPI_File_write_all or MPI_File_read_all with a file view (HDF5: H5FD_MPIO_COLLECTIVE in the \
               transfer property list): aggregators then make few large requests"
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
    let alone_ns = (posix.busy_ns as f64 * alone) as u64;
    let waiting = alone_ns.saturating_mul((mpiio.mean as u64).saturating_sub(1)).min(found.job.mpiio_rest_ns);
    Some(Finding {
        code: Code::Serial,
        severity: severity(found, waiting, least),
        title: format!(
            "one POSIX call at a time for {:.0} % of the time in POSIX reads and writes, while {:.0} ranks are in MPI-IO",
            100.0 * alone,
            mpiio.mean
        ),
        evidence: vec![
            format!("POSIX: {} in flight on average, {} at most", number(posix.mean), posix.max),
            format!("MPI-IO: {} in flight on average, {} at most, of {ranks} ranks", number(mpiio.mean), mpiio.max),
        ],
        cost_ns: Some(waiting),
        hint: "one rank does the work of all: more aggregators (cb_nodes), a stripe count above 1, no lock on the whole file, \
               and no funnelling of data through one rank"
            .into(),
    })
}

fn number(value: f64) -> String {
    format!("{value:.1}")
}
