//! Table of all thresholds: those of one topic each, and the vocabulary that the rules of effects, hypotheses and verdict share.

use super::Threshold;
use serde::{Deserialize, Serialize};

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
        "Minimum share of the run time in I/O for I/O to be a bottleneck; below it, no finding but waits for a processor, starts of processes and repeated computing is above `info`.",
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
    // Words of the rules about effects, hypotheses and the verdict.
    negligible_share: f64 = 0.001 in 0.0 to 1.0, "share",
        "Share of the time below which calls, slow ranks, nodes, storage targets or files, and findings are ignored.",
        "ours: a thousandth of the run is below the variation of any measurement";
    barely_share: f64 = 0.02 in 0.0 to 1.0, "share",
        "Share of bytes or time below which a target or file counts as unused, and a slow period or wait for a processor as too short.",
        "ours: as warn_run_share";
    minor_share: f64 = 0.05 in 0.0 to 1.0, "share",
        "Share of the largest amount (of bytes, time or saving) from which a smaller amount counts beside the largest.",
        "ours: as io_matters_share";
    some_share: f64 = 0.1 in 0.0 to 1.0, "share",
        "Share of a whole (time, calls or members of a group) from which a part matters.",
        "ours: as high_run_share";
    quarter_share: f64 = 0.25 in 0.0 to 1.0, "share",
        "Share of a whole (time, calls, bytes or members of a group) that counts as a considerable part.",
        "ours";
    third_share: f64 = 0.35 in 0.0 to 1.0, "share",
        "Share of a whole (time, calls or members of a group) that counts as a minority, so that the other part decides.",
        "ours";
    half_share: f64 = 0.5 in 0.0 to 1.0, "share",
        "Share of a whole (time, calls, bytes or members of a group) that counts as half.",
        "ours";
    majority_share: f64 = 0.65 in 0.0 to 1.0, "share",
        "Share of a whole (time, calls or members of a group) that counts as a clear majority.",
        "ours: two thirds, rounded";
    most_share: f64 = 0.8 in 0.0 to 1.0, "share",
        "Share of a whole (time, calls, bytes or members of a group) that counts as most of the whole.",
        "ours";
    nearly_all_share: f64 = 0.9 in 0.0 to 1.0, "share",
        "Share of a whole (time, calls, bytes or members of a group) that counts as nearly the whole.",
        "ours";
    all_share: f64 = 0.97 in 0.0 to 1.0, "share",
        "Share of a whole (time, calls or bytes) that counts as the whole, since the rest can be headers or chance.",
        "ours";
    fastest_quantile: f64 = 0.03 in 0.0 to 1.0, "share",
        "Quantile of the durations of calls that shows how long a call takes without waiting for other calls.",
        "ours: the minimum of many calls is an outlier";
    chance_p: f64 = 0.01 in 0.0 to 1.0, "probability",
        "Probability below which late ranks, or outliers on one rank, node or storage target, do not count as chance.",
        "customary 1 %";
    similar_ratio: f64 = 1.25 in 1.0 to f64::INFINITY, "ratio",
        "Ratio of two amounts (calls, bytes, times, loads) up to which the two count as equal.",
        "ours";
    slower_ratio: f64 = 1.5 in 1.0 to f64::INFINITY, "ratio",
        "Slowdown (ratio of durations) from which files, storage targets and periods count as slow, since healthy ones also differ.",
        "ours";
    double_ratio: f64 = 2.0 in 1.0 to f64::INFINITY, "ratio",
        "Ratio of two amounts or durations from which one is clearly larger than the other.",
        "ours";
    treble_ratio: f64 = 3.0 in 1.0 to f64::INFINITY, "ratio",
        "Ratio of two amounts or durations from which the two are of different kinds, such as calls in a queue and calls that do not wait.",
        "ours";
    far_ratio: f64 = 8.0 in 1.0 to f64::INFINITY, "ratio",
        "Ratio from which two amounts are far apart, and number of storage targets, aggregators or operations that is certainly enough.",
        "ours";
    queue_exponent: f64 = 2.0 in 0.0 to 10.0, "exponent",
        "Exponent e: calls on a storage target with x times the load of others may take x^e times as long, since more of them find others waiting.",
        "queueing theory: both the queue and the chance to meet it grow with the load";
    log_gap: f64 = 0.3 in 0.0 to f64::INFINITY, "log ratio",
        "Gap or skewness of the logarithms of durations (0.3 is 35 %) that separates slow from fast calls without a statistical test.",
        "ours";
    repeated_min: u64 = 2 in 1.0 to 1e6, "events",
        "Minimum number of times that an event must occur to count as repeated, and number of calls in one use of a file.",
        "ours";
    several_min: u64 = 3 in 2.0 to 100.0, "members",
        "Minimum number of ranks, processes, files, phases or calls to compare one of them with the others.",
        "ours: of two nobody knows which one is usual";
    few_min: u64 = 4 in 1.0 to 1e6, "members",
        "Minimum number of processes, storage targets, files, calls or periods to show a pattern.",
        "ours";
    calls_min: u64 = 8 in 1.0 to 1e6, "calls",
        "Minimum number of calls or ranks to show a repeated pattern, or to take a median.",
        "ours: as units_min_sample";
    many_calls_min: u64 = 16 in 1.0 to 1e6, "calls",
        "Minimum number of calls or files for their number, or the sum of their times, to be evidence by itself.",
        "ours";
    more_calls_min: u64 = 32 in 1.0 to 1e6, "calls",
        "Minimum number of small calls or small files for their number to count as the cause of lost time.",
        "ours";
    hundred_calls_min: u64 = 100 in 1.0 to 1e6, "calls",
        "Minimum number of calls, each usually short, for their number to count as the cause of lost time.",
        "ours: as sync_min";
    metadata_bytes: u64 = 16_384, "bytes",
        "Request size below which a request is tiny, or counts as metadata of a library such as HDF5.",
        "ours";
    small_bytes: u64 = 65_536, "bytes",
        "Size below which a request or file is small, and maximum size of a header and of a C stream's buffer.",
        "ours; glibc";
    block_bytes: u64 = 131_072, "bytes",
        "Request size below which a request can complete a partly written block, flush a buffer, or read a block that all need.",
        "ours: the largest read-ahead of Linux";
    direct_bytes: u64 = 262_144, "bytes",
        "Request size below which bypassing the page cache, or independent calls on a shared file, cost more than the transfer.",
        "ours: as request_bytes";
    half_time_bytes: u64 = 524_288, "bytes",
        "Request size at which the transfer of the bytes takes half of a request's time: smaller requests and files should be combined.",
        "ours: about 0.5 ms at 1 GB/s";
    large_bytes: u64 = 1_048_576, "bytes",
        "Request size from which a request is large, and minimum number of bytes mapped into memory that matter.",
        "Drishti's 1 MiB for small requests";
    block_read_bytes: u64 = 4_194_304, "bytes",
        "Maximum size of a block that processes read, or a file that they rewrite, as a whole: an input or a state, not a checkpoint.",
        "ours";
    advised_request_bytes: u64 = 4_194_304 in 1.0 to 1e12, "bytes",
        "Size of the requests that advice on programs names.",
        "ours: the stripe of a few storage targets; longer requests save little";
    striping_min_bytes: u64 = 1_073_741_824, "bytes",
        "Minimum number of bytes moved on a file of one stripe for more stripes to be advised.",
        "ours: about a second at 1 GB/s";
    system_call_ns: f64 = 1_000.0, "ns",
        "Time of a system call that moves no bytes and reaches no storage, such as a seek.",
        "ours";
    start_ns: u64 = 10_000_000, "ns",
        "Maximum time that the start of a process is assumed to take.",
        "ours: fork, exec and the libraries of a small program";
    in_memory_ns: f64 = 2_000.0, "ns",
        "Time of a call that only reaches the page cache, without the time to copy the bytes; calls that take less make no rank, node, target or file slow.",
        "ours: one system call";
    transfer_ns_per_byte: f64 = 1.0, "ns per byte",
        "Time per byte of large requests and of exchanges between ranks, if the run has no such calls to compare with.",
        "ours: 1 GB/s";
    copy_ns_per_byte: f64 = 0.2, "ns per byte",
        "Time per byte of a copy in memory that a library makes.",
        "ours: 5 GB/s";
    convert_ns_per_byte: f64 = 5.0, "ns per byte",
        "Time per byte of large collective HDF5 calls, which gather, scatter and convert elements.",
        "ours";
    server_ns: f64 = 300_000.0, "ns",
        "Maximum usual duration of a metadata call, or of a call for a lock that nobody holds, on an idle server.",
        "ours: one round trip and a look-up in memory";
    slow_call_ns: u64 = 5_000_000, "ns",
        "Duration from which a metadata call or a close is slow, without a comparison with other calls.",
        "ours: a seek of a disk";
    poll_interval_ns: u64 = 1_000_000_000, "ns",
        "Mean interval between failed queries above which a process does other work, and does not poll.",
        "ours: a second";
    setup_ns: u64 = 1_000_000_000, "ns",
        "Maximum time to set up connections or caches at the first call of a process.",
        "ours: a second";
}
