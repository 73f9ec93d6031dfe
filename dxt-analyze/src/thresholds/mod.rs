//! Thresholds that users can set with `--thresholds FILE` (TOML): name, unit, range, default, meaning, source. The rules of effects,
//! hypotheses and the verdict share one vocabulary of them: shares, ratios, counts, sizes and times. Users cannot set bounds of memory and
//! work ([`crate::limits`]). `docs/analyses.md` has a table of all thresholds; a test compares each row.

use crate::exit::UsageError;
use serde::Serialize;

/// Description of one threshold, for reports and documentation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// Name, as in the TOML file.
    pub name: &'static str,
    /// Value used in this run: the default or the user's.
    pub value: f64,
    /// Unit of the value, such as `ratio` or `ns`.
    pub unit: &'static str,
    /// Smallest and largest valid value.
    #[serde(skip)]
    pub range: (f64, f64),
    /// Meaning of the threshold, as a sentence.
    pub meaning: &'static str,
    /// Source of the default value: publication, tool, or `ours`.
    pub source: &'static str,
}

/// Defines [`Thresholds`] from a table: name, type, default, range (0 or more if none is given), unit, meaning, source.
macro_rules! thresholds {
    ($($name:ident: $type:ty = $default:literal $(in $low:literal to $high:expr)?, $unit:literal, $doc:literal, $source:literal;)+) => {
        /// Values of all thresholds used in a run.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Thresholds {
            $(#[doc = concat!($doc, " Unit: ", $unit, ". Source: ", $source, ".")] pub $name: $type,)+
        }

        impl Default for Thresholds {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Thresholds {
            /// Returns all thresholds with their descriptions, in the order of the documentation.
            #[must_use]
            pub fn all(&self) -> Vec<Threshold> {
                vec![$(Threshold {
                    name: stringify!($name),
                    value: self.$name as f64,
                    unit: $unit,
                    range: [$(($low, $high),)? (0.0, f64::INFINITY)][0],
                    meaning: $doc,
                    source: $source,
                },)+]
            }
        }
    };
}

mod table;

pub use table::Thresholds;

/// Constants for samples of processor use (times that threads run, and wait for a processor). Users cannot set them. Source: ours.
pub mod processor {
    /// Minimum share of a sampled interval that a thread waits for a processor, to be subtracted from the interval's calls. Ratio, below 0.1.
    pub const LEAST_WAITING: f64 = 0.01;
    /// Minimum share of a sampled interval that a thread runs or waits for a processor, for the interval to count as work. Ratio, 0 to 1.
    pub const AT_WORK: f64 = 0.5;
    /// Minimum calls of a kind for their median duration to count as free of waits for a processor. Calls, at least 3.
    pub const CALLS_OF_MEDIAN: u64 = 8;
}

/// Constants of the verdict, which users cannot set.
pub mod verdict {
    /// Maximum calls of a process on a file (or metadata calls on it) that count as one use: open and close. Calls, at least 1. Source: ours.
    pub const CALLS_OF_ONE_USE: u64 = 2;
}

/// Constants of the model of slow units ([`crate::effects`]: ranks, targets, periods, ...), which users cannot set. Source: ours, unless stated.
pub mod effects {
    /// Minimum saving of a set of slow units, relative to the set that saves most, to be preferred for having fewer units. Ratio, 0.5 to 1.
    pub const NEARLY_AS_MUCH: f64 = 2.0 / 3.0;
    /// Minimum share of all time in calls that a slow unit (such as a rank or file) must explain to count. Ratio, below 0.01.
    pub const LEAST_SHARE: f64 = 0.001;
    /// Divisor of the false discovery rate, as several sorts of units are tested, on reads and on writes. Tests, at least 1.
    pub const TESTS: f64 = 4.0;
    /// Maximum effects (slow units, or sets of them) that are searched for: bounds the time of the search. Effects, at least 1.
    pub const ROUNDS: usize = 12;
    /// Minimum slowdown for a storage target, file, file region or period to count as slow: healthy ones differ, too. Ratio, above 1.
    pub const UNLIKE: f64 = 1.5;
    /// Minimum slowdown for one of only two storage targets, or for a folder (files mostly of one kind), to count as slow. Ratio, above 1.
    pub const OF_TWO: f64 = 2.0;
    /// Minimum gap in log slowdown between ranks of slow nodes and all others, relative to their range: queues cause no gap. Ratio, 0 to 1.
    pub const NODE_GAP: f64 = 0.5;
    /// Minimum gap in log slowdown (0.3 is 35 %) between slow units and all others, if only the gap distinguishes them. Above 0.
    pub const LEAST_GAP: f64 = 0.3;
    /// Minimum calls of a unit (such as a rank or file) to be compared with its peers. Calls, at least 1.
    pub const FEWEST_CALLS: u64 = 3;
    /// Minimum calls of a file region to be compared with its peers: there are many regions (multiple testing). Calls, at least 1.
    pub const FEWEST_CALLS_OF_REGION: u64 = 8;
    /// Minimum share of pairs (process, time window) in which both of two files are in use, among those with either file in use, for the
    /// files to be compared: files used at different times may differ because of the time. Ratio, 0 to 1.
    pub const ALTERNATING: f64 = 0.5;
    /// Minimum number of times that processes change between two folders, for the folders to be compared. Changes, at least 1.
    pub const CHANGES: usize = 6;
    /// Minimum files used in a time window for their median slowdown to show how slow the window is. Files, at least 1.
    pub const FILES_AT_ONCE: usize = 4;
    /// Maximum number of slow periods in a run: more are the program's way of working, and do not count as slow. Periods, at least 1.
    pub const MOST_RANGES: usize = 4;
    /// Minimum length of a slow period: shorter ones are the start or end of a burst of I/O. Share of the run time, below 0.1.
    pub const SHORTEST_RANGE: f64 = 0.02;
    /// Minimum share of a run's time windows, or of its calls, that lies in a slow period, and that lies outside of it. Ratio, below 0.5.
    pub const QUARTER: f64 = 0.25;
    /// Minimum share of all calls before a slow period that begins in the first time windows: programs start slowly. Ratio, below 0.5.
    pub const BEGINNING: f64 = 0.15;
    /// Quantile q: the q quantile of slowdown of the windows in a long slow period must be above the 1 - q quantile of all other windows.
    /// Ratio, below 0.5.
    pub const OVERLAPPING: f64 = 0.1;
    /// Minimum Kendall's tau (rank correlation) of slowdown and time, for calls to get slower and slower. Correlation, 0 to 1.
    pub const GROWS_IN_ORDER: f64 = 0.75;
    /// Maximum throughput in a slow period relative to other times: above, calls are long because of their number. Ratio, 0 to 1.
    pub const LESS_DONE: f64 = 0.7;
    /// Maximum throughput, as [`LESS_DONE`], in a slow period in which calls get slower and slower. Ratio, 0 to 1.
    pub const LESS_DONE_AS_IT_GROWS: f64 = 0.85;
    /// Longest usual duration of a metadata call on an idle server, ns, above 0. Calls of a lower mean are not slow.
    pub const MEMORY_NS: f64 = 300_000.0;
    /// Minimum calls of a rank, node or storage target to be compared with its peers by total time in calls. Calls, at least 1.
    pub const FEWEST_BY_TIME: f64 = 16.0;
    /// Maximum share of the ranks, nodes or storage targets that may be slow by total time in calls. Ratio, below 0.5.
    pub const MOST_BY_TIME: f64 = 0.25;
    /// Share of outliers among a unit's calls above which the outliers' excess counts in the unit's time in calls. Ratio, 0 to 1.
    pub const FEW_ARE_FAR: f64 = 0.1;
    /// Maximum bytes per call of a slow unit, relative to its peers: above, its calls are long because of their size. Ratio, above 1.
    pub const AS_LARGE: f64 = 1.1;
    /// Minimum load of a storage target, relative to the other targets, for the target to be overloaded. Ratio, above 1.
    pub const OVERLOADED: f64 = 2.0;
    /// Maximum ratio of two storage targets' loads, or throughputs, that count as equal. Ratio, above 1.
    pub const AS_MUCH: f64 = 1.25;
    /// Quantile of the durations of calls on a storage target that shows how fast the target serves without a queue. Ratio, 0 to 1.
    pub const FASTEST: f64 = 0.03;
    /// If n calls begin together, this / n replaces the quantile [`FASTEST`] if smaller: one of n calls is served first. Ratio, 0 to 1.
    pub const FIRST_SERVED: f64 = 0.3;
    /// Exponent e: calls on a storage target with x times the load of others may take x^e times as long, since a process with more calls
    /// also finds more calls waiting. Exponent, at least 1. Source: ours, after queueing theory.
    pub const WAITS_BY_LOAD: f64 = 2.0;
    /// Minimum slowdown of a storage target's waiting calls that its queue ([`WAITS_BY_LOAD`]) cannot explain. Ratio, above 1.
    pub const SLOWER_THAN_QUEUE: f64 = 2.0;
    /// Minimum log slowdown of a slow storage target's fastest calls, relative to that of all its calls. Ratio, 0 to 1.
    pub const AS_SLOW_AT_ITS_FASTEST: f64 = 0.6;
    /// Maximum mean number of calls in flight on the other storage targets while these are busy, for their throughput to count as that of
    /// one call at a time. Calls, at least 1.
    pub const ALONE_IN_FLIGHT: f64 = 2.5;
    /// Maximum shortest call on a storage target that is busy, not slow, relative to the shortest call on other targets. Ratio, above 1.
    pub const AS_QUICK: f64 = 1.5;
    /// Maximum number of outliers that are reported individually, if these have most of the excess time. Calls, at least 1.
    pub const FEW_STALLS: usize = 3;
    /// Minimum outliers of a class of calls that may all point to one process or node. Calls, at least 1.
    pub const SEVERAL_OUTLIERS: u64 = 4;
    /// Maximum probability that outliers are on one process or node by chance, for these to point to it. Probability, below 0.1.
    pub const BY_CHANCE: f64 = 0.01;
    /// Share that counts as most: of outliers' excess time in few calls, of outliers on one rank or node, of files with an outlier. Ratio,
    /// above 0.5.
    pub const MOST: f64 = 0.8;
    /// Maximum share of the time of a cell (similar calls of a process in a time window) that slow units explain, for its outliers to
    /// count. Ratio, 0 to 1.
    pub const EXPLAINED: f64 = 0.3;
    /// Share of outliers among at least [`CALLS_OF_TWO_WAYS`] calls above which outliers count as ordinary calls: storage serves in two
    /// ways, such as from cache and from disk. Ratio, 0 to 1.
    pub const TWO_WAYS: f64 = 0.1;
    /// Minimum calls to conclude from many outliers ([`TWO_WAYS`]) that storage serves in two ways. Calls, at least 1.
    pub const CALLS_OF_TWO_WAYS: u64 = 100;
    /// Maximum size of requests that fit a C stream's buffer, as bit length of the bytes: one of several such requests fills or flushes it.
    /// Bits, below 64. Source: glibc.
    pub const BUFFERED: u8 = 16;
    /// Minimum share of a class of calls (such as reads) in the outliers' excess time, for their finding to name the class. Ratio, 0 to 1.
    pub const NAMED: f64 = 0.1;
    /// Maximum share of one call in the excess time of all outliers: a longer call is a stall by itself. Ratio, 0 to 1.
    pub const ONE_CALL: f64 = 1.0 / 3.0;
    /// Minimum files with one outlier each for a finding that each file's first access is slow. Files, at least 1.
    pub const FEWEST_FILES: usize = 5;
    /// Minimum mean number of calls per file for a finding that each file's first access is slow. Calls, at least 1.
    pub const CALLS_OF_FILE: u64 = 2;
    /// Maximum ratio of the longest to the shortest stall of a slow period: one cause slows calls by similar times. Ratio, above 1.
    pub const SIMILAR_STALLS: f64 = 3.0;
    /// Minimum share of processes whose first call is an outlier (to report these calls); of two slow periods' overlap in the shorter one
    /// (to merge them); of a file region's calls in slow periods (for the region itself not to be slow). Ratio, 0 to 1.
    pub const HALF: f64 = 0.5;
    /// Minimum share of the outliers' excess time in first calls of processes, for a finding about first calls. Ratio, 0 to 1.
    pub const NEARLY_ALL_FIRST: f64 = 0.98;
    /// Minimum mean number of bursts of I/O per process, for a finding about the first calls of bursts. Bursts, at least 1.
    pub const BURSTS: usize = 2;
    /// Maximum duration of first calls: longer ones are not due to setting up connections or caches. ns, above 0.
    pub const LONGEST_FIRST_NS: u64 = 1_000_000_000;
    /// Minimum mean number of calls per process, or per burst of I/O, for a finding about first calls. Calls, at least 1.
    pub const CALLS_OF_FIRST: u64 = 4;
    /// Minimum share of a lock holder's stall that is over when a wait for the lock ends: else another process held it. Ratio, 0 to 1.
    pub const UNTIL_ITS_END: f64 = 0.9;
    /// Minimum share of processes in an outlier (very long call) at the same time, for storage to count as stopped. Ratio, 0 to 1.
    pub const MOST_STAND_STILL: f64 = 0.6;
    /// Minimum share of processes, as [`MOST_STAND_STILL`], if the storage stopped only once or twice. Ratio, 0 to 1.
    pub const ALL_STAND_STILL: f64 = 0.9;
    /// Maximum spread of the ends of calls, relative to the longest call, for these to end together: storage that resumes answers all
    /// waiting calls at once. Ratio, 0 to 1.
    pub const TOGETHER: f64 = 0.35;
    /// Minimum share of the outliers' excess time while the storage stopped, for a finding about stops. Ratio, 0 to 1.
    pub const STOPS_COST: f64 = 0.7;
    /// Maximum standard deviation of the intervals between stops of the storage, relative to their mean, to be regular. Ratio, 0 to 1.
    pub const REGULAR: f64 = 0.25;
}

/// Iterates over the words of a text that could be names of thresholds: runs of letters, digits and underscores.
pub(crate) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

impl Thresholds {
    /// Parses a TOML text of thresholds; thresholds that the text does not set keep their defaults.
    ///
    /// # Errors
    /// Fails with [`UsageError`] and the position in the text if the TOML, a name or a value in it is invalid.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let parsed: Self = toml::from_str(text).map_err(|error| UsageError(error.to_string().trim_end().to_owned()))?;
        let is_bad = |of: &Threshold| !(of.value.is_finite() && of.value >= of.range.0 && of.value <= of.range.1);
        match parsed.all().into_iter().find(is_bad) {
            Some(Threshold { name, value, range: (from, until), .. }) if until.is_finite() => {
                Err(UsageError(format!("{name} = {value}: the value must be from {from} to {until}")))
            }
            Some(Threshold { name, value, range: (from, _), .. }) => {
                Err(UsageError(format!("{name} = {value}: the value must be a finite number of at least {from}")))
            }
            None => Ok(parsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the table of thresholds in `docs/analyses.md` with the code; with DXT_BLESS=1, rewrites its rows instead.
    #[test]
    fn the_documentation_has_each_threshold_as_it_is() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/analyses.md");
        let text = std::fs::read_to_string(path).unwrap();
        let row = |of: &Threshold| {
            let Threshold { name, value, unit, range: (from, until), meaning, source } = of;
            let range = if until.is_finite() { format!("{from} to {until}") } else { format!("{from} or more") };
            format!("| `{name}` | {value} | {unit} | {range} | {meaning} | {source} |")
        };
        let expected: Vec<String> = Thresholds::default().all().iter().map(row).collect();
        let is_row =
            |line: &&str| Thresholds::default().all().iter().any(|of| line.starts_with(&format!("| `{}` | ", of.name)));
        let found: Vec<&str> = text.lines().filter(is_row).collect();
        if std::env::var_os("DXT_BLESS").is_some() {
            let (before, behind) = text.split_once(&found.join("\n")).expect("the rows follow each other");
            std::fs::write(path, [before, &expected.join("\n"), behind].concat()).unwrap();
        } else {
            assert_eq!(found, expected, "DXT_BLESS=1 writes docs/analyses.md anew");
        }
    }

    #[test]
    fn a_file_changes_what_it_names_and_only_what_exists() {
        let changed = Thresholds::parse("modified_z = 5\nbox_min_sample = 7\n").unwrap();
        assert_eq!(changed, Thresholds { modified_z: 5.0, box_min_sample: 7, ..Thresholds::default() });
        assert_eq!(Thresholds::parse("").unwrap(), Thresholds::default());
        for wrong in [
            "modified_y = 5",
            "modified_z = \"a\"",
            "modified_z = -1",
            "half_share = 1.5",
            "double_ratio = 0.5",
            "box_min_sample = 1.5",
            "modified_z = nan",
            "=",
        ] {
            assert!(Thresholds::parse(wrong).is_err(), "{wrong}");
        }
    }
}
