//! Thresholds that users can set with `--thresholds FILE` (TOML): name, unit, default, meaning, source. Constants of the slowdown model
//! (`topics/causes`, `topics/verdict`) are not among them. `docs/analyses.md` has the same table; a test compares each row.

use crate::exit::UsageError;
use serde::{Deserialize, Serialize};

/// Threshold, for reports and documentation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// Name, as in the TOML file.
    pub name: &'static str,
    /// Value used in this run: the default or the user's.
    pub value: f64,
    /// Unit of the value.
    pub unit: &'static str,
    /// Meaning, as a sentence.
    pub meaning: &'static str,
    /// Source of the default.
    pub source: &'static str,
}

macro_rules! thresholds {
    ($($name:ident: $type:ty = $default:literal, $unit:literal, $doc:literal, $source:literal;)+) => {
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
                    meaning: $doc,
                    source: $source,
                },)+]
            }
        }
    };
}

thresholds! {
    fence_iqr: f64 = 1.5, "IQR",
        "Fences of a box plot lie this many interquartile ranges outside the quartiles.",
        "Tukey, Exploratory Data Analysis, 1977; on bandwidths: Xu et al., DXT, CUG 2017, section IV";
    box_min_sample: u64 = 20, "operations",
        "Fewest operations that a box plot gives a verdict on.",
        "Hoaglin, Iglewicz & Tukey, JASA 81, 1986: below about 20 values the fences label good data too often";
    modified_z: f64 = 3.5, "robust standard deviations",
        "Modified z-score from which a rank, node, storage target or file is an outlier.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993";
    units_min_sample: u64 = 8, "members",
        "Fewest ranks, nodes, storage targets or files that are compared.",
        "ours: with fewer, a median absolute deviation rests on two or three values";
    false_discovery_rate: f64 = 0.05, "ratio",
        "Share of false alarms among all alarms, in the mean, when ranks, nodes, storage targets or files are compared.",
        "Benjamini & Hochberg, JRSS B 57, 1995; the customary 5 %";
    io_matters_share: f64 = 0.05, "ratio",
        "Share of the run time in I/O, below which it is not the bottleneck and no finding is more than info.",
        "ours: what cannot save a twentieth of a run is not what to look at first";
    high_run_share: f64 = 0.1, "ratio",
        "Share of the run time that a finding would save, from which it is high.",
        "ours: a tenth of the node hours";
    warn_run_share: f64 = 0.02, "ratio",
        "Share of the run time that a finding would save, from which it is a warning.",
        "ours: about what run times of one program differ by";
    least_saving_ns: u64 = 1_000_000, "ns",
        "What a finding must save to be more than info, however short the run.",
        "ours: nobody waits for a millisecond, and so short a run is not measured well";
    least_run_share: f64 = 0.01, "ratio",
        "Share of the run time that a finding must save to stand on the first screen.",
        "ours";
    uncovered_share: f64 = 0.3, "ratio",
        "Share of the time in I/O that one kind of calls takes without any finding on it, from which that is said.",
        "ours";
    min_slowdown: f64 = 1.15, "ratio",
        "Least slowdown against the median that is called an outlier, however regular the rest is.",
        "the 15 % that Drishti takes for stragglers";
    unaligned_share: f64 = 0.1, "ratio",
        "Share of operations that begin or end off a stripe boundary, from which it is a finding.",
        "Drishti's 10 % for misaligned requests";
    crossing_share: f64 = 0.1, "ratio",
        "Share of operations that cross a stripe boundary though they would fit in one stripe, from which it is a finding.",
        "as for unaligned_share";
    alignment_min_operations: u64 = 10, "operations",
        "Fewest operations on a file that alignment is judged on.",
        "ours: a header or two written at odd places is no pattern";
    target_imbalance: f64 = 1.3, "ratio",
        "Bytes on the busiest storage target against the mean over the file's targets, from which it is a finding.",
        "the 30 % that Drishti takes for imbalance";
    imbalance_min_stripes: u64 = 4, "stripes per target",
        "Fewest stripes' worth of bytes that balance over targets is judged on, per target.",
        "ours: with fewer, some targets must get one stripe more than others";
    lock_share: f64 = 0.1, "ratio",
        "Share of the time in MPI-IO's reads and writes that goes into file locks, from which it is a finding.",
        "ours; RIOT found nearly 30 % in FLASH-IO on GPFS (Wright et al., The Computer Journal 56, 2013)";
    sieving_amplification: f64 = 1.5, "ratio",
        "Bytes that POSIX moves per byte asked of MPI-IO, from which it is a finding.",
        "ours";
    arrival_wait_share: f64 = 0.15, "ratio",
        "Share of the time in collective calls spent waiting for the last rank to begin, from which it is a finding.",
        "the 15 % that Drishti takes for stragglers";
    communication_share: f64 = 0.5, "ratio",
        "Share of collective operations' time behind the last rank's arrival outside of system calls, from which it is a finding.",
        "ours: more than storage itself takes";
    storage_share: f64 = 0.25, "ratio",
        "Share of collective calls' time that the busiest aggregator's system calls take, from which few aggregators are a finding.",
        "ours: with less, storage is not what the ranks wait for";
    collective_share: f64 = 0.5, "ratio",
        "Share of blocking calls on a shared file that are collective, below which independent ones are a finding.",
        "the 50 % that Drishti takes for collective operations";
    independent_min_operations: u64 = 1000, "operations",
        "Blocking calls on a file that must be exceeded for that.",
        "the 1,000 that Drishti takes";
    small_request_bytes: u64 = 1_048_576, "bytes",
        "Mean size below which calls are small enough for collective buffering to pay.",
        "Drishti's 1 MiB for small requests";
    serial_share: f64 = 0.5, "ratio",
        "Share of the time in POSIX reads and writes with one call in flight, from which it is a finding.",
        "ours";
    serial_min_ranks: u64 = 4, "ranks",
        "Fewest ranks for that.",
        "ours: of two or three ranks one often works alone";
    pace_min_sample: u64 = 20, "operations",
        "Fewest aligned and fewest unaligned operations of like size whose durations are compared.",
        "as box_min_sample";
    pace_clear_errors: f64 = 2.0, "standard errors",
        "Difference of two mean durations from which it is no chance.",
        "Welch, Biometrika 34, 1947: 5 % for large samples";
    request_bytes: u64 = 262144, "bytes",
        "What a request to a storage target costs in the model of other layouts: as much as the transfer of so many bytes.",
        "ours: some 0.1 ms at 2.5 GB/s";
    handover_bytes: u64 = 1048576, "bytes",
        "The same for a lock that is handed to another node.",
        "ours: a few requests, one after another";
    recommend_gain: f64 = 0.1, "ratio",
        "How much less another layout must cost by the model to be recommended.",
        "ours";
    stripe_sizes_apart: f64 = 4.0, "ratio",
        "Ratio of the stripe sizes by cost model and by replay above which the output says why they differ.",
        "ours: two steps of a factor of 2, between which costs hardly differ";
    phase_quiet_share: f64 = 0.01, "ratio",
        "Share of the time from the first call to the last that no call is in flight, from which an I/O phase ends.",
        "ours";
    shared_trait_min: u64 = 4, "operations",
        "Fewest slow operations that can have something in common.",
        "ours";
    shared_trait_share: f64 = 0.5, "ratio",
        "Share of the slowest operations with the same rank, node, storage target, file or moment, from which it is said.",
        "ours: most of them";
    shared_trait_excess: f64 = 2.0, "ratio",
        "How many times more often than among equals that must be.",
        "ours";
    shared_moment_share: f64 = 0.1, "ratio",
        "Longest part of the run that counts as a moment.",
        "ours";
    high_cost_share: f64 = 0.1, "ratio",
        "Share of the time that all processes spent in reads and writes, from which a finding's cost makes it `high`.",
        "ours";
    warn_cost_share: f64 = 0.01, "ratio",
        "The same for `warn`; below it a finding is `info`.",
        "ours";
    stdio_share: f64 = 0.1, "ratio",
        "Share of bytes through C streams, beyond which it is a finding.",
        "Drishti's 10 % for STDIO";
    intensive_share: f64 = 0.1, "ratio",
        "Difference of reads and writes over their sum, beyond which it is noted.",
        "Drishti's 10 %";
    small_share: f64 = 0.1, "ratio",
        "Share of small requests, beyond which it is a finding.",
        "Drishti's 10 %";
    small_min: u64 = 1_000, "operations",
        "Number of small requests, beyond which it is a finding.",
        "Drishti's 1,000";
    random_share: f64 = 0.2, "ratio",
        "Share of requests that go backwards, beyond which it is a finding.",
        "Drishti's 20 %";
    random_min: u64 = 50, "operations",
        "Number of requests that go backwards, beyond which it is a finding.",
        "ours: Drishti has 1,000, which a job of slow requests never reaches";
    metadata_rank_s: f64 = 30.0, "seconds",
        "Time of one rank in metadata calls, beyond which it is a finding.",
        "Drishti's 30 s";
    metadata_share: f64 = 0.3, "ratio",
        "Share of metadata calls in the time of all calls, from which it is a finding.",
        "ours";
    metadata_min: u64 = 1_000, "operations",
        "Fewest metadata calls, or opens, that such shares are judged on.",
        "ours";
    straggler_imbalance: f64 = 0.15, "ratio",
        "Imbalance over ranks, beyond which it is a finding.",
        "Drishti's 15 % for stragglers";
    shared_file_imbalance: f64 = 0.3, "ratio",
        "Imbalance over the ranks of a shared file, beyond which it is a finding.",
        "Drishti's 30 %";
    imbalance_min_ns: u64 = 1_000_000_000, "ns",
        "Least time of the slowest rank that imbalance of time is judged on.",
        "ours: a second";
    one_rank_share: f64 = 0.9, "ratio",
        "Share of bytes that one rank moves, from which it is a finding.",
        "ours";
    collective_min: u64 = 1_000, "operations",
        "Number of MPI-IO calls, or of calls on a shared file, beyond which it is a finding.",
        "Drishti's 1,000";
    aggregator_nodes_share: f64 = 0.5, "ratio",
        "Share of nodes that move bytes for collective calls, below which it is a finding.",
        "ours; ROMIO's default is one per node";
    memory_unaligned_share: f64 = 0.1, "ratio",
        "Share of accesses unaligned in memory, beyond which it is a finding.",
        "Drishti's 10 % for misaligned requests";
    traffic_share: f64 = 0.1, "ratio",
        "Share of bytes that move needlessly, from which it is a finding.",
        "ours, as Drishti's 10 %";
    traffic_min_bytes: u64 = 1_048_576, "bytes",
        "Fewest bytes that traffic and balance are judged on.",
        "ours: 1 MiB";
    common_readers_min: u64 = 4, "processes",
        "Fewest readers of the same bytes that count as many.",
        "ours";
    saved_calls_min: u64 = 1_000, "operations",
        "Calls that joining runs of small requests would save, from which it is a finding.",
        "ours, as Drishti's 1,000";
    slow_small_ns: u64 = 1_000_000, "ns",
        "Small writes that take so long wait for storage.",
        "ours: copying 1 MiB to the page cache takes a tenth of it";
    slow_small_share: f64 = 0.5, "ratio",
        "Share of small writes that wait for storage, from which it is a finding.",
        "ours";
    sync_share: f64 = 0.5, "ratio",
        "Syncs per write of a file, from which it is a finding.",
        "ours";
    sync_min: u64 = 100, "operations",
        "Fewest syncs, or slow small writes, that are judged.",
        "ours";
    seek_share: f64 = 0.5, "ratio",
        "Seeks per read or write, from which it is a finding.",
        "ours";
    seek_min: u64 = 1_000, "operations",
        "Fewest seeks that are judged.",
        "ours";
    opens_per_file: u64 = 100, "operations",
        "Opens of a file by one process, from which it is a finding.",
        "ours";
    accesses_per_open: f64 = 2.0, "operations",
        "Reads and writes per open, up to which it is a finding.",
        "ours";
    failed_opens_share: f64 = 0.5, "ratio",
        "Share of opens that fail, from which it is a finding.",
        "ours";
    failed_opens_min: u64 = 100, "operations",
        "Fewest failed opens that are judged.",
        "ours";
    metadata_rate: f64 = 10000.0, "operations per second",
        "Metadata calls per second, from which it is a finding.",
        "ours: a file system's metadata server answers some ten thousand a second for all jobs together";
    idle_share: f64 = 0.5, "ratio",
        "Share of time without I/O, from which it is noted.",
        "ours";
    phases_min_ns: u64 = 100_000_000, "ns",
        "Shortest time that phases are judged on.",
        "ours: a tenth of a second";
    compare_q: f64 = 0.01, "ratio",
        "False discovery rate up to which a difference between two runs counts.",
        "Benjamini & Hochberg, 1995; ours: stricter than the usual 0.05, as calls of one run are not independent";
    compare_min_sample: u64 = 8, "operations",
        "Fewest calls of an operation in each run that are compared.",
        "ours: from here on the normal approximation of the rank-sum test is good";
    growth_share: f64 = 0.1, "ratio",
        "Growth of calls or bytes between two runs, beyond which it is a finding.",
        "ours";
    growth_min_calls: u64 = 10, "operations",
        "Least growth of calls that is a finding.",
        "ours";
}

/// Returns the words of a text that may name thresholds: runs of letters, digits and underscores.
pub(crate) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

impl Thresholds {
    /// Returns the defaults, overridden by a TOML text.
    ///
    /// # Errors
    /// Fails with [`UsageError`] and the position in the text if the TOML, a name or a value in it is invalid.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let parsed: Self = toml::from_str(text).map_err(|error| UsageError(error.to_string().trim_end().to_owned()))?;
        match parsed.all().into_iter().find(|threshold| !(threshold.value.is_finite() && threshold.value >= 0.0)) {
            Some(bad) => Err(UsageError(format!("{} = {}: it must be a number from 0 up", bad.name, bad.value))),
            None => Ok(parsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the documentation with the thresholds; with DXT_BLESS=1, rewrites its rows instead.
    #[test]
    fn the_documentation_has_each_threshold_as_it_is() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/analyses.md");
        let text = std::fs::read_to_string(path).unwrap();
        let row = |of: &Threshold| {
            let Threshold { name, value, unit, meaning, source } = of;
            format!("| `{name}` | {value} | {unit} | {meaning} | {source} |")
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
        for wrong in
            ["modified_y = 5", "modified_z = \"a\"", "modified_z = -1", "box_min_sample = 1.5", "modified_z = nan", "="]
        {
            assert!(Thresholds::parse(wrong).is_err(), "{wrong}");
        }
    }
}
