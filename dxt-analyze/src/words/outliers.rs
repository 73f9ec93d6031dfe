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
                "{count} of the {listed} slowest operations began in a small part of the run: {} s to {} s after the job's start",
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
    vec![(Code::SLOW_OPERATIONS, slow_operations(&slow)), (Code::SLOW_OPERATIONS, slow_operations(&one))]
}
