//! Findings on the I/O of single files, with advice on what to change.

use super::amplification::FileRow;
use super::buffering::BufferingRow;
use super::evidence::costing;
use super::result::Layers;
use super::rounds::RoundsRow;
use crate::findings::{About, Code, Finding, first_few};
use crate::shared::layer_calls::Form;
use crate::shared::ratio::share;
use crate::thresholds::Thresholds;
use crate::words::layers::file::{self as words, Collective, Independent, Moved, Rounds, Sieved, Sizes};

/// Maximum number of files per finding code that get findings of their own; further files are only counted.
const PER_CODE: usize = 5;

/// Returns the findings on files, grouped by code, in the order of the files' time, largest first.
pub(super) fn findings(found: &Layers, least: &Thresholds) -> Vec<Finding> {
    let mut out = Vec::new();
    listed(&mut out, &found.files, |file| sieving(found, file, least));
    listed(&mut out, &found.files, |file| independent(found, file, least));
    listed(&mut out, &found.collective_files, |file| unbuffered(found, file, least));
    listed(&mut out, &found.collective_files, |file| aggregators(found, file, least));
    listed(&mut out, &found.rounds, |row| Some(buffer_size(found, row, least)));
    out
}

/// Adds the findings that `of` returns for the first few rows, and the number of further rows with a finding.
fn listed<T>(out: &mut Vec<Finding>, rows: &[T], of: impl Fn(&T) -> Option<Finding>) {
    let all: Vec<Finding> = rows.iter().filter_map(of).collect();
    out.extend(first_few(all, PER_CODE, words::more));
}

fn sieving(found: &Layers, file: &FileRow, least: &Thresholds) -> Option<Finding> {
    let writes = file.write_amplification.unwrap_or(0.0);
    let reads = file.read_amplification.unwrap_or(0.0);
    if writes.max(reads) < least.sieving_amplification {
        return None;
    }
    // Cost per direction: share of the time that is spent on bytes in excess of those requested.
    let extra = |time_ns: u64, ratio: f64| if ratio > 1.0 { (time_ns as f64 * (1.0 - 1.0 / ratio)) as u64 } else { 0 };
    let for_writes = file.posix_writes.time_ns.saturating_add(file.reads_in_writes.time_ns);
    let for_reads = file.posix_reads.time_ns.saturating_sub(file.reads_in_writes.time_ns);
    let cost = extra(for_writes, writes).saturating_add(extra(for_reads, reads));
    let moved = |times: f64, requested_bytes, posix_bytes| {
        (times >= least.sieving_amplification).then_some(Moved { times, requested_bytes, posix_bytes })
    };
    let read_back = file.reads_in_writes;
    let words = words::sieving(&Sieved {
        file: &file.file,
        processes: file.processes,
        is_collective: file.is_collective(),
        writes: moved(writes, file.mpiio_writes.bytes, file.posix_writes.bytes),
        reads: moved(reads, file.mpiio_reads.bytes, file.posix_reads.bytes.saturating_sub(read_back.bytes)),
        read_back: (read_back.calls, read_back.bytes, read_back.time_ns),
    });
    Some(costing(found, least, cost, Finding::new(Code::SIEVING, words)))
}

/// Returns the facts about collective calls for sentences, and the subject of findings about them.
fn collective(file: &BufferingRow) -> (Collective<'_>, About) {
    let of = Collective {
        file: &file.file,
        op: file.op,
        aggregators: file.aggregators.iter().map(|row| row.process.as_str()).collect(),
        processes: file.processes,
        nodes: file.nodes,
        hints: &file.hints,
    };
    (of, About { operation: Some(file.op.into()), file: Some(file.file.clone()), ..About::default() })
}

fn aggregators(found: &Layers, file: &BufferingRow, least: &Thresholds) -> Option<Finding> {
    let count = file.aggregators.len() as u64;
    if !file.buffered || count == 0 || file.with_bytes < 2 {
        return None;
    }
    let wanted = file.stripe_count.map_or(file.nodes, |stripes| stripes.min(file.processes)).max(1);
    let busiest = file.aggregators.iter().map(|row| row.data.time_ns).max().unwrap_or(0);
    let finding = || {
        let (of, about) = collective(file);
        Finding::new(Code::AGGREGATORS, words::aggregators(&of, file.stripe_count, wanted)).with(about)
    };
    // With fewer aggregators than could work in parallel, more aggregators shorten the busiest one's time by at most this share.
    if count < wanted && busiest > 0 {
        let saved = (busiest as f64 * (1.0 - count as f64 / wanted as f64)) as u64;
        let cost = saved.saturating_mul(file.processes);
        let storage = share(busiest.saturating_mul(file.processes), file.made.of.time_ns);
        return (storage >= least.storage_share).then(|| costing(found, least, cost, finding()));
    }
    (count > file.stripe_count?.saturating_mul(2) && file.op == "write").then(finding)
}

/// Minimum number of requests per collective call for which merging pays. With one request, collective buffering only passes data through
/// other ranks, without a known gain.
const SEVERAL: u64 = 2;

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
    let cost = (data.calls >= calls.saturating_mul(SEVERAL)).then_some(data.time_ns);
    // Only buffering makes requests shorter than the contiguous regions of a rank's call: the buffers of many aggregators cut calls up.
    let cut = file.mean_request_bytes.saturating_mul(SEVERAL) <= file.mean_call_bytes;
    let aggregators = file.stripe_count.filter(|count| *count > 1).unwrap_or(file.nodes).max(1);
    let wanted = (cut && file.aggregators.len() as u64 >= aggregators.saturating_mul(SEVERAL)).then_some(aggregators);
    let requests = Sizes { calls: data.calls, mean_bytes: file.mean_request_bytes };
    let calls = Sizes { calls, mean_bytes: file.mean_call_bytes };
    let (of, about) = collective(file);
    let words = words::no_buffering(&of, &calls, &requests, wanted);
    Some(costing(found, least, cost, Finding::new(Code::NO_BUFFERING, words).with(about)))
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
    let words = words::independent(&Independent {
        file: &file.file,
        processes: file.processes,
        calls: file.independent.calls,
        mean_bytes: mean,
        mean_ns: cost.checked_div(file.independent.calls).unwrap_or(0),
        collective: file.collective_calls,
        all,
    });
    Some(costing(found, least, cost, Finding::new(Code::INDEPENDENT, words)))
}

fn buffer_size(found: &Layers, row: &RoundsRow, least: &Thresholds) -> Finding {
    let data = row.made.inside.data();
    let is_collective = row.form == Form::Collective;
    let words = words::buffer_size(&Rounds {
        file: &row.file,
        op: row.op,
        is_collective,
        hint: row.hint,
        buffer_bytes: row.buffer_bytes,
        wanted_bytes: row.wanted_bytes,
        rounds: row.rounds,
        requests: Sizes { calls: data.calls, mean_bytes: data.bytes.checked_div(data.calls).unwrap_or(0) },
        movers: row.movers,
        rest_ns: row.made.rest_ns().saturating_add(row.made.inside.locking().time_ns),
        // All processes spend equal times in a collective call.
        each_ns: row.cost_ns.checked_div(row.processes),
    });
    let code = if is_collective { Code::BUFFER_SIZE } else { Code::SIEVING_BLOCK };
    costing(found, least, row.cost_ns, Finding::new(code, words))
}
