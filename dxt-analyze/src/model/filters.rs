//! Filters that were set while recording. Reports name them so that nobody takes a filtered trace for a complete one.

use std::collections::BTreeMap;

/// Environment variables of the tracer that set filters (docs/configuration.md).
const VARIABLES: [&str; 18] = [
    "DXT_INCLUDE",
    "DXT_EXCLUDE",
    "DARSHAN_EXCLUDE_DIRS",
    "DXT_RANKS",
    "DXT_APPS",
    "DXT_LAYERS",
    "DXT_MIN_SIZE",
    "DXT_SMALL_IO_TRIGGER",
    "DXT_SMALL_IO_SIZE",
    "DXT_UNALIGNED_IO_TRIGGER",
    "DXT_TRIGGER_CONF_PATH",
    "DXT_PROCESSES",
    "DXT_MIN_RUN_TIME",
    "DXT_MIN_IO",
    "DXT_MIN_CALLS",
    "DXT_SAMPLE",
    "DXT_JOB_BYTES",
    // Hashes names; drops no calls.
    "DXT_ANONYMIZE",
];

/// Filters under which operations are counted but get no segments; all other filters drop operations without counting them.
const COUNTING: [&str; 5] =
    ["DXT_MIN_SIZE", "DXT_SMALL_IO_TRIGGER", "DXT_UNALIGNED_IO_TRIGGER", "DXT_TRIGGER_CONF_PATH", "DXT_JOB_BYTES"];

/// Filters that drop processes without MPI, or whole jobs, but never single MPI ranks.
const OF_NO_RANK: [&str; 6] =
    ["DXT_PROCESSES", "DXT_MIN_RUN_TIME", "DXT_MIN_IO", "DXT_MIN_CALLS", "DXT_SAMPLE", "DXT_ANONYMIZE"];

/// Active filters: environment variable and its value.
pub type Filters = BTreeMap<String, String>;

/// Returns the filters among the settings of a job's trace files. If files have different values of one filter, the values are joined with `or`.
#[must_use]
pub fn active<'a>(settings: impl Iterator<Item = &'a (String, String)>) -> Filters {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in settings.filter(|(name, _)| VARIABLES.contains(&name.as_str())) {
        all.entry(name).or_default().push(value);
    }
    let joined = |(name, mut values): (&str, Vec<&str>)| {
        values.sort_unstable();
        values.dedup();
        (name.to_owned(), values.join(" or "))
    };
    all.into_iter().map(joined).collect()
}

/// Formats all filters as one line; `None` if there are no filters.
#[must_use]
pub fn line(filters: &Filters) -> Option<String> {
    let words: Vec<String> = filters.iter().map(|(name, value)| format!("{name}={}", value.escape_debug())).collect();
    (!words.is_empty()).then(|| words.join("  "))
}

/// True if a filter may have counted operations without recording their segments.
#[must_use]
pub fn count_operations(filters: &Filters) -> bool {
    COUNTING.iter().any(|name| filters.contains_key(*name))
}

/// Returns the number of missing ranks of a job with `ranks` ranks; `seen` are the ranks found, sorted and distinct. Returns 0 if `filters`
/// include one that may leave a rank without any trace file.
#[must_use]
pub fn absent_ranks(filters: &Filters, ranks: u32, seen: &[i32]) -> u64 {
    let keeps_ranks = |name: &str| name == "DXT_RANKS" || COUNTING.contains(&name) || OF_NO_RANK.contains(&name);
    if filters.keys().any(|name| !keeps_ranks(name)) {
        return 0;
    }
    let Some(chosen) = filters.get("DXT_RANKS").and_then(|text| ranges(text, ranks)) else {
        return u64::from(ranks).saturating_sub(seen.len() as u64);
    };
    let expected: u64 = chosen.iter().map(|(first, end)| u64::from(end - first)).sum();
    let is_chosen = |rank: &&i32| {
        u32::try_from(**rank).is_ok_and(|rank| chosen.iter().any(|&(first, end)| (first..end).contains(&rank)))
    };
    expected.saturating_sub(seen.iter().filter(is_chosen).count() as u64)
}

/// Parses the value of DXT_RANKS as ranges [first, end) below `ranks`, sorted and without overlap; `None` if the text is invalid.
fn ranges(text: &str, ranks: u32) -> Option<Vec<(u32, u32)>> {
    let number = |text: &str, default: u32| if text.is_empty() { Some(default) } else { text.parse().ok() };
    let mut all = Vec::new();
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let (first, last) = item.split_once(':').unwrap_or((item, item));
        let (first, last) = (number(first, 0)?, number(last, u32::MAX)?);
        all.push((first.min(ranks), last.saturating_add(1).min(ranks)));
    }
    all.sort_unstable();
    let mut apart: Vec<(u32, u32)> = Vec::new();
    for (first, end) in all {
        let first = first.max(apart.last().map_or(0, |last| last.1));
        if first < end {
            apart.push((first, end));
        }
    }
    Some(apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(pairs: &[(&str, &str)]) -> Filters {
        let owned: Vec<(String, String)> = pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
        active(owned.iter())
    }

    #[test]
    fn only_filters_are_filters_and_differing_files_have_all_values() {
        let found = filters(&[("DXT_RANKS", "1"), ("DXT_BUFFER_MAX", "9"), ("DXT_RANKS", "0"), ("DXT_RANKS", "1")]);
        assert_eq!(line(&found).as_deref(), Some("DXT_RANKS=0 or 1"));
        assert_eq!(line(&filters(&[("DXT_OVERFLOW", "fold")])), None);
    }

    #[test]
    fn ranks_that_were_left_out_are_not_absent() {
        let absent = |value: &str, seen: &[i32]| absent_ranks(&filters(&[("DXT_RANKS", value)]), 8, seen);
        assert_eq!(absent("0:3,2:4,7:,100", &[0, 1]), 4);
        assert_eq!(absent("1", &[1]), 0);
        assert_eq!(absent("1", &[0, 1, 2]), 0);
        assert_eq!(absent("0 or 1", &[0]), 7);
        assert_eq!(absent_ranks(&filters(&[]), 8, &[0]), 7);
        assert_eq!(absent_ranks(&filters(&[("DXT_INCLUDE", "/x")]), 8, &[0]), 0);
        assert_eq!(absent_ranks(&filters(&[("DXT_PROCESSES", "mpi"), ("DXT_JOB_BYTES", "1G")]), 8, &[0]), 7);
        assert_eq!(absent_ranks(&filters(&[("DXT_RANKS", ":")]), u32::MAX, &[0]), u64::from(u32::MAX) - 1);
    }
}
