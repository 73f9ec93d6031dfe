//! Checks for bytes that move more often than necessary. They need offsets, so only calls with segments count.

use super::result::{Amount, Verdicts};
use super::sums::{FileSums, Repeated};
use super::{Measured, share};
use crate::findings::{About, Code};
use crate::limits::NAMED_EXAMPLES;
use crate::model::{FileId, Stream};
use crate::sum::Sum;
use crate::text::units;
use crate::words::Words;
use crate::words::checks::traffic as words;
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
            ("bytes read by MPI-IO beyond the program's requests", Code::UNASKED),
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

/// Kind of repeated transfer: reread, read back or overwritten bytes.
struct Kind {
    check: &'static str,
    code: Code,
    of: fn(&FileSums) -> &Repeated,
    all: fn(&FileSums) -> u64,
    /// Returns true if a file can be judged: no other process can have changed the bytes between two transfers.
    is_judged: fn(&Measured<'_>, FileId, &FileSums) -> bool,
    /// Makes the words of the finding about repeated transfers.
    words: fn(&words::Repeated<'_>) -> Words,
}

static REREAD: Kind = Kind {
    check: "bytes reread by the same process",
    code: Code::REREAD,
    of: |sums| &sums.reread,
    all: |sums| sums.read.bytes,
    is_judged: |_, _, sums| sums.writers == 0 || (sums.writers, sums.readers, sums.both) == (1, 1, 1),
    words: words::reread,
};

static READ_BACK: Kind = Kind {
    check: "bytes read back by their writer",
    code: Code::READ_BACK,
    of: |sums| &sums.read_back,
    all: |sums| sums.read.bytes,
    is_judged: |m, file, sums| sums.writers <= 1 || m.run.missing_segments() == 0 && m.writers.is_one(file),
    words: words::read_back,
};

static OVERWRITTEN: Kind = Kind {
    check: "bytes overwritten by the same process",
    code: Code::OVERWRITTEN,
    of: |sums| &sums.overwritten,
    all: |sums| sums.written.bytes,
    is_judged: |_, _, _| true,
    words: words::overwritten,
};

fn repeated(m: &Measured<'_>, out: &mut Verdicts, kind: &Kind) {
    let least = m.least.traffic_share;
    let judged: BTreeMap<FileId, &FileSums> = m
        .files
        .iter()
        .filter(|(file, sums)| (kind.is_judged)(m, **file, sums))
        .map(|(file, sums)| (*file, &**sums))
        .collect();
    let bytes = |sums: &FileSums| (kind.of)(sums).bytes;
    let all = m.files.values().map(|file| (kind.all)(file)).sum::<Sum>().get();
    if all == 0 {
        return out.skip(
            kind.check,
            kind.code,
            Amount::Ratio(least),
            "no individually recorded call moves bytes in this direction",
        );
    }
    let moved = judged.values().map(|sums| bytes(sums)).sum::<Sum>().get();
    let not_judged = m.files.values().map(|sums| bytes(sums)).sum::<Sum>().get().saturating_sub(moved);
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
    let finding = found.then(|| {
        let most = m.most(&judged, |sums| bytes(sums));
        let files = most.iter().filter_map(|&(file, bytes)| {
            let sums = (kind.of)(judged.get(&file)?);
            let example = m.example(&sums.example?);
            Some(words::RepeatedInFile { file: m.name(file), bytes, processes: sums.processes, example })
        });
        let sum = |of: &dyn Fn(&FileSums) -> u64| m.files.values().map(|sums| of(sums)).sum::<Sum>().get();
        let facts = words::Repeated {
            bytes: moved,
            share: part,
            files: files.collect(),
            forgotten: sum(&|file| file.forgotten.get()),
            unordered: sum(&|file| file.unordered.get()),
            not_judged,
        };
        // HDF5 writes fill values to allocated space before it writes the program's data.
        let fills = kind.code == Code::OVERWRITTEN && most.first().is_some_and(|(file, _)| is_of_hdf5(m, *file));
        let words = if fills { words::overwritten_hdf5(&facts) } else { (kind.words)(&facts) };
        m.costly(kind.code, words, About { bytes: Some(moved), ..About::default() }, cost)
    });
    let looked = format!("{} of {}", units::bytes(moved), units::bytes(all));
    out.add(kind.check, kind.code, Amount::Ratio(part), Amount::Ratio(least), looked, finding);
    out.also("of such bytes", Amount::Bytes(moved), Amount::Bytes(m.least.traffic_min_bytes));
}

/// True if HDF5 writes the file.
fn is_of_hdf5(m: &Measured<'_>, file: FileId) -> bool {
    let writes = |stream: &Stream| {
        let op = m.run.op(stream);
        stream.file == file && op.class == Some(OpClass::Write) && (stream.in_hdf5 || op.layer == Some(Layer::Hdf5))
    };
    m.run.processes.iter().any(|process| process.streams.iter().any(writes))
}

fn common(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("bytes read by several ranks", Code::COMMON_READS, m.least.traffic_share);
    let all = m.files.values().map(|file| file.read.bytes).sum::<Sum>().get();
    if all == 0 {
        return out.skip(
            check,
            code,
            Amount::Ratio(least),
            "no individually recorded call moves bytes in this direction",
        );
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
    let found = (part >= least && moved >= m.least.traffic_min_bytes).then(|| {
        let named = files.iter().take(NAMED_EXAMPLES);
        let named = named.map(|&(bytes, readers, file)| (m.name(file), bytes, readers));
        let words = words::common_reads(m.run.ranks() > 0, moved, part, &named.collect::<Vec<_>>());
        m.costly(code, words, About { bytes: Some(moved), ..About::default() }, cost)
    });
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), format!("{} read", units::bytes(all)), found);
    out.also("of such bytes", Amount::Bytes(moved), Amount::Bytes(m.least.traffic_min_bytes));
}

fn sieving(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) =
        ("bytes read by MPI-IO beyond the program's requests", Code::UNASKED, m.least.traffic_share);
    // The bytes requested by collective calls are complete only if the trace has all ranks and calls.
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
    let moved = m.files.values().map(|sums| unasked(sums)).sum::<Sum>().get();
    // Only files accessed through MPI-IO count.
    let files = m.files.iter().filter(|(file, _)| {
        m.calls.files.get(file).is_some_and(|file| file.collective_by > 0) || {
            let forms = [&m.calls.mpi_reads, &m.calls.mpi_writes];
            forms.iter().any(|forms| forms.independent_files.contains_key(file))
        }
    });
    let all = files.map(|(_, file)| bytes(file)).sum::<Sum>().get();
    let time = m.files.values().map(|file| file.sieve.time_ns).sum::<Sum>().get();
    let part = share(moved, all);
    let found = (part >= least && moved >= m.least.traffic_min_bytes).then(|| {
        let files = m
            .most(&m.files, |sums| unasked(sums))
            .into_iter()
            .filter_map(|(file, bytes)| Some((m.name(file), bytes, m.files.get(&file)?.sieve.inside_writes.get())));
        let words = words::unasked(moved, part, &files.collect::<Vec<_>>(), m.single_rank());
        m.costly(code, words, About { bytes: Some(moved), ..About::default() }, time)
    });
    out.add(
        check,
        code,
        Amount::Ratio(part),
        Amount::Ratio(least),
        format!("{} moved below MPI-IO", units::bytes(all)),
        found,
    );
    out.also("of such bytes", Amount::Bytes(moved), Amount::Bytes(m.least.traffic_min_bytes));
}
