//! Checks for bytes that move more often than necessary. They need the offsets of individually recorded calls.

use super::result::{Amount, Said, Verdicts};
use super::sums::{FileSums, Repeated};
use super::{Measured, percent, share};
use crate::findings::{About, Code, Severity};
use crate::limits::NAMED_EXAMPLES;
use crate::model::{FileId, Stream};
use crate::sum::Sum;
use crate::text::units;
use std::collections::BTreeMap;
use trace_format::op::{Layer, OpClass};

pub(super) fn judge(measured: &Measured<'_>, out: &mut Verdicts) {
    let what = "the trace has no single operations";
    if measured.no_segments().is_some() {
        for (check, code) in [
            (REREAD.check, REREAD.code),
            ("bytes read by several ranks", Code::COMMON_READS),
            (READ_BACK.check, READ_BACK.code),
            (OVERWRITTEN.check, OVERWRITTEN.code),
            ("bytes read by MPI-IO beyond requests", Code::UNASKED),
        ] {
            out.skip(check, code, Amount::Ratio(measured.least.traffic_share), what);
        }
        return;
    }
    repeated(measured, out, &REREAD);
    common(measured, out);
    repeated(measured, out, &READ_BACK);
    repeated(measured, out, &OVERWRITTEN);
    sieving(measured, out);
}

/// Kind of repeated transfer that is checked: reread, read back or overwritten bytes.
struct Kind {
    check: &'static str,
    code: Code,
    of: fn(&FileSums) -> &Repeated,
    all: fn(&FileSums) -> u64,
    /// Returns true for files that can be judged. In other files, other processes may have changed the bytes in between.
    is_judged: fn(&Measured<'_>, FileId, &FileSums) -> bool,
    costs: bool,
    title: &'static str,
    hint: &'static str,
}

static REREAD: Kind = Kind {
    check: "bytes reread by the same process",
    code: Code::REREAD,
    of: |sums| &sums.reread,
    all: |sums| sums.read.bytes,
    is_judged: |_, _, sums| sums.writers == 0 || (sums.writers, sums.readers, sums.both) == (1, 1, 1),
    costs: true,
    title: "of the bytes read were read before by the same process",
    hint: "keep the data in memory, or read the file in order; the page cache serves rereads only while it holds the data",
};

static READ_BACK: Kind = Kind {
    check: "bytes read back by their writer",
    code: Code::READ_BACK,
    of: |sums| &sums.read_back,
    all: |sums| sums.read.bytes,
    is_judged: |m, file, sums| sums.writers <= 1 || m.run.missing_segments() == 0 && m.writers.is_one(file),
    costs: true,
    title: "of the bytes read were written before by the same process",
    hint: "keep the data in memory, or put them on node-local storage: on a parallel file system, reading back may wait for \
           the write",
};

static OVERWRITTEN: Kind = Kind {
    check: "bytes overwritten by the same process",
    code: Code::OVERWRITTEN,
    of: |sums| &sums.overwritten,
    all: |sums| sums.written.bytes,
    is_judged: |_, _, _| true,
    costs: true,
    title: "of the bytes written overwrite bytes that the same process wrote before",
    hint: "write each byte only when it is final; if these are new versions of a checkpoint, write checkpoints less often",
};

fn repeated(m: &Measured<'_>, out: &mut Verdicts, kind: &Kind) {
    let least = m.least.traffic_share;
    let judged: BTreeMap<FileId, FileSums> = m
        .files
        .iter()
        .filter(|(file, sums)| (kind.is_judged)(m, **file, sums))
        .map(|(file, sums)| (*file, *sums))
        .collect();
    let bytes = |sums: &FileSums| (kind.of)(sums).bytes;
    let all = m.files.values().map(|file| (kind.all)(file)).sum::<Sum>().get();
    if all == 0 {
        return out.skip(kind.check, kind.code, Amount::Ratio(least), "no individually recorded calls move such bytes");
    }
    let moved = judged.values().map(bytes).sum::<Sum>().get();
    let not_judged = m.files.values().map(bytes).sum::<Sum>().get().saturating_sub(moved);
    if kind.code == Code::READ_BACK && moved == 0 && not_judged > 0 {
        let why = format!(
            "not judged: {} in files in which processes overwrite, or may overwrite, each other's bytes",
            units::bytes(not_judged)
        );
        return out.skip(kind.check, kind.code, Amount::Ratio(least), &why);
    }
    let cost = judged.values().map(|sums| (kind.of)(sums).time_ns).sum::<Sum>().get();
    let part = share(moved, all);
    let found = part >= least && moved >= m.least.traffic_min_bytes;
    let said = found.then(|| {
        let mut evidence: Vec<String> = m
            .most(&judged, bytes)
            .into_iter()
            .filter_map(|(file, bytes)| {
                let sums = (kind.of)(judged.get(&file)?);
                let example = sums.example?;
                let processes = sums.processes;
                Some(format!(
                    "{}: {} by {}, for example {} ({})",
                    m.name(file),
                    units::bytes(bytes),
                    units::counted(processes, "process"),
                    m.place(&example),
                    units::bytes(example.length)
                ))
            })
            .collect();
        evidence.extend(bounds(m, not_judged));
        // HDF5 writes fill values to allocated space before it writes the program's data.
        let most = m.most(&judged, bytes).into_iter().next();
        let fills = kind.code == Code::OVERWRITTEN && most.is_some_and(|(file, _)| is_of_hdf5(m, file));
        Said {
            about: About { bytes: Some(moved), time_ns: Some(cost), ..About::default() },
            severity: m.severity(cost),
            title: format!(
                "{} ({}) {}{}",
                units::bytes(moved),
                percent(part),
                kind.title,
                if fills { ", in HDF5 files (fill values?)" } else { "" }
            ),
            evidence,
            cost_ns: kind.costs.then_some(cost),
            hint: if fills { FILLS.into() } else { kind.hint.into() },
        }
    });
    let looked = format!("{} of {}", units::bytes(moved), units::bytes(all));
    out.add(kind.check, kind.code, Amount::Ratio(part), Amount::Ratio(least), looked, said);
    out.also("of such bytes", Amount::Bytes(moved), Amount::Bytes(m.least.traffic_min_bytes));
}

/// Advice on files whose bytes HDF5 writes twice.
const FILLS: &str = "if these are fill values of datasets that the program writes completely, call H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER) or \
                     H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_LATE or _INCR); else write each byte only when it is final";

/// True if HDF5 writes the file.
fn is_of_hdf5(m: &Measured<'_>, file: FileId) -> bool {
    let writes = |stream: &Stream| {
        let op = m.run.op(stream);
        stream.file == file && op.class == Some(OpClass::Write) && (stream.in_hdf5 || op.layer == Some(Layer::Hdf5))
    };
    m.run.processes.iter().any(|process| process.streams.iter().any(writes))
}

/// Returns sentences on bytes that the check could not judge.
fn bounds(m: &Measured<'_>, not_judged: u64) -> Vec<String> {
    let sum = |of: &dyn Fn(&FileSums) -> u64| m.files.values().map(of).sum::<Sum>().get();
    let forgotten = sum(&|file| file.forgotten.get());
    let unordered = sum(&|file| file.unordered.get());
    let mut out = Vec::new();
    let mut say = |bytes: u64, text: &str| out.extend((bytes > 0).then(|| format!("{} {text}", units::bytes(bytes))));
    say(forgotten, "in too many ranges to track: the amount found is a lower bound");
    say(unordered, "of processes whose threads both read and write the file are not judged");
    say(not_judged, "of files that other processes write are not judged: the bytes may have changed");
    out
}

fn common(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("bytes read by several ranks", Code::COMMON_READS, m.least.traffic_share);
    let all = m.files.values().map(|file| file.read.bytes).sum::<Sum>().get();
    if all == 0 {
        return out.skip(check, code, Amount::Ratio(least), "no individually recorded calls move such bytes");
    }
    let mut files: Vec<(u64, u32, FileId)> = m
        .common
        .iter()
        .filter(|(_, common)| u64::from(common.readers) >= m.least.common_readers_min && common.bytes > 0)
        .map(|(file, common)| (common.bytes, common.readers, *file))
        .collect();
    files.sort_by_key(|&(bytes, _, file)| (std::cmp::Reverse(bytes), file));
    let moved = files.iter().map(|(bytes, ..)| *bytes).sum::<Sum>().get().min(all);
    let part = share(moved, all);
    let cost = files.iter().fold(0_u64, |sum, (bytes, _, file)| {
        let reads = m.files.get(file).map(|sums| sums.read).unwrap_or_default();
        let time = u128::from(reads.time_ns) * u128::from(*bytes) / u128::from(reads.bytes.max(1));
        sum.saturating_add(u64::try_from(time).unwrap_or(u64::MAX).min(reads.time_ns))
    });
    let said = (part >= least && moved >= m.least.traffic_min_bytes).then(|| Said {
        about: About { bytes: Some(moved), time_ns: Some(cost), ..About::default() },
        severity: m.severity(cost),
        title: format!("{} ({}) of the bytes read were also read by other ranks", units::bytes(moved), percent(part)),
        evidence: files
            .iter()
            .take(NAMED_EXAMPLES)
            .map(|(bytes, readers, file)| {
                format!("{}: {} read more than once, by up to {readers} ranks", m.name(*file), units::bytes(*bytes))
            })
            .collect(),
        cost_ns: Some(cost),
        hint: "let one rank (or one per node) read the data and call MPI_Bcast, or use MPI_File_read_at_all, which reads each byte once; ranks \
               of one node may get the data from that node's page cache"
            .into(),
    });
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), format!("{} read", units::bytes(all)), said);
    out.also("of such bytes", Amount::Bytes(moved), Amount::Bytes(m.least.traffic_min_bytes));
}

/// Returns the advice against data sieving; a single rank cannot benefit from collective calls.
const fn sieving_hint(single_rank: bool) -> &'static str {
    match single_rank {
        true => {
            "data sieving reads gaps: set the hint romio_ds_read=disable or romio_ds_write=disable, or store data that are read together without gaps"
        }
        false => {
            "data sieving reads gaps: use collective calls, set the hint romio_ds_read=disable or romio_ds_write=disable, or store data \
             that are read together without gaps"
        }
    }
}

fn sieving(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("bytes read by MPI-IO beyond requests", Code::UNASKED, m.least.traffic_share);
    // Bytes requested by collective calls are complete only if the trace has all ranks and calls.
    let whole = m.run.selection.is_empty() && m.run.health.absent_ranks == 0 && m.run.missing_segments() == 0;
    let unasked = |sums: &FileSums| {
        let mut sieve = sums.sieve;
        if !whole {
            (sieve.collective_read, sieve.collective_asked) = Default::default();
        }
        sieve.unasked()
    };
    if m.calls.mpi_reads.count().saturating_add(m.calls.mpi_writes.count()) == 0 {
        return out.skip(check, code, Amount::Ratio(least), "no MPI-IO reads or writes");
    }
    let bytes = |sums: &FileSums| sums.read.bytes.saturating_add(sums.written.bytes);
    let moved = m.files.values().map(unasked).sum::<Sum>().get();
    // Only files that were accessed through MPI-IO.
    let files = m.files.iter().filter(|(file, _)| {
        m.calls.files.get(file).is_some_and(|file| file.collective_by > 0) || {
            let forms = [&m.calls.mpi_reads, &m.calls.mpi_writes];
            forms.iter().any(|forms| forms.independent_files.contains_key(file))
        }
    });
    let all = files.map(|(_, file)| bytes(file)).sum::<Sum>().get();
    let time = m.files.values().map(|file| file.sieve.time_ns).sum::<Sum>().get();
    let part = share(moved, all);
    let said = (part >= least && moved >= m.least.traffic_min_bytes).then(|| Said {
        about: About { bytes: Some(moved), time_ns: Some(time), ..About::default() },
        severity: m.severity(time).max(Severity::Info),
        title: format!(
            "MPI-IO reads {} ({} of the bytes it moves) that no call requested",
            units::bytes(moved),
            percent(part)
        ),
        evidence: m
            .most(&m.files, unasked)
            .into_iter()
            .filter_map(|(file, bytes)| {
                let sieve = m.files.get(&file)?.sieve;
                Some(format!(
                    "{}: {}, of which {} for read-modify-write",
                    m.name(file),
                    units::bytes(bytes),
                    units::bytes(sieve.inside_writes.get())
                ))
            })
            .collect(),
        cost_ns: Some(time),
        hint: sieving_hint(m.single_rank()).into(),
    });
    out.add(
        check,
        code,
        Amount::Ratio(part),
        Amount::Ratio(least),
        format!("{} moved below MPI-IO", units::bytes(all)),
        said,
    );
    out.also("of such bytes", Amount::Bytes(moved), Amount::Bytes(m.least.traffic_min_bytes));
}
