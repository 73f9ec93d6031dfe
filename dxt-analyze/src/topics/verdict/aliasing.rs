//! Requests that reach few of a file's many storage targets although they span several rows of stripes, as they do if the distances between them are multiples
//! of a row (stripe size times stripe count): calls queue there, and more targets would help no more than those that the file has.

use crate::findings::{About, Addition, Code, Evidence};
use crate::model::FileId;
use crate::text::units;
use crate::topics::causes::claim::{Claim, finding};
use crate::topics::causes::grid::Grid;
use crate::topics::stripes::parts::FilePart;
use std::collections::{BTreeMap, BTreeSet};

/// Part of a file's bytes below which a target is barely used.
const BARELY: f64 = 0.02;
/// Part of a file's targets that its requests meet on, at most.
const FEW: f64 = 0.5;
/// Rows of stripes that they are spread over, at least: else the file is short.
const ROWS: u64 = 2;
/// Part of what queues that is on such files.
const MOST: f64 = 0.8;
/// Targets that are listed one by one.
const LISTED: usize = 4;

/// A file whose requests reach few of its targets.
struct Aliased {
    name: String,
    /// Stripe size in bytes.
    stripe: u64,
    targets: usize,
    used: BTreeSet<u32>,
    /// Share of the file's bytes on the used targets.
    share: f64,
    /// Rows of stripes that requests span.
    rows: u64,
}

/// Says of queues on such files what makes them.
pub(crate) fn told(grid: &Grid<'_>, claims: &mut [Claim], files: &[FilePart]) {
    for claim in claims.iter_mut().filter(|claim| claim.finding.code == Code::FEW_TARGETS) {
        let mut of: BTreeMap<FileId, f64> = BTreeMap::new();
        for (index, ns) in &claim.shortened {
            if let Some(entry) = grid.entries.get(*index as usize) {
                *of.entry(entry.file).or_default() += ns;
            }
        }
        let all: f64 = of.values().sum();
        let mut found: Vec<(f64, Aliased)> =
            of.iter().filter_map(|(file, ns)| Some((*ns, aliased(grid, *file, files)?))).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        if found.iter().map(|(ns, _)| ns).sum::<f64>() >= all * MOST
            && let Some((_, first)) = found.first()
        {
            say(claim, first, found.len() as u64 - 1);
        }
    }
}

fn aliased(grid: &Grid<'_>, file: FileId, files: &[FilePart]) -> Option<Aliased> {
    let name = &grid.run.file(file)?.name;
    let part = files.iter().find(|part| part.file == *name)?;
    let [component] = part.layout.components.as_slice() else { return None };
    let (stripe, targets) = (component.stripe_size, component.osts.iter().collect::<BTreeSet<_>>().len());
    let bytes = part.targets.iter().fold(0_u64, |sum, target| sum.saturating_add(target.bytes));
    let uses = part.targets.iter().filter(|target| target.bytes as f64 >= bytes as f64 * BARELY);
    let on_used = uses.clone().fold(0_u64, |sum, target| sum.saturating_add(target.bytes));
    let used: BTreeSet<u32> = uses.filter_map(|target| target.ost).collect();
    let ranges = grid.entries.iter().filter(|entry| entry.leaf && entry.file == file).map(|entry| entry.cell.range);
    let known = ranges.filter(|(from, until)| from < until);
    let (from, until) = known.fold((u64::MAX, 0), |(from, until), range| (from.min(range.0), until.max(range.1)));
    let row = stripe.saturating_mul(targets as u64);
    let few = !used.is_empty() && used.len() as f64 <= targets as f64 * FEW;
    let rows = until.saturating_sub(from.min(until)).checked_div(row)?;
    let share = on_used as f64 / bytes.max(1) as f64;
    (few && rows >= ROWS).then(|| Aliased { name: name.clone(), stripe, targets, used, share, rows })
}

fn say(claim: &mut Claim, of: &Aliased, others: u64) {
    let which = match of.used.len() {
        1..=LISTED => {
            let names: Vec<String> = of.used.iter().map(u32::to_string).collect();
            format!(" (OST {})", names.join(", "))
        }
        _ => String::new(),
    };
    let title = format!(
        "requests on {} hit {} of its {}{which} with {:.0} % of the bytes, over {} times stripe size times stripe count ({})",
        of.name,
        of.used.len(),
        units::counted(of.targets as u64, "OST"),
        of.share * 100.0,
        units::count(of.rows),
        units::bytes(of.stripe.saturating_mul(of.targets as u64))
    );
    let hint = "let requests reach all OSTs: choose a stripe size or count (`lfs setstripe -S`, `-c`), or pad the blocks, so that distances between requests are \
                no multiple of size times count; more stripes alone may not help";
    let queue = Evidence::from(claim.finding.title.to_string());
    let about = About { file: Some(of.name.clone()), ..About::default() };
    let row = format!(
        "stripe count times stripe size: {} of {}",
        units::counted(of.targets as u64, "stripe"),
        units::bytes(of.stripe)
    );
    claim.finding = finding(Code::ALIASING, title, vec![Evidence::of(row, about), queue], hint);
    if others > 0 {
        claim.finding.title.add(Addition::OtherFiles(others));
    }
}
