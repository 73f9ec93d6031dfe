//! Every threshold of every verdict: name, unit, default, source, and a file that changes them (`--thresholds FILE`, TOML).
//! `docs/analyses.md` shows the same list; a test keeps the two together.

use crate::exit::UsageError;
use serde::{Deserialize, Serialize};

/// A threshold, for reports and documentation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// Name, as in the TOML file.
    pub name: &'static str,
    /// Value that counts.
    pub value: f64,
    /// Unit.
    pub unit: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
}

macro_rules! thresholds {
    ($($name:ident: $type:ty = $default:literal, $unit:literal, $doc:literal, $source:literal;)+) => {
        /// The thresholds that count for a run.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Thresholds {
            $(#[doc = concat!($doc, " Unit: ", $unit, ". Source: ", $source, ".")] pub $name: $type,)+
        }

        impl Default for Thresholds {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Thresholds {
            /// All, in the order of the documentation.
            #[must_use]
            pub fn all(&self) -> Vec<Threshold> {
                vec![$(Threshold {
                    name: stringify!($name),
                    value: self.$name as f64,
                    unit: $unit,
                    source: $source,
                },)+]
            }
        }
    };
}

thresholds! {
    fence_iqr: f64 = 1.5, "IQR",
        "Fences of a box plot lie this many interquartile ranges outside the quartiles.",
        "Tukey, Exploratory Data Analysis, 1977; on bandwidths: Xu et al., DXT, CUG 2017, section IV";
    box_min_sample: u64 = 20, "operations",
        "Fewest operations that a box plot gives a verdict on.",
        "Hoaglin, Iglewicz & Tukey, JASA 81, 1986: below about 20 values the fences label good data too often";
    modified_z: f64 = 3.5, "robust standard deviations",
        "Modified z-score from which a rank, node, storage target or file is an outlier.",
        "Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC 1993";
    units_min_sample: u64 = 8, "members",
        "Fewest ranks, nodes, storage targets or files that are compared.",
        "ours: with fewer, a median absolute deviation rests on two or three values";
    false_discovery_rate: f64 = 0.05, "ratio",
        "Share of false alarms among all alarms, in the mean, when ranks, nodes, storage targets or files are compared.",
        "Benjamini & Hochberg, JRSS B 57, 1995; the customary 5 %";
    min_slowdown: f64 = 1.15, "ratio",
        "Least slowdown against the median that is called an outlier, however regular the rest is.",
        "the 15 % that Drishti takes for stragglers";
    unaligned_share: f64 = 0.1, "ratio",
        "Share of operations that begin or end off a stripe boundary, from which it is a finding.",
        "Drishti's 10 % for misaligned requests";
    crossing_share: f64 = 0.1, "ratio",
        "Share of operations that cross a stripe boundary though they would fit in one stripe, from which it is a finding.",
        "as for unaligned_share";
    alignment_min_operations: u64 = 10, "operations",
        "Fewest operations on a file that alignment is judged on.",
        "ours: a header or two written at odd places is no pattern";
    target_imbalance: f64 = 1.3, "ratio",
        "Bytes on the busiest storage target against the mean over the file's targets, from which it is a finding.",
        "the 30 % that Drishti takes for imbalance";
    imbalance_min_stripes: u64 = 4, "stripes per target",
        "Fewest stripes' worth of bytes that balance over targets is judged on, per target.",
        "ours: with fewer, some targets must get one stripe more than others";
    shared_trait_min: u64 = 4, "operations",
        "Fewest slow operations that can have something in common.",
        "ours";
    shared_trait_share: f64 = 0.5, "ratio",
        "Share of the slowest operations with the same rank, node, storage target, file or moment, from which it is said.",
        "ours: most of them";
    shared_trait_excess: f64 = 2.0, "ratio",
        "How many times more often than among equals that must be.",
        "ours";
    shared_moment_share: f64 = 0.1, "ratio",
        "Longest part of the run that counts as a moment.",
        "ours";
    high_cost_share: f64 = 0.1, "ratio",
        "Share of the time that all processes spent in reads and writes, from which a finding's cost makes it `high`.",
        "ours";
    warn_cost_share: f64 = 0.01, "ratio",
        "The same for `warn`; below it a finding is `info`.",
        "ours";
}

impl Thresholds {
    /// The defaults, changed by what a TOML text sets.
    ///
    /// # Errors
    /// [`UsageError`] with the place in the text: no TOML, a name that does not exist, a value that is none.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let parsed: Self = toml::from_str(text).map_err(|error| UsageError(error.to_string().trim_end().to_owned()))?;
        match parsed.all().into_iter().find(|threshold| !(threshold.value.is_finite() && threshold.value >= 0.0)) {
            Some(bad) => Err(UsageError(format!("{} = {}: it must be a number from 0 up", bad.name, bad.value))),
            None => Ok(parsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_lists_every_threshold_with_its_value() {
        let text = include_str!("../../docs/analyses.md");
        for Threshold { name, value, .. } in Thresholds::default().all() {
            let row = text.lines().find(|line| line.starts_with(&format!("| `{name}` ")));
            let row = row.unwrap_or_else(|| panic!("{name} is not in docs/analyses.md"));
            assert!(row.contains(&format!("| {value} |")), "docs/analyses.md has another value for {name}: {row}");
        }
    }

    #[test]
    fn a_file_changes_what_it_names_and_only_what_exists() {
        let changed = Thresholds::parse("modified_z = 5\nbox_min_sample = 7\n").unwrap();
        assert_eq!(changed, Thresholds { modified_z: 5.0, box_min_sample: 7, ..Thresholds::default() });
        assert_eq!(Thresholds::parse("").unwrap(), Thresholds::default());
        for wrong in
            ["modified_y = 5", "modified_z = \"a\"", "modified_z = -1", "box_min_sample = 1.5", "modified_z = nan", "="]
        {
            assert!(Thresholds::parse(wrong).is_err(), "{wrong}");
        }
    }
}
