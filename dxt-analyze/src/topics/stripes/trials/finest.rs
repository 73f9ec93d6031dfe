//! Shortcut for segments within one stripe, and so on one object. If two layouts have one stripe size, and one has a multiple of the
//! other's number of objects, the object on the smaller layout follows from the object on the larger. So among layouts of one stripe size,
//! only the finest ones (those with most objects) are simulated segment by segment.

use super::plan::Plan;

/// Finest layouts (those with most objects), and the layouts whose results are derived from each.
#[derive(Clone, Debug)]
pub struct Finest {
    /// Index of the finest layout from which each layout of the plan is derived.
    of: Vec<usize>,
    /// Indices of the finest layouts (those with most objects) for each stripe size of the plan.
    asked: Vec<Vec<usize>>,
}

impl Finest {
    /// Determines the finest layouts (those with most objects) of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let count = |number: usize| plan.candidates.get(number).map_or(0, |candidate| candidate.osts.len());
        let mut of: Vec<usize> = (0..plan.candidates.len()).collect();
        let mut asked = Vec::with_capacity(plan.sizes.len());
        for (_, numbers) in &plan.sizes {
            for &number in numbers {
                let fits = numbers.iter().copied().filter(|other| count(*other).is_multiple_of(count(number)));
                if let (Some(finest), Some(of)) = (fits.max_by_key(|other| count(*other)), of.get_mut(number)) {
                    *of = finest;
                }
            }
            asked.push(numbers.iter().copied().filter(|number| of.get(*number) == Some(number)).collect());
        }
        Self { of, asked }
    }

    /// Returns the indices of the finest layouts of the stripe size with index `size` in [`Plan::sizes`].
    #[must_use]
    pub fn asked(&self, size: usize) -> &[usize] {
        self.asked.get(size).map_or(&[], Vec::as_slice)
    }

    /// Returns the index of the finest layout from which the layout with index `number` is derived.
    #[must_use]
    pub fn of(&self, number: usize) -> usize {
        self.of.get(number).copied().unwrap_or(number)
    }
}

/// Adds `finest`, which is `[bytes, requests]` by time window and object of a layout with `most` objects, to `cells` of a layout with fewer
/// objects (`objects`).
pub fn add_to(cells: &mut Vec<[u64; 2]>, objects: usize, finest: &[[u64; 2]], most: usize) {
    let (objects, most) = (objects.max(1), most.max(1));
    cells.resize(finest.len() / most * objects, [0; 2]);
    for (mine, theirs) in cells.chunks_exact_mut(objects).zip(finest.chunks_exact(most)) {
        for (object, [bytes, requests]) in theirs.iter().enumerate() {
            if let Some([sum, count]) = mine.get_mut(object % objects) {
                *sum = sum.saturating_add(*bytes);
                *count = count.saturating_add(*requests);
            }
        }
    }
}

/// Adds `even`, which is `[bytes, requests]` per time window that every object got, to `cells` of a layout with `objects` objects.
pub fn add_to_all(cells: &mut Vec<[u64; 2]>, objects: usize, even: &[[u64; 2]]) {
    if even.is_empty() {
        return;
    }
    let objects = objects.max(1);
    cells.resize(even.len() * objects, [0; 2]);
    for (mine, [bytes, requests]) in cells.chunks_exact_mut(objects).zip(even) {
        for [sum, count] in mine {
            *sum = sum.saturating_add(*bytes);
            *count = count.saturating_add(*requests);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::grid;
    use super::*;

    #[test]
    fn the_layouts_with_most_objects_tell_of_the_others() {
        let plan = Plan::new(grid(&[10, 11, 12, 13, 14, 15]));
        let count = |number: usize| plan.candidates[number].osts.len();
        let finest = Finest::new(&plan);
        for (size, (_, numbers)) in plan.sizes.iter().enumerate() {
            assert_eq!(finest.asked(size).iter().map(|number| count(*number)).collect::<Vec<_>>(), [4, 6]);
            for &number in numbers {
                assert!(count(finest.of(number)).is_multiple_of(count(number)));
                assert!(finest.asked(size).contains(&finest.of(number)));
            }
        }
        let mut cells = Vec::new();
        add_to(&mut cells, 2, &[[1, 1], [2, 1], [4, 1], [8, 1], [0, 0], [16, 2], [0, 0], [0, 0]], 4);
        assert_eq!(cells, [[5, 2], [10, 2], [0, 0], [16, 2]]);
        add_to_all(&mut cells, 2, &[[1, 1], [0, 0]]);
        assert_eq!(cells, [[6, 3], [11, 3], [0, 0], [16, 2]]);
    }
}
