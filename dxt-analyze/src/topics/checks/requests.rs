//! Checks of single requests: size and order, and syncs and seeks between requests.

use super::result::{Amount, Verdicts};
use super::sums::{Direction, FileSums};
use super::{Measured, share};
use crate::findings::{About, Code, Finding};
use crate::model::FileId;
use crate::sum::Sum;
use crate::text::units;
use crate::words::Words;
use crate::words::checks::requests as words;
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

/// Check names and finding codes for one direction of calls (reads or writes).
struct Which {
    word: &'static str,
    singular: &'static str,
    of: fn(&FileSums) -> &Direction,
    small: (&'static str, Code),
    shared: (&'static str, Code),
    random: (&'static str, Code),
    runs: (&'static str, Code),
}

impl Which {
    /// Returns the subject of a finding about `calls` calls of this direction.
    fn about(&self, calls: u64) -> About {
        About { calls: Some(calls), operation: Some(self.word.into()), ..About::default() }
    }
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
    for (check, code, read, write, show, words) in [
        (
            "read-write imbalance in calls",
            Code::CALL_MIX,
            reads.count,
            writes.count,
            (|calls| units::counted(calls, "call")) as fn(u64) -> String,
            words::call_mix as fn(u64, u64) -> Words,
        ),
        ("read-write imbalance in bytes", Code::BYTE_MIX, reads.bytes, writes.bytes, units::bytes, words::byte_mix),
    ] {
        let all = read.saturating_add(write);
        if all == 0 {
            out.skip(check, code, Amount::Ratio(least), "no reads or writes");
            continue;
        }
        let apart = share(read.abs_diff(write), all);
        let found = (apart > least).then(|| {
            let about = About { operation: Some(words::more_of(read, write).into()), ..About::default() };
            Finding::new(code, words(read, write)).with(about)
        });
        out.add(check, code, Amount::Ratio(apart), Amount::Ratio(least), show(all), found);
    }
}

fn sum(m: &Measured<'_>, which: &Which, only: impl Fn(&FileId) -> bool) -> Direction {
    let mut all = Direction::default();
    m.files.iter().filter(|(file, _)| only(file)).for_each(|(_, sums)| all.merge((which.of)(sums)));
    all
}

fn small(m: &Measured<'_>, out: &mut Verdicts, which: &Which) {
    let (check, code) = which.small;
    small_of(m, out, which, (check, code), None);
}

fn shared_small(m: &Measured<'_>, out: &mut Verdicts, which: &Which) {
    let (check, code) = which.shared;
    let shared =
        |file: &FileId| m.calls.files.get(file).is_some_and(|file| file.read_by.len() > 1 || file.written_by.len() > 1);
    if let Some(why) = m.no_ranks() {
        return out.skip(check, code, Amount::Ratio(m.least.small_share), why);
    }
    small_of(m, out, which, (check, code), Some(&shared));
}

fn small_of(
    m: &Measured<'_>,
    out: &mut Verdicts,
    which: &Which,
    (check, code): (&'static str, Code),
    shared: Option<&dyn Fn(&FileId) -> bool>,
) {
    let only = shared.unwrap_or(&|_| true);
    let least = Amount::Ratio(m.least.small_share);
    let all = sum(m, which, only);
    if all.all.count == 0 {
        return out.skip(check, code, least, "no such calls");
    }
    let part = share(all.small.count, all.all.count);
    let enough = enough(m, &all, m.least.small_min, 2);
    let found = (part > m.least.small_share && all.small.count > enough).then(|| {
        let files = m.most(&m.files, |sums| (which.of)(sums).small.count).into_iter().filter(|(file, _)| only(file));
        let files = files.map(|(file, count)| {
            let direction = m.files.get(&file).map(|sums| *(which.of)(sums)).unwrap_or_default();
            let bytes = (direction.small_unsized == 0).then_some(direction.small.bytes);
            (m.name(file), count, bytes, direction.small.time_ns)
        });
        let facts = words::Small {
            operation: which.word,
            of_shared: shared.is_some(),
            count: all.small.count,
            share: part,
            bytes: (all.small_unsized == 0).then_some(all.small.bytes),
            limit: m.least.small_request_bytes,
            files: files.collect(),
            merging: merging(m),
        };
        let time_ns = all.small.time_ns;
        let about = About { bytes: Some(all.small.bytes), time_ns: Some(time_ns), ..which.about(all.small.count) };
        let finding = Finding::new(code, words::small_requests(&facts)).with(about);
        Finding { severity: m.severity(time_ns), ..finding }
    });
    let looked = format!("{}, {} small", units::counted(all.all.count, which.singular), units::count(all.small.count));
    out.add(check, code, Amount::Ratio(part), least, looked, found);
    out.also("small calls", Amount::Count(all.small.count), Amount::Count(enough));
}

/// Divisor of the minimum number of small calls for a finding, if slow small calls take most of the time.
const OF_SLOW: u64 = 10;
/// Minimum mean size of slow small calls, bytes, for the lower minimum number of calls (divided by [`OF_SLOW`]) to apply. The cost of
/// shorter calls is reported by [`crate::topics::causes::shape::tiny`], however few they are.
const NOT_TINY: u64 = 16 << 10;

/// Returns the minimum number of small calls for a finding: `least`, or `least` / [`OF_SLOW`] if slow small calls take most of the time of
/// all reads (or writes), `all`, and more than `accesses` x `slow_small_ns` each.
fn enough(m: &Measured<'_>, all: &Direction, least: u64, accesses: u64) -> u64 {
    let each = |sum: u64| sum / all.slow_small.count.max(1);
    let slow = share(all.slow_small.time_ns, all.all.time_ns) >= MOST_OF_IT
        && each(all.slow_small.bytes) >= NOT_TINY
        && each(all.slow_small.time_ns) > m.least.slow_small_ns.saturating_mul(accesses);
    if slow && all.slow_small.count >= least / OF_SLOW { least / OF_SLOW } else { least }
}

/// Returns the ways to merge small requests that fit the interfaces that the run uses.
fn merging(m: &Measured<'_>) -> words::Merging {
    let streams = || m.run.processes.iter().flat_map(|process| &process.streams);
    let has = |layer: Layer| streams().any(|stream| m.run.op(stream).layer == Some(layer));
    words::Merging { collective: m.run.ranks() > 1, hdf5: has(Layer::Hdf5), mpi_io: has(Layer::Mpiio) }
}

/// Minimum share of backward requests at which the order counts as reversed; in random order, about half go backward.
const BACKWARD: f64 = 0.8;

fn random(m: &Measured<'_>, out: &mut Verdicts, which: &Which) {
    let (check, code) = which.random;
    let least = Amount::Ratio(m.least.random_share);
    let all = sum(m, which, |_| true);
    if all.placed == 0 {
        return out.skip(check, code, least, "no call has a known earlier call of the same thread in the file");
    }
    let part = share(all.random.count, all.placed);
    let found = (part > m.least.random_share && all.random.count > m.least.random_min).then(|| {
        let files = m.named(&m.files, |sums| (which.of)(sums).random.count);
        let words = words::random_requests(which.word, part, part >= BACKWARD, &files, m.run.ranks() > 1);
        let finding = m.costly(code, words, which.about(all.random.count), all.random.time_ns);
        // A time of 0 means unknown, which is possible for calls that have only counters.
        Finding { cost_ns: finding.cost_ns.filter(|&ns| ns > 0), ..finding }
    });
    let looked = format!("{}, {} random", units::counted(all.placed, which.singular), units::count(all.random.count));
    out.add(check, code, Amount::Ratio(part), least, looked, found);
    out.also("random calls", Amount::Count(all.random.count), Amount::Count(m.least.random_min));
}

fn runs(m: &Measured<'_>, out: &mut Verdicts, which: &Which) {
    let (check, code) = which.runs;
    let all = sum(m, which, |_| true);
    // Requests of more than half of `small_bytes` may also take up to `slow_small_ns` for the transfer of their bytes.
    let longer = all.slow_small.bytes > all.slow_small.count.saturating_mul(m.least.small_bytes / 2);
    let enough = enough(m, &all, m.least.saved_calls_min, if longer { 2 } else { 1 });
    let least = Amount::Count(enough);
    if let Some(why) = m.no_segments() {
        return out.skip(check, code, least, why);
    }
    let found = (all.saved >= enough).then(|| {
        let files = m.most(&m.files, |sums| (which.of)(sums).saved).into_iter().map(|(file, saved)| {
            let longest = m.files.get(&file).and_then(|sums| (which.of)(sums).longest_run);
            (m.name(file), saved, longest.map(|run| (run.amount, m.example(&run))))
        });
        let (calls, size) = (all.in_runs.count, m.least.small_request_bytes);
        let merged = calls.saturating_sub(all.saved);
        let words = words::request_runs(which.word, calls, merged, size, &files.collect::<Vec<_>>());
        m.costly(code, words, which.about(calls), all.saved_ns)
    });
    let looked = format!(
        "{} of consecutive calls, with {} in total",
        units::counted(all.runs, "run"),
        units::counted(all.in_runs.count, which.singular)
    );
    out.add(check, code, Amount::Count(all.saved), least, looked, found);
}

/// Minimum number of slow small writes for a finding if they are very slow and take most of the write time.
const A_FEW: u64 = 10;
/// Multiple of `slow_small_ns` at which the mean time of slow small writes counts as very slow.
const VERY: u64 = 5;
/// Minimum share of a total time at which a part counts as most of the time.
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
    // A few slow writes suffice for a finding if they take most of the write time.
    let each = all.slow_small.time_ns / all.slow_small.count.max(1);
    let very_slow = each >= m.least.slow_small_ns.saturating_mul(VERY) && all.slow_small.count >= A_FEW;
    let dominate = very_slow && share(all.slow_small.time_ns, all.all.time_ns) >= MOST_OF_IT;
    let found = (part >= least && (all.slow_small.count >= m.least.sync_min || dominate)).then(|| {
        let files = m.named(&m.files, |sums| sums.writes.slow_small.time_ns);
        let words = words::slow_small_writes(part, all.small.count, m.least.slow_small_ns, &files);
        let (calls, time) = (all.slow_small.count, all.slow_small.time_ns);
        m.costly(code, words, About { calls: Some(calls), ..About::default() }, time)
    });
    let looked = units::counted(all.small.count, "small write");
    let enough = if dominate { A_FEW } else { m.least.sync_min };
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), looked, found);
    out.also("slow small writes", Amount::Count(all.slow_small.count), Amount::Count(enough));
}

fn syncs(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("syncs per write", Code::SYNC_PER_WRITE, m.least.sync_share);
    // The ratio is per file: otherwise, large files without syncs would hide a small log that is synced after each write.
    let files = || m.calls.files.iter().filter(|(_, file)| file.syncs.count > 0);
    let worst = files().max_by_key(|(file, calls)| (calls.syncs.count, std::cmp::Reverse(**file)));
    let Some((&file, calls)) = worst else { return out.skip(check, code, Amount::Ratio(least), "no syncs") };
    let ratio = calls.syncs.count as f64 / calls.writes.count.max(1) as f64;
    let bad = |calls: &super::file_calls::FileCalls| {
        calls.syncs.count >= m.least.sync_min && calls.syncs.count as f64 >= least * calls.writes.count as f64
    };
    let bad: Vec<_> = files().filter(|(_, calls)| bad(calls)).collect();
    let cost = bad.iter().map(|(_, calls)| calls.syncs.time_ns).sum::<Sum>().get();
    let found = (!bad.is_empty()).then(|| {
        let named = bad.iter().take(crate::limits::NAMED_EXAMPLES);
        let named = named.map(|(id, of)| (m.name(**id), of.syncs.count, of.writes.count, of.syncs.time_ns));
        let words = words::sync_per_write(bad.len() as u64, &named.collect::<Vec<_>>());
        m.costly(code, words, About::default(), cost)
    });
    let looked = format!("{}: {}", m.name(file), units::counted(calls.syncs.count, "sync"));
    out.add(check, code, Amount::Ratio(ratio), Amount::Ratio(least), looked, found);
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
    let found = (ratio >= least && count >= m.least.seek_min).then(|| {
        let files = m.named(&m.calls.files, |file| file.seeks.count);
        let about = About { calls: Some(count), ..About::default() };
        m.costly(code, words::seek_per_access(count, data, &files), about, time)
    });
    let looked = format!("{}, {} of the same files", units::counted(count, "seek"), units::accesses(data));
    out.add(check, code, Amount::Ratio(ratio), Amount::Ratio(least), looked, found);
    out.also("seeks", Amount::Count(count), Amount::Count(m.least.seek_min));
}
