//! Selection of the stripe layouts to simulate.

use crate::layouts::Rules;
use crate::limits::{TRIAL_BYTES, TRIAL_MOMENTS};
use crate::model::FileLayout;
use anyhow::{Context, Result, ensure};
use trace_format::layout::Layout;

/// Smallest stripe size that `--recommend` tries, in bytes; Lustre's stripe sizes are multiples of 64 KiB (lfs-setstripe(1)).
const SMALLEST: u64 = 64 << 10;
/// Largest stripe size that `--recommend` tries, in bytes.
const LARGEST: u64 = 1 << 30;
/// Largest stripe size that Lustre supports (32 bits), in bytes.
const MOST: u64 = u32::MAX as u64;

/// Plain (not composite) stripe layout to simulate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Size of a stripe of the layout, in bytes.
    pub size: u64,
    /// Storage target of each object of the layout, in order.
    pub osts: Vec<u32>,
    /// True if the user requested the layout with `--what-if`; false if `--recommend` tries it.
    pub asked: bool,
}

/// Parses the argument of `--what-if`: `size=16M,count=8`, optionally with `start=` or `osts=0,4,8`, as in a line of a layout file.
///
/// # Errors
/// Fails if the argument is invalid; the error message says why.
pub fn parse(text: &str) -> Result<Candidate> {
    // A comma may also separate storage targets within `osts`.
    let mut line = String::from("*");
    for word in text.split(',') {
        line.push(if word.contains('=') { ' ' } else { ',' });
        line.push_str(word.trim());
    }
    let rules = Rules::parse(&line).with_context(|| format!("--what-if {text}"))?;
    let layout = rules.find("/").context("no layout")?;
    let component = layout.components.first().context("no layout")?;
    ensure!(component.stripe_size <= MOST, "--what-if {text}: Lustre's stripes are shorter than 4 GiB");
    Ok(Candidate { size: component.stripe_size, osts: component.targets.clone(), asked: true })
}

/// Returns the layouts that `--recommend` tries: stripe sizes from 64 KiB to 1 GiB in powers of two, each on 1, 2, 4, ... and all of
/// `osts`.
#[must_use]
pub fn grid(osts: &[u32]) -> Vec<Candidate> {
    let all = osts.len().max(1);
    let mut counts: Vec<usize> =
        std::iter::successors(Some(1), |count| Some(count * 2)).take_while(|&count| count < all).collect();
    counts.push(all);
    let sizes = std::iter::successors(Some(SMALLEST), |size| Some(size * 2)).take_while(|&size| size <= LARGEST);
    let of_size = |size| {
        counts.iter().map(move |&count| {
            let own: Vec<u32> = if osts.is_empty() { vec![0] } else { osts.iter().take(count).copied().collect() };
            Candidate { size, osts: own, asked: false }
        })
    };
    sizes.flat_map(of_size).collect()
}

/// Returns the storage targets named by the active components of the layouts, in ascending order.
#[must_use]
pub fn known_osts(layouts: &[Option<FileLayout>]) -> Vec<u32> {
    let components = layouts.iter().flatten().flat_map(|layout| &layout.layout.components);
    let mut osts: Vec<u32> = components
        .filter(|component| component.active)
        .flat_map(|component| component.targets.iter().copied())
        .collect();
    osts.sort_unstable();
    osts.dedup();
    osts.truncate(2000);
    osts
}

/// Layouts to simulate, grouped by stripe size: values that depend only on the stripe size are computed once.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// All stripe layouts to simulate.
    pub candidates: Vec<Candidate>,
    /// Stripe sizes, each with the indices of its layouts.
    pub sizes: Vec<(u64, Vec<usize>)>,
}

impl Plan {
    /// Creates the plan from the layouts in `all`, without duplicates.
    #[must_use]
    pub fn new(all: Vec<Candidate>) -> Self {
        let mut plan = Self::default();
        for candidate in all {
            let same = |known: &Candidate| (known.size, &known.osts) == (candidate.size, &candidate.osts);
            if plan.candidates.iter().any(same) {
                continue;
            }
            let number = plan.candidates.len();
            match plan.sizes.iter_mut().find(|(size, _)| *size == candidate.size) {
                Some((_, numbers)) => numbers.push(number),
                None => plan.sizes.push((candidate.size, vec![number])),
            }
            plan.candidates.push(candidate);
        }
        plan
    }

    /// Returns the number of time windows for which memory suffices if `files` files are simulated.
    #[must_use]
    pub fn moments(&self, files: usize) -> usize {
        let objects: usize = self.candidates.iter().map(|candidate| candidate.osts.len()).sum();
        (TRIAL_BYTES / (objects * files * 16).max(1)).clamp(1, TRIAL_MOMENTS)
    }
}

/// Returns the layout with a storage target for every object; unknown targets are numbered from 0.
#[must_use]
pub fn with_targets(layout: &Layout) -> Layout {
    let mut layout = layout.clone();
    for component in layout.components.iter_mut().filter(|component| component.active && !component.on_metadata) {
        if component.targets.is_empty() {
            component.targets = (0..component.stripe_count.min(2000)).collect();
            component.stripe_count = component.targets.len() as u32;
        }
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_a_line_with_commas() {
        let found = parse("size=16M,count=2").unwrap();
        assert_eq!(found, Candidate { size: 16 << 20, osts: vec![0, 1], asked: true });
        assert_eq!(parse("size=1M,count=2,start=5").unwrap().osts, [5, 6]);
        assert_eq!(parse("size=1M,osts=9,3,9").unwrap().osts, [9, 3, 9]);
        for wrong in
            ["", "size=1M", "count=4", "size=1M,count=0", "size=8G,count=1", "size=1M,count=2,colour=red", "4M,8"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_grid_has_powers_of_two_and_all_targets() {
        let osts: Vec<u32> = (10..16).collect();
        let grid = grid(&osts);
        let counts: Vec<usize> = grid.iter().filter(|one| one.size == 1 << 20).map(|one| one.osts.len()).collect();
        assert_eq!(counts, [1, 2, 4, 6]);
        assert_eq!((grid.first().unwrap().size, grid.last().unwrap().size, grid.len()), (64 << 10, 1 << 30, 15 * 4));
        let asked = Candidate { asked: true, ..grid[3].clone() };
        let plan = Plan::new(std::iter::once(asked).chain(grid).collect());
        assert_eq!((plan.candidates.len(), plan.sizes.len()), (60, 15));
        assert!(plan.candidates[0].asked);
    }
}
