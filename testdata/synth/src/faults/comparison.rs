//! Comparison of two runs of the analyzer on the same jobs: an earlier run, whose scores were stored in a file, and the present run.

use super::frozen::Frozen;
use super::score::Score;
use super::table::place;
use super::verdict::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::LN_2;
use std::fmt::Write as _;

/// Maximum ratio of the larger to the smaller of two savings promised by findings that count as unchanged.
const SAME_SAVING: f64 = 1.25;

/// Name of a value, and function that computes the value from a job's score.
type Named<T> = (&'static str, fn(&Score) -> T);

/// Measures of the quality of an analysis, with their names: true if the job's findings are good by the measure, `None` if the measure does
/// not apply to the job.
const MEASURES: [Named<Option<bool>>; 9] = [
    ("first finding right", |score| (!score.healthy()).then(|| score.right())),
    ("healthy, nothing over info", |score| score.healthy().then(|| score.right())),
    ("savings within 2 x", Score::saves_well),
    ("no misleading high", |score| Some(score.misleading.is_empty())),
    ("combined, all named", |score| score.combined().then(|| score.names_all())),
    ("combined, in order", |score| score.combined().then(|| score.in_order())),
    ("combined, each within 2 x", |score| score.combined().then(|| score.each_saves_well())),
    ("combined, sum within 1.5 x", |score| score.combined().then(|| score.sum_saves_well())),
    ("combined, nothing twice", |score| score.combined().then_some(score.twice.is_empty())),
];

/// Parts of a job's score whose changes between the runs are listed, with their names and as text.
const PARTS: [Named<String>; 7] = [
    ("verdict", |score| if score.right() { "right".into() } else { "wrong".into() }),
    ("first", |score| score.first.as_ref().map_or_else(|| "none".into(), |first| first.code.clone())),
    ("severity", |score| score.first.as_ref().map_or_else(|| "none".into(), |first| first.severity.clone())),
    ("states", |score| score.states.clone().unwrap_or_else(|| "none".into())),
    ("place", |score| score.found.iter().map(|found| place(Some(found))).collect::<Vec<String>>().join(",")),
    ("over info", |score| codes(&score.loud)),
    ("misleading", |score| codes(&score.misleading)),
];

/// Returns the codes of findings, separated by commas; `none` without findings.
fn codes(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return "none".into();
    }
    findings.iter().map(|finding| finding.code.as_str()).collect::<Vec<&str>>().join(",")
}

/// Compares the scores of jobs in the run `now` with those of the same jobs in the run `before`. Returns a text: numbers of good jobs by
/// measure, and a list of changes.
pub(super) fn comparison(before: &[Frozen], now: &[Frozen]) -> String {
    let earlier: BTreeMap<_, &Frozen> = before.iter().map(|job| (job.key(), job)).collect();
    let (mut pairs, mut others, mut unknown) = (Vec::new(), Vec::new(), 0);
    for job in now {
        match earlier.get(&job.key()) {
            None => unknown += 1,
            Some(before) if before.is_same_job(job) => pairs.push((*before, job)),
            Some(_) => others.push(name(job)),
        }
    }
    let left = earlier.len() - pairs.len() - others.len();
    let mut out = format!(
        "compared with the frozen run: {} jobs; {unknown} are not in it, {left} of it were not run\n\n",
        pairs.len()
    );
    let _ = writeln!(out, "{:26}  {:>12}  {:>12}  better  worse  p", "", "before", "now");
    for (name, good) in MEASURES {
        let _ = writeln!(out, "{}", Counts::of(&pairs, good).row(name));
    }
    if !others.is_empty() {
        let _ = write!(out, "\nnot compared, simulated differently by now: {}\n{}\n", others.len(), others.join("\n"));
    }
    let mut changed: Vec<(bool, String)> = pairs
        .iter()
        .filter_map(|(before, now)| {
            let changes = changes(&before.score, &now.score);
            let worse = before.score.right() && !now.score.right();
            (!changes.is_empty()).then(|| (!worse, format!("{}: {}", name(now), changes.join("; "))))
        })
        .collect();
    changed.sort();
    let _ = writeln!(out, "\njobs that changed: {}", changed.len());
    changed.iter().for_each(|(_, line)| {
        let _ = writeln!(out, "{line}");
    });
    out
}

/// Returns a job's name with its seed in front and, unless it is 1, the number of generations (lists of fault types) from which the job's
/// faults were drawn.
fn name(job: &Frozen) -> String {
    let generation = if job.generation > 1 { format!("generation {} ", job.generation) } else { String::new() };
    format!("{generation}seed {} {}", job.seed, job.score.truth.name)
}

/// Numbers of jobs on which the analyzer's findings are good by one measure of quality, in two runs of the analyzer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Number of good jobs and number of jobs to which the measure applies, in the earlier run.
    before: (usize, usize),
    /// Number of good jobs and number of jobs to which the measure applies, in the present run.
    now: (usize, usize),
    /// Number of jobs that are good in the present run only.
    better: usize,
    /// Number of jobs that were good in the earlier run only. Jobs to which the measure applies in one run only are not counted.
    worse: usize,
}

impl Counts {
    fn of(pairs: &[(&Frozen, &Frozen)], good: fn(&Score) -> Option<bool>) -> Self {
        let mut counts = Self::default();
        for (before, now) in pairs {
            let (before, now) = (good(&before.score), good(&now.score));
            for (count, good) in [(&mut counts.before, before), (&mut counts.now, now)] {
                count.0 += usize::from(good == Some(true));
                count.1 += usize::from(good.is_some());
            }
            counts.better += usize::from((before, now) == (Some(false), Some(true)));
            counts.worse += usize::from((before, now) == (Some(true), Some(false)));
        }
        counts
    }

    fn row(&self, name: &str) -> String {
        let of = |(good, all): (usize, usize)| format!("{good} of {all}");
        let p = mcnemar(self.better, self.worse);
        format!("{name:26}  {:>12}  {:>12}  {:6}  {:5}  {p:.4}", of(self.before), of(self.now), self.better, self.worse)
    }
}

/// Returns the two-sided p-value of McNemar's exact test: 2 P(X <= min(better, worse)), at most 1, for X from the binomial distribution
/// with better + worse trials and probability 1/2 (McNemar, Psychometrika 12, 1947).
fn mcnemar(better: usize, worse: usize) -> f64 {
    let of = better + worse;
    let mut ln = -(of as f64) * LN_2;
    let mut sum = 0.0;
    for k in 0..=better.min(worse) {
        sum += ln.exp();
        ln += ((of - k) as f64 / (k + 1) as f64).ln();
    }
    (2.0_f64 * sum).min(1.0)
}

/// True if a job's verdict has changed in any way that [`comparison`] lists.
pub(super) fn has_changed(before: &Score, now: &Score) -> bool {
    !changes(before, now).is_empty()
}

/// Returns the differences between the scores `before` and `now` of a job. Facts stated by the first finding of each score are compared
/// only if both first findings have the same code.
fn changes(before: &Score, now: &Score) -> Vec<String> {
    let part = |(name, of): &Named<String>| {
        let (before, now) = (of(before), of(now));
        (before != now).then(|| format!("{name} {before} -> {now}"))
    };
    let mut out: Vec<String> = PARTS.iter().filter_map(part).collect();
    let (Some(before), Some(now)) = (&before.first, &now.first) else { return out };
    if before.code == now.code {
        out.extend(facts(before, now));
    }
    let (old, new) = (before.saves_ns, now.saves_ns);
    let same = match (old, new) {
        (Some(old), Some(new)) => old.max(new) <= old.min(new) * SAME_SAVING,
        _ => old == new,
    };
    if !same {
        let text = |ns: Option<f64>| ns.map_or_else(|| "none".into(), |ns| format!("{:.3} s", ns / 1e9));
        out.push(format!("saving {} -> {}", text(old), text(new)));
    }
    out
}

fn facts<'a>(before: &'a Finding, now: &'a Finding) -> impl Iterator<Item = String> {
    let keys = |finding: &'a Finding| finding.about.as_object().into_iter().flat_map(serde_json::Map::keys);
    let all: BTreeSet<&String> = keys(before).chain(keys(now)).collect();
    let text = |finding: &Finding, key: &str| finding.about.get(key).map_or_else(|| "none".into(), ToString::to_string);
    all.into_iter().filter_map(move |key| {
        let (before, now) = (text(before, key), text(now, key));
        (before != now).then(|| format!("{key} {before} -> {now}"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::frozen::tests::job;
    use super::*;

    #[test]
    fn mcnemar_agrees_with_sums_by_hand() {
        // The p-value of (1, 9) is 2 (1 + 10) / 2^10, of (12, 3) it is 2 (1 + 15 + 105 + 455) / 2^15.
        let by_hand = [
            ((0, 0), 1.0),
            ((0, 5), 0.0625),
            ((6, 0), 0.03125),
            ((1, 9), 0.021_484_375),
            ((12, 3), 0.035_156_25),
            ((4, 4), 1.0),
        ];
        for ((better, worse), p) in by_hand {
            assert!((mcnemar(better, worse) - p).abs() < 1e-12, "{better} {worse}: {}", mcnemar(better, worse));
        }
        assert!(mcnemar(0, 4000) < 1e-300 && mcnemar(2000, 2000) > 0.999);
        assert_eq!(mcnemar(30, 50), mcnemar(50, 30));
    }

    const RIGHT: &[(&str, u32, u32)] = &[("SLOW", 5, 400)];

    #[test]
    fn equal_runs_have_no_changes() {
        let run = [job("a", RIGHT), job("b", &[]), job("healthy-c", &[])];
        let text = comparison(&run, &run);
        assert!(text.ends_with("\njobs that changed: 0\n"), "{text}");
        assert!(
            text.contains("first finding right               1 of 2        1 of 2       0      0  1.0000\n"),
            "{text}"
        );
    }

    #[test]
    fn changes_are_counted_by_measure() {
        let before = [
            job("a", RIGHT),
            job("b", RIGHT),
            job("c", &[("OTHER", 1, 50)]),
            job("d", RIGHT),
            job("healthy-e", &[]),
            job("healthy-f", &[]),
        ];
        let now = [
            job("a", &[("OTHER", 5, 400), ("SLOW", 5, 300)]),
            job("b", &[("SLOW", 5, 900)]),
            job("c", RIGHT),
            job("d", &[]),
            job("healthy-e", &[]),
            job("healthy-f", RIGHT),
        ];
        let pairs: Vec<_> = before.iter().zip(&now).collect();
        let counts = MEASURES.map(|(_, good)| Counts::of(&pairs, good));
        let of = |before, now, better, worse| Counts { before, now, better, worse };
        assert_eq!(counts[0], of((3, 4), (2, 4), 1, 2));
        assert_eq!(counts[1], of((2, 2), (1, 2), 0, 1));
        // Savings are promised in one run only for jobs c and d.
        assert_eq!(counts[2], of((3, 3), (2, 3), 0, 1));
        assert_eq!(counts[3], of((5, 6), (4, 6), 1, 2));
    }

    #[test]
    fn a_job_that_changed_is_listed_with_all_its_changes_and_the_worst_come_first() {
        let before = [job("a", &[("OTHER", 1, 500), ("SLOW", 5, 300)]), job("b", RIGHT), job("c", RIGHT)];
        let now = [job("a", RIGHT), job("b", &[("SLOW", 6, 100)]), job("c", &[("SLOW", 5, 420)])];
        let text = comparison(&before, &now);
        let list = "jobs that changed: 2\n\
            seed 7 b: verdict right -> wrong; place 1 -> none; misleading none -> SLOW; rank 5 -> 6; \
            saving 0.400 s -> 0.100 s\n\
            seed 7 a: verdict wrong -> right; first OTHER -> SLOW; states OTHER -> SLOW; place 2 -> 1; \
            over info OTHER,SLOW -> SLOW; misleading OTHER -> none\n";
        assert!(text.ends_with(list), "{text}");
    }

    #[test]
    fn only_jobs_of_both_runs_are_compared() {
        let mut longer = job("b", RIGHT);
        longer.score.truth.run_ns *= 2;
        let before = [job("a", RIGHT), job("b", RIGHT), job("c", RIGHT)];
        let text = comparison(&before, &[job("a", RIGHT), longer, job("d", &[]), job("e", &[])]);
        assert!(
            text.starts_with("compared with the frozen run: 1 jobs; 2 are not in it, 1 of it were not run\n"),
            "{text}"
        );
        assert!(text.contains("\nnot compared, simulated differently by now: 1\nseed 7 b\n"), "{text}");
    }
}
