//! Advice derived from the stripe audit. Three things can be changed: the file's layout (`lfs setstripe`), settings of the library between
//! program and file (HDF5's alignment, MPI-IO's hints), or the program's offsets.

use super::parts::{FilePart, StripePart, Stripes};
use crate::findings::{About, Code, Finding, Severity, first_few};
use crate::model::LayoutOrigin;
use crate::shared::ratio::share;
use crate::sum::Sum;
use crate::thresholds::Thresholds;
use crate::words::Words;
use crate::words::stripes::{self as words, Change, Operations, Striped};

/// Maximum number of findings per code; files beyond it are only counted.
const PER_CODE: usize = 10;
/// Granularity of Lustre's stripe sizes, in bytes (lfs-setstripe(1)).
const STRIPE_GRAIN: u64 = 64 << 10;
/// Largest stripe size that is proposed, in bytes: with larger stripes, few requests would reach more than one storage target.
const LARGEST_STRIPE: u64 = 1 << 30;

/// True if a file has enough operations to judge its alignment. False for files that are only read if the stripe size is a guess: most of
/// these reads are of whole small files from the page cache.
fn can_judge(file: &FilePart, least: &Thresholds) -> bool {
    file.placed() >= least.alignment_min_operations && (!file.is_guess() || file.writes > 0)
}

fn is_unaligned(file: &FilePart, least: &Thresholds) -> bool {
    can_judge(file, least) && share(file.unaligned, file.placed()) >= least.unaligned_share
}

fn is_crossing(file: &FilePart, least: &Thresholds) -> bool {
    can_judge(file, least) && share(file.crossing_needlessly, file.placed()) >= least.crossing_share
}

/// Minimum mean request length / stripe size for which misalignment counts as the cause of shared stripes: shorter requests share stripes
/// in any case.
const LONG: f64 = 0.5;

/// Returns the mean length, in bytes, of misaligned requests that cause shared stripes; `None` if requests are mostly aligned or shorter
/// than [`LONG`] stripes, or if the stripe size is a guess.
fn misaligned_bytes(file: &FilePart, least: &Thresholds) -> Option<u64> {
    let length = file.bytes / file.placed().max(1);
    let is_long = length as f64 >= file.layout.main_stripe_size() as f64 * LONG;
    (is_long && is_unaligned(file, least) && !file.is_guess()).then_some(length)
}

fn is_shared(file: &FilePart, _least: &Thresholds) -> bool {
    file.sharing.shared_stripes > 0
}

fn is_shared_between_nodes(file: &FilePart, _least: &Thresholds) -> bool {
    file.sharing.stripes_between_nodes > 0
}

fn is_shared_on_one_node(file: &FilePart, _least: &Thresholds) -> bool {
    file.sharing.stripes_on_one_node() > 0
}

fn is_imbalanced(file: &FilePart, least: &Thresholds) -> bool {
    let targets = file.targets.iter().filter(|target| target.ost.is_some()).count() as u64;
    let enough = file.bytes
        >= file.layout.main_stripe_size().saturating_mul(least.imbalance_min_stripes.saturating_mul(targets.max(1)));
    enough && file.imbalance.is_some_and(|ratio| ratio >= least.target_imbalance)
}

/// Code of a finding, and a function that is true for files to which the finding applies.
type Kind = (Code, fn(&FilePart, &Thresholds) -> bool);

/// Returns the changes proposed for one file as sentences; empty if the file has no problems.
#[must_use]
pub fn advice(file: &FilePart, least: &Thresholds) -> Vec<String> {
    changes(file, least).iter().map(Change::sentence).collect()
}

fn changes(file: &FilePart, least: &Thresholds) -> Vec<Change> {
    let mut out = Vec::new();
    let stripe = file.layout.main_stripe_size();
    let count = file.layout.components.iter().map(|component| component.stripe_count).max().unwrap_or(1);
    let lustre = matches!(file.layout.origin, LayoutOrigin::Lustre | LayoutOrigin::Given);
    if is_crossing(file, least) && lustre {
        let size = file.max_length.next_power_of_two().clamp(STRIPE_GRAIN, LARGEST_STRIPE);
        if size != stripe {
            out.push(Change::FitRequests { stripe: size, count, longest: file.max_length });
        }
    }
    if is_shared(file, least) || is_crossing(file, least) || is_unaligned(file, least) {
        let threshold = if is_shared(file, least) { 1 } else { stripe.min(file.max_length.max(1)) };
        out.extend([Change::AlignParts { stripe }, Change::AlignDataSets { threshold, stripe }]);
        if is_shared(file, least) || is_crossing(file, least) {
            out.push(Change::WriteCollectively { stripe, aggregators: count });
        }
    }
    if is_imbalanced(file, least) && lustre {
        out.push(Change::OtherStripes { stripe, count });
    }
    out
}

/// Returns the findings on all files in the report.
#[must_use]
pub fn findings(report: &Stripes, least: &Thresholds) -> Vec<Finding> {
    let io_ns = report.files.iter().map(|file| file.time_ns).sum::<Sum>().get();
    let mut out = Vec::new();
    let kinds: [Kind; 5] = [
        (Code::FALSE_SHARING, is_shared_between_nodes),
        (Code::LOCAL_SHARING, is_shared_on_one_node),
        (Code::CROSSING, is_crossing),
        (Code::UNALIGNED, is_unaligned),
        (Code::IMBALANCE, is_imbalanced),
    ];
    for (code, applies) in kinds {
        let mut files: Vec<&FilePart> = report.files.iter().filter(|file| applies(file, least)).collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.sharing.time_ns));
        let all: Vec<Finding> = files.into_iter().map(|file| one(code, file, io_ns, least)).collect();
        out.extend(first_few(all, PER_CODE, words::more));
    }
    out
}

fn one(code: Code, file: &FilePart, io_ns: u64, least: &Thresholds) -> Finding {
    let of = Striped { file: &file.file, stripe_bytes: file.layout.main_stripe_size(), is_guess: file.is_guess() };
    let part = |some| Operations { some, all: file.placed(), share: share(some, file.placed()) };
    let change = changes(file, least).into_iter().next();
    let assumed = if of.is_guess { Severity::Info } else { Severity::Warn };
    let (words, severity, cost_ns) = match code {
        code if [Code::FALSE_SHARING, Code::LOCAL_SHARING].contains(&code) => {
            sharing(&of, code == Code::FALSE_SHARING, file, io_ns, least)
        }
        code if code == Code::CROSSING => {
            let crossing = part(file.crossing_needlessly);
            // Without aligned operations to compare with, half of the crossing operations' time: each would touch one stripe instead of two.
            let cost_ns = (!of.is_guess && file.misalignment().1 == 0)
                .then_some((file.time_ns as f64 * crossing.share / 2.0) as u64);
            (words::crossing(&of, &crossing, file.max_length, change.as_ref()), assumed, cost_ns)
        }
        code if code == Code::IMBALANCE => {
            let busiest = file.targets.iter().filter(|target| target.ost.is_some()).max_by_key(|target| target.bytes);
            let busiest = busiest.map(|target| (target.ost, target.bytes));
            let words = words::imbalance(&of, file.imbalance.unwrap_or(1.0), busiest, change.as_ref());
            (words, assumed, None)
        }
        _ => {
            let (misaligned_ns, estimated) = file.misalignment();
            let cost_ns = (estimated > 0).then_some(misaligned_ns);
            let by_cost = cost_ns.filter(|_| !of.is_guess).map(|cost| Severity::of_cost(cost, io_ns, least));
            let clear = file.alignment_cost.iter().filter(|part| part.is_clear);
            let words = words::unaligned(&of, &part(file.unaligned), file.unaligned_bytes, clear, change.as_ref());
            (words, by_cost.unwrap_or(Severity::Info), cost_ns)
        }
    };
    let about = About { file: Some(file.file.clone()), time_ns: cost_ns, ..About::default() };
    Finding { severity, cost_ns, ..Finding::new(code, words).with(about) }
}

/// Returns text, severity and cost of the finding on stripes shared by several nodes (`between`), or by processes of one node. `io_ns`:
/// time of all processes in I/O, with which the cost is compared.
fn sharing(
    of: &Striped<'_>,
    between: bool,
    file: &FilePart,
    io_ns: u64,
    least: &Thresholds,
) -> (Words, Severity, Option<u64>) {
    let sharing = &file.sharing;
    let misaligned = misaligned_bytes(file, least);
    let cost = match (between, misaligned) {
        (false, _) => sharing.time_on_one_node_ns(),
        (true, None) => sharing.time_of_handovers_ns(),
        // Aligned requests share no stripe, neither between nodes nor within one. Within a node, about half of the writes wait for the others.
        (true, Some(_)) => sharing.time_of_handovers_ns().saturating_add(sharing.time_on_one_node_ns() / 2),
    };
    let severity = match Severity::of_cost(cost, io_ns, least) {
        _ if of.is_guess => Severity::Info,
        by_cost if between => by_cost,
        by_cost => by_cost.min(Severity::Warn),
    };
    let count = if between { sharing.stripes_between_nodes } else { sharing.stripes_on_one_node() };
    let mut shown: Vec<&StripePart> = file.stripes.iter().filter(|stripe| (stripe.node_count > 0) == between).collect();
    shown.sort_by_key(|stripe| (std::cmp::Reverse(stripe.time_ns), stripe.start));
    (words::shared_stripes(of, between, count, misaligned, &shown), severity, Some(cost))
}
