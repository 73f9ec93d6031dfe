//! Findings on the I/O of single files, with advice on what to change.

use super::amplification::FileRow;
use super::buffering::BufferingRow;
use super::evidence::severity;
use super::parts::Form;
use super::result::Layers;
use super::rounds::RoundsRow;
use crate::findings::{About, Code, Evidence, Finding, Severity, first_few};
use crate::shared::ratio::share;
use crate::text::units;
use crate::thresholds::Thresholds;

/// Maximum number of files per finding code that get a finding of their own; further files are only counted.
const PER_CODE: usize = 5;

/// Returns the findings on files, per kind of finding sorted by time, largest first.
pub(super) fn findings(found: &Layers, least: &Thresholds) -> Vec<Finding> {
    let mut out = Vec::new();
    listed(&mut out, &found.files, |file| sieving(found, file, least));
    listed(&mut out, &found.files, |file| independent(found, file, least));
    listed(&mut out, &found.collective_files, |file| unbuffered(found, file, least));
    listed(&mut out, &found.collective_files, |file| aggregators(found, file, least));
    listed(&mut out, &found.rounds, |row| Some(buffer_size(found, row, least)));
    out
}

fn of_file(name: &str) -> About {
    About { file: Some(name.to_owned()), ..About::default() }
}

/// Returns sentences as evidence that refers to `file`.
fn on(file: &str, sentences: impl IntoIterator<Item = String>) -> Vec<Evidence> {
    let about = of_file(file);
    sentences.into_iter().map(|words| Evidence::of(words, about.clone())).collect()
}

/// Adds the findings of `of` for the first few rows that have one, and the number of further rows that have one.
fn listed<T>(out: &mut Vec<Finding>, rows: &[T], of: impl Fn(&T) -> Option<Finding>) {
    let all: Vec<Finding> = rows.iter().filter_map(of).collect();
    out.extend(first_few(all, PER_CODE, |more| {
        format!("and {more} more {}", units::agree(more as u64, "file", "files"))
    }));
}

fn sieving(found: &Layers, file: &FileRow, least: &Thresholds) -> Option<Finding> {
    let writes = file.write_amplification.unwrap_or(0.0);
    let reads = file.read_amplification.unwrap_or(0.0);
    if writes.max(reads) < least.sieving_amplification {
        return None;
    }
    // Per direction: the share of the time that is spent on bytes in excess of those requested.
    let extra = |time_ns: u64, ratio: f64| if ratio > 1.0 { (time_ns as f64 * (1.0 - 1.0 / ratio)) as u64 } else { 0 };
    let for_writes = file.posix_writes.time_ns.saturating_add(file.reads_in_writes.time_ns);
    let for_reads = file.posix_reads.time_ns.saturating_sub(file.reads_in_writes.time_ns);
    let cost = extra(for_writes, writes).saturating_add(extra(for_reads, reads));
    let mut evidence = Vec::new();
    if writes >= least.sieving_amplification {
        evidence.push(format!(
            "MPI-IO writes of {} cause POSIX writes of {} and POSIX reads of {} ({}, {})",
            units::bytes(file.mpiio_writes.bytes),
            units::bytes(file.posix_writes.bytes),
            units::bytes(file.reads_in_writes.bytes),
            units::counted(file.reads_in_writes.calls, "read"),
            units::duration(file.reads_in_writes.time_ns)
        ));
    }
    if reads >= least.sieving_amplification {
        evidence.push(format!(
            "MPI-IO reads of {} cause POSIX reads of {}",
            units::bytes(file.mpiio_reads.bytes),
            units::bytes(file.posix_reads.bytes.saturating_sub(file.reads_in_writes.bytes))
        ));
    }
    let of_writes = writes >= least.sieving_amplification;
    let hint = match (of_writes, file.processes) {
        (true, 2..) if file.is_collective() => {
            "store data that are written together without gaps, let one collective call cover several variables, or, if the pieces \
             are few and large, disable data sieving (on Lustre: romio_lustre_ds_in_coll=disable): the ranks' pieces of a \
             collective call leave gaps, which the aggregators read and write back"
        }
        // A single process has no peers for a collective call.
        (true, 0 | 1) => {
            "gather the small pieces of a call in memory and write them without gaps, or, if the pieces are few and large, set \
             the hint romio_ds_write=disable"
        }
        (false, 0 | 1) => {
            "read the small pieces of a call with their gaps and extract them in memory, or, if the pieces are few and large, set \
             the hint romio_ds_read=disable"
        }
        (true, _) => {
            "write the small pieces with a collective call (MPI_File_write_all with a file view), or, if the pieces are few and \
             large, set the hint romio_ds_write=disable"
        }
        (false, _) => {
            "read the small pieces with a collective call (MPI_File_read_all with a file view), or, if the pieces are few and \
             large, set the hint romio_ds_read=disable"
        }
    };
    Some(Finding {
        code: Code::SIEVING,
        about: of_file(&file.file),
        severity: severity(found, cost, least),
        title: if of_writes && file.is_collective() {
            format!("collective writes with gaps move {writes:.1} times the requested bytes on {}", file.file).into()
        } else {
            format!("data sieving moves {:.1} times the requested bytes on {}", writes.max(reads), file.file).into()
        },
        evidence: on(&file.file, evidence),
        cost_ns: Some(cost),
        saving: None,
        hint: hint.into(),
    })
}

fn aggregators(found: &Layers, file: &BufferingRow, least: &Thresholds) -> Option<Finding> {
    let count = file.aggregators.len() as u64;
    if !file.buffered || count == 0 || file.with_bytes < 2 {
        return None;
    }
    let names: Vec<&str> = file.aggregators.iter().take(8).map(|row| row.process.as_str()).collect();
    let more = if count > 8 { format!(" and {} more", count - 8) } else { String::new() };
    let mut evidence = vec![format!(
        "aggregators: {count} of {} {} on {} ({}{more})",
        file.processes,
        units::agree(file.processes, "rank", "ranks"),
        units::counted(file.nodes, "node"),
        names.join(", ")
    )];
    if !file.hints.is_empty() {
        let hints: Vec<String> = file.hints.iter().map(|(key, value)| format!("{key}={value}")).collect();
        evidence.push(format!("hints in effect: {}", hints.join(" ")));
    }
    let wanted = file.stripe_count.map_or(file.nodes, |stripes| stripes.min(file.processes)).max(1);
    let busiest = file.aggregators.iter().map(|row| row.data.time_ns).max().unwrap_or(0);
    // With fewer aggregators than could work in parallel, more of them shorten the busiest one's time by at most this share.
    if count < wanted && busiest > 0 {
        let saved = (busiest as f64 * (1.0 - count as f64 / wanted as f64)) as u64;
        let cost = saved.saturating_mul(file.processes);
        let storage = share(busiest.saturating_mul(file.processes), file.made.of.time_ns);
        if storage < least.storage_share {
            return None;
        }
        // ROMIO's default is one aggregator per node.
        let each = wanted.div_ceil(file.nodes.max(1));
        let list = if each > 1 { format!(" and cb_config_list=*:{each}") } else { String::new() };
        return Some(Finding {
            code: Code::AGGREGATORS,
            about: About { operation: Some(file.op.into()), ..of_file(&file.file) },
            severity: severity(found, cost, least),
            title: format!(
                "collective calls on {} use {} for {}",
                file.file,
                units::counted(count, "aggregator"),
                units::counted(wanted, if file.stripe_count.is_some() { "stripe" } else { "node" })
            )
            .into(),
            evidence: on(&file.file, evidence),
            cost_ns: Some(cost),
            saving: None,
            hint: format!(
                "set the hint cb_nodes={wanted}{list} (with Open MPI's own component: the parameter io_ompio_num_aggregators): \
                 all ranks wait for the aggregators' system calls"
            ),
        });
    }
    let stripes = file.stripe_count?;
    (count > stripes.saturating_mul(2) && file.op == "write").then(|| Finding {
        code: Code::AGGREGATORS,
        about: About { operation: Some(file.op.into()), ..of_file(&file.file) },
        severity: Severity::Info,
        title: format!(
            "{count} aggregators write the {} of {}, more than 2 per stripe",
            units::counted(stripes, "stripe"),
            file.file
        )
        .into(),
        evidence: on(&file.file, evidence),
        cost_ns: None,
        saving: None,
        hint: format!(
            "set cb_nodes={stripes}, or use more stripes: aggregators that share a storage target exchange its locks"
        ),
    })
}

/// Minimum number of requests per collective call from which merging pays. With one request, collective buffering only passes data through
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
    let mut evidence = vec![format!(
        "{} of {} on average became {} of {} on average, by {} of {} {}",
        units::counted(calls, "collective call"),
        units::bytes(file.mean_call_bytes),
        units::counted(data.calls, "system call"),
        units::bytes(file.mean_request_bytes),
        file.aggregators.len(),
        file.processes,
        units::agree(file.processes, "rank", "ranks")
    )];
    if !file.hints.is_empty() {
        let hints: Vec<String> = file.hints.iter().map(|(key, value)| format!("{key}={value}")).collect();
        evidence.push(format!("hints in effect: {}", hints.join(" ")));
    }
    let key = if file.op == "write" { "romio_cb_write" } else { "romio_cb_read" };
    // Requests that are shorter than the contiguous regions of a rank's call occur only with buffering: the buffers of many aggregators cut
    // calls up.
    let cut = file.mean_request_bytes.saturating_mul(SEVERAL) <= file.mean_call_bytes;
    let aggregators = file.stripe_count.filter(|count| *count > 1).unwrap_or(file.nodes).max(1);
    if cut && file.aggregators.len() as u64 >= aggregators.saturating_mul(SEVERAL) {
        return Some(Finding {
            code: Code::NO_BUFFERING,
            about: About { operation: Some(file.op.into()), ..of_file(&file.file) },
            severity: severity(found, cost.unwrap_or(0), least),
            title: format!(
                "{} {} {}s of {} inside collective {}s on {}, although calls have {} on average",
                units::counted(file.aggregators.len() as u64, "rank"),
                units::agree(file.aggregators.len() as u64, "makes", "make"),
                file.op,
                units::bytes(file.mean_request_bytes),
                file.op,
                file.file,
                units::bytes(file.mean_call_bytes)
            )
            .into(),
            evidence: on(&file.file, evidence),
            cost_ns: cost,
            saving: None,
            hint: format!(
                "set the hints cb_nodes={aggregators}, cb_buffer_size=16777216 or more, and {key}=enable: too many aggregators, or too small a buffer, split the calls"
            ),
        });
    }
    Some(Finding {
        code: Code::NO_BUFFERING,
        about: About { operation: Some(file.op.into()), ..of_file(&file.file) },
        severity: severity(found, cost.unwrap_or(0), least),
        title: format!(
            "collective {}s on {} are not buffered: each rank makes its own small requests",
            file.op, file.file
        )
        .into(),
        evidence: on(&file.file, evidence),
        cost_ns: cost,
        saving: None,
        hint: format!("set the hint {key}=enable, so that aggregators merge the pieces of all ranks"),
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
        code: Code::INDEPENDENT,
        about: of_file(&file.file),
        severity: severity(found, cost, least),
        title: format!(
            "{} {} {} on the shared file {}",
            file.processes,
            units::agree(file.processes, "rank makes", "ranks make"),
            units::counted(file.independent.calls, "small independent call"),
            file.file
        ).into(),
        evidence: on(&file.file, [format!(
            "{} of {} {} collective; an independent call moves {} in {} on average",
            units::count(file.collective_calls),
            units::counted(all, "blocking call"),
            units::agree(file.collective_calls, "is", "are"),
            units::bytes(mean),
            units::duration(cost.checked_div(file.independent.calls).unwrap_or(0))
        )]),
        cost_ns: Some(cost),
        saving: None, hint: "let all ranks call MPI_File_write_all or MPI_File_read_all with a file view (HDF5: H5FD_MPIO_COLLECTIVE in the \
               transfer property list): aggregators then make few large requests"
            .into(),
    })
}

fn buffer_size(found: &Layers, row: &RoundsRow, least: &Thresholds) -> Finding {
    let data = row.made.inside.data();
    let calls = if row.form == Form::Collective { "collective" } else { "independent" };
    let about = About {
        file: Some(row.file.clone()),
        bytes: Some(row.wanted_bytes),
        // Per process: all processes spend the same time in the call.
        time_ns: row.cost_ns.checked_div(row.processes),
        operation: Some(row.op.into()),
        ..About::default()
    };
    Finding {
        code: if row.form == Form::Collective { Code::BUFFER_SIZE } else { Code::SIEVING_BLOCK },
        about: about.clone(),
        severity: severity(found, row.cost_ns, least),
        title: format!(
            "{} of {} splits {calls} {}s on {} into {:.0} rounds each",
            row.hint,
            units::bytes(row.buffer_bytes),
            row.op,
            row.file,
            row.rounds
        )
        .into(),
        evidence: vec![Evidence::of(
            format!(
                "{} of {} on average by {}; {} in exchange, waiting and locks",
                units::counted(data.calls, "system call"),
                units::bytes(data.bytes.checked_div(data.calls).unwrap_or(0)),
                units::counted(row.movers, "rank"),
                units::duration(row.made.rest_ns().saturating_add(row.made.inside.locking().time_ns))
            ),
            about,
        )],
        cost_ns: Some(row.cost_ns),
        saving: None,
        hint: format!(
            "set the hint {}={} ({}), to move a rank's data of one call at once instead of in {:.0} rounds",
            row.hint,
            row.wanted_bytes,
            units::bytes(row.wanted_bytes),
            row.rounds
        ),
    }
}
