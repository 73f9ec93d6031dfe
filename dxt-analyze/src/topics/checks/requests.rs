//! Checks of single requests: size, order, and the syncs and seeks between them.

use super::result::{Amount, Said, Verdicts};
use super::sums::{Direction, FileSums};
use super::{Measured, percent, share};
use crate::findings::{About, Code, Severity};
use crate::model::FileId;
use crate::sum::Sum;
use crate::text::units;
use trace_format::op::Layer;

pub(super) fn judge(measured: &Measured<'_>, out: &mut Verdicts) {
    mix(measured, out);
    for which in [&READS, &WRITES] {
        small(measured, out, which);
        shared_small(measured, out, which);
        random(measured, out, which);
        runs(measured, out, which);
    }
    slow_writes(measured, out);
    syncs(measured, out);
    seeks(measured, out);
}

/// Check names and finding codes of one direction (reads or writes).
struct Which {
    word: &'static str,
    singular: &'static str,
    of: fn(&FileSums) -> &Direction,
    small: (&'static str, Code),
    shared: (&'static str, Code),
    random: (&'static str, Code),
    runs: (&'static str, Code),
}

static READS: Which = Which {
    word: "reads",
    singular: "read",
    of: |sums| &sums.reads,
    small: ("small reads", Code::SMALL_READS),
    shared: ("small reads of shared files", Code::SMALL_SHARED_READS),
    random: ("random reads", Code::RANDOM_READS),
    runs: ("consecutive small reads", Code::READ_RUNS),
};

static WRITES: Which = Which {
    word: "writes",
    singular: "write",
    of: |sums| &sums.writes,
    small: ("small writes", Code::SMALL_WRITES),
    shared: ("small writes to shared files", Code::SMALL_SHARED_WRITES),
    random: ("random writes", Code::RANDOM_WRITES),
    runs: ("consecutive small writes", Code::WRITE_RUNS),
};

fn mix(m: &Measured<'_>, out: &mut Verdicts) {
    let (reads, writes) = (&m.calls.reads, &m.calls.writes);
    let least = m.least.intensive_share;
    for (check, code, read, write, show) in [
        (
            "read-write imbalance in calls",
            Code::CALL_MIX,
            reads.count,
            writes.count,
            (|calls| units::counted(calls, "call")) as fn(u64) -> String,
        ),
        ("read-write imbalance in bytes", Code::BYTE_MIX, reads.bytes, writes.bytes, units::bytes),
    ] {
        let all = read.saturating_add(write);
        if all == 0 {
            out.skip(check, code, Amount::Ratio(least), "no reads or writes");
            continue;
        }
        let apart = share(read.abs_diff(write), all);
        let kind = if read > write { "reads more than it writes" } else { "writes more than it reads" };
        let said = (apart > least).then(|| Said {
            about: About { operation: Some(kind.into()), ..About::default() },
            severity: Severity::Info,
            title: format!("the program {kind} (reads: {}, writes: {})", show(read), show(write)),
            evidence: Vec::new(),
            cost_ns: None,
            hint: "nothing to change: tune the direction with more traffic first".into(),
        });
        out.add(check, code, Amount::Ratio(apart), Amount::Ratio(least), show(all), said);
    }
}

fn sum(m: &Measured<'_>, which: &Which, only: impl Fn(&FileId) -> bool) -> Direction {
    let mut all = Direction::default();
    m.files.iter().filter(|(file, _)| only(file)).for_each(|(_, sums)| all.merge((which.of)(sums)));
    all
}

fn small(m: &Measured<'_>, out: &mut Verdicts, which: &Which) {
    let (check, code) = which.small;
    small_of(m, out, which, check, code, &|_| true, "");
}

fn shared_small(m: &Measured<'_>, out: &mut Verdicts, which: &Which) {
    let (check, code) = which.shared;
    let shared =
        |file: &FileId| m.calls.files.get(file).is_some_and(|file| file.read_by.len() > 1 || file.written_by.len() > 1);
    if let Some(why) = m.no_ranks() {
        return out.skip(check, code, Amount::Ratio(m.least.small_share), why);
    }
    small_of(m, out, which, check, code, &shared, " of files shared by several ranks");
}

fn small_of(
    m: &Measured<'_>,
    out: &mut Verdicts,
    which: &Which,
    check: &'static str,
    code: Code,
    only: &dyn Fn(&FileId) -> bool,
    of_what: &str,
) {
    let least = Amount::Ratio(m.least.small_share);
    let all = sum(m, which, only);
    if all.all.count == 0 {
        return out.skip(check, code, least, "no such calls");
    }
    let part = share(all.small.count, all.all.count);
    let limit = units::bytes(m.least.small_request_bytes);
    let enough = enough(m, &all, m.least.small_min);
    let said = (part > m.least.small_share && all.small.count > enough).then(|| Said {
        about: About {
            calls: Some(all.small.count),
            bytes: Some(all.small.bytes),
            time_ns: Some(all.small.time_ns),
            operation: Some(which.word.into()),
            ..About::default()
        },
        severity: m.severity(all.small.time_ns),
        title: match all.small_unsized {
            0 => format!(
                "{} {}{of_what} are small: {} on average, {} of all",
                units::count(all.small.count),
                which.word,
                units::bytes(all.small.bytes / all.small.count.max(1)),
                percent(part)
            ),
            _ => format!("{} of {}{of_what} are small: less than {limit} each", percent(part), which.word),
        },
        evidence: m
            .most(&m.files, |sums| (which.of)(sums).small.count)
            .into_iter()
            .filter(|(file, _)| only(file))
            .map(|(file, count)| {
                let direction = m.files.get(&file).map(|sums| *(which.of)(sums)).unwrap_or_default();
                let small = direction.small;
                let mean = match direction.small_unsized {
                    0 => format!(" of {} on average", units::bytes(small.bytes / count)),
                    _ => String::new(),
                };
                format!(
                    "{}: {}{mean}, {} in total",
                    m.name(file),
                    units::counted(count, "small call"),
                    units::duration(small.time_ns)
                )
            })
            .collect(),
        cost_ns: None,
        hint: gather(m),
    });
    let looked = format!("{}, {} small", units::counted(all.all.count, which.singular), units::count(all.small.count));
    out.add(check, code, Amount::Ratio(part), least, looked, said);
    out.also("small calls", Amount::Count(all.small.count), Amount::Count(enough));
}

/// Divisor of the minimum number of small calls if slow small calls take most of the time; see [`enough`].
const OF_SLOW: u64 = 10;
/// Minimum mean size in bytes of slow small calls at which [`OF_SLOW`] applies. For shorter calls, [`crate::topics::causes::shape::tiny`]
/// reports the cost, however few they are.
const NOT_TINY: u64 = 16 << 10;
/// Multiple of `slow_small_ns` that the mean time of slow small calls must exceed for [`OF_SLOW`] to apply.
const TWICE: u64 = 2;

/// Returns the minimum number of small calls for a finding: `least`, or `least` / [`OF_SLOW`] if slow small calls take most of the time.
fn enough(m: &Measured<'_>, all: &Direction, least: u64) -> u64 {
    let each = |sum: u64| sum / all.slow_small.count.max(1);
    let slow = share(all.slow_small.time_ns, all.all.time_ns) >= MOST_OF_IT
        && each(all.slow_small.bytes) >= NOT_TINY
        && each(all.slow_small.time_ns) > m.least.slow_small_ns.saturating_mul(TWICE);
    if slow && all.slow_small.count >= least / OF_SLOW { least / OF_SLOW } else { least }
}

/// Lists the ways to merge small requests that fit the interfaces that the run uses.
fn gather(m: &Measured<'_>) -> String {
    let streams = || m.run.processes.iter().flat_map(|process| &process.streams);
    let has = |layer: Layer| streams().any(|stream| m.run.op(stream).layer == Some(layer));
    let mut ways = vec!["a buffer in the program"];
    if !m.single_rank() {
        ways.push("collective MPI-IO");
    }
    if has(Layer::Hdf5) {
        ways.push("larger HDF5 chunks or a chunk cache");
    }
    let buffer = if has(Layer::Mpiio) { "; for requests that MPI-IO makes, a larger cb_buffer_size" } else { "" };
    format!("merge small requests: {}{buffer}", ways.join(", "))
}

/// Minimum share of backward requests at which the order is called reversed; in random order, about half of the requests go backward.
const BACKWARD: f64 = 0.8;

fn random(m: &Measured<'_>, out: &mut Verdicts, which: &Which) {
    let (check, code) = which.random;
    let least = Amount::Ratio(m.least.random_share);
    let all = sum(m, which, |_| true);
    if all.placed == 0 {
        return out.skip(check, code, least, "no call has a known earlier call of the same thread in the file");
    }
    let part = share(all.random.count, all.placed);
    let said = (part > m.least.random_share && all.random.count > m.least.random_min).then(|| Said {
        about: About {
            calls: Some(all.random.count),
            time_ns: Some(all.random.time_ns),
            operation: Some(which.word.into()),
            ..About::default()
        },
        severity: m.severity(all.random.time_ns),
        title: format!(
            "{} {}: {} begin at an offset before the end of the thread's previous one",
            if part >= BACKWARD { "backward" } else { "random" },
            which.word,
            percent(part)
        ),
        evidence: m
            .most(&m.files, |sums| (which.of)(sums).random.count)
            .into_iter()
            .map(|(file, count)| format!("{}: {}", m.name(file), units::counted(count, "call")))
            .collect(),
        // A time of 0 means that it is unknown, as it can be for calls that are only counted.
        cost_ns: (all.random.time_ns > 0).then_some(all.random.time_ns),
        hint: if m.single_rank() {
            "sort requests by offset before issuing them".into()
        } else {
            "sort requests by offset before issuing them, or use collective MPI-IO, which sorts them".into()
        },
    });
    let looked = format!("{}, {} random", units::counted(all.placed, which.singular), units::count(all.random.count));
    out.add(check, code, Amount::Ratio(part), least, looked, said);
    out.also("random calls", Amount::Count(all.random.count), Amount::Count(m.least.random_min));
}

fn runs(m: &Measured<'_>, out: &mut Verdicts, which: &Which) {
    let (check, code) = which.runs;
    let all = sum(m, which, |_| true);
    let enough = enough(m, &all, m.least.saved_calls_min);
    let least = Amount::Count(enough);
    if let Some(why) = m.no_segments() {
        return out.skip(check, code, least, why);
    }
    let said = (all.saved >= enough).then(|| Said {
        about: About {
            calls: Some(all.in_runs.count),
            time_ns: Some(all.saved_ns),
            operation: Some(which.word.into()),
            ..About::default()
        },
        severity: m.severity(all.saved_ns),
        title: format!(
            "{} consecutive small {} could be merged into {}",
            units::count(all.in_runs.count),
            which.word,
            units::counted(all.in_runs.count.saturating_sub(all.saved), "call")
        ),
        evidence: m
            .most(&m.files, |sums| (which.of)(sums).saved)
            .into_iter()
            .map(|(file, saved)| {
                let one = m.files.get(&file).and_then(|sums| (which.of)(sums).longest_run);
                let longest = one.map_or(String::new(), |run| {
                    format!(
                        "; longest run: {}, {}, by {}",
                        units::counted(run.amount, "call"),
                        units::bytes(run.length),
                        m.place(&run)
                    )
                });
                format!("{}: {} can be saved{longest}", m.name(file), units::counted(saved, "call"))
            })
            .collect(),
        cost_ns: Some(all.saved_ns),
        hint: format!(
            "collect the data in a buffer and make one call per {}: each call begins where the previous one ended",
            units::bytes(m.least.small_request_bytes)
        ),
    });
    let looked = format!(
        "{} with {} in total",
        units::counted(all.runs, "run"),
        units::counted(all.in_runs.count, which.singular)
    );
    out.add(check, code, Amount::Count(all.saved), least, looked, said);
}

/// Minimum number of slow small writes for a finding, if they are very slow and take most of the write time.
const A_FEW: u64 = 10;
/// Multiple of `slow_small_ns` from which the mean time counts as very slow.
const VERY: u64 = 5;
/// Minimum share of the time that counts as most of the time.
const MOST_OF_IT: f64 = 0.5;

fn slow_writes(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("slow small writes", Code::SLOW_SMALL_WRITES, m.least.slow_small_share);
    if let Some(why) = m.no_segments() {
        return out.skip(check, code, Amount::Ratio(least), why);
    }
    let all = sum(m, &WRITES, |_| true);
    if all.small.count == 0 {
        return out.skip(check, code, Amount::Ratio(least), "no small writes");
    }
    let part = share(all.slow_small.count, all.small.count);
    // A few slow writes suffice if they take most of the write time.
    let each = all.slow_small.time_ns / all.slow_small.count.max(1);
    let very_slow = each >= m.least.slow_small_ns.saturating_mul(VERY) && all.slow_small.count >= A_FEW;
    let dominate = very_slow && share(all.slow_small.time_ns, all.all.time_ns) >= MOST_OF_IT;
    let said = (part >= least && (all.slow_small.count >= m.least.sync_min || dominate)).then(|| Said {
        about: About {
            calls: Some(all.slow_small.count),
            time_ns: Some(all.slow_small.time_ns),
            ..About::default()
        },
        severity: m.severity(all.slow_small.time_ns),
        title: format!(
            "{} of {} take {} or more: each waits for storage",
            percent(part),
            units::counted(all.small.count, "small write"),
            units::duration(m.least.slow_small_ns)
        ),
        evidence: m
            .most(&m.files, |sums| sums.writes.slow_small.time_ns)
            .into_iter()
            .map(|(file, ns)| format!("{}: {} in slow small writes", m.name(file), units::duration(ns)))
            .collect(),
        cost_ns: Some(all.slow_small.time_ns),
        hint: "look for O_SYNC, O_DSYNC or O_DIRECT at open, for locks that move between clients (`stripes`), or for a full page cache"
            .into(),
    });
    let looked = units::counted(all.small.count, "small write");
    let enough = if dominate { A_FEW } else { m.least.sync_min };
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), looked, said);
    out.also("slow small writes", Amount::Count(all.slow_small.count), Amount::Count(enough));
}

fn syncs(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("syncs per write", Code::SYNC_PER_WRITE, m.least.sync_share);
    // Per file: otherwise, large files without syncs would hide a small log that is synced after each write.
    let files = || m.calls.files.iter().filter(|(_, file)| file.syncs.count > 0);
    let worst = files().max_by_key(|(file, calls)| (calls.syncs.count, std::cmp::Reverse(**file)));
    let Some((&file, calls)) = worst else { return out.skip(check, code, Amount::Ratio(least), "no syncs") };
    let ratio = calls.syncs.count as f64 / calls.writes.count.max(1) as f64;
    let bad = |calls: &super::file_calls::FileCalls| {
        calls.syncs.count >= m.least.sync_min && calls.syncs.count as f64 >= least * calls.writes.count as f64
    };
    let found: Vec<_> = files().filter(|(_, calls)| bad(calls)).collect();
    let cost = found.iter().map(|(_, calls)| calls.syncs.time_ns).sum::<Sum>().get();
    let said = (!found.is_empty()).then(|| Said {
        about: About { time_ns: Some(cost), ..About::default() },
        severity: m.severity(cost),
        title: format!("the program syncs {} after every write or two", units::counted(found.len() as u64, "file")),
        evidence: found
            .iter()
            .take(crate::limits::NAMED_EXAMPLES)
            .map(|(file, calls)| {
                format!(
                    "{}: {} for {}, {} in syncs",
                    m.name(**file),
                    units::counted(calls.syncs.count, "sync"),
                    units::counted(calls.writes.count, "write"),
                    units::duration(calls.syncs.time_ns)
                )
            })
            .collect(),
        cost_ns: Some(cost),
        hint: "sync once per step or checkpoint: fsync(2) waits for all data written so far (SQLite: one transaction around many \
               statements)"
            .into(),
    });
    let looked = format!("{}: {}", m.name(file), units::counted(calls.syncs.count, "sync"));
    out.add(check, code, Amount::Ratio(ratio), Amount::Ratio(least), looked, said);
    out.also("syncs of a file", Amount::Count(calls.syncs.count), Amount::Count(m.least.sync_min));
}

fn seeks(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("seeks per read or write", Code::SEEK_PER_ACCESS, m.least.seek_share);
    let (mut count, mut time, mut data) = (0_u64, 0_u64, 0_u64);
    for file in m.calls.files.values().filter(|file| file.seeks.count > 0) {
        count = count.saturating_add(file.seeks.count);
        time = time.saturating_add(file.seeks.time_ns);
        data = data.saturating_add(file.reads.count).saturating_add(file.writes.count);
    }
    if count == 0 {
        return out.skip(check, code, Amount::Ratio(least), "no seeks");
    }
    if data == 0 {
        return out.skip(check, code, Amount::Ratio(least), "no POSIX reads or writes of the files with seeks");
    }
    let ratio = count as f64 / data as f64;
    let said = (ratio >= least && count >= m.least.seek_min).then(|| Said {
        about: About { calls: Some(count), time_ns: Some(time), ..About::default() },
        severity: m.severity(time),
        title: format!("the program makes {} for {}", units::counted(count, "seek"), units::accesses(data)),
        evidence: m
            .most(&m.calls.files, |file| file.seeks.count)
            .into_iter()
            .map(|(file, seeks)| format!("{}: {}", m.name(file), units::counted(seeks, "seek")))
            .collect(),
        cost_ns: Some(time),
        hint: "pass the offset with the call (pread(2), pwrite(2), MPI_File_read_at): one call instead of two".into(),
    });
    let looked = format!("{}, {} of the same files", units::counted(count, "seek"), units::accesses(data));
    out.add(check, code, Amount::Ratio(ratio), Amount::Ratio(least), looked, said);
    out.also("seeks", Amount::Count(count), Amount::Count(m.least.seek_min));
}
