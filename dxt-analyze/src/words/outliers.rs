//! Sentences on operations, ranks, nodes, storage targets and files that are outliers.

use super::Words;
use crate::findings::{About, Evidence};
use crate::text::units;

/// I/O operation that is a slow outlier.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// MPI rank that made the operation; -1 without MPI.
    pub(crate) rank: i32,
    pub(crate) node: String,
    pub(crate) file: String,
    /// Offset in the file, bytes; -1 if the operation has none.
    pub(crate) offset: i64,
    pub(crate) length: u64,
    pub(crate) took_ns: u64,
}

impl Operation {
    fn words(&self) -> String {
        let place = if self.offset < 0 { String::new() } else { format!("at offset {} ", self.offset) };
        let (length, took) = (units::bytes(self.length), units::duration(self.took_ns));
        format!("rank {} on {}: {length} {place}of {} took {took}", self.rank, self.node, self.file)
    }
}

/// Property that several slow operations have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    /// Rank, node, OST or file (`what`) with its name, and the number of the slow operations that are on it.
    Unit { what: &'static str, name: String, count: usize },
    /// Time span, ns since the job's start, and the number of slow operations that began in it.
    Moment { from_ns: u64, until_ns: u64, count: usize },
}

impl Shared {
    /// Returns the sentence on the common property of some of the `listed` slowest operations.
    fn words(&self, listed: usize) -> String {
        match self {
            Self::Unit { what, name, count } => {
                format!("{count} of the {listed} slowest operations are on {what} {name}")
            }
            Self::Moment { from_ns, until_ns, count } => format!(
                "{count} of the {listed} slowest operations began between {} s and {} s of the run",
                units::seconds(*from_ns),
                units::seconds(*until_ns)
            ),
        }
    }
}

/// Threshold beyond which an operation is an outlier.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Beyond {
    /// Operations with a lower bandwidth (bytes per second) are outliers.
    Rate(f64),
    /// Operations with a longer duration (ns) are outliers.
    Time(u64),
}

/// Outliers among operations of one kind.
#[derive(Clone, Debug)]
pub(crate) struct SlowOperations {
    /// Name of the kind of operations, e.g. `POSIX write, inside MPI-IO`.
    pub(crate) operation: String,
    /// Number of outliers among the operations of this kind.
    pub(crate) outliers: u64,
    /// Number of operations of this kind that were compared, outliers included.
    pub(crate) sample: u64,
    pub(crate) beyond: Beyond,
    /// Number of slowest operations in which common properties were searched.
    pub(crate) listed: usize,
    pub(crate) traits: Vec<Shared>,
    /// Slowest operations, each with the facts on it for JSON output.
    pub(crate) slowest: Vec<(Operation, About)>,
}

/// Formats finding DXT-O001: operations that are outliers among operations of their kind.
pub(crate) fn slow_operations(facts: &SlowOperations) -> Words {
    let beyond = match facts.beyond {
        Beyond::Rate(rate) => format!("slower than {}", units::rate(rate)),
        Beyond::Time(ns) => format!("longer than {}", units::duration(ns)),
    };
    let title = format!(
        "{} of {} {} operations {}: {beyond}",
        units::count(facts.outliers),
        units::count(facts.sample),
        facts.operation,
        units::agree(facts.outliers, "is an outlier", "are outliers")
    );
    let traits = facts.traits.iter().map(|shared| shared.words(facts.listed).into());
    let slowest = facts.slowest.iter().map(|(operation, about)| Evidence::of(operation.words(), about.clone()));
    Words::of(
        title,
        traits.chain(slowest),
        "run `dxt-analyze outliers --by ost` and `--by node` to see what the outliers share: one OST points to the file system, one node \
         or rank to its host, one time window to other jobs or to a burst of this job",
    )
}

/// Rank, node, storage target or file that is slower than its peers in one kind of operations.
#[derive(Clone, Debug)]
pub(crate) struct SlowUnit {
    /// Name of the slow unit, e.g. its rank number or path.
    pub(crate) unit: String,
    /// Time of the slow unit / median time of all units.
    pub(crate) slower: f64,
    /// Number of units (ranks, nodes, targets or files) that are compared.
    pub(crate) sample: u64,
    /// Name of the kind of operations, e.g. `POSIX write, inside MPI-IO`.
    pub(crate) operation: String,
    /// Time window in which units are compared, ns since the job's start; `None` for the whole run.
    pub(crate) window_ns: Option<(u64, u64)>,
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    pub(crate) time_ns: u64,
    /// Modified z-score of the slow unit (rank, node, target or file).
    pub(crate) z: f64,
    /// Probability of the z-score by chance.
    pub(crate) p: f64,
    pub(crate) about: About,
}

impl SlowUnit {
    /// Returns the finding on the slow unit; `kind` is `rank`, `node`, `OST` or `file`.
    fn words(&self, kind: &str, hint: &str) -> Words {
        let window = self.window_ns.map_or_else(String::new, |(from, until)| {
            format!(" from {} s to {} s", units::seconds(from), units::seconds(until))
        });
        let title = format!(
            "{kind} {} is {} times slower than the median of {} {kind}s in {}{window}",
            self.unit,
            units::times(self.slower),
            self.sample,
            self.operation
        );
        let words = format!(
            "{}, {} in {}, modified z-score {:.1}, p-value {}",
            units::counted(self.operations, "operation"),
            units::bytes(self.bytes),
            units::duration(self.time_ns),
            self.z,
            units::chance(self.p)
        );
        Words::new(title, hint).with(words, self.about.clone())
    }
}

/// Formats finding DXT-O002: a rank that is slower than other ranks.
pub(crate) fn slow_rank(facts: &SlowUnit) -> Words {
    facts.words(
        "rank",
        "compare the rank's offsets with those of other ranks; `dxt-analyze outliers --by node` shows if its whole node is slow",
    )
}

/// Formats finding DXT-O003: a node that is slower than other nodes.
pub(crate) fn slow_node(facts: &SlowUnit) -> Words {
    facts.words("node", "have the node checked (network link, file system client, other processes), or exclude the node from the next job")
}

/// Formats finding DXT-O004: a storage target that is slower than other targets.
pub(crate) fn slow_target(facts: &SlowUnit) -> Words {
    facts.words(
        "OST",
        "place files on other OSTs with `lfs setstripe -o` or `lfs migrate`, and report the slow OST to the file system's administrators",
    )
}

/// Formats finding DXT-O005: a file that is slower than other files.
pub(crate) fn slow_file(facts: &SlowUnit) -> Words {
    facts.words("file", "run `dxt-analyze stripes` and `dxt-analyze outliers --by op` to see how the file is accessed")
}

/// Returns evidence for findings DXT-O002 to DXT-O005: the number of further outliers of the given kind: `rank`, `node`, `OST` or `file`.
pub(crate) fn more_outliers(count: u64, kind: &str) -> Evidence {
    format!(
        "{} {} slow in the same kind of calls",
        units::counted(count, &format!("more {kind}")),
        units::agree(count, "is", "are")
    )
    .into()
}

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    use crate::findings::Code;
    let write = Operation {
        rank: 3,
        node: "n7".into(),
        file: "/scratch/out".into(),
        offset: 1 << 30,
        length: 1 << 20,
        took_ns: 2_500_000_000,
    };
    let without_offset = Operation { offset: -1, ..write.clone() };
    let slow = SlowOperations {
        operation: "POSIX write".into(),
        outliers: 40,
        sample: 12_000,
        beyond: Beyond::Rate(2e6),
        listed: 40,
        traits: vec![
            Shared::Unit { what: "OST", name: "3".into(), count: 36 },
            Shared::Moment { from_ns: 1_000_000_000, until_ns: 2_000_000_000, count: 24 },
        ],
        slowest: vec![(write, About::default()), (without_offset, About::default())],
    };
    let one = SlowOperations { outliers: 1, beyond: Beyond::Time(40_000_000), traits: Vec::new(), ..slow.clone() };
    let unit = SlowUnit {
        unit: "3".into(),
        slower: 2.9,
        sample: 64,
        operation: "POSIX write".into(),
        window_ns: None,
        operations: 2000,
        bytes: 2000 << 20,
        time_ns: 80_000_000_000,
        z: 8.25,
        p: 3e-5,
        about: About::default(),
    };
    let in_window = SlowUnit { window_ns: Some((1_000_000_000, 2_000_000_000)), slower: 120.0, ..unit.clone() };
    vec![
        (Code::SLOW_OPERATIONS, slow_operations(&slow)),
        (Code::SLOW_OPERATIONS, slow_operations(&one)),
        (Code::SLOW_RANK, slow_rank(&in_window).and([more_outliers(4, "rank")])),
        (Code::SLOW_NODE, slow_node(&SlowUnit { unit: "n7".into(), ..unit.clone() })),
        (Code::SLOW_TARGET, slow_target(&unit)),
        (Code::SLOW_FILE, slow_file(&SlowUnit { unit: "/scratch/out".into(), ..unit })),
    ]
}
