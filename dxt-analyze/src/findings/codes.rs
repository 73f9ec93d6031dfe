//! The codes of findings and what each means. A code never changes its meaning; new meanings get new codes.

use serde::Serialize;

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
        /// Stable codes. T: the trace itself; O: outliers; S: stripes; L: layers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
