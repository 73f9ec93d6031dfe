//! Sentences of the findings of `compare`.

use super::Words;
use crate::limits::NAMED_EXAMPLES;
use crate::text::units;
#[cfg(test)]
use crate::{findings::Code, words::tests::Sample};

/// Operation that is slower in the second of two compared runs.
pub(crate) struct Slower<'a> {
    pub(crate) operation: &'a str,
    /// Slowdown of the operation from the first run to the second, as a ratio.
    pub(crate) slower: f64,
    /// True if calls are compared by bandwidth (bytes per second); false if by duration (ns).
    pub(crate) by_bandwidth: bool,
    /// Statistical test of the durations or bandwidths of single calls; `None` if there are too few calls.
    pub(crate) calls: Option<Tested>,
    /// Statistical test of the mean durations or bandwidths of ranks; `None` if there are too few ranks.
    pub(crate) ranks: Option<Tested>,
}

/// Statistical test that compares durations or bandwidths in the second run with those in the first.
pub(crate) struct Tested {
    /// Median duration (ns) or bandwidth (bytes per second) of calls or ranks in the first run.
    pub(crate) before: f64,
    /// Median duration (ns) or bandwidth (bytes per second) of calls or ranks in the second run.
    pub(crate) after: f64,
    /// Slowdown from the first run to the second: ratio of medians, or median of the ratios of pairs.
    pub(crate) slower: f64,
    /// Probability that a call of the second run is slower, or share of ranks that are slower; 0 to 1.
    pub(crate) likelier: f64,
    /// False discovery rate (q-value) of the slowdown.
    pub(crate) q: f64,
    /// Number of calls, or of ranks, in the first and in the second run.
    pub(crate) sample: (u64, u64),
}

/// Formats the finding that an operation is slower in the second run.
pub(crate) fn slower_operation(facts: &Slower<'_>) -> Words {
    let show = |value: f64| match facts.by_bandwidth {
        false => units::duration(value as u64),
        true => units::rate(value),
    };
    let (call, longer, per_byte) = match facts.by_bandwidth {
        false => ("call", "takes longer", ""),
        true => ("time per byte", "is slower per byte", " per byte"),
    };
    let calls = facts.calls.as_ref().map(|test| {
        format!(
            "median of calls: {} before, {} now (a factor of {:.2}); a call now {longer} than one before with {:.0} % probability \
             (Wilcoxon test of {} before and {} now: false discovery rate {})",
            show(test.before),
            show(test.after),
            test.slower,
            test.likelier * 100.0,
            units::counted(test.sample.0, "call"),
            units::count(test.sample.1),
            units::chance(test.q)
        )
    });
    let ranks = facts.ranks.as_ref().map(|test| {
        format!(
            "mean {call} of each rank: longer by a factor of {:.2} (median), and on {:.0} % of {} \
             (paired Wilcoxon test: false discovery rate {})",
            test.slower,
            test.likelier * 100.0,
            units::counted(test.sample.0, "rank"),
            units::chance(test.q)
        )
    });
    Words::saying(
        format!("{} takes {:.2} times as long{per_byte} as before", facts.operation, facts.slower),
        calls.into_iter().chain(ranks),
        "compare the runs' stripe layouts, hints and call sizes below; repeat both runs first: other jobs may slow a shared file system",
    )
}

/// Growth of an operation's calls or bytes from the first run to the second.
pub(crate) struct Growth<'a> {
    pub(crate) operation: &'a str,
    /// Number of calls or bytes in the first run.
    pub(crate) before: u64,
    /// Number of calls or bytes in the second run.
    pub(crate) after: u64,
    /// True if `before` and `after` are numbers per rank; false if they are totals.
    pub(crate) per_rank: bool,
}

impl Growth<'_> {
    fn words(&self, what: &str, show: fn(u64) -> String, hint: &str) -> Words {
        let (before, after) = (show(self.before), show(self.after));
        let of = if self.per_rank { " per rank" } else { " in total" };
        Words::saying(format!("{} {what}{of}: {before} before, {after} now", self.operation), [], hint)
    }
}

/// Formats the finding that the second run calls an operation more often.
pub(crate) fn more_calls(facts: &Growth<'_>) -> Words {
    let hint = "the files with added calls are listed below; `dxt-analyze checks` shows which calls can be saved";
    facts.words("is called more often", units::count, hint)
}

/// Formats the finding that the second run moves more bytes by an operation.
pub(crate) fn more_bytes(facts: &Growth<'_>) -> Words {
    let hint = "the files with more bytes are listed below; `dxt-analyze checks` on the second run's trace finds bytes that move more than once";
    facts.words("moves more bytes", units::bytes, hint)
}

/// Rank or file that slowed down more than the other ranks or files.
pub(crate) struct Slowed<'a> {
    /// Name of the slower item: number of the rank, or path of the file.
    pub(crate) unit: &'a str,
    /// Time per byte in the second run / time per byte in the first.
    pub(crate) slower: f64,
    /// Modified z-score of the slowdown, compared with other ranks or files.
    pub(crate) z: f64,
    /// Time in the calls of the rank, or on the file, in the first run, ns.
    pub(crate) before_ns: u64,
    /// Time in the calls of the rank, or on the file, in the second run, ns.
    pub(crate) after_ns: u64,
}

/// Formats the finding that `ranks` slowed down more than the other ranks.
pub(crate) fn ranks_slower(ranks: &[Slowed<'_>]) -> Words {
    units_slower("rank", ranks)
}

/// Formats the finding that `files` slowed down more than the other files.
pub(crate) fn files_slower(files: &[Slowed<'_>]) -> Words {
    units_slower("file", files)
}

fn units_slower(word: &str, all: &[Slowed<'_>]) -> Words {
    let evidence = all.iter().take(NAMED_EXAMPLES).map(|Slowed { unit, slower, z, before_ns, after_ns }| {
        let (before, after) = (units::duration(*before_ns), units::duration(*after_ns));
        format!(
            "{word} {unit} takes {slower:.2} times as long per byte as in the first run (all its I/O calls: {before} before, {after} now), an outlier \
             among all {word}s (modified z-score {z:.1})"
        )
    });
    let first = all.first().map_or("", |first| first.unit);
    let count = units::counted(all.len() as u64, word);
    let example = if all.len() == 1 { format!(": {word}") } else { format!(", for example {word}") };
    Words::saying(
        format!("from the first run to the second, {count} slowed down more than the others{example} {first}"),
        evidence,
        format!("to see which calls are slow there, run `dxt-analyze outliers --by {word}` on the second run's trace"),
    )
}

/// Formats the finding that files are used in one run only: `new` in the second, `gone` in the first, each with its number of bytes.
pub(crate) fn files_differ(new: &[(&str, u64)], gone: &[(&str, u64)]) -> Words {
    let named = |word, files: &[(&str, u64)]| {
        let files = files.iter().take(NAMED_EXAMPLES);
        files.map(|(file, bytes)| format!("{word}: {file} ({} moved)", units::bytes(*bytes))).collect::<Vec<String>>()
    };
    Words::saying(
        format!(
            "{} {} used only in the second run, and {} only in the first",
            units::counted(new.len() as u64, "file"),
            units::agree(new.len() as u64, "is", "are"),
            gone.len()
        ),
        [named("only now", new), named("only before", gone)].concat(),
        "if a file only has another name now, run `dxt-analyze compare` with a --files pattern that matches both names",
    )
}

/// Property that differs between two runs: its name, its value in the first run, its value in the second.
pub(crate) type Differs<'a> = [&'a str; 3];

fn changes(all: &[Differs<'_>]) -> impl Iterator<Item = String> {
    all.iter().take(NAMED_EXAMPLES).map(|[what, before, after]| format!("{what}: {before} before, {after} now"))
}

/// Formats the finding that the stripe layouts of files differ between two runs.
pub(crate) fn layouts_changed(layouts: &[Differs<'_>]) -> Words {
    Words::saying(
        format!(
            "the runs differ in the stripe layout (size x count) of {}",
            units::counted(layouts.len() as u64, "file")
        ),
        changes(layouts),
        "to compare speeds, run again with the same layout for both (`lfs setstripe` before files are created)",
    )
}

/// Formats the finding that MPI-IO hints differ between two runs.
pub(crate) fn hints_changed(hints: &[Differs<'_>]) -> Words {
    Words::saying(
        format!("the runs differ in {}", units::counted(hints.len() as u64, "MPI-IO hint")),
        changes(hints),
        "to compare speeds, run again with the same hints (ROMIO_HINTS, MPI_Info) in both runs",
    )
}

/// Formats the finding that the number of ranks differs between two runs.
pub(crate) fn ranks_changed(before: u64, after: u64) -> Words {
    let (before, after) = (units::counted(before, "rank"), units::count(after));
    Words::saying(
        format!("the job had {before} before, and has {after} now: calls and bytes are compared per rank"),
        [],
        "to compare speeds, run the job with the same number of ranks both times",
    )
}

/// Formats the finding that two runs use different I/O interfaces. `differ`: operation (`read`), and its interface in each run.
/// `directions`: evidence, one line each for reads and writes.
pub(crate) fn other_interface(differ: &[Differs<'_>], directions: Vec<String>) -> Words {
    let differ: Vec<String> =
        differ.iter().map(|[op, before, after]| format!("{op}s by {before} before, by {after} now")).collect();
    Words::saying(
        format!("the I/O interface differs: {}", differ.join("; ")),
        directions,
        "compare the runs' times and the bandwidths above, not single calls: those of different interfaces are not comparable",
    )
}

/// Run times of the repeated runs of a job.
pub(crate) struct RunTimes {
    pub(crate) mean_ns: f64,
    pub(crate) least_ns: f64,
    pub(crate) most_ns: f64,
    pub(crate) runs: u64,
}

/// Formats the finding that the job takes longer, by more than its repeated runs vary; `q` is the false discovery rate.
pub(crate) fn slower_runs(before: &RunTimes, after: &RunTimes, q: f64) -> Words {
    let show = |ns: f64| units::duration(ns.round() as u64);
    let range = |when: &str, times: &RunTimes| {
        let (mean, least, most) = (show(times.mean_ns), show(times.least_ns), show(times.most_ns));
        format!(
            "{when}: run time {mean} on average over {}, range {least} to {most}",
            units::counted(times.runs, "run")
        )
    };
    let times = after.mean_ns / before.mean_ns;
    Words::saying(
        format!("the job takes {times:.2} times as long as before; repeats of the same job differ less"),
        [
            range("before", before),
            range("now", after),
            format!("q-value of the slowdown: {} (a false discovery rate: small if it is no chance)", units::chance(q)),
        ],
        "see below which numbers differ by more than between repeats, then run `dxt-analyze compare` on one run of before and one of now",
    )
}

#[cfg(test)]
pub(super) fn samples() -> Vec<Sample> {
    let slower = |by_bandwidth, calls: bool, ranks: bool| {
        let (before, after) = if by_bandwidth { (3e9, 1.4e9) } else { (1.4e6, 3e6) };
        let test = |sample, q| Tested { before, after, slower: 2.14, likelier: 0.93, q, sample };
        let (calls, ranks) = (calls.then(|| test((4000, 4100), 3.1e-7)), ranks.then(|| test((64, 64), 0.0)));
        slower_operation(&Slower { operation: "POSIX write", slower: 2.14, by_bandwidth, calls, ranks })
    };
    let grown = |per_rank| Growth { operation: "POSIX read", before: 5000, after: 90_000, per_rank };
    let slowed = |unit| Slowed { unit, slower: 3.1, z: 7.4, before_ns: 14_000_000, after_ns: 43_000_000 };
    let (new, gone) = ([("/scratch/b.h5", 3 << 30)], [("/scratch/a.h5", 1 << 30), ("/scratch/a.log", 100)]);
    let run_times = |mean_ns| RunTimes { mean_ns, least_ns: mean_ns - 2e9, most_ns: mean_ns + 3e9, runs: 3 };
    let lines = [
        "read: none before, none now (times summed over processes)",
        "write: POSIX 3.00 s, 1.00 GiB/s before, MPI-IO 1.00 s, 3.00 GiB/s now; bandwidth +200.0 % (times summed over processes)",
    ];
    vec![
        (Code::SLOWER_OPERATION, slower(false, true, true)),
        (Code::SLOWER_OPERATION, slower(true, true, false)),
        (Code::SLOWER_OPERATION, slower(true, false, true)),
        (Code::MORE_CALLS, more_calls(&grown(false))),
        (Code::MORE_CALLS, more_calls(&grown(true))),
        (Code::MORE_BYTES, more_bytes(&grown(false))),
        (Code::MORE_BYTES, more_bytes(&grown(true))),
        (Code::FILES_DIFFER, files_differ(&new, &gone)),
        (Code::LAYOUT_CHANGED, layouts_changed(&[["/scratch/out.h5", "1M x 1", "4M x 8"]])),
        (
            Code::HINTS_CHANGED,
            hints_changed(&[["/scratch/out.h5: cb_nodes", "1", "8"], ["cb_config_list", "*:1", "*:2"]]),
        ),
        (Code::RANKS_CHANGED, ranks_changed(64, 128)),
        (Code::RANKS_CHANGED, ranks_changed(1, 2)),
        (Code::RANK_GOT_SLOWER, ranks_slower(&[slowed("17"), slowed("18")])),
        (Code::FILE_GOT_SLOWER, files_slower(&[slowed("/scratch/out.h5")])),
        (Code::OTHER_INTERFACE, other_interface(&[["write", "POSIX", "MPI-IO"]], lines.map(String::from).to_vec())),
        (Code::SLOWER_RUNS, slower_runs(&run_times(90e9), &run_times(140e9), 4.2e-4)),
    ]
}
