//! Sentences on single calls that take far longer than their peers.

use super::Words;
use super::common::list;
use super::units::{AVOID_OST, Subject, indistinguishable};
use crate::findings::{About, Evidence};
use crate::limits::NAMED_EXAMPLES;
use crate::model::Class;
use crate::text::units;
use std::collections::BTreeSet;

/// Single long call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Name of the operation, e.g. `pwrite`.
    pub(crate) op: String,
    /// Name of the process that makes the call.
    pub(crate) who: String,
    pub(crate) file: String,
    pub(crate) took_ns: u64,
    /// Start of the call, ns since the job's start; `None` if not recorded.
    pub(crate) began_ns: Option<u64>,
}

impl Call {
    fn words(&self) -> String {
        let began = self.began_ns.map_or_else(
            || ", start not recorded".to_owned(),
            |at| format!(", begun {} after the job's start", units::moment(at)),
        );
        format!("{} of {} on {}: {}{began}", self.op, self.who, self.file, units::duration(self.took_ns))
    }
}

/// Returns the plural names of operation classes as a list, e.g. `reads, writes and opens`.
pub(crate) fn plural(classes: &[Class]) -> String {
    list(&classes.iter().copied().map(Class::plural).collect::<Vec<_>>())
}

const fn are_outliers(calls: u64) -> &'static str {
    units::agree(calls, "is a slow outlier", "are slow outliers")
}

/// Calls that stalled (took far longer than usual) at the same time.
#[derive(Clone, Debug)]
pub(crate) struct Stall {
    pub(crate) class: Class,
    /// Stalled calls, each with the facts on it for JSON output.
    pub(crate) calls: Vec<(Call, About)>,
    /// Usual duration of calls similar to the longest call, ns.
    pub(crate) usual_ns: u64,
    /// Number of processes that waited for file locks during the stall, and their waiting time, ns; `None` if there are none.
    pub(crate) waited: Option<(u64, u64)>,
    /// Word for a process of the run: `rank` or `process`.
    pub(crate) worker: &'static str,
}

/// Formats finding DXT-V002: calls that stalled.
pub(crate) fn stall(facts: &Stall) -> Words {
    let calls = || facts.calls.iter().map(|(call, _)| call);
    let (class, usual) = (facts.class, units::duration(facts.usual_ns));
    let took = units::duration(calls().map(|call| call.took_ns).max().unwrap_or(0));
    let first = calls().filter_map(|call| call.began_ns).min();
    let when = first.map_or_else(String::new, |at| format!(", {} after the job's start", units::moment(at)));
    let names: Vec<&str> = calls().map(|call| call.who.as_str()).collect::<BTreeSet<&str>>().into_iter().collect();
    let title = if facts.calls.len() == 1 {
        let (article, what) = (class.article(), class.singular());
        format!("one call stalled: {article} {what} of {} took {took} (usually {usual}){when}", names.concat())
    } else {
        format!(
            "{} calls stalled together: {} of {} took up to {took} (usually {usual}){when}",
            facts.calls.len(),
            class.plural(),
            names.join(", ")
        )
    };
    let waited = facts.waited.map(|(processes, ns)| {
        Evidence::from(format!(
            "{} waited in file lock calls during the stall, {} in total",
            units::counted(processes, facts.worker),
            units::duration(ns)
        ))
    });
    let evidence = facts.calls.iter().map(|(call, about)| Evidence::of(call.words(), about.clone()));
    Words::of(
        title,
        evidence.chain(waited),
        "before you blame the rank, repeat the run to see whether the stall recurs (a stall of tens of seconds may be a failover of a \
         storage server)",
    )
}

/// Places (files or ranks) of the long calls of a [`LongTail`].
#[derive(Clone, Debug)]
pub(crate) enum Where {
    /// Nearly all long calls are on one kind of files, e.g. `files in /scratch/in` or `files *.nc`.
    Files(String),
    /// No process of a program without ranks has most of the calls.
    NoProcess,
    /// No rank makes most of the long calls.
    NoRank,
    /// No rank makes most of the long calls, and no storage target serves most of them.
    NoRankOrTarget,
    /// Each file has one long call; the value is the number of files.
    EachFile(u64),
}

/// Long calls that are not concentrated in one process, node or time span.
#[derive(Clone, Debug)]
pub(crate) struct LongTail {
    /// Operation classes of the calls; the class with the longest total time is first.
    pub(crate) classes: Vec<Class>,
    /// Number of long calls.
    pub(crate) outliers: u64,
    /// Number of all calls of the operation classes in `classes`.
    pub(crate) calls: u64,
    pub(crate) on: Where,
    /// Time of the long calls beyond that of their peers, summed over processes, ns.
    pub(crate) excess_ns: u64,
    pub(crate) longest: Option<Call>,
}

/// Formats finding DXT-V003: long calls that no process, node, storage target or time span explains.
pub(crate) fn long_tail(facts: &LongTail) -> Words {
    let excess = units::duration(facts.excess_ns);
    let longest = facts.longest.as_ref().map(|call| format!("longest: {}", call.words()));
    let on = match &facts.on {
        Where::EachFile(files) => {
            let what = facts.classes.first().map_or("", |class| class.singular());
            let files = units::counted(*files, "file");
            return Words::saying(
                format!("one {what} on each of {files} is a slow outlier: {excess} longer than usual in total"),
                longest,
                "stage files to fast storage before the job (or, for reads, read ahead): the first call on a file may have to fetch it (from tape, an object \
                 store, uncached disks)",
            );
        }
        Where::Files(kind) => format!(", nearly all on {kind}"),
        Where::NoProcess => String::new(),
        Where::NoRank => ", on no particular rank".to_owned(),
        Where::NoRankOrTarget => ", on no particular rank or OST".to_owned(),
    };
    let title = format!(
        "{} of {} {} {}{on}",
        units::count(facts.outliers),
        units::count(facts.calls),
        plural(&facts.classes),
        are_outliers(facts.outliers)
    );
    let above = match facts.outliers {
        1 => format!("it takes {excess} longer than usual"),
        _ => format!("all slow outliers together take {excess} longer than usual, summed over processes"),
    };
    let hint = if matches!(facts.on, Where::Files(_)) {
        "check where the files with slow calls are stored (another file system, a busy server) and how they differ from other files: the same calls on other files are fast"
    } else {
        "make fewer, larger calls (collective I/O merges them): each call may be a slow one, for which other ranks then wait"
    };
    Words::saying(title, std::iter::once(above).chain(longest), hint)
}

/// Long calls in most processes at the same time.
#[derive(Clone, Debug)]
pub(crate) struct StandStill {
    pub(crate) class: Class,
    /// Time spans with long calls: start and end, ns since the job's start.
    pub(crate) spans: Vec<(u64, u64)>,
    /// Time from the start of one time span to the start of the next, ns; `None` if it varies.
    pub(crate) every_ns: Option<u64>,
    /// Mean length of the time spans with long calls, ns.
    pub(crate) mean_ns: u64,
    /// Number of long calls in all time spans of `spans`.
    pub(crate) outliers: u64,
    /// Time of the long calls beyond that of their peers, summed over processes, ns.
    pub(crate) excess_ns: u64,
    /// Word for the processes of the run: `ranks` or `processes`.
    pub(crate) workers: &'static str,
    pub(crate) about: About,
}

/// Formats finding DXT-V001: storage that is slow for a while, once or repeatedly.
pub(crate) fn slow_moment_of_most(facts: &StandStill) -> Words {
    let (class, long) = (facts.class, units::duration(facts.mean_ns));
    let every = facts.every_ns.map(|every| format!(", every {}", units::duration(every))).unwrap_or_default();
    let often = match facts.spans.len() as u64 {
        1 => format!("once, for {long}"),
        many => format!("{}{every}, for {long} on average", units::counted(many, "time")),
    };
    let title = format!("storage is slow {often}: {} of most {} are slow outliers", class.plural(), facts.workers);
    let words = format!(
        "{} slow outlier {}: {} longer than usual in total, over all processes",
        units::count(facts.outliers),
        class.agree(facts.outliers),
        units::duration(facts.excess_ns)
    );
    let span = |&(from, until): &(u64, u64)| {
        let about = About { span_ns: Some((from, until)), ..About::default() };
        Evidence::of(format!("slow {} after the job's start", Subject::Span(from, until).name()), about)
    };
    let spans = facts.spans.iter().take(NAMED_EXAMPLES).map(span);
    Words::of(
        title,
        std::iter::once(Evidence::of(words, facts.about.clone())).chain(spans),
        "find out what else happens at these times: another job's checkpoint, a server that flushes its cache or fails over, or a burst of this \
         program's own I/O (at the start of a step)",
    )
}

/// Consecutive calls that all stalled (took far longer than their peers).
#[derive(Clone, Debug)]
pub(crate) struct InARow {
    pub(crate) class: Class,
    pub(crate) calls: usize,
    /// Start of the first call and end of the last, ns since the job's start.
    pub(crate) span_ns: (u64, u64),
    /// Mean duration of the stalled calls / mean duration of their peers.
    pub(crate) times: f64,
    /// Mean duration of the stalled calls, ns.
    pub(crate) took_ns: u64,
    /// Mean usual duration of calls similar to the stalled ones, ns.
    pub(crate) usual_ns: u64,
    pub(crate) about: About,
}

/// Formats finding DXT-V001: consecutive calls that all stalled, without a fast call between them.
pub(crate) fn slow_moment_in_a_row(facts: &InARow) -> Words {
    let (class, (from, until)) = (facts.class, facts.span_ns);
    let (what, span) = (class.singular(), Subject::Span(from, until).name());
    let title = format!(
        "{span}, {} {} take {} each, {:.1} times as long as at other times",
        facts.calls,
        class.plural(),
        units::duration(facts.took_ns),
        facts.times
    );
    let words = format!(
        "all {} of all processes are slow {span}; at other times, {} {what} takes {} on average",
        class.plural(),
        class.article(),
        units::duration(facts.usual_ns)
    );
    let hint = "check what else used the file system or the network while calls were slow, and repeat the run before changing the program";
    Words::new(title, hint).with(words, facts.about.clone())
}

/// Long calls, nearly all of which are of one process or node, or on one storage target; the unit is fast otherwise.
#[derive(Clone, Debug)]
pub(crate) struct AtTimes {
    pub(crate) unit: Subject,
    /// Storage targets that cannot be distinguished from `unit`.
    pub(crate) either: Vec<(Subject, About)>,
    pub(crate) class: Class,
    /// Number of long calls of the slow process, node or storage target.
    pub(crate) outliers: u64,
    /// Number of all calls of the slow process, node or storage target.
    pub(crate) calls: u64,
    /// Number of long calls of all processes, nodes or targets together.
    pub(crate) of_all: u64,
    /// Time of the long calls beyond that of their peers, summed over processes, ns.
    pub(crate) excess_ns: u64,
    pub(crate) longest: Option<Call>,
    pub(crate) about: About,
}

/// Formats findings DXT-O002, DXT-O003 and DXT-O004: a process, node or storage target that is slow at times.
pub(crate) fn slow_at_times(facts: &AtTimes) -> Words {
    let name = facts.unit.name();
    let title = format!(
        "{name} is slow at times: {} of its {} {}",
        units::count(facts.outliers),
        facts.class.counted(facts.calls),
        are_outliers(facts.outliers)
    );
    let from = if matches!(facts.unit, Subject::Target(_)) { "on" } else { "from" };
    let (longer, calls) = (units::duration(facts.excess_ns), facts.class.agree(facts.of_all));
    let words = if facts.of_all == 1 {
        format!("the job's only slow outlier {calls} is {from} {name}: {longer} longer than usual")
    } else {
        let (some, all) = (units::count(facts.outliers), units::count(facts.of_all));
        let are = units::agree(facts.outliers, "is", "are");
        format!(
            "{some} of the job's {all} slow outlier {calls} {are} {from} {name}: {longer} longer than usual in total"
        )
    };
    let longest = facts.longest.as_ref().map(|call| call.words().into());
    let evidence = std::iter::once(Evidence::of(words, facts.about.clone())).chain(longest);
    let hint = match facts.unit {
        Subject::Target(_) => AVOID_OST,
        _ => {
            "place the ranks on other nodes to see whether the rank or the node stays slow; check for other load on the node at the times of the slow calls, and whether these share a file or offsets"
        }
    };
    Words::of(title, evidence.chain(indistinguishable(&facts.unit, &facts.either)), hint)
}

/// Long calls that are the first calls of their processes.
#[derive(Clone, Debug)]
pub(crate) struct FirstCalls {
    /// Operation classes of the calls; the class with the longest total time is first.
    pub(crate) classes: Vec<Class>,
    /// Number of processes whose first call is long.
    pub(crate) processes: u64,
    /// Number of processes that make calls of the same classes; `None` if the long calls are the first calls of each burst of I/O.
    pub(crate) of: Option<u64>,
    /// Word for a process of the run: `rank` or `process`.
    pub(crate) worker: &'static str,
    pub(crate) longest_ns: u64,
    /// Time of the long calls beyond that of their peers, summed over processes, ns.
    pub(crate) excess_ns: u64,
}

/// Formats finding DXT-V032: long first calls of processes, or of bursts of I/O.
pub(crate) fn first_calls(facts: &FirstCalls) -> Words {
    let (longest, excess) = (units::duration(facts.longest_ns), units::duration(facts.excess_ns));
    let (title, hint) = match facts.of {
        Some(all) => (
            format!(
                "the first {} of {} of {} takes up to {longest}: {excess} longer than usual, in total",
                facts.classes.first().map_or("", |class| class.singular()),
                units::count(facts.processes),
                units::counted(all, facts.worker)
            ),
            "ignore slow first calls if real runs are longer: connections, memory and caches are set up only once",
        ),
        None => (
            format!(
                "after pauses, the first {} of {} take up to {longest}: {excess} longer than usual, in total",
                plural(&facts.classes),
                units::counted(facts.processes, facts.worker)
            ),
            "if these calls matter, spread I/O over the run to avoid pauses, or let ranks start after a pause one after another, so that they do not reconnect all at the same time",
        ),
    };
    Words::new(title, hint)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    use crate::findings::Code;
    let call = |who: &str, began_ns: Option<u64>| Call {
        op: "pwrite".into(),
        who: who.into(),
        file: "/scratch/out".into(),
        took_ns: 2_500_000_000,
        began_ns,
    };
    let of = |all: &[(&str, Option<u64>)]| all.iter().map(|&(who, at)| (call(who, at), About::default())).collect();
    let one = Stall {
        class: Class::Write,
        calls: of(&[("rank 3", Some(28_380_000_000))]),
        usual_ns: 4_000_000,
        waited: None,
        worker: "rank",
    };
    let two = of(&[("rank 3", None), ("rank 4", None)]);
    let tail = LongTail {
        classes: vec![Class::Write, Class::Read, Class::Open],
        outliers: 40,
        calls: 12_000,
        on: Where::NoRankOrTarget,
        excess_ns: 60_000_000_000,
        longest: Some(call("rank 3", Some(28_380_000_000))),
    };
    let writes = LongTail { classes: vec![Class::Write], outliers: 1, on: Where::NoRank, ..tail.clone() };
    let still = StandStill {
        class: Class::Write,
        spans: vec![(10_000_000_000, 12_000_000_000), (40_000_000_000, 42_000_000_000)],
        every_ns: Some(30_000_000_000),
        mean_ns: 2_000_000_000,
        outliers: 128,
        excess_ns: 240_000_000_000,
        workers: "ranks",
        about: About::default(),
    };
    let once = StandStill { spans: still.spans[..1].to_vec(), every_ns: None, ..still.clone() };
    let at_times = AtTimes {
        unit: Subject::Process { name: "rank 3".into(), is_rank: true },
        either: Vec::new(),
        class: Class::Write,
        outliers: 9,
        calls: 200,
        of_all: 10,
        excess_ns: 5_000_000_000,
        longest: Some(call("rank 3", None)),
        about: About::default(),
    };
    let (node, ost, about) = (Subject::Node { name: "n7".into(), processes: 32 }, Subject::Target, About::default());
    let row = InARow {
        class: Class::Open,
        calls: 3,
        span_ns: (10_000_000_000, 22_000_000_000),
        times: 35.0,
        took_ns: 3_500_000_000,
        usual_ns: 100_000_000,
        about: About::default(),
    };
    let first = FirstCalls {
        classes: vec![Class::Open, Class::Read],
        processes: 60,
        of: Some(64),
        worker: "rank",
        longest_ns: 40_000_000,
        excess_ns: 900_000_000,
    };
    vec![
        (Code::STALL, stall(&one)),
        (Code::STALL, stall(&Stall { class: Class::Open, calls: two, waited: Some((6, 12_000_000_000)), ..one })),
        (Code::LONG_TAIL, long_tail(&tail)),
        (Code::LONG_TAIL, long_tail(&writes)),
        (Code::LONG_TAIL, long_tail(&LongTail { on: Where::Files("files *.nc".into()), ..tail.clone() })),
        (Code::LONG_TAIL, long_tail(&LongTail { on: Where::EachFile(64), ..tail })),
        (Code::SLOW_MOMENT, slow_moment_of_most(&still)),
        (Code::SLOW_MOMENT, slow_moment_of_most(&StandStill { every_ns: None, ..still })),
        (Code::SLOW_MOMENT, slow_moment_of_most(&once)),
        (Code::SLOW_MOMENT, slow_moment_in_a_row(&row)),
        (Code::SLOW_RANK, slow_at_times(&at_times)),
        (
            Code::SLOW_TARGET,
            slow_at_times(&AtTimes { unit: ost(4), either: vec![(ost(5), about)], ..at_times.clone() }),
        ),
        (Code::SLOW_NODE, slow_at_times(&AtTimes { unit: node, outliers: 1, of_all: 1, longest: None, ..at_times })),
        (Code::FIRST_CALLS, first_calls(&first)),
        (Code::FIRST_CALLS, first_calls(&FirstCalls { of: None, ..first })),
    ]
}
