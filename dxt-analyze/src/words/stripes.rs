//! Sentences on stripes, and their facts: rows of the stripe audit's tables.

use super::Words;
use crate::findings::{About, Evidence};
use crate::limits::NAMED_STRIPES;
use crate::text::units;
use serde::Serialize;

/// Stripe written by several processes at overlapping times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StripePart {
    /// Number of the stripe, from the file's start.
    pub stripe: u64,
    /// File offset of the stripe's first byte.
    pub start: u64,
    /// Storage target that holds the stripe; `None` if unknown.
    pub ost: Option<u32>,
    /// Number of writes that overlap in time with a write of another process.
    pub writes: u64,
    /// Sum of the durations of the overlapping writes, ns.
    pub time_ns: u64,
    /// Time during which at least two processes were writing to the stripe, ns.
    pub wall_ns: u64,
    /// Number of processes whose writes overlap in time.
    pub process_count: u64,
    /// First few processes with overlapping writes, each by its rank number, or as `pid N` if it has no rank.
    pub ranks: Vec<String>,
    /// Number of writes that overlap in time with a write from another node, so that the stripe's lock passes between nodes; 0 if only one
    /// node writes.
    pub writes_between_nodes: u64,
    /// Sum of the durations of the writes that overlap with a write from another node, ns.
    pub time_between_nodes_ns: u64,
    /// Time during which at least two nodes were writing to the stripe, ns.
    pub wall_between_nodes_ns: u64,
    /// Number of nodes whose writes overlap with a write from another node.
    pub node_count: u64,
    /// Names of the first few nodes whose writes overlap with a write from another node.
    pub nodes: Vec<String>,
}

/// Comparison of the durations of aligned and unaligned operations of similar size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PacePart {
    /// Direction of the compared operations: `read` or `write`.
    pub op: &'static str,
    /// Lower bound of the operations' size in bytes; the upper bound (exclusive) is twice the lower one.
    pub from_bytes: u64,
    /// Number of aligned operations that are compared.
    pub aligned: u64,
    /// Mean duration of aligned operations, ns.
    pub aligned_mean_ns: u64,
    /// Number of unaligned operations that are compared.
    pub unaligned: u64,
    /// Mean duration of unaligned operations, ns.
    pub unaligned_mean_ns: u64,
    /// Standard error of the difference of the means, ns.
    pub standard_error_ns: u64,
    /// True if unaligned operations are slower with statistical significance.
    pub is_clear: bool,
    /// Extra time of unaligned operations: difference of the means × number of unaligned operations, ns; 0 if not significant.
    pub cost_ns: u64,
}

/// Advised change of a file's layout, a library's settings or the program, to fit requests to stripes. Sizes are in bytes.
pub(crate) enum Change {
    /// Larger stripes for new files, so that the longest request, of `longest` bytes, fits in one stripe.
    FitRequests { stripe: u64, count: u32, longest: u64 },
    /// Alignment of ranks' parts of the file: each begins and ends at a stripe boundary.
    AlignParts { stripe: u64 },
    /// HDF5 alignment setting: data sets of at least `threshold` bytes begin at stripe boundaries.
    AlignDataSets { threshold: u64, stripe: u64 },
    /// Collective writes, in which aggregators write whole stripes.
    WriteCollectively { stripe: u64, aggregators: u32 },
    /// Another stripe size or count, for accesses with a stride that reaches only some storage targets.
    OtherStripes { stripe: u64, count: u32 },
}

impl Change {
    /// Returns the advice as a sentence.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::FitRequests { stripe, count, longest } => format!(
                "lfs setstripe -S {} -c {count} DIR   (for new files in DIR: even the longest request, {}, then fits in one stripe, if it is aligned)",
                units::size_option(*stripe),
                units::bytes(*longest)
            ),
            Self::AlignParts { stripe } => {
                format!(
                    "in the program, give each rank a part of the file that begins and ends at a multiple of {stripe} bytes"
                )
            }
            Self::AlignDataSets { threshold, stripe } => {
                format!(
                    "HDF5: H5Pset_alignment(fapl, {threshold}, {stripe}) lets each data set begin at a stripe boundary"
                )
            }
            Self::WriteCollectively { stripe, aggregators } => format!(
                "MPI-IO: collective writes with the hints striping_unit={stripe} (for new files), romio_cb_write=enable and cb_nodes={aggregators}: \
                 each aggregator then writes whole stripes"
            ),
            Self::OtherStripes { stripe, count } => format!(
                "lfs setstripe DIR with a smaller -S or another -c than now (-S {} -c {count}): requests at a regular distance now reach only some OSTs",
                units::size_option(*stripe)
            ),
        }
    }

    fn hint(change: Option<&Self>) -> String {
        change.map_or_else(|| "choose a stripe size that is a multiple of the request size, and let requests begin at multiples of their size".into(), Self::sentence)
    }
}

/// File with stripes of `stripe_bytes`. If `is_guess`, this size is assumed, and sentences say block instead of stripe.
pub(crate) struct Striped<'a> {
    pub(crate) file: &'a str,
    pub(crate) stripe_bytes: u64,
    pub(crate) is_guess: bool,
}

impl Striped<'_> {
    fn unit(&self) -> &'static str {
        if self.is_guess { "block" } else { "stripe" }
    }

    fn about(&self) -> About {
        About { file: Some(self.file.to_owned()), ..About::default() }
    }
}

/// Number of operations with a problem (`some`), number of all operations on the file, and their ratio (`share`).
pub(crate) struct Operations {
    pub(crate) some: u64,
    pub(crate) all: u64,
    pub(crate) share: f64,
}

/// Formats the finding that processes write to `count` stripes at the same time. `between`: true for processes on several nodes, false on
/// one node. `misaligned_bytes`: length of the requests if their misalignment is the cause; else `None`.
pub(crate) fn shared_stripes(
    of: &Striped<'_>,
    between: bool,
    count: u64,
    misaligned_bytes: Option<u64>,
    stripes: &[&StripePart],
) -> Words {
    let (unit, stripe) = (of.unit(), of.stripe_bytes);
    let whose = match between {
        true => "several nodes",
        false => "several processes of one node",
    };
    let size = if of.is_guess { format!(" of {}", units::bytes(stripe)) } else { String::new() };
    let assumed =
        of.is_guess.then(|| "the file's stripe size is unknown: blocks of this size are assumed instead".to_owned());
    let why =
        misaligned_bytes.map(|length| format!("requests of {} B begin or end inside {unit}s", units::count(length)));
    let same = if count == 1 { format!("one {unit}") } else { format!("the same {}", units::counted(count, unit)) };
    Words {
        title: format!("{whose} write concurrently to {same}{size} of {}", of.file).into(),
        evidence: stripes
            .iter()
            .take(NAMED_STRIPES)
            .map(|stripe| shared_stripe(of, stripe))
            .chain(why.into_iter().chain(assumed).map(|words| Evidence::of(words, of.about())))
            .collect(),
        hint: format!(
            "give each {unit} a single writer: align writes to {stripe} bytes (H5Pset_alignment(fapl, 1, {stripe}); MPI-IO hint \
             striping_unit={stripe} with collective writes)"
        ),
    }
}

fn shared_stripe(of: &Striped<'_>, stripe: &StripePart) -> Evidence {
    let nodes = match stripe.node_count {
        0 => " on one node".into(),
        count => format!(" on {}: {}", units::counted(count, "node"), stripe.nodes.join(", ")),
    };
    let StripePart { stripe: number, start, ost, writes, time_ns, .. } = stripe;
    let words = format!(
        "{} {number} (from byte {start}{}): {} at overlapping times by {} (ranks {}{nodes}), which take {} in total",
        of.unit(),
        ost.map(|ost| format!(", OST {ost}")).unwrap_or_default(),
        units::counted(*writes, "write"),
        units::counted(stripe.process_count, "process"),
        stripe.ranks.join(", "),
        units::duration(*time_ns)
    );
    let (offset, calls, time_ns) = (Some(*start), Some(*writes), Some(*time_ns));
    Evidence::of(words, About { ost: *ost, offset, calls, time_ns, ..of.about() })
}

/// Formats the finding that operations cross stripe boundaries although each of them would fit in one stripe. `longest_bytes`: length of the
/// longest of all operations on the file, including those longer than a stripe.
pub(crate) fn crossing(of: &Striped<'_>, crossing: &Operations, longest_bytes: u64, change: Option<&Change>) -> Words {
    let (unit, file, percent) = (of.unit(), of.file, crossing.share * 100.0);
    let words = format!(
        "{} of {}; {unit} size {}; longest of all operations on the file: {}",
        units::count(crossing.some),
        units::counted(crossing.all, "operation"),
        units::bytes(of.stripe_bytes),
        units::bytes(longest_bytes)
    );
    Words {
        title: format!(
            "{percent:.0} % of operations on {file} cross a {unit} boundary although they are no longer than a {unit}"
        )
        .into(),
        evidence: vec![Evidence::of(words, of.about())],
        hint: Change::hint(change),
    }
}

/// Formats the finding that operations, of `bytes` in total, begin or end inside a stripe, and compares their durations with aligned ones.
pub(crate) fn unaligned<'a>(
    of: &Striped<'_>,
    unaligned: &Operations,
    bytes: u64,
    paces: impl Iterator<Item = &'a PacePart>,
    change: Option<&Change>,
) -> Words {
    let (unit, percent) = (of.unit(), unaligned.share * 100.0);
    let size = format!(
        "unaligned: {} of {}, which move {}; {unit} size {}",
        units::count(unaligned.some),
        units::counted(unaligned.all, "operation"),
        units::bytes(bytes),
        units::bytes(of.stripe_bytes)
    );
    let evidence = std::iter::once(size).chain(paces.take(NAMED_STRIPES).map(pace));
    Words {
        title: format!("{percent:.0} % of operations on {} are unaligned: they begin or end inside a {unit}", of.file)
            .into(),
        evidence: evidence.map(|words| Evidence::of(words, of.about())).collect(),
        hint: Change::hint(change),
    }
}

fn pace(part: &PacePart) -> String {
    format!(
        "{}s of {} to {}: {} {} {} on average, {} {}: about {} lost in all",
        part.op,
        units::bytes(part.from_bytes),
        units::bytes(part.from_bytes.saturating_mul(2)),
        units::counted(part.unaligned, "unaligned call"),
        units::agree(part.unaligned, "takes", "take"),
        units::duration(part.unaligned_mean_ns),
        units::counted(part.aligned, "aligned call"),
        units::duration(part.aligned_mean_ns),
        units::duration(part.cost_ns)
    )
}

/// Formats the finding that the busiest storage target (`busiest`: OST index and bytes) serves `ratio` times the mean bytes per target.
pub(crate) fn imbalance(
    of: &Striped<'_>,
    ratio: f64,
    busiest: Option<(Option<u32>, u64)>,
    change: Option<&Change>,
) -> Words {
    let evidence = busiest.map(|(ost, bytes)| {
        let words = format!("OST {} serves {} of the file", ost.unwrap_or_default(), units::bytes(bytes));
        Evidence::of(words, About { ost, bytes: Some(bytes), ..of.about() })
    });
    Words {
        title: format!("one OST of {} serves {ratio:.1} times the mean bytes of the file's OSTs", of.file).into(),
        evidence: evidence.into_iter().collect(),
        hint: Change::hint(change),
    }
}

/// Returns the note that the finding also applies to `more` other files.
pub(crate) fn more(more: usize) -> String {
    format!("and the same for {}", units::counted(more as u64, "more file"))
}

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    use crate::findings::Code;
    let of = Striped { file: "/scratch/out.h5", stripe_bytes: 1 << 20, is_guess: false };
    let guess = Striped { is_guess: true, ..of };
    let stripe = |node_count, nodes: &[&str]| StripePart {
        stripe: 3,
        start: 3 << 20,
        ost: (node_count > 0).then_some(17),
        writes: 24,
        time_ns: 310_000_000,
        wall_ns: 200_000_000,
        process_count: 4,
        ranks: ["0", "1", "2", "3"].map(str::to_owned).into(),
        writes_between_nodes: 20 * node_count,
        time_between_nodes_ns: 250_000_000 * node_count,
        wall_between_nodes_ns: 180_000_000 * node_count,
        node_count,
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
    };
    let (shared, local) = (stripe(2, &["n01", "n02"]), stripe(0, &[]));
    let pace = PacePart {
        op: "write",
        from_bytes: 4096,
        aligned: 40,
        aligned_mean_ns: 1_000_000,
        unaligned: 360,
        unaligned_mean_ns: 1_500_000,
        standard_error_ns: 20_000,
        is_clear: true,
        cost_ns: 180_000_000,
    };
    let some = Operations { some: 360, all: 400, share: 0.9 };
    let fit = Change::FitRequests { stripe: 4 << 20, count: 8, longest: 3_000_000 };
    let parts = Change::AlignParts { stripe: 1 << 20 };
    let other = Change::OtherStripes { stripe: 1 << 20, count: 8 };
    let mut all = vec![
        (Code::FALSE_SHARING, shared_stripes(&of, true, 12, None, &[&shared])),
        (Code::FALSE_SHARING, shared_stripes(&of, true, 12, Some(3_000_000), &[&shared])),
        (Code::FALSE_SHARING, shared_stripes(&guess, true, 1, None, &[&shared])),
        (Code::LOCAL_SHARING, shared_stripes(&of, false, 12, None, &[&local])),
        (Code::LOCAL_SHARING, shared_stripes(&guess, false, 12, None, &[&local])),
        (Code::CROSSING, crossing(&of, &some, 3_000_000, Some(&fit))),
        (Code::CROSSING, crossing(&guess, &some, 3_000_000, Some(&parts))),
        (Code::UNALIGNED, unaligned(&of, &some, 1 << 30, [&pace].into_iter(), Some(&parts))),
        (Code::UNALIGNED, unaligned(&guess, &some, 1 << 30, [].into_iter(), None)),
        (Code::IMBALANCE, imbalance(&of, 2.5, Some((Some(17), 1 << 34)), Some(&other))),
    ];
    let further = [
        Change::AlignDataSets { threshold: 1, stripe: 1 << 20 },
        Change::WriteCollectively { stripe: 1 << 20, aggregators: 8 },
    ];
    all.extend(further.map(|change| (Code::CROSSING, crossing(&of, &some, 3_000_000, Some(&change)))));
    all
}
