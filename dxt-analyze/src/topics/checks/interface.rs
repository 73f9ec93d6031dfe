//! Checks of the interfaces used: C streams, MPI-IO with its collective and nonblocking calls, aggregators, memory alignment.

use super::calls::Forms;
use super::result::{Amount, Verdicts};
use super::{Measured, share};
use crate::findings::{About, Code, Finding, Severity};
use crate::model::{FileId, ProcessId};
use crate::sum::Sum;
use crate::text::units;
use crate::words::checks::interface as words;
use std::collections::BTreeSet;
use trace_format::meta::HintOrigin;

pub(super) fn judge(measured: &Measured<'_>, out: &mut Verdicts) {
    stdio(measured, out);
    mpi_io(measured, out);
    let calls = &measured.calls;
    collective(measured, out, "collective reads", Code::NO_COLLECTIVE_READS, &calls.mpi_reads, "MPI_File_read_at_all");
    collective(
        measured,
        out,
        "collective writes",
        Code::NO_COLLECTIVE_WRITES,
        &calls.mpi_writes,
        "MPI_File_write_at_all",
    );
    blocking(measured, out);
    aggregators(measured, out);
    memory(measured, out);
}

fn stdio(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("bytes through C streams", Code::STDIO_SHARE, m.least.stdio_share);
    let all = m.calls.reads.bytes.saturating_add(m.calls.writes.bytes);
    if all == 0 {
        return out.skip(check, code, Amount::Ratio(least), "no bytes moved");
    }
    let part = share(m.calls.stdio.bytes, all);
    let stdio = &m.calls.stdio;
    let found = (part > least).then(|| {
        let words = words::stdio_share(part, stdio.bytes, stdio.count, stdio.time_ns);
        let about = About { calls: Some(stdio.count), time_ns: Some(stdio.time_ns), ..About::default() };
        Finding { severity: m.severity(stdio.time_ns), ..Finding::new(code, words).with(about) }
    });
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), format!("{} moved", units::bytes(all)), found);
}

fn mpi_io(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("MPI-IO calls of an MPI program", Code::NO_MPIIO, Amount::Count(1));
    let ranks = m.run.info.mpi.as_ref().map_or(0, |mpi| mpi.ranks);
    if ranks < 2 {
        return out.skip(check, code, least, "the program has fewer than two MPI ranks");
    }
    // Files used by a single rank gain nothing from MPI-IO.
    let by_hand = |file: &super::file_calls::FileCalls| {
        let several = file.read_by.len() > 1 || file.written_by.len() > 1;
        if several { file.alone.bytes } else { 0 }
    };
    let count = m.calls.mpi_reads.count().saturating_add(m.calls.mpi_writes.count());
    let shared = m.named(&m.calls.files, by_hand);
    let found = (count == 0 && !shared.is_empty()).then(|| {
        Finding::new(code, words::no_mpi_io(ranks, &shared)).with(About { calls: Some(count), ..About::default() })
    });
    out.add(check, code, Amount::Count(count), least, format!("{ranks} ranks"), found);
    let bytes = m.calls.files.values().map(by_hand).sum::<Sum>().get();
    out.also("moved in shared files by independent calls", Amount::Bytes(bytes), Amount::Bytes(1));
}

fn collective(
    m: &Measured<'_>,
    out: &mut Verdicts,
    check: &'static str,
    code: Code,
    forms: &Forms,
    call: &'static str,
) {
    let least = Amount::Ratio(m.least.collective_share);
    let all = forms.count();
    if all == 0 {
        return out.skip(check, code, least, "no MPI-IO calls of this direction");
    }
    if m.single_rank() {
        return out.skip(check, code, least, "the program has one rank");
    }
    let part = share(forms.collective.count, all);
    let found = (part < m.least.collective_share && all > m.least.collective_min).then(|| {
        let files = m.named(&forms.independent_files, |calls| calls.count);
        let about = About {
            calls: Some(forms.independent.count),
            time_ns: Some(forms.independent.time_ns),
            operation: Some(call.into()),
            ..About::default()
        };
        let finding = Finding::new(code, words::few_collective(part, all, &files, call)).with(about);
        Finding { severity: m.severity(forms.independent.time_ns), ..finding }
    });
    let independent = match forms.independent.time_ns {
        0 => String::new(),
        ns => format!(", {} in independent calls", units::duration(ns)),
    };
    let looked = format!("{}{independent}", units::counted(all, "call"));
    out.add(check, code, Amount::Ratio(part), least, looked, found);
    out.also("calls", Amount::Count(all), Amount::Count(m.least.collective_min));
}

/// Minimum number of gaps without I/O at which a program has separate I/O phases.
const GAPS: u64 = 2;

fn blocking(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) =
        ("idle time without nonblocking MPI-IO", Code::BLOCKING_ONLY, Amount::Ratio(m.least.idle_share));
    let (reads, writes) = (&m.calls.mpi_reads, &m.calls.mpi_writes);
    let all = reads.count().saturating_add(writes.count());
    let nonblocking = reads.nonblocking.count.saturating_add(writes.nonblocking.count);
    if all == 0 {
        return out.skip(check, code, least, "no MPI-IO reads or writes");
    }
    if let Some(why) = m.no_segments() {
        return out.skip(check, code, least, why);
    }
    let idle = share(m.phases.idle_ns, m.phases.span_ns);
    let gaps = m.phases.gaps.len() as u64;
    let found = (nonblocking == 0 && idle >= m.least.idle_share && gaps >= GAPS).then(|| {
        let about = About { calls: Some(all), time_ns: Some(m.phases.idle_ns), ..About::default() };
        Finding::new(code, words::blocking_only(m.phases.idle_ns, all, gaps)).with(about)
    });
    let looked = format!(
        "{}, {} nonblocking; {} without I/O (at least {GAPS} required)",
        units::counted(all, "call"),
        units::count(nonblocking),
        units::counted(gaps, "gap")
    );
    out.add(check, code, Amount::Ratio(idle), least, looked, found);
    out.also("blocking calls", Amount::Ratio(share(all.saturating_sub(nonblocking), all)), Amount::Ratio(1.0));
}

/// Minimum number of nodes at which the share of nodes with an aggregator means anything.
const SEVERAL: u64 = 2;

fn aggregators(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code) = ("nodes with an aggregator", Code::FEW_AGGREGATORS);
    let least = Amount::Ratio(m.least.aggregator_nodes_share);
    if let Some(why) = m.no_ranks() {
        return out.skip(check, code, least, why);
    }
    let Some(all_nodes) = m.run.node_count() else { return out.skip(check, code, least, "nodes are not known") };
    // The launcher's node may have no ranks.
    let nodes = m.run.workers().map(|process| process.node).collect::<BTreeSet<u32>>().len() as u64;
    let nodes = if nodes > 0 { nodes.min(all_nodes) } else { all_nodes };
    let used = |processes: &[ProcessId]| {
        let nodes = processes.iter().filter_map(|process| m.run.process(*process));
        nodes.map(|process| process.node).collect::<BTreeSet<u32>>().len() as u64
    };
    let mut worst: Option<(f64, FileId, u64, usize)> = None;
    for (file, calls) in m.calls.files.iter().filter(|(_, calls)| calls.collective_by > 1) {
        let on = used(&calls.aggregators);
        let part = share(on, nodes);
        if on > 0 && worst.is_none_or(|(least, ..)| part < least) {
            worst = Some((part, *file, on, calls.aggregators.len()));
        }
    }
    let Some((part, file, on, count)) = worst else {
        return out.skip(check, code, least, "no recorded collective call moves bytes through POSIX");
    };
    let found = (nodes >= SEVERAL && part < m.least.aggregator_nodes_share).then(|| {
        let hints = m.run.hints.iter().filter(|hint| hint.file == file && hint.origin == HintOrigin::InEffect);
        let hints = hints.filter(|hint| hint.key == "cb_nodes" || hint.key == "cb_config_list");
        let hints = hints.map(|hint| (hint.key.as_str(), hint.value.as_str()));
        let words = words::few_aggregators(m.name(file), (count as u64, on, nodes), &hints.collect::<Vec<_>>());
        let about = About { operation: Some("collective calls".into()), ..About::default() };
        Finding { severity: Severity::Warn, ..Finding::new(code, words).with(about) }
    });
    out.add(
        check,
        code,
        Amount::Ratio(part),
        least,
        format!("{nodes} {}", units::agree(nodes, "node", "nodes")),
        found,
    );
    out.also("nodes", Amount::Count(nodes), Amount::Count(SEVERAL));
}

fn memory(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("unaligned memory buffers", Code::MEMORY_UNALIGNED, m.least.memory_unaligned_share);
    let (known, unaligned) = m.memory;
    if known == 0 {
        return out.skip(
            check,
            code,
            Amount::Ratio(least),
            "buffer addresses are not recorded: an older tracer made the trace, or no call has a buffer of its own (C streams)",
        );
    }
    let part = share(unaligned, known);
    let found = (part > least).then(|| {
        let words = words::memory_unaligned(part, m.run.memory_alignment(), unaligned, known);
        Finding::new(code, words).with(About { calls: Some(unaligned), ..About::default() })
    });
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), units::counted(known, "access"), found);
}
