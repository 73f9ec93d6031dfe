//! Every threshold of every verdict: name, unit, default, source. `docs/analyses.md` shows the same list; a test keeps
//! the two together.

/// Fences of a box plot lie this many interquartile ranges outside the quartiles. Unit: IQR.
/// Source: Tukey, Exploratory Data Analysis, 1977; used on bandwidths by Xu et al., "DXT: Darshan eXtended Tracing",
/// CUG 2017, section IV.
pub const FENCE_IQR: f64 = 1.5;

/// Fewest operations that a box plot gives a verdict on. Unit: operations.
/// Source: Hoaglin, Iglewicz & Tukey, "Performance of some resistant rules for outlier labeling", JASA 81, 1986: below
/// about 20 values the fences label good data too often.
pub const BOX_MIN_SAMPLE: u64 = 20;

/// Modified z-score from which a rank, node, storage target or file is an outlier. Unit: robust standard deviations.
/// Source: Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993.
pub const MODIFIED_Z: f64 = 3.5;

/// Fewest ranks, nodes, storage targets or files that are compared. Unit: members of the group.
/// Source: ours; with fewer, a median absolute deviation rests on two or three values.
pub const UNITS_MIN_SAMPLE: usize = 8;

/// Least slowdown against the median that is called an outlier, however regular the rest is. Unit: ratio.
/// Source: the 15 % that Drishti takes for stragglers.
pub const MIN_SLOWDOWN: f64 = 1.15;

/// Share of operations that begin or end off a stripe boundary, from which it is a finding. Unit: ratio.
/// Source: Drishti's 10 % for misaligned requests.
pub const UNALIGNED_SHARE: f64 = 0.10;

/// Share of operations that cross a stripe boundary though they would fit in one stripe, from which it is a finding.
/// Unit: ratio. Source: as for [`UNALIGNED_SHARE`].
pub const CROSSING_SHARE: f64 = 0.10;

/// Fewest operations on a file that alignment is judged on. Unit: operations.
/// Source: ours; a header or two written at odd places is no pattern.
pub const ALIGNMENT_MIN_OPERATIONS: u64 = 10;

/// Bytes on the busiest storage target against the mean over the file's targets, from which it is a finding. Unit: ratio.
/// Source: the 30 % that Drishti takes for imbalance.
pub const TARGET_IMBALANCE: f64 = 1.30;

/// Fewest stripes' worth of bytes that balance over targets is judged on, per target. Unit: stripes per target.
/// Source: ours; with fewer, some targets must get one stripe more than others.
pub const IMBALANCE_MIN_STRIPES: u64 = 4;

/// Share of the time that all processes spent in reads and writes, from which a finding's cost makes it `high`.
/// Unit: ratio. Source: ours.
pub const HIGH_COST_SHARE: f64 = 0.10;

/// The same for `warn`; below it a finding is `info`. Unit: ratio. Source: ours.
pub const WARN_COST_SHARE: f64 = 0.01;

/// Name, default and unit of each, for reports and documentation.
#[must_use]
pub fn all() -> Vec<(&'static str, f64, &'static str)> {
    vec![
        ("FENCE_IQR", FENCE_IQR, "IQR"),
        ("BOX_MIN_SAMPLE", BOX_MIN_SAMPLE as f64, "operations"),
        ("MODIFIED_Z", MODIFIED_Z, "robust standard deviations"),
        ("UNITS_MIN_SAMPLE", UNITS_MIN_SAMPLE as f64, "members"),
        ("MIN_SLOWDOWN", MIN_SLOWDOWN, "ratio"),
        ("UNALIGNED_SHARE", UNALIGNED_SHARE, "ratio"),
        ("CROSSING_SHARE", CROSSING_SHARE, "ratio"),
        ("ALIGNMENT_MIN_OPERATIONS", ALIGNMENT_MIN_OPERATIONS as f64, "operations"),
        ("TARGET_IMBALANCE", TARGET_IMBALANCE, "ratio"),
        ("IMBALANCE_MIN_STRIPES", IMBALANCE_MIN_STRIPES as f64, "stripes per target"),
        ("HIGH_COST_SHARE", HIGH_COST_SHARE, "ratio"),
        ("WARN_COST_SHARE", WARN_COST_SHARE, "ratio"),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_documentation_lists_every_threshold_with_its_value() {
        let text = include_str!("../../docs/analyses.md");
        for (name, value, _) in super::all() {
            let row = text.lines().find(|line| line.starts_with(&format!("| `{name}` ")));
            let row = row.unwrap_or_else(|| panic!("{name} is not in docs/analyses.md"));
            assert!(row.contains(&format!("| {value} |")), "docs/analyses.md has another value for {name}: {row}");
        }
    }
}
