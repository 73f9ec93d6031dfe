//! Thresholds that users can set with `--thresholds FILE` (TOML): name, unit, default, meaning, source. Users cannot set the constants of the model
//! of slow units ([`effects`]), nor those of `topics/causes` and `topics/verdict`. `docs/analyses.md` has a table of all thresholds; a test
//! compares each row.

use crate::exit::UsageError;
use serde::{Deserialize, Serialize};

/// Description of one threshold, for reports and documentation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// Name, as in the TOML file.
    pub name: &'static str,
    /// Value used in this run: the default or the user's.
    pub value: f64,
    /// Unit of the value, such as `ratio` or `ns`.
    pub unit: &'static str,
    /// Meaning of the threshold, as a sentence.
    pub meaning: &'static str,
    /// Source of the default value: publication, tool, or `ours`.
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
        "Minimum number of operations to judge outliers in a box plot.",
        "Hoaglin, Iglewicz & Tukey, JASA 81, 1986: below about 20 values the fences label good data too often";
    modified_z: f64 = 3.5, "robust standard deviations",
        "Modified z-score from which a rank, node, storage target or file is an outlier.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993";
    units_min_sample: u64 = 8, "members",
        "Minimum number of ranks, nodes, storage targets or files to judge outliers among them.",
        "ours: with fewer, a median absolute deviation rests on two or three values";
    false_discovery_rate: f64 = 0.05, "ratio",
        "Expected share of false alarms among the ranks, nodes, storage targets or files reported as outliers.",
        "Benjamini & Hochberg, JRSS B 57, 1995; the customary 5 %";
    io_matters_share: f64 = 0.05, "ratio",
        "Minimum share of the run time in I/O for I/O to be a bottleneck; below it, no finding but waits for a processor is above `info`.",
        "ours: a smaller share cannot save a twentieth of the run time";
    hdf5_amplification: f64 = 2.0, "ratio",
        "Minimum ratio of the bytes that HDF5 moves to the bytes of the chunks that its calls touch, each moved once, for a finding.",
        "ours: every byte is moved again";
    high_run_share: f64 = 0.1, "ratio",
        "Minimum saving for severity `high`, as a share of the run time.",
        "ours: a tenth of the node hours";
    warn_run_share: f64 = 0.02, "ratio",
        "Minimum saving for severity `warn`, as a share of the run time.",
        "ours: about the usual variation between runs of one program";
    least_saving_ns: u64 = 50_000_000, "ns",
        "Minimum saving for a severity above `info`, regardless of the run time.",
        "ours: five ticks of a kernel's 100 Hz clock; nobody waits for less, and so short a run is not measured precisely";
    least_run_share: f64 = 0.01, "ratio",
        "Minimum saving for a finding on the first screen, as a share of the run time.",
        "ours";
    cpu_wait_share: f64 = 0.05, "ratio",
        "Minimum share of its time that a process waits for a processor, for a finding.",
        "ours: as for io_matters_share";
    uncovered_share: f64 = 0.3, "ratio",
        "Minimum share of the time in I/O that calls of one kind take, without a finding on them, to be reported.",
        "ours";
    min_slowdown: f64 = 1.15, "ratio",
        "Minimum slowdown relative to the median for an outlier, regardless of how little the others vary.",
        "the 15 % that Drishti takes for stragglers";
    unaligned_share: f64 = 0.1, "ratio",
        "Minimum share of operations that begin or end off a stripe boundary for a finding.",
        "Drishti's 10 % for misaligned requests";
    crossing_share: f64 = 0.1, "ratio",
        "Minimum share of operations that cross a stripe boundary although they would fit in one stripe, for a finding.",
        "as for unaligned_share";
    alignment_min_operations: u64 = 10, "operations",
        "Minimum number of operations on a file to judge its alignment.",
        "ours: one or two unaligned headers are not a pattern";
    target_imbalance: f64 = 1.3, "ratio",
        "Minimum ratio of the bytes on the busiest storage target to the mean over the file's targets, for a finding.",
        "Drishti's 30 % for imbalance";
    imbalance_min_stripes: u64 = 4, "stripes per target",
        "Minimum bytes per target, in stripes, to judge the balance over targets.",
        "ours: with fewer, some targets must get one stripe more than others";
    lock_share: f64 = 0.1, "ratio",
        "Minimum share of the time in MPI-IO reads and writes spent on file locks, for a finding.",
        "ours; RIOT found nearly 30 % in FLASH-IO on GPFS (Wright et al., The Computer Journal 56, 2013)";
    sieving_amplification: f64 = 1.5, "ratio",
        "Minimum number of bytes that POSIX moves per byte requested from MPI-IO, for a finding.",
        "ours";
    arrival_wait_share: f64 = 0.15, "ratio",
        "Minimum share of the time in collective calls spent waiting for the last rank to arrive, for a finding.",
        "the 15 % that Drishti takes for stragglers";
    communication_share: f64 = 0.5, "ratio",
        "Minimum share of collective operations' time after the last rank's arrival that is outside of system calls, for a finding.",
        "ours: more time than storage takes";
    storage_share: f64 = 0.25, "ratio",
        "Minimum share of collective calls' time in the busiest aggregator's system calls, for a finding on too few aggregators.",
        "ours: below it, ranks do not wait for storage";
    collective_share: f64 = 0.5, "ratio",
        "Share of collective calls among the blocking calls on a shared file, below which independent calls are a finding.",
        "Drishti's 50 % for collective operations";
    independent_min_operations: u64 = 1000, "operations",
        "Number of blocking calls on a file, above which independent calls can be a finding.",
        "Drishti's 1,000";
    small_request_bytes: u64 = 1_048_576, "bytes",
        "Mean call size below which collective buffering pays.",
        "Drishti's 1 MiB for small requests";
    serial_share: f64 = 0.5, "ratio",
        "Minimum share of the time in POSIX reads and writes with only one call in flight, for a finding.",
        "ours";
    serial_min_ranks: u64 = 4, "ranks",
        "Minimum number of ranks for a finding on serialized calls.",
        "ours: with two or three ranks, one often works alone";
    pace_min_sample: u64 = 20, "operations",
        "Minimum number of aligned and of unaligned operations of similar size to compare their durations.",
        "as box_min_sample";
    pace_clear_errors: f64 = 2.0, "standard errors",
        "Minimum difference of two mean durations to be significant.",
        "Welch, Biometrika 34, 1947: 5 % for large samples";
    request_bytes: u64 = 262144, "bytes",
        "Cost of a request to a storage target in the model of other layouts, as the number of bytes transferred in that time.",
        "ours: about 0.1 ms at 2.5 GB/s";
    handover_bytes: u64 = 1048576, "bytes",
        "Cost of a lock that moves to another node in the model of other layouts, as the number of bytes transferred in that time.",
        "ours: a few requests, one after another";
    recommend_gain: f64 = 0.1, "ratio",
        "Minimum reduction of the cost in the model for another layout to be recommended.",
        "ours";
    stripe_sizes_apart: f64 = 4.0, "ratio",
        "Ratio of the stripe sizes by cost model and by replay above which the output says why they differ.",
        "ours: two steps of a factor of 2, within which costs hardly differ";
    phase_quiet_share: f64 = 0.01, "ratio",
        "Minimum time without a call in flight that ends an I/O phase, as a share of the time from the first call to the last.",
        "ours";
    shared_trait_min: u64 = 4, "operations",
        "Minimum number of slow operations to look for a common rank, node, storage target, file or time window.",
        "ours";
    shared_trait_share: f64 = 0.5, "ratio",
        "Minimum share of the slowest operations with the same rank, node, storage target, file or time window to be reported.",
        "ours: most of them";
    shared_trait_excess: f64 = 2.0, "ratio",
        "Minimum ratio of the share of the slowest operations that is on one rank, node, storage target, file or time window to the share if they were spread evenly.",
        "ours";
    shared_moment_share: f64 = 0.1, "ratio",
        "Maximum length of a time window that the slowest operations have in common, as a share of the run.",
        "ours";
    high_cost_share: f64 = 0.1, "ratio",
        "Minimum cost for severity `high`, as a share of the time that all processes spent in reads and writes.",
        "ours";
    warn_cost_share: f64 = 0.01, "ratio",
        "Minimum cost for severity `warn`, as a share of the time that all processes spent in reads and writes; below it, a finding is `info`.",
        "ours";
    stdio_share: f64 = 0.1, "ratio",
        "Share of bytes through C streams, above which there is a finding.",
        "Drishti's 10 % for STDIO";
    intensive_share: f64 = 0.1, "ratio",
        "Difference of reads and writes, divided by their sum, above which it is reported.",
        "Drishti's 10 %";
    small_share: f64 = 0.1, "ratio",
        "Share of small requests, above which there is a finding.",
        "Drishti's 10 %";
    small_min: u64 = 1_000, "operations",
        "Number of small requests, above which there is a finding.",
        "Drishti's 1,000";
    random_share: f64 = 0.2, "ratio",
        "Share of requests that go backwards in the file, above which there is a finding.",
        "Drishti's 20 %";
    random_min: u64 = 50, "operations",
        "Number of requests that go backwards in the file, above which there is a finding.",
        "ours: Drishti has 1,000, which a job of slow requests never reaches";
    metadata_rank_s: f64 = 30.0, "seconds",
        "Time of one rank in metadata calls, above which there is a finding.",
        "Drishti's 30 s";
    metadata_share: f64 = 0.3, "ratio",
        "Minimum share of metadata calls in the time of all calls, for a finding.",
        "ours";
    metadata_min: u64 = 1_000, "operations",
        "Minimum number of metadata calls, or of opens, to judge their shares.",
        "ours";
    straggler_imbalance: f64 = 0.15, "ratio",
        "Imbalance of bytes or time over ranks (0 if equal, 1 if one rank has all), above which there is a finding.",
        "Drishti's 15 % for stragglers";
    shared_file_imbalance: f64 = 0.3, "ratio",
        "Imbalance of a shared file's bytes over its ranks (0 if equal, 1 if one rank has all), above which there is a finding.",
        "Drishti's 30 %";
    imbalance_min_ns: u64 = 1_000_000_000, "ns",
        "Minimum time of the slowest rank to judge the imbalance of time.",
        "ours: a second";
    one_rank_share: f64 = 0.9, "ratio",
        "Minimum share of bytes that one rank moves, for a finding.",
        "ours";
    collective_min: u64 = 1_000, "operations",
        "Number of MPI-IO calls, or of calls on a shared file, above which it is a finding that few are collective.",
        "Drishti's 1,000";
    aggregator_nodes_share: f64 = 0.5, "ratio",
        "Share of the job's nodes that move bytes for collective calls, below which there is a finding.",
        "ours; ROMIO's default is one per node";
    memory_unaligned_share: f64 = 0.1, "ratio",
        "Share of accesses whose buffer is unaligned in memory, above which there is a finding.",
        "Drishti's 10 % for misaligned requests";
    traffic_share: f64 = 0.1, "ratio",
        "Minimum share of bytes that are moved needlessly, for a finding.",
        "ours, as Drishti's 10 %";
    traffic_min_bytes: u64 = 1_048_576, "bytes",
        "Minimum number of bytes moved to judge needless traffic and the balance over ranks.",
        "ours: 1 MiB";
    common_readers_min: u64 = 4, "processes",
        "Minimum number of processes that read the same part of a file, for a finding.",
        "ours";
    saved_calls_min: u64 = 1_000, "operations",
        "Minimum number of calls saved by merging consecutive small requests, for a finding.",
        "ours, as Drishti's 1,000";
    slow_small_ns: u64 = 1_000_000, "ns",
        "Minimum duration of a small write that counts as waiting for storage.",
        "ours: copying 1 MiB to the page cache takes a tenth of it";
    slow_small_share: f64 = 0.5, "ratio",
        "Minimum share of small writes that wait for storage, for a finding.",
        "ours";
    sync_share: f64 = 0.5, "ratio",
        "Minimum number of syncs per write of a file, for a finding.",
        "ours";
    sync_min: u64 = 100, "operations",
        "Minimum number of syncs, or of slow small writes, to judge them.",
        "ours";
    seek_share: f64 = 0.5, "ratio",
        "Minimum number of seeks per read or write, for a finding.",
        "ours";
    seek_min: u64 = 1_000, "operations",
        "Minimum number of seeks to judge them.",
        "ours";
    opens_per_file: u64 = 100, "operations",
        "Minimum number of opens of a file by one process, for a finding.",
        "ours";
    accesses_per_open: f64 = 2.0, "operations",
        "Maximum number of reads and writes per open, for a finding.",
        "ours";
    failed_opens_share: f64 = 0.5, "ratio",
        "Minimum share of opens that fail, for a finding.",
        "ours";
    failed_opens_min: u64 = 100, "operations",
        "Minimum number of failed opens to judge them.",
        "ours";
    metadata_rate: f64 = 10000.0, "operations per second",
        "Minimum number of metadata calls per second, for a finding.",
        "ours: a file system's metadata server answers about 10,000 per second for all jobs together";
    idle_share: f64 = 0.5, "ratio",
        "Minimum share of time without I/O to be reported.",
        "ours";
    phases_min_ns: u64 = 100_000_000, "ns",
        "Minimum time from the first I/O call to the last, or with a single process in I/O, for a finding.",
        "ours: a tenth of a second";
    compare_q: f64 = 0.01, "ratio",
        "False discovery rate (q-value) up to which a difference between two runs counts as significant.",
        "Benjamini & Hochberg, 1995; ours: stricter than the usual 0.05, as calls of one run are not independent";
    compare_min_sample: u64 = 8, "operations",
        "Minimum number of calls of an operation in each run to compare them.",
        "ours: from here on the normal approximation of the rank-sum test is good";
    growth_share: f64 = 0.1, "ratio",
        "Growth of calls or bytes between two runs, above which there is a finding.",
        "ours";
    growth_min_calls: u64 = 10, "operations",
        "Minimum growth of calls for a finding.",
        "ours";
}

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
        match parsed.all().into_iter().find(|threshold| !(threshold.value.is_finite() && threshold.value >= 0.0)) {
            Some(bad) => Err(UsageError(format!(
                "{} = {}: the value must be a finite number of at least 0",
                bad.name, bad.value
            ))),
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
