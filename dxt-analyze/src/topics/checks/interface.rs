//! Checks of the interfaces used: C streams, MPI-IO with its collective and nonblocking calls, aggregators, memory alignment.

use super::calls::Forms;
use super::result::{Amount, Said, Verdicts};
use super::{Measured, percent, share};
use crate::findings::{About, Code, Severity};
use crate::model::{FileId, ProcessId};
use crate::sum::Sum;
use crate::text::units;
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
    let said = (part > least).then(|| Said {
        about: About { calls: Some(m.calls.stdio.count), time_ns: Some(m.calls.stdio.time_ns), ..About::default() },
        severity: m.severity(m.calls.stdio.time_ns),
        title: format!("{} of all bytes go through C streams (fread, fwrite, fprintf)", percent(part)),
        evidence: vec![format!(
            "{} in {}, {} in total",
            units::bytes(m.calls.stdio.bytes),
            units::counted(m.calls.stdio.count, "call"),
            units::duration(m.calls.stdio.time_ns)
        )],
        cost_ns: None,
        hint: "move large data with read(2) and write(2), MPI-IO or HDF5, or give each stream a buffer of one stripe with setvbuf(3)"
            .into(),
    });
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), format!("{} moved", units::bytes(all)), said);
}

fn mpi_io(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("MPI-IO calls of an MPI program", Code::NO_MPIIO, Amount::Count(1));
    let ranks = m.run.info.mpi.as_ref().map_or(0, |mpi| mpi.ranks);
    if ranks < 2 {
        return out.skip(check, code, least, "the program has fewer than two MPI ranks");
    }
    // Files used by only one rank gain nothing from MPI-IO.
    let by_hand = |file: &super::file_calls::FileCalls| {
        let several = file.read_by.len() > 1 || file.written_by.len() > 1;
        if several { file.alone.bytes } else { 0 }
    };
    let count = m.calls.mpi_reads.count().saturating_add(m.calls.mpi_writes.count());
    let shared = m.most(&m.calls.files, by_hand);
    let said = (count == 0 && !shared.is_empty()).then(|| Said {
        about: About { calls: Some(count), ..About::default() },
        severity: Severity::Info,
        title: format!("none of {ranks} ranks uses MPI-IO, although ranks share files"),
        evidence: shared
            .iter()
            .map(|(file, bytes)| format!("{}: {} in independent calls", m.name(*file), units::bytes(*bytes)))
            .collect(),
        cost_ns: None,
        hint: "let MPI_File_write_at_all and MPI_File_read_at_all (or parallel HDF5) gather the ranks' parts into large requests"
            .into(),
    });
    out.add(check, code, Amount::Count(count), least, format!("{ranks} ranks"), said);
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
        return out.skip(check, code, least, "no such MPI-IO calls");
    }
    if m.single_rank() {
        return out.skip(check, code, least, "the program has one rank");
    }
    let part = share(forms.collective.count, all);
    let said = (part < m.least.collective_share && all > m.least.collective_min).then(|| Said {
        about: About {
            calls: Some(forms.independent.count),
            time_ns: Some(forms.independent.time_ns),
            operation: Some(call.into()),
            ..About::default()
        },
        severity: m.severity(forms.independent.time_ns),
        title: format!("{} of {} are collective", percent(part), units::counted(all, "MPI-IO call")),
        evidence: m
            .most(&forms.independent_files, |calls| calls.count)
            .iter()
            .map(|(file, count)| format!("{}: {}", m.name(*file), units::counted(*count, "independent call")))
            .collect(),
        cost_ns: None,
        hint: format!(
            "where all ranks move data at the same step, call {call} (in HDF5: H5Pset_dxpl_mpio with H5FD_MPIO_COLLECTIVE)"
        ),
    });
    let independent = match forms.independent.time_ns {
        0 => String::new(),
        ns => format!(", {} in independent calls", units::duration(ns)),
    };
    let looked = format!("{}{independent}", units::counted(all, "call"));
    out.add(check, code, Amount::Ratio(part), least, looked, said);
    out.also("calls", Amount::Count(all), Amount::Count(m.least.collective_min));
}

/// Minimum number of gaps without I/O for a program to have separate I/O phases.
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
    let said = (nonblocking == 0 && idle >= m.least.idle_share && gaps >= GAPS).then(|| Said {
        about: About { calls: Some(all), time_ns: Some(m.phases.idle_ns), ..About::default() },
        severity: Severity::Info,
        title: format!(
            "all MPI-IO calls are blocking, and {} between I/O phases pass without I/O",
            units::duration(m.phases.idle_ns)
        ),
        evidence: vec![format!(
            "{}, {} without I/O",
            units::counted(all, "blocking call"),
            units::counted(gaps, "gap")
        )],
        cost_ns: None,
        hint: "call MPI_File_iwrite_at_all or MPI_File_iread_at_all (HDF5: the asynchronous VOL connector) and \
               compute before MPI_Wait"
            .into(),
    });
    let looked = format!(
        "{}, {} nonblocking; {} without I/O (at least {GAPS} required)",
        units::counted(all, "call"),
        units::count(nonblocking),
        units::counted(gaps, "gap")
    );
    out.add(check, code, Amount::Ratio(idle), least, looked, said);
    out.also("blocking calls", Amount::Ratio(share(all.saturating_sub(nonblocking), all)), Amount::Ratio(1.0));
}

/// Minimum number of nodes at which the share of nodes with an aggregator is meaningful.
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
    let said = (nodes >= SEVERAL && part < m.least.aggregator_nodes_share).then(|| {
        let hints = m.run.hints.iter().filter(|hint| hint.file == file && hint.origin == HintOrigin::InEffect);
        let hints = hints.filter(|hint| hint.key == "cb_nodes" || hint.key == "cb_config_list");
        let mut evidence = vec![format!(
            "{}: the bytes of all ranks go through {count} of the ranks, on {on} of {nodes} nodes",
            m.name(file)
        )];
        evidence.extend(hints.map(|hint| format!("{} = {}", hint.key, hint.value)));
        Said {
            about: About { operation: Some("collective calls".into()), ..About::default() },
            severity: Severity::Warn,
            title: format!(
                "collective calls go through {} on {on} of {nodes} nodes",
                units::counted(count as u64, "aggregator")
            ),
            evidence,
            cost_ns: None,
            hint: format!("set the MPI-IO hints cb_nodes={nodes} (or a multiple) and cb_config_list=*:1"),
        }
    });
    out.add(check, code, Amount::Ratio(part), least, format!("{nodes} {}", units::agree(nodes, "node", "nodes")), said);
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
    let said = (part > least).then(|| Said {
        about: About { calls: Some(unaligned), ..About::default() },
        severity: Severity::Info,
        title: format!(
            "{} of reads and writes use memory buffers that are not aligned to {} bytes",
            percent(part),
            m.run.memory_alignment()
        ),
        evidence: vec![format!("{} of {}", units::count(unaligned), units::accesses(known))],
        cost_ns: None,
        hint: "allocate buffers with posix_memalign(3); direct I/O requires aligned buffers".into(),
    });
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), units::counted(known, "access"), said);
}
