//! Plausibility checks of a log's records: ranks of the job, nonnegative counts, times within the run. Implausible records are excluded and
//! counted, since one damaged number would dominate a sum over sound numbers.
//!
//! The bounds come from the job record. If the job record is implausible itself, there are no bounds, and only impossible numbers are excluded.

use crate::model::Problem;
use crate::text::paths::shown;
use darshan_log::counters::{SIZE_NAMES, float_names, int_names};
use darshan_log::{CounterRecord, HeatmapRecord, Info, Module, Segment};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// Maximum plausible number of ranks of a job: ten times the processors of the largest existing machine.
const MOST_RANKS: i64 = 100_000_000;
/// Maximum plausible run time, in s: ten years.
const LONGEST_S: f64 = 315_360_000.0;
/// Tolerance for times after the end of the run, in s, in addition to 1 %: the clocks of ranks and of the job differ.
const SLACK_S: f64 = 1.0;
/// Maximum plausible ratio of one rank's summed times to the run time: calls of several threads and asynchronous calls overlap.
const SIDE_BY_SIDE: f64 = 4096.0;
/// Upper bound of the bytes transferred by one call: lengths in a trace have 40 bits.
const CALL_BYTES: u64 = 1 << 40;

/// Bounds within which the numbers of a log are plausible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) nprocs: Option<i64>,
    /// Run time with tolerance, in s; `None` if the log has no plausible run time.
    latest_s: Option<f64>,
    /// Start of the job, in ns since 1970-01-01 UTC; 0 if the log has no plausible start.
    pub(crate) start_unix_ns: i64,
}

impl Bounds {
    pub(crate) fn of(info: &Info) -> Self {
        let job = &info.job;
        let run = job.run_time;
        let starts = (0..i64::MAX / 1_000_000_000).contains(&job.start_sec);
        let nanoseconds = job.start_nsec.clamp(0, 999_999_999);
        Self {
            nprocs: Some(job.nprocs).filter(|ranks| (1..=MOST_RANKS).contains(ranks)),
            latest_s: (run > 0.0 && run <= LONGEST_S).then_some(run * 1.01 + SLACK_S),
            start_unix_ns: if starts { job.start_sec * 1_000_000_000 + nanoseconds } else { 0 },
        }
    }

    /// Returns the end of the run, in ns since the run's start; 0 if unknown.
    pub(crate) fn end_ns(&self, info: &Info) -> u64 {
        self.latest_s.map_or(0, |_| super::named::ns(info.job.run_time))
    }

    /// Describes what is implausible in the job record; `None` if the record is plausible.
    pub(crate) fn job_problem(&self, info: &Info) -> Option<String> {
        let job = &info.job;
        let mut wrong = Vec::new();
        if self.nprocs.is_none() {
            wrong.push(format!("{} processes", job.nprocs));
        }
        // A run time of 0 is no damage: the run was shorter than the clock's resolution.
        if self.latest_s.is_none() && job.run_time != 0.0 {
            wrong.push(format!("a run time of {} s", job.run_time));
        }
        if self.start_unix_ns == 0 && job.start_sec != 0 {
            wrong.push(format!("a start {} s after 1970", job.start_sec));
        }
        if job.run_time == 0.0 && job.start_sec == 0 && self.nprocs.is_some() {
            wrong.push("neither a start nor a run time".into());
        }
        let what = format!(
            "the job record is implausible ({}): ranks and times are taken from the other records",
            wrong.join(", ")
        );
        (!wrong.is_empty()).then_some(what)
    }

    /// Checks that `rank` is a rank of the job, or -1, which stands for all ranks.
    fn rank(&self, rank: i64) -> Result<(), String> {
        match self.nprocs {
            Some(ranks) if rank >= ranks => Err(format!("rank {rank} of {ranks} ranks")),
            _ if rank < -1 || rank > i64::from(i32::MAX) => Err(format!("rank {rank}")),
            _ => Ok(()),
        }
    }

    /// Returns true if `seconds` is a plausible time since the start or duration: from -1 ("not recorded") to `times` the run time with tolerance.
    fn time(&self, seconds: f64, times: f64) -> bool {
        let latest = self.latest_s.unwrap_or(LONGEST_S) * times;
        seconds.is_finite() && seconds >= -SLACK_S && seconds <= latest
    }

    /// Returns true if `value`, a count below -1 in a shared record, means "not monitored": it equals minus the number of ranks (if that
    /// number is unknown, it is at least -[`MOST_RANKS`]). Old Darshan runtimes added up the -1 that each rank had for a counter that it
    /// did not monitor.
    fn is_unknown(&self, rank: i64, value: i64) -> bool {
        rank < 0 && self.nprocs.map_or(-MOST_RANKS <= value, |ranks| value == -ranks)
    }

    /// Checks a counter record. The error is the reason why the record is implausible.
    pub(crate) fn counters(&self, module: Module, record: &CounterRecord) -> Result<(), String> {
        self.rank(record.rank)?;
        let ranks = if record.rank < 0 { self.nprocs.unwrap_or(MOST_RANKS) as f64 } else { 1.0 };
        let latest_s = self.latest_s.unwrap_or(LONGEST_S);
        let kinds = Kinds::of(module);
        // Total bytes and calls, for reads and for writes.
        let mut moved = [(0_u64, 0_u64); 2];
        let ints = int_names(module).iter().zip(&record.ints).zip(&kinds.ints);
        for ((name, &value), kind) in ints {
            let amount = u64::try_from(value).unwrap_or(0);
            match kind {
                Int::Rank => self.rank(value)?,
                Int::Free => {}
                _ if value < -1 && !self.is_unknown(record.rank, value) => return Err(format!("{name} is {value}")),
                Int::Amount => {}
                Int::Bytes(side) => moved[*side].0 = amount,
                Int::Calls(side) => {
                    if value as f64 > latest_s * 1e9 * ranks {
                        return Err(format!("{name} is {value}: more than one per nanosecond"));
                    }
                    if let Some(side) = side {
                        moved[*side].1 = moved[*side].1.saturating_add(amount);
                    }
                }
            }
        }
        for ((name, &value), kind) in float_names(module).iter().zip(&record.floats).zip(&kinds.floats) {
            let times = match kind {
                Float::Free => continue,
                Float::OfRun => 1.0,
                Float::OfRank => SIDE_BY_SIDE,
                Float::Sum => SIDE_BY_SIDE * ranks,
            };
            if !self.time(value, times) {
                return Err(format!("{name} is {value} s in a run of {latest_s} s"));
            }
        }
        // Records of libraries include bytes of calls that the records do not count.
        let counts_all = matches!(module, Module::Posix | Module::MpiIo | Module::Stdio);
        match moved.iter().find(|(bytes, calls)| counts_all && *bytes > calls.saturating_mul(CALL_BYTES)) {
            Some((bytes, calls)) => Err(format!("{bytes} bytes in {calls} calls")),
            None => Ok(()),
        }
    }

    pub(crate) fn segment_rank(&self, rank: i64) -> Result<(), String> {
        if rank < 0 { Err(format!("rank {rank}")) } else { self.rank(rank) }
    }

    pub(crate) fn segment(&self, segment: &Segment) -> bool {
        let length = u64::try_from(segment.length).is_ok_and(|length| length < CALL_BYTES);
        length && self.time(segment.start, 1.0) && self.time(segment.end, 1.0)
    }

    /// Checks a heat map (bytes over time). The error is the reason why the heat map is implausible.
    pub(crate) fn heat(&self, record: &HeatmapRecord) -> Result<(), String> {
        self.segment_rank(record.rank)?;
        let width = record.bin_width_seconds;
        if !(width > 0.0 && width <= LONGEST_S) {
            return Err(format!("bins of {width} s"));
        }
        match record.read_bytes.iter().chain(&record.write_bytes).find(|bytes| **bytes < 0) {
            Some(bytes) => Err(format!("a bin has {bytes} bytes")),
            None => Ok(()),
        }
    }
}

/// Meaning of an integer counter, which determines its plausible values.
#[derive(Clone, Copy, Debug)]
enum Int {
    Rank,
    /// Counter that holds an id, or a value chosen by the program: any number is plausible.
    Free,
    /// Counter of an amount: any nonnegative number is plausible, and -1 for "not monitored".
    Amount,
    /// Counter of the total bytes read (0) or written (1).
    Bytes(usize),
    /// Counter of calls, with the direction (0 read, 1 write) if the counter counts all reads or all writes of one form.
    Calls(Option<usize>),
}

/// Meaning of a float counter, which determines its plausible values.
#[derive(Clone, Copy, Debug)]
enum Float {
    /// Counter of a variance: any number is plausible.
    Free,
    /// Counter of a point in time within the run, or of the duration of one call.
    OfRun,
    /// Counter of the total time of one rank in several calls.
    OfRank,
    /// Counter of the total time of all ranks that the record stands for.
    Sum,
}

/// Meanings of a module's counters, in the order of the counters.
#[derive(Debug)]
struct Kinds {
    ints: Vec<Int>,
    floats: Vec<Float>,
}

impl Kinds {
    fn of(module: Module) -> &'static Self {
        static ALL: OnceLock<Vec<Kinds>> = OnceLock::new();
        static NONE: Kinds = Kinds { ints: Vec::new(), floats: Vec::new() };
        let all = ALL.get_or_init(|| (0..).map_while(Module::at).map(Self::new).collect());
        all.get(module.place()).unwrap_or(&NONE)
    }

    fn new(module: Module) -> Self {
        Self {
            ints: int_names(module).iter().map(|name| int(name)).collect(),
            floats: float_names(module).iter().map(|name| float(name)).collect(),
        }
    }
}

fn int(name: &str) -> Int {
    const CALLS: [&str; 10] =
        ["OPENS", "SEEKS", "STATS", "SYNCS", "FLUSHES", "MMAPS", "SWITCHES", "NOT_ALIGNED", "VIEWS", "CREATES"];
    let ends = |words: &[&str]| words.iter().any(|word| name.ends_with(word));
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let ordered = has(&["_SEQ_", "_CONSEC_"]);
    match () {
        () if ends(&["_FASTEST_RANK", "_SLOWEST_RANK"]) => Int::Rank,
        () if ends(&["_RENAMED_FROM", "_MODE"]) || has(&["_STRIDE", "_LENGTH_D"]) => Int::Free,
        () if ends(&["_BYTES_READ"]) => Int::Bytes(0),
        () if ends(&["_BYTES_WRITTEN"]) => Int::Bytes(1),
        () if ends(&["READS", "WRITES"]) && !ordered => Int::Calls(Some(usize::from(name.ends_with("WRITES")))),
        () if ordered || ends(&CALLS) || name.contains("_SIZE_") && ends(&SIZE_NAMES) => Int::Calls(None),
        () => Int::Amount,
    }
}

fn float(name: &str) -> Float {
    match () {
        () if name.contains("VARIANCE") => Float::Free,
        () if name.ends_with("_TIMESTAMP") || name.contains("_MAX_") => Float::OfRun,
        () if name.contains("EST_RANK_TIME") => Float::OfRank,
        () => Float::Sum,
    }
}

/// Implausible records by module: number of records, and reason for the first record.
#[derive(Debug, Default)]
pub(crate) struct Aside(BTreeMap<(Module, &'static str), (u64, String)>);

impl Aside {
    /// Counts the record as implausible if `checked` is an error; returns true if the record is plausible.
    pub(crate) fn passes(&mut self, module: Module, checked: Result<(), String>) -> bool {
        match checked {
            Ok(()) => true,
            Err(why) => {
                self.add(module, "record", 1, why);
                false
            }
        }
    }

    pub(crate) fn segments(&mut self, module: Module, count: u64) {
        self.add(module, "segment", count, "an impossible length or time".into());
    }

    fn add(&mut self, module: Module, what: &'static str, count: u64, why: String) {
        if count > 0 {
            let entry = self.0.entry((module, what)).or_insert((0, why));
            entry.0 = entry.0.saturating_add(count);
        }
    }

    /// Describes the records that were excluded as implausible, one problem per module.
    pub(crate) fn problems(&self, path: &Path, info: &Info) -> Vec<Problem> {
        let one = |(&(module, what), (count, why)): (&(Module, &'static str), &(u64, String))| Problem {
            file: shown(path),
            offset: info.header.module(module).map_or(0, |entry| entry.region.offset),
            what: match count {
                1 => format!("1 {module} {what} is implausible, so dxt-analyze skips this record: {why}"),
                _ => format!(
                    "{count} {module} {what}s are implausible, so dxt-analyze skips these records; the first: {why}"
                ),
            },
        };
        self.0.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Bounds {
        Bounds { nprocs: Some(4), latest_s: Some(11.0), start_unix_ns: 0 }
    }

    fn posix(rank: i64, counter: &str, value: f64) -> CounterRecord {
        let mut record = CounterRecord::zero(Module::Posix, 7, rank).expect("a record");
        let place = |names: &[&str]| names.iter().position(|known| *known == counter);
        match (place(int_names(Module::Posix)), place(float_names(Module::Posix))) {
            (Some(at), _) => record.ints[at] = value as i64,
            (_, Some(at)) => record.floats[at] = value,
            _ => panic!("{counter} is not known"),
        }
        record
    }

    #[test]
    fn what_cannot_be_is_reported_from_what_is_not_known() {
        let sound = [
            posix(3, "POSIX_READS", 5.0),
            posix(-1, "POSIX_FASTEST_RANK", 3.0),
            posix(0, "POSIX_FASTEST_RANK", -1.0),
            posix(0, "POSIX_DUPS", -1.0),
            posix(-1, "POSIX_MMAPS", -4.0),
            posix(0, "POSIX_RENAMED_FROM", -5e18),
            posix(0, "POSIX_STRIDE1_STRIDE", -4096.0),
            posix(0, "POSIX_F_OPEN_END_TIMESTAMP", -1.0),
            posix(0, "POSIX_F_CLOSE_END_TIMESTAMP", 10.9),
            posix(-1, "POSIX_F_READ_TIME", 43.0),
            // Summed read time of 200 threads of one process.
            posix(0, "POSIX_F_READ_TIME", 2_000.0),
            posix(0, "POSIX_F_VARIANCE_RANK_TIME", f64::NAN),
        ];
        for record in &sound {
            assert_eq!(bounds().counters(Module::Posix, record), Ok(()), "{record:?}");
        }
        let broken = [
            posix(4, "POSIX_READS", 5.0),
            posix(-2, "POSIX_READS", 5.0),
            posix(-1, "POSIX_SLOWEST_RANK", 4.0),
            posix(0, "POSIX_READS", -2.0),
            posix(0, "POSIX_MMAPS", -4.0),
            posix(-1, "POSIX_MMAPS", -3.0),
            posix(-1, "POSIX_MMAPS", -5.0),
            posix(0, "POSIX_READS", 9e18),
            posix(0, "POSIX_SIZE_READ_0_100", 9e18),
            posix(0, "POSIX_BYTES_READ", -7.0),
            posix(0, "POSIX_BYTES_WRITTEN", 9e18),
            posix(0, "POSIX_F_WRITE_END_TIMESTAMP", 11.1),
            posix(0, "POSIX_F_MAX_READ_TIME", 11.1),
            posix(-1, "POSIX_F_READ_TIME", 1e300),
            posix(0, "POSIX_F_META_TIME", f64::NAN),
            posix(0, "POSIX_F_META_TIME", -221.0),
        ];
        for record in &broken {
            assert!(bounds().counters(Module::Posix, record).is_err(), "{record:?}");
        }
    }

    #[test]
    fn segments_lie_within_the_run() {
        let segment = |length, start, end| Segment { offset: 0, length, start, end, thread: None };
        assert!(bounds().segment(&segment(0, 0.0, 10.2)));
        for one in [segment(-1, 0.0, 1.0), segment(1 << 40, 0.0, 1.0), segment(1, 0.0, 12.0), segment(1, f64::NAN, 1.0)]
        {
            assert!(!bounds().segment(&one), "{one:?}");
        }
    }
}
