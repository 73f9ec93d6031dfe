//! Advice derived from the audit. Three things can be changed: the layout (`lfs setstripe`), settings of the library between program and
//! file (HDF5's alignment, MPI-IO's hints), or the program's own offsets.

use super::pace::PacePart;
use super::parts::{FilePart, StripePart, Stripes};
use crate::findings::{About, Code, Evidence, Finding, Severity, first_few};
use crate::model::LayoutOrigin;
use crate::shared::ratio::share;
use crate::sum::Sum;
use crate::text::units;
use crate::thresholds::Thresholds;

/// Maximum number of findings per code; further files are only counted.
const PER_CODE: usize = 10;
/// Granularity of Lustre's stripe sizes, in bytes (lfs-setstripe(1)).
const STRIPE_GRAIN: u64 = 64 << 10;
/// Largest stripe size that is proposed, in bytes: with larger stripes, few requests would reach more than one storage target.
const LARGEST_STRIPE: u64 = 1 << 30;

/// True if there are enough operations to judge a file's alignment. If the stripe size is a guess, returns false for files that are only
/// read: most of these reads are of whole small files from the page cache.
fn can_judge(file: &FilePart, least: &Thresholds) -> bool {
    file.placed() >= least.alignment_min_operations && (!file.is_guess() || file.writes > 0)
}

fn is_unaligned(file: &FilePart, least: &Thresholds) -> bool {
    can_judge(file, least) && share(file.unaligned, file.placed()) >= least.unaligned_share
}

fn is_crossing(file: &FilePart, least: &Thresholds) -> bool {
    can_judge(file, least) && share(file.crossing_needlessly, file.placed()) >= least.crossing_share
}

/// Minimum ratio of mean request length to stripe size for misalignment to be the cause of shared stripes: shorter requests share stripes
/// in any case.
const LONG: f64 = 0.5;

/// Returns a clause that names misaligned requests as the cause of shared stripes; `None` if requests are shorter than [`LONG`] stripes or
/// mostly aligned, or if the stripe size is a guess.
fn lie_across(file: &FilePart, least: &Thresholds) -> Option<String> {
    let length = file.bytes / file.placed().max(1);
    let is_long = length as f64 >= file.layout.main_stripe_size() as f64 * LONG;
    let is = is_long && is_unaligned(file, least) && !file.is_guess();
    is.then(|| format!(", because requests of {} B are not aligned with stripes", units::count(length)))
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
    let enough =
        file.bytes >= file.layout.main_stripe_size().saturating_mul(least.imbalance_min_stripes * targets.max(1));
    enough && file.imbalance.is_some_and(|ratio| ratio >= least.target_imbalance)
}

/// Code of a finding, and predicate that is true for files with its problem.
type Kind = (Code, fn(&FilePart, &Thresholds) -> bool);

/// Returns sentences with the changes proposed for one file; empty if it has no problems.
#[must_use]
pub fn advice(file: &FilePart, least: &Thresholds) -> Vec<String> {
    let mut out = Vec::new();
    let stripe = file.layout.main_stripe_size();
    let count = file.layout.components.iter().map(|component| component.stripe_count).max().unwrap_or(1);
    let lustre = matches!(file.layout.origin, LayoutOrigin::Lustre | LayoutOrigin::Given);
    if is_crossing(file, least) && lustre {
        let size = file.max_length.next_power_of_two().clamp(STRIPE_GRAIN, LARGEST_STRIPE);
        if size != stripe {
            out.push(format!(
                "lfs setstripe -S {} -c {count} DIR   (new files in DIR; the longest request, {}, then fits in one stripe)",
                units::size_option(size),
                units::bytes(file.max_length)
            ));
        }
    }
    if is_shared(file, least) || is_crossing(file, least) || is_unaligned(file, least) {
        let threshold = if is_shared(file, least) { 1 } else { stripe.min(file.max_length.max(1)) };
        out.push(format!("program: give each rank a part that begins and ends at a multiple of {stripe} bytes"));
        out.push(format!("HDF5: H5Pset_alignment(fapl, {threshold}, {stripe}) puts data sets at stripe boundaries"));
        if is_shared(file, least) || is_crossing(file, least) {
            out.push(format!(
                "MPI-IO: hints striping_unit={stripe}, romio_cb_write=enable, cb_nodes={count} with collective writes: \
                 each aggregator then writes whole stripes"
            ));
        }
    }
    if is_imbalanced(file, least) && lustre {
        out.push(format!(
            "lfs setstripe -S {} -c {count} DIR with a smaller -S or another -c: the accesses stride over the storage targets",
            units::size_option(stripe)
        ));
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
        out.extend(first_few(all, PER_CODE, |more| {
            format!("and the same for {more} more {}", units::agree(more as u64, "file", "files"))
        }));
    }
    out
}

fn pace_words(part: &PacePart) -> String {
    format!(
        "{}s of {} to {}: {} {} {} on average, {} {} (estimated excess {} in total)",
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

fn shared(file: &str, stripe: &StripePart, unit: &str) -> Evidence {
    let nodes = match stripe.node_count {
        0 => "one node".into(),
        count => format!("{count} nodes, {}", stripe.nodes.join(", ")),
    };
    let words = format!(
        "{unit} {} (from byte {}{}): {} by {} processes (ranks {}; {nodes}) at overlapping times, {} in total",
        stripe.stripe,
        stripe.start,
        stripe.ost.map(|ost| format!(", OST {ost}")).unwrap_or_default(),
        units::counted(stripe.writes, "write"),
        stripe.process_count,
        stripe.ranks.join(", "),
        units::duration(stripe.time_ns)
    );
    let about = About {
        ost: stripe.ost,
        file: Some(file.to_owned()),
        offset: Some(stripe.start),
        calls: Some(stripe.writes),
        time_ns: Some(stripe.time_ns),
        ..About::default()
    };
    Evidence::of(words, about)
}

fn one(code: Code, file: &FilePart, io_ns: u64, least: &Thresholds) -> Finding {
    let guess = file.is_guess();
    let stripe = file.layout.main_stripe_size();
    let (all, unit) = (file.placed(), if guess { "block" } else { "stripe" });
    let mut cost_ns = None;
    let mut severity = if guess { Severity::Info } else { Severity::Warn };
    let about = || About { file: Some(file.file.clone()), ..About::default() };
    let (title, evidence): (String, Vec<Evidence>) = match code {
        code if [Code::FALSE_SHARING, Code::LOCAL_SHARING].contains(&code) => {
            let between = code == Code::FALSE_SHARING;
            let sharing = &file.sharing;
            let why = lie_across(file, least);
            let cost = match (between, &why) {
                (false, _) => sharing.time_on_one_node_ns(),
                (true, None) => sharing.time_of_handovers_ns(),
                // Aligned requests share no stripe, neither between nodes nor within one. Within one node, about half of the writes wait
                // for the others.
                (true, Some(_)) => sharing.time_of_handovers_ns().saturating_add(sharing.time_on_one_node_ns() / 2),
            };
            cost_ns = Some(cost);
            severity = match Severity::of_cost(cost, io_ns, least) {
                _ if guess => Severity::Info,
                by_cost if between => by_cost,
                by_cost => by_cost.min(Severity::Warn),
            };
            let (count, whose) = if between {
                (sharing.stripes_between_nodes, "by several nodes at the same time")
            } else {
                (sharing.stripes_on_one_node(), "by several processes of one node at the same time")
            };
            let assumed = match guess {
                true => format!(" ({} assumed, layout unknown)", units::bytes(stripe)),
                false => String::new(),
            };
            let are = units::agree(count, "is", "are");
            let count = units::counted(count, unit);
            let title = format!("{count} of {}{assumed} {are} written {whose}{}", file.file, why.unwrap_or_default());
            let mut shown: Vec<&StripePart> =
                file.stripes.iter().filter(|stripe| (stripe.node_count > 0) == between).collect();
            shown.sort_by_key(|stripe| (std::cmp::Reverse(stripe.time_ns), stripe.start));
            (title, shown.into_iter().take(4).map(|stripe| shared(&file.file, stripe, unit)).collect())
        }
        code if code == Code::CROSSING => {
            // If there are no aligned operations to compare with: half of these operations' time, since each would touch one stripe
            // instead of two.
            cost_ns = (!guess && file.misalignment().1 == 0)
                .then(|| (file.time_ns as f64 * share(file.crossing_needlessly, all) / 2.0) as u64);
            (
                format!(
                    "{:.0} % of the operations on {} cross a {unit} boundary although each would fit in one {unit}",
                    share(file.crossing_needlessly, all) * 100.0,
                    file.file
                ),
                vec![Evidence::of(
                    format!(
                        "{} of {}; {unit} size {}, longest operation {}",
                        units::count(file.crossing_needlessly),
                        units::counted(all, "operation"),
                        units::bytes(stripe),
                        units::bytes(file.max_length)
                    ),
                    about(),
                )],
            )
        }
        code if code == Code::IMBALANCE => {
            let busiest = file.targets.iter().filter(|target| target.ost.is_some()).max_by_key(|target| target.bytes);
            let evidence = busiest.map(|target| {
                let words = format!("OST {} serves {}", target.ost.unwrap_or_default(), units::bytes(target.bytes));
                Evidence::of(words, About { ost: target.ost, bytes: Some(target.bytes), ..about() })
            });
            let ratio = file.imbalance.unwrap_or(1.0);
            let title = format!("the busiest OST of {} serves {ratio:.1} times the mean bytes per OST", file.file);
            (title, evidence.into_iter().collect())
        }
        _ => {
            severity = Severity::Info;
            let (misaligned_ns, estimated) = file.misalignment();
            if estimated > 0 {
                cost_ns = Some(misaligned_ns);
                severity = if guess { Severity::Info } else { Severity::of_cost(misaligned_ns, io_ns, least) };
            }
            let title = format!(
                "{:.0} % of the operations on {} begin or end inside a {unit}",
                share(file.unaligned, all) * 100.0,
                file.file
            );
            let evidence = format!(
                "{} of {}, {}; {unit} size {}",
                units::count(file.unaligned),
                units::counted(all, "operation"),
                units::bytes(file.unaligned_bytes),
                units::bytes(stripe)
            );
            let clear = file.alignment_cost.iter().filter(|part| part.is_clear).take(4);
            (
                title,
                std::iter::once(evidence)
                    .chain(clear.map(pace_words))
                    .map(|words| Evidence::of(words, about()))
                    .collect(),
            )
        }
    };
    let hint = match code {
        code if [Code::FALSE_SHARING, Code::LOCAL_SHARING].contains(&code) => format!(
            "give each {unit} a single writer: align to {stripe} bytes (H5Pset_alignment(fapl, 1, {stripe}); MPI-IO hint \
             striping_unit={stripe} with collective writes)"
        ),
        _ => file
            .advice
            .first()
            .cloned()
            .unwrap_or_else(|| "choose a stripe size that is a multiple of the request size".into()),
    };
    Finding {
        code,
        about: About { time_ns: cost_ns, ..about() },
        severity,
        title: title.into(),
        evidence,
        cost_ns,
        saving: None,
        hint,
    }
}
