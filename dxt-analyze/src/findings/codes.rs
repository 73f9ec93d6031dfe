//! The codes of findings and what each means. A code never changes its meaning; new meanings get new codes.

use serde::{Deserialize, Serialize};

/// What `explain` prints of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// As it is written everywhere.
    pub code: &'static str,
    /// What it says of the program.
    pub meaning: &'static str,
    /// How it is computed, thresholds by name.
    pub computed: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// Paper, tool or reasoning that it comes from.
    pub source: &'static str,
}

macro_rules! codes {
    ($($variant:ident = $code:literal, $meaning:literal, $computed:literal, $remedy:literal, $source:literal;)+) => {
        /// Stable codes. T: the trace itself; O: outliers; S: stripes; L: layers; C: checks; D: two runs compared.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code {
            $(#[doc = $meaning] #[serde(rename = $code)] $variant,)+
        }

        impl Code {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// What it means and what to do.
            #[must_use]
            pub const fn explanation(self) -> Explanation {
                match self {
                    $(Self::$variant => Explanation {
                        code: $code,
                        meaning: $meaning,
                        computed: $computed,
                        remedy: $remedy,
                        source: $source,
                    },)+
                }
            }
        }
    };
}

codes! {
    Damaged = "DXT-T001",
        "A part of the trace is damaged, cut or absent.",
        "Every checksum is verified, every rank and process of the job is looked for, and every length is compared with the file's.",
        "Run `dxt-analyze check`; name all files of the job, and recover spools with `dxt-analyze recover`. Until then take all numbers as lower bounds.",
        "trace-format/FORMAT.md";
    Folded = "DXT-T002",
        "Operations were folded into counters: their sums are exact, the single operations are gone.",
        "The tracer counts every operation for which its buffer had no room.",
        "Raise DXT_BUFFER_MAX, or set DXT_OVERFLOW=spill, if single operations matter.",
        "docs/configuration.md";
    SlowOperations = "DXT-O001",
        "Single operations take far longer than their like.",
        "Bandwidth below Q1 - fence_iqr IQR (or duration above Q3 + fence_iqr IQR) of operations of the same layer, name and form; \
         at least box_min_sample of them. Cost: time beyond what the same takes at the median.",
        "See what they share: a stripe, an OST, a node, a moment (`outliers`, `timeline`). Everything late in one moment points to other jobs; \
         one OST to the file system; one rank to its node.",
        "Xu et al., DXT: Darshan eXtended Tracing, CUG 2017, section IV; Tukey, Exploratory Data Analysis, 1977";
    SlowRank = "DXT-O002",
        "A rank is slower than the others at the same operations.",
        "Its time over the usual time of requests of the same sizes, on a logarithmic scale: robust score over all ranks at least modified_z, \
         kept by Benjamini & Hochberg's procedure at false_discovery_rate, and at least min_slowdown times slower than the median; at least \
         units_min_sample ranks. Cost: its time beyond the same work at the median.",
        "Compare its node, its offsets and its sizes with the others' (`outliers --by node`, `stripes`).",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
    SlowNode = "DXT-O003",
        "A node is slower than the others at the same operations.",
        "As DXT-O002, over nodes.",
        "Have the node checked: its network link, its file system client, what else runs there.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
    SlowTarget = "DXT-O004",
        "A storage target (OST) is slower than the others at the same operations.",
        "As DXT-O002, over storage targets; an operation over several targets counts on each, with its time shared out by bytes.",
        "Report it to the file system's administrators; place files elsewhere with `lfs setstripe -o` or `lfs migrate`.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
    SlowFile = "DXT-O005",
        "A file is slower than the others at the same operations.",
        "As DXT-O002, over files.",
        "See how it is accessed: `stripes --files`, `outliers --by op --files`.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993; Benjamini & Hochberg, JRSS B 57, 1995";
    Unaligned = "DXT-S001",
        "Many operations on a file begin or end inside a stripe.",
        "Share of reads and writes at the layer that reaches storage that do not begin and end at stripe boundaries: at least unaligned_share \
         of at least alignment_min_operations. Cost, an estimate: how much longer they took on the average than aligned ones of like size \
         (pace_min_sample of each, a difference of pace_clear_errors), times their number.",
        "Align data sets or the parts of ranks to stripes: H5Pset_alignment, the MPI-IO hint striping_unit, or the program's own offsets.",
        "Drishti's check of misaligned requests";
    Crossing = "DXT-S002",
        "Many operations on a file cross a stripe boundary though they would fit in one stripe.",
        "Share of operations no longer than a stripe that touch two: at least crossing_share of at least alignment_min_operations.",
        "Align them, or choose a stripe size that is a multiple of the request size.",
        "Lustre Operations Manual, chapter on striping";
    FalseSharing = "DXT-S003",
        "Stripes of a file are written from several nodes at once: the file system passes each stripe's lock between them.",
        "Stripes of which processes on two nodes each wrote a part, and not the whole, at overlapping times. Cost: time of the writes \
         that overlap with one from another node.",
        "Let each stripe have one writer: align the parts of ranks, or let collective buffering write whole stripes.",
        "Lustre's extent locks; Xu et al., CUG 2017, section V";
    Imbalance = "DXT-S004",
        "The storage targets of a file get unequal shares of its bytes.",
        "Bytes on the busiest target against the mean over the layout's targets: at least target_imbalance, with at least \
         imbalance_min_stripes stripes' worth of bytes per target.",
        "Choose another stripe size or count: the accesses stride over the targets (`stripes --what-if`).",
        "Drishti's 30 % for imbalance; Yin et al., IOSIG, Figure 2";
    LocalSharing = "DXT-S005",
        "Stripes of a file are written by several processes of one node at once: they wait for each other in the node's file system client.",
        "As DXT-S003, but the writes that overlap are all of one node, whose client holds the stripe's lock for all. Cost: time of these writes. \
         Never more severe than warn.",
        "As for DXT-S003; it matters less, and soon more if the job is spread over more nodes.",
        "Lustre's extent locks belong to a client, which is a node";
    LockTime = "DXT-L001",
        "Much of the time in MPI-IO goes into file locks.",
        "Time in locks taken and given back inside MPI-IO against the time in its blocking reads and writes: at least lock_share. \
         Cost: that time.",
        "Locks protect data sieving, atomic mode and the shared file pointer: romio_ds_write=disable, collective writes \
         (romio_cb_write=enable), no atomic mode, explicit offsets.",
        "Wright et al., RIOT: Parallel File System Analysis Through Application I/O Tracing, The Computer Journal 56, 2013";
    Sieving = "DXT-L002",
        "Data sieving moves far more bytes than the program asked for.",
        "Bytes that POSIX reads (or reads and writes, for writes) inside MPI-IO per byte asked of MPI-IO on a file: at least \
         sieving_amplification. Cost: the share of that POSIX time that goes with the bytes beyond those asked for.",
        "Collective calls with a file view; romio_ds_write=disable or romio_ds_read=disable where pieces are few and large.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999";
    LateRanks = "DXT-L003",
        "Collective calls wait for ranks that come late.",
        "Time between each call's start and the last one's, over all ranks of each collective operation, against the time in the calls: \
         at least arrival_wait_share. Operations that a rank had left before the last came do not count. Cost: that time.",
        "See what the late rank does between two calls; balance the work, check its node.",
        "Xu et al., DXT, CUG 2017, Figure 6; Drishti's 15 % for stragglers";
    Communication = "DXT-L004",
        "Collective calls spend their time in communication rather than in storage.",
        "Wall-clock time of each collective operation behind the last start in which the rank with most system call time is in none: at least \
         communication_share of that time. Cost: it, times the ranks that take part.",
        "Fewer and larger calls; more aggregators or a larger cb_buffer_size; no collective buffering for large contiguous parts.",
        "Xu et al., DXT, CUG 2017, Figure 6";
    Aggregators = "DXT-L005",
        "Collective buffering has too few or too many aggregators.",
        "Ranks that make system calls for data inside collective calls on a file, against the file's stripes, or the nodes if they are not known: \
         fewer while the busiest takes at least storage_share of the calls' time, or more than twice the stripes. Cost, of too few: \
         what the busiest would save, times the ranks.",
        "Set cb_nodes to the stripe count (or the number of nodes), or stripe wider.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999; Lustre Operations Manual, chapter on striping";
    Independent = "DXT-L006",
        "Ranks make many small independent calls on a shared file where collective ones would do.",
        "More than independent_min_operations blocking calls on a file of several ranks, a share of collective ones below collective_share, \
         independent ones below small_request_bytes on average. Cost: their time.",
        "MPI_File_write_all or MPI_File_read_all with a file view; HDF5: H5FD_MPIO_COLLECTIVE.",
        "Drishti's check of collective operations";
    NoBuffering = "DXT-L007",
        "Collective calls are not buffered: every rank makes its own small requests.",
        "All ranks with bytes make system calls, no fewer than collective calls, below small_request_bytes on average and less than twice \
         the size of the calls. Cost: time in them.",
        "romio_cb_write=enable, romio_cb_read=enable.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, 1999";
    Serial = "DXT-L008",
        "POSIX calls come one at a time while many ranks are in MPI-IO.",
        "At least serial_min_ranks ranks, half of them in MPI-IO on average, and one POSIX read or write in flight for at least serial_share of \
         the time in such calls. Cost: that time for each other rank in MPI-IO, at most what POSIX does not account for.",
        "More aggregators, more stripes, no lock on the whole file, no funnelling through one rank.",
        "Wright et al., RIOT, Figures on concurrent POSIX calls; The Computer Journal 56, 2013";
    StdioShare = "DXT-C001",
        "A large share of the bytes goes through C streams.",
        "Bytes of STDIO reads and writes over all bytes that the program moved: more than stdio_share.",
        "Move large data with read and write, MPI-IO or HDF5, or give streams a larger buffer with setvbuf(3).",
        "Drishti S01";
    CallMix = "DXT-C002",
        "The program makes far more reads than writes, or the reverse.",
        "Difference of reads and writes over their sum: more than intensive_share.",
        "Nothing: it tells what to tune first.",
        "Drishti P01, P02";
    ByteMix = "DXT-C003",
        "The program reads far more bytes than it writes, or the reverse.",
        "Difference of bytes read and written over their sum: more than intensive_share.",
        "Nothing: it tells what to tune first.",
        "Drishti P03, P04";
    SmallReads = "DXT-C004",
        "Many reads are small.",
        "Reads that reach storage (C streams left out) of less than small_request_bytes: more than small_share of all and more than small_min.",
        "Gather them: a buffer, collective MPI-IO, larger HDF5 chunks.",
        "Drishti P05";
    SmallWrites = "DXT-C005",
        "Many writes are small.",
        "As DXT-C004, writes.",
        "Gather them: a buffer, collective MPI-IO, larger HDF5 chunks.",
        "Drishti P06";
    SmallSharedReads = "DXT-C006",
        "Many reads of files that several ranks share are small.",
        "As DXT-C004, of files that at least two processes use.",
        "Collective MPI-IO gathers them.",
        "Drishti P15";
    SmallSharedWrites = "DXT-C007",
        "Many writes to files that several ranks share are small.",
        "As DXT-C006, writes.",
        "Collective MPI-IO gathers them.",
        "Drishti P16";
    RandomReads = "DXT-C008",
        "Many reads go backwards in the file.",
        "Reads that begin before the end of the same thread's previous read of the file (neither consecutive nor sequential): more than random_share of those that have a previous one, and more than random_min.",
        "Sort requests by offset, or let collective MPI-IO do so.",
        "Drishti P11, P12";
    RandomWrites = "DXT-C009",
        "Many writes go backwards in the file.",
        "As DXT-C008, writes.",
        "Sort requests by offset, or let collective MPI-IO do so.",
        "Drishti P13, P14";
    SharedIndependent = "DXT-C010",
        "Ranks access a shared file each for itself.",
        "A file of at least two ranks with more than collective_min POSIX or independent MPI-IO calls and no collective one.",
        "Collective calls, or a file per rank or node.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
    MetadataTime = "DXT-C011",
        "A rank spends long in metadata calls.",
        "Time of one process in opens, closes, seeks, stats, locks and the like: more than metadata_rank_s. Cost: that time.",
        "Open once and keep open; one rank stats for all; fewer files.",
        "Drishti P17";
    MetadataShare = "DXT-C012",
        "Metadata calls take a large share of the time in I/O.",
        "Their time over the time of all calls of the program: at least metadata_share, of at least metadata_min calls. Cost: their time.",
        "Open once and keep open; one rank stats for all; fewer files.",
        "ours";
    OneRank = "DXT-C013",
        "One rank moves nearly all bytes.",
        "Its share of the bytes of at least two ranks: at least one_rank_share, of at least traffic_min_bytes.",
        "Let every rank move its own part.",
        "ours; Drishti sees it as P18";
    ByteImbalance = "DXT-C014",
        "Ranks move unequal amounts of bytes.",
        "Imbalance percentage over ranks, (max - mean) / max * n / (n - 1): more than straggler_imbalance, the busiest at least traffic_min_bytes.",
        "Give ranks equal parts.",
        "Drishti P18; DeRose, Homer & Johnson, Euro-Par 2007";
    TimeImbalance = "DXT-C015",
        "Ranks spend unequal times in reads and writes.",
        "As DXT-C014 over times, the longest at least imbalance_min_ns.",
        "See `outliers --by rank` and `--by node`.",
        "Drishti P19; DeRose, Homer & Johnson, Euro-Par 2007";
    SharedReadImbalance = "DXT-C016",
        "Ranks read unequal shares of a shared file.",
        "As DXT-C014 over the ranks that read the file: more than shared_file_imbalance.",
        "Equal parts, or collective calls.",
        "Drishti P22";
    SharedWriteImbalance = "DXT-C017",
        "Ranks write unequal shares of a shared file.",
        "As DXT-C016, bytes written.",
        "Equal parts, or collective calls.",
        "Drishti P21";
    NoMpiIo = "DXT-C018",
        "An MPI program shares files without MPI-IO.",
        "At least two MPI ranks, a file that at least two of them use, and no read or write through MPI-IO.",
        "Collective MPI-IO or parallel HDF5.",
        "Drishti M01";
    NoCollectiveReads = "DXT-C019",
        "Most MPI-IO reads are independent.",
        "Share of collective ones (ordered and split ones too): less than collective_share of more than collective_min.",
        "Call the collective forms.",
        "Drishti M02, M04";
    NoCollectiveWrites = "DXT-C020",
        "Most MPI-IO writes are independent.",
        "As DXT-C019, writes.",
        "Call the collective forms.",
        "Drishti M03, M05";
    BlockingOnly = "DXT-C021",
        "MPI-IO calls all block although the job has long times without I/O.",
        "No nonblocking or split call, and no process in a call for at least idle_share of the time from the first call to the last.",
        "Nonblocking calls, waited for after the computation.",
        "Drishti M06, M07";
    FewAggregators = "DXT-C022",
        "Collective calls move the bytes through few nodes.",
        "Nodes of the ranks that move bytes beneath collective calls, over all nodes: less than aggregator_nodes_share.",
        "Set the hints cb_nodes and cb_config_list.",
        "Drishti M08, M09, M10";
    MemoryUnaligned = "DXT-C023",
        "Many reads and writes are unaligned in memory.",
        "Share that begins off a multiple of 8 bytes: more than memory_unaligned_share. Only the mode that keeps counters records it.",
        "posix_memalign(3).",
        "Drishti P07";
    Reread = "DXT-C024",
        "A process reads bytes again that it has read before.",
        "Overlap of each read with all earlier ones of the process and file, since it last wrote them: at least traffic_share of all bytes read and traffic_min_bytes. Cost: the reads' time by bytes.",
        "Keep them in memory.",
        "Drishti P09 asks for it";
    CommonReads = "DXT-C025",
        "Several ranks read the same bytes.",
        "Bytes beyond one reading of each, of at least common_readers_min processes: at least traffic_share of all bytes read and traffic_min_bytes. Cost: the file's reading time by bytes.",
        "Read once and broadcast, or read collectively.",
        "ours";
    ReadBack = "DXT-C026",
        "A process reads bytes that it wrote.",
        "Overlap of reads with the process's earlier writes, at their first reading: at least traffic_share of all bytes read and traffic_min_bytes. Cost: the reads' time by bytes.",
        "Keep in memory what is needed again.",
        "ours";
    Overwritten = "DXT-C027",
        "A process writes bytes more than once.",
        "Overlap of each write with all earlier ones of the process and file: at least traffic_share of all bytes written and traffic_min_bytes. Cost: the writes' time by bytes.",
        "Write bytes once they are final.",
        "Drishti P10 asks for it";
    Unasked = "DXT-C028",
        "MPI-IO reads bytes that nobody asked for.",
        "Reads beneath MPI-IO's calls less what these asked for; all reads beneath writes (read-modify-write): at least traffic_share of the bytes moved and traffic_min_bytes. Cost: time of those reads.",
        "Collective calls, or hints that disable data sieving.",
        "Thakur, Gropp & Lusk, Data Sieving and Collective I/O in ROMIO, Frontiers 1999";
    ReadRuns = "DXT-C029",
        "Small reads follow each other so that one could replace many.",
        "Reads below small_request_bytes that begin where the thread's last one of the stream ended, no sync between: calls beyond one per small_request_bytes, at least saved_calls_min. Cost: these calls' share of the time.",
        "Read more at once.",
        "ours";
    WriteRuns = "DXT-C030",
        "Small writes follow each other so that one could replace many.",
        "As DXT-C029, writes.",
        "Gather them in a buffer.",
        "ours";
    SlowSmallWrites = "DXT-C031",
        "Small writes take as long as storage does.",
        "Writes below small_request_bytes that take at least slow_small_ns: at least slow_small_share of the small ones and sync_min. Cost: their time.",
        "Look for O_SYNC, O_DSYNC, O_DIRECT, contended locks, a full page cache.",
        "ours";
    SyncPerWrite = "DXT-C032",
        "A file is synced after nearly every write.",
        "fsync and its kin on a file: at least sync_share per write and sync_min. Cost: time of the syncs.",
        "Sync once per step.",
        "ours";
    SeekPerAccess = "DXT-C033",
        "Seeks accompany reads and writes.",
        "POSIX seeks per read or write of the same files: at least seek_share, at least seek_min of them. Cost: time of the seeks.",
        "pread(2), pwrite(2), MPI_File_read_at.",
        "ours";
    RepeatedOpens = "DXT-C034",
        "A process opens a file again and again.",
        "Opens of one file by one process: at least opens_per_file. Cost: opens and closes of such files.",
        "Keep it open.",
        "ours";
    OpenPerAccess = "DXT-C035",
        "There is an open for every read or write or two.",
        "Reads and writes per open: at most accesses_per_open, with at least metadata_min opens. Cost: time of metadata calls.",
        "Pack small files into one, or keep files open.",
        "ours";
    FailedOpens = "DXT-C036",
        "Many opens fail.",
        "Share of all opens: at least failed_opens_share, at least failed_opens_min. Cost: their time.",
        "Shorten search paths.",
        "ours";
    MetadataRate = "DXT-C037",
        "Metadata calls come in a storm.",
        "Opens, closes, stats and locks in one second: at least metadata_rate.",
        "Spread or avoid them.",
        "ours";
    IdleGaps = "DXT-C038",
        "For long, no process does I/O.",
        "Times of at least 1/65,536 of the trace with no process in a call, over the time from the first call to the last (at least phases_min_ns): at least idle_share.",
        "Let I/O go on during computation.",
        "ours";
    Serialised = "DXT-C039",
        "Only one process at a time moves bytes.",
        "Slots of 1/65,536 of the trace in which exactly one process reads or writes, over those in which any does: at least serial_share, together at least phases_min_ns.",
        "Let ranks move their parts at the same time.",
        "ours";
    SlowerOperation = "DXT-D001",
        "An operation got slower between two runs.",
        "Single calls by a rank-sum test, or each rank's mean by a signed-rank test: false discovery rate at most compare_q, and slower by min_slowdown; at least compare_min_sample calls or units_min_sample ranks in both runs. Cost: time beyond the same calls or bytes at the first run's mean.",
        "Compare layouts, hints and sizes; repeat both runs.",
        "Mann & Whitney, 1947; Wilcoxon, 1945; Benjamini & Hochberg, 1995";
    MoreCalls = "DXT-D002",
        "The second run makes more calls of an operation.",
        "More by growth_share and growth_min_calls; per rank if the number of ranks changed.",
        "See on which file; `checks` says whether they could be fewer.",
        "ours";
    MoreBytes = "DXT-D003",
        "The second run moves more bytes by an operation.",
        "More by growth_share and traffic_min_bytes; per rank if the number of ranks changed.",
        "See on which file; `checks` finds bytes that move twice.",
        "ours";
    FilesDiffer = "DXT-D004",
        "Files that move bytes are in one run only.",
        "By path, then below different folders, then with numbers left open.",
        "Compare with --files that match both.",
        "ours";
    LayoutChanged = "DXT-D005",
        "A file has another stripe layout.",
        "Stripe sizes, counts and extents of files in both runs.",
        "Lay both out alike.",
        "ours";
    HintsChanged = "DXT-D006",
        "MPI-IO hints differ.",
        "Hints asked for and in effect, of files in both runs.",
        "Set the same hints.",
        "ours";
    RanksChanged = "DXT-D007",
        "The number of ranks differs.",
        "Ranks in the traces.",
        "Run both with as many ranks.",
        "ours";
    RankGotSlower = "DXT-D008",
        "A rank got slower against the others.",
        "Modified z-score of the logarithm of the ratio of its times per byte at least modified_z, and slower by min_slowdown, both than before and than the rest; at least units_min_sample ranks.",
        "See `outliers --by rank` of the second run.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993";
    FileGotSlower = "DXT-D009",
        "A file got slower against the others.",
        "As DXT-D008, over files.",
        "See `outliers --by file` of the second run.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993";
}

impl Code {
    /// As it is written everywhere.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.explanation().code
    }

    /// The code that is written as `name`, in either case, with or without `DXT-`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let upper = name.to_ascii_uppercase();
        let short = upper.strip_prefix("DXT-").unwrap_or(&upper);
        Self::ALL.iter().copied().find(|code| code.name().strip_prefix("DXT-") == Some(short))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_json_agree_and_every_code_is_documented_once() {
        let text = include_str!("../../../docs/analyses.md");
        let mut names: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        for code in Code::ALL {
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{}\"", code.name()));
            assert!(text.contains(&format!("| {} |", code.name())), "{} is not in docs/analyses.md", code.name());
            assert_eq!(Code::find(&code.name().to_lowercase()), Some(*code));
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        assert_eq!(Code::find("o001"), Some(Code::SlowOperations));
        assert_eq!(Code::find("O999"), None);
    }

    #[test]
    fn thresholds_that_explanations_name_exist() {
        let known: Vec<&str> = crate::thresholds::Thresholds::default().all().iter().map(|known| known.name).collect();
        for code in Code::ALL {
            let words = code.explanation().computed.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            for word in words.filter(|word| word.contains('_')) {
                assert!(known.contains(&word), "{}: {word} is no threshold", code.name());
            }
        }
    }
}
