//! Sentences on ranks, processes and threads that are slower or do more than others, and on MPI-IO aggregators.

use crate::findings::{About, Evidence, Title};
use crate::model::Class;
use crate::text::units as show;
use crate::words::Words;
use crate::words::common::{LostOn, each_bytes};

/// Process, or several ranks, that move more than an even share of the bytes.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// Name of the process or ranks with the most bytes.
    pub(crate) name: String,
    /// True if `name` stands for several ranks.
    pub(crate) several: bool,
    /// True if the processes of the run are MPI ranks.
    pub(crate) are_ranks: bool,
    pub(crate) class: Class,
    /// Bytes of the process with the most bytes.
    pub(crate) most: u64,
    /// Bytes that all processes move.
    pub(crate) bytes: u64,
    /// Number of processes that could share the bytes evenly.
    pub(crate) processes: u64,
    /// True if the process in `name` moves nearly all bytes.
    pub(crate) one: bool,
    /// True if the trace has no record of any other rank: other ranks made no recorded call.
    pub(crate) alone: bool,
}

impl Share {
    fn has(&self) -> String {
        let does = self.class.singular();
        let does = if self.several { format!("each {does}") } else { format!("{does}s") };
        let (most, all) = (self.most as f64, self.bytes.max(1) as f64);
        if self.one {
            format!(
                "{does} {:.0} % of all bytes {}",
                most * 100.0 / all,
                if self.class == Class::Read { "read" } else { "written" }
            )
        } else {
            format!("{does} {:.1} times the mean bytes", most * self.processes as f64 / all)
        }
    }

    /// Returns the clause that no other process has a part.
    fn others_none(&self) -> String {
        let others = self.processes.saturating_sub(1);
        let worker = if self.are_ranks { "rank" } else { "process" };
        match others {
            1 => format!("the other {worker} none"),
            _ => format!("the other {} none", show::counted(others, worker)),
        }
    }

    /// Returns the title of a finding on processes that both read and write more than others. `self`: their share of the reads (or writes),
    /// if larger than `other`, that of the other direction.
    pub(crate) fn title_of_both(&self, other: &Self) -> String {
        let others = if self.alone { self.others_none() } else { "the others wait".to_owned() };
        format!("{} {} and {}, and {others}", self.name, self.has(), other.has())
    }
}

/// Formats the finding that a process, or several ranks, move more bytes than others.
pub(crate) fn uneven(of: &Share, about: About, lost: Option<LostOn>) -> Words {
    let (name, has) = (&of.name, of.has());
    let title = match (of.one, of.alone) {
        (true, true) => format!("{name} {has}, and {}", of.others_none()),
        (true, false) => format!("{name} {has} while the others wait"),
        (false, _) => {
            format!("{name} {has} of all {}, and the others wait", if of.are_ranks { "ranks" } else { "processes" })
        }
    };
    let hint = if of.one {
        "let all ranks take part: collective MPI-IO, parallel HDF5 or PnetCDF"
    } else {
        "balance the bytes: divide the data differently over ranks, or use collective MPI-IO"
    };
    let sentence = format!(
        "the process with most bytes moves {} of {}; equal parts of {} would be {} each",
        show::bytes(of.most),
        show::bytes(of.bytes),
        show::counted(of.processes, "process"),
        each_bytes(of.bytes, of.processes)
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Returns title and evidence of the finding that one rank does all I/O (`title`), and gathers or distributes the data by the MPI calls in
/// `gathers` and `distributes`, while the other ranks wait for `waits_ns` in total.
pub(crate) fn gathers(title: &Title, gathers: &[&str], distributes: &[&str], waits_ns: u64) -> (Title, Evidence) {
    let does = match (gathers.is_empty(), distributes.is_empty()) {
        (_, true) => "gathers data from the other ranks",
        (true, false) => "distributes data to the other ranks",
        (false, false) => "gathers data from the other ranks and distributes data to them",
    };
    let words = format!(
        "the other ranks wait {} of the run time in {} for this rank, besides the wait for its reads and writes",
        show::duration(waits_ns),
        [gathers, distributes].concat().join(" and ")
    );
    (format!("{title}; it also {does}").into(), words.into())
}

/// Formats the finding that in `uneven` of `rounds` groups of processes (a parent starts a group when the previous one has ended), one of
/// `processes` processes moves more bytes, and the others wait. `times`: its bytes relative to the mean, median over these groups.
pub(crate) fn uneven_rounds(
    class: Class,
    [uneven, rounds, processes]: [u64; 3],
    times: f64,
    about: About,
    lost: Option<LostOn>,
) -> Words {
    let title = format!(
        "in {} of {} of processes that are started together ({processes} each), one process {}s {times:.1} times its group's mean bytes, and the others wait",
        show::count(uneven),
        show::counted(rounds, "group"),
        class.singular()
    );
    let hint = "balance the bytes: split the work into smaller parts, and give each process that is free the next one";
    let sentence = "a parent process starts each group when the processes of the previous group have ended";
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Formats the finding that one rank spends `mine_ns` in calls; other ranks spend `others_ns` on average, and all ranks together `all_ns`.
pub(crate) fn longer(
    name: &str,
    class: Class,
    [mine_ns, others_ns, all_ns]: [u64; 3],
    about: About,
    lost: Option<LostOn>,
) -> Words {
    let (mine, what) = (show::duration(mine_ns), class.plural());
    let title = format!(
        "{name} spends {mine} in {what} (others: {} on average), and the others wait",
        show::duration(others_ns)
    );
    let hint = "distribute these calls over the ranks, or make them in a thread in the background";
    let sentence = format!("{name} has {mine} of the {} in {what}, summed over all ranks", show::duration(all_ns));
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Ranks that spend more time in calls than other ranks with equal work.
pub(crate) struct LongerTogether<'a> {
    /// Name of all slow ranks together, e.g. `ranks 4-7`.
    pub(crate) ranks: String,
    /// Node of all slow ranks, and true if no other ranks run on it; `None` if the slow ranks use several nodes, or share the run's only
    /// node with others.
    pub(crate) node: Option<(&'a str, bool)>,
    pub(crate) class: Class,
    /// Shortest, median and longest time in calls per slow rank, ns.
    pub(crate) mine_ns: [u64; 3],
    /// Shortest, median and longest time in calls per other rank, ns.
    pub(crate) others_ns: [u64; 3],
    /// Number of ranks that are not slow.
    pub(crate) others: u64,
}

/// Formats the finding that several ranks spend more time in calls than other ranks with equal work.
pub(crate) fn longer_together(of: &LongerTogether<'_>, about: About, lost: Option<LostOn>) -> Words {
    let ranks = &of.ranks;
    let who = match of.node {
        Some((node, true)) => format!("all ranks of node {node} ({ranks})"),
        Some((node, false)) => format!("{ranks}, all on node {node},"),
        None => ranks.clone(),
    };
    let ([least, median, most], [others_least, others_median, others_most]) =
        (of.mine_ns.map(show::duration), of.others_ns.map(show::duration));
    let title =
        format!("{who} spend {median} each in {} (others: {others_median}), and the others wait", of.class.plural());
    let hint = "place the slow ranks on other nodes to see whether the ranks or the nodes stay slow; compare files and offsets of slow and fast ranks; check for other load on nodes \
                and network";
    let sentence = format!(
        "each slow rank has {least} to {most} in {}; {} with equal bytes and calls: {others_least} to {others_most}",
        of.class.plural(),
        show::counted(of.others, "other rank")
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

/// Thread that takes longer than other threads with equal work.
pub(crate) struct SlowThread<'a> {
    pub(crate) class: Class,
    /// Number of the slow thread among its process's threads, from 1.
    pub(crate) number: usize,
    /// Number of threads of the process that make calls with equal work.
    pub(crate) of: usize,
    /// Kernel thread id of the slow thread.
    pub(crate) tid: u32,
    /// Name of the slow thread's process.
    pub(crate) process: &'a str,
    /// Number of processes with a slow thread.
    pub(crate) found: u64,
    /// True if the slow thread has the same number in each process with a slow thread.
    pub(crate) same: bool,
    /// Mean duration of the slow thread's calls / mean duration of the other threads' calls.
    pub(crate) times: f64,
    pub(crate) calls: u64,
    /// Highest p-value (probability of the slowdown by chance) of the slow threads.
    pub(crate) p: f64,
    /// File that only the slow thread uses (false), or file in which this thread has a range of bytes to itself (true); `None` if the
    /// threads share all.
    pub(crate) own: Option<(&'a str, bool)>,
}

/// Formats the finding that a thread takes longer than other threads with equal work.
pub(crate) fn slow_thread(of: &SlowThread<'_>, about: About) -> Words {
    let calls = of.class.plural();
    let of_thread = format!("{calls} by thread {} of {}", of.number, of.of);
    let which = match of.found {
        1 => format!("in {}, {of_thread}", of.process),
        many if of.same => format!("in each of {}, {of_thread}", show::counted(many, "process")),
        many => format!("in each of {}, {calls} by one thread", show::counted(many, "process")),
    };
    let title = format!("{which} take {:.1} times as long as by the other threads", of.times);
    let hint = "swap the data of two threads to see whether thread or data stays slow; check where the thread runs (a busy or distant core: taskset, numactl) and what else it does; let \
                each thread take the next piece when it has finished one, rather than a fixed share";
    let own = match of.own {
        None => String::new(),
        Some((file, false)) => {
            format!("; this thread alone uses {file}: thread or file may be slow")
        }
        Some((file, true)) => {
            format!("; each thread has its own part of {file}: thread or part may be slow")
        }
    };
    let sentence = format!(
        "{} by {} (p-value of chance alone: {}); {} {} of {}{own}",
        of.class.counted(of.calls),
        show::counted(of.found, "slow thread"),
        show::chance(of.p),
        show::agree(of.found, "thread ID", "for example thread ID"),
        of.tid,
        of.process
    );
    Words::new(title, hint).with(sentence, about)
}

/// Role of the slowest rank in accesses to a shared file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Moves nearly all bytes, for collective MPI-IO calls of all ranks.
    Aggregator,
    /// Moves nearly all bytes, without MPI-IO.
    Mover,
    /// Takes longer than the mean of the file's ranks, without moving nearly all bytes.
    Slow,
}

/// Slowest rank of a shared file, known from one counter record for several ranks.
pub(crate) struct Slowest<'a> {
    /// Number of the slowest rank.
    pub(crate) rank: u32,
    /// Role of the slowest rank, which explains why it takes long.
    pub(crate) role: Role,
    pub(crate) file: &'a str,
    /// True if the slowest rank's calls are made inside MPI-IO.
    pub(crate) inside: bool,
    /// Number of ranks that use the shared file.
    pub(crate) users: u64,
    /// Number of all ranks of the job.
    pub(crate) ranks: u64,
    /// Bytes that the slowest rank moves on the shared file.
    pub(crate) bytes: u64,
    /// Share of the slowest rank's bytes in all bytes moved on the file, 0 to 1.
    pub(crate) part: f64,
    /// Time that the slowest rank spends in calls on the shared file, ns.
    pub(crate) time_ns: f64,
    /// Mean bytes per rank that uses the shared file.
    pub(crate) mean_bytes: u64,
    /// Mean time in calls per rank that uses the shared file, ns.
    pub(crate) mean_ns: f64,
}

/// Formats the finding that one rank takes far longer on a file than the mean of its ranks.
pub(crate) fn slowest(of: &Slowest<'_>, about: About) -> Words {
    let (rank, users, share) = (of.rank, show::counted(of.users, "rank"), of.part * 100.0);
    let some =
        (of.users < of.ranks).then(|| format!("{} (of {})", show::counted(of.users, "rank"), show::count(of.ranks)));
    let by = some.as_ref().unwrap_or(&users);
    let (title, hint) = match of.role {
        Role::Aggregator => (
            format!("one aggregator (rank {rank}) moves {share:.0} % of the bytes of a file that {by} use"),
            "create the file with several stripes (for example `lfs setstripe -c 8 DIR`) and use as many aggregators (hint cb_nodes=8): now all its ranks wait for one aggregator",
        ),
        Role::Mover => (
            format!("rank {rank} moves {share:.0} % of the bytes of a file shared by {by} while the others wait"),
            "let all ranks take part: collective MPI-IO, parallel HDF5 or PnetCDF",
        ),
        Role::Slow => (
            format!(
                "rank {rank} spends {:.1} times as long in calls on a shared file as the mean of {}",
                of.time_ns / of.mean_ns.max(1.0),
                some.as_ref().map_or_else(|| "all ranks".to_owned(), |some| format!("the {some} that use the file"))
            ),
            "compare its bytes with the mean: more work, or slower? Run again with DXT_ENABLE_IO_TRACE=1 to see which calls take the time",
        ),
    };
    let sentence = format!(
        "rank {rank}: {} in {} on {}, {} moved; mean of {}: {} and {}",
        show::duration(of.time_ns as u64),
        if of.inside { "system calls of MPI-IO" } else { "calls" },
        of.file,
        show::bytes(of.bytes),
        some.map_or_else(|| format!("all {users}"), |some| format!("the {some} that use the file")),
        show::duration(of.mean_ns as u64),
        show::bytes(of.mean_bytes)
    );
    Words::new(title, hint).with(sentence, about)
}

/// Collective calls on a file whose number of aggregators a hint limits.
pub(crate) struct AskedAggregators<'a> {
    pub(crate) file: &'a str,
    /// Number of ranks that act as aggregators.
    pub(crate) aggregators: u64,
    /// Number of ranks that make the collective calls.
    pub(crate) ranks: u64,
    /// Name of the MPI-IO hint (or OMPIO parameter) that limits the aggregators.
    pub(crate) key: &'a str,
    /// Number of aggregators that the hint sets.
    pub(crate) asked: usize,
    /// Number of aggregators that could work at the same time if the hint did not limit them.
    pub(crate) could: usize,
}

/// Formats the finding that a hint limits the number of aggregators.
pub(crate) fn asked_aggregators(of: &AskedAggregators<'_>, about: About, lost: Option<LostOn>) -> Words {
    let (key, could) = (of.key, of.could);
    let title = format!(
        "{} {key}={} limits the collective calls of {} on {}",
        if key == "cb_nodes" { "hint" } else { "parameter" },
        of.asked,
        show::counted(of.ranks, "rank"),
        of.file
    );
    let hint = if key == "cb_nodes" {
        format!(
            "set cb_nodes={could} (on a single node also cb_config_list=*:{could}); on several nodes, you may omit both hints instead: the default is one aggregator per node"
        )
    } else {
        format!(
            "set {key}={could}, or omit the parameter: Open MPI then chooses the number of aggregators from the bytes per call"
        )
    };
    Words::new(title, hint)
        .with(
            format!(
                "{} at work; {could} could read and write at the same time without this limit",
                show::counted(of.aggregators, "aggregator")
            ),
            about,
        )
        .on(lost)
}

/// Aggregators of collective calls whose requests are serialized.
pub(crate) struct ManyAggregators<'a> {
    pub(crate) file: &'a str,
    pub(crate) class: Class,
    /// Maximum number of aggregators in one call.
    pub(crate) aggregators: u64,
    /// Mean length of an aggregator's request, bytes.
    pub(crate) bytes: u64,
    /// Mean time to serve one aggregator's request (without waiting for the others), ns.
    pub(crate) each_ns: u64,
    /// Number of collective calls whose requests are serialized.
    pub(crate) calls: u64,
}

/// Formats the finding that small requests of several aggregators are serialized.
pub(crate) fn many_aggregators(of: &ManyAggregators<'_>, about: About, lost: Option<LostOn>) -> Words {
    let title = format!(
        "storage serves {} aggregators' {} of {} on {} one at a time, {} each",
        show::count(of.aggregators),
        of.class.plural(),
        show::bytes(of.bytes),
        of.file,
        show::duration(of.each_ns)
    );
    let hint = "let one aggregator combine these small pieces into one request: hints cb_nodes=1 and romio_cb_write=enable (in OMPIO, Open MPI's own \
                MPI-IO: io_ompio_num_aggregators=1)";
    let sentence = format!(
        "in each of {}, the requests begin together, but the first ends after about {} and each next one about {} later",
        show::counted(of.calls, "collective call"),
        show::duration(of.each_ns),
        show::duration(of.each_ns)
    );
    Words::new(title, hint).with(sentence, about).on(lost)
}

#[cfg(test)]
pub(super) fn samples() -> Vec<crate::words::tests::Sample> {
    use crate::findings::Code;
    use crate::words::common::lost_sample;
    let (about, file, lost) = (About::default, "/scratch/out.h5", lost_sample);
    let share = |class: Class, several: bool, are_ranks: bool, one: bool, alone: bool| {
        let name = if several { "ranks 0-7" } else { "rank 0" }.into();
        let (most, bytes, processes) = (if one { 4 << 30 } else { 1 << 30 }, 4 << 30, 64);
        Share { name, several, are_ranks, class, most, bytes, processes, one, alone }
    };
    let uneven = |several: bool, are_ranks: bool, one: bool, alone: bool| {
        super::uneven(&share(Class::Write, several, are_ranks, one, alone), about(), lost())
    };
    let transfers = |of: &[&str], to: &[&str]| {
        let words = uneven(false, true, true, false);
        let (title, evidence) = gathers(&words.title, of, to, 3_000_000_000);
        Words { title, ..words }.and([evidence])
    };
    let both = |several: bool, one: bool, alone: bool| {
        let of = |class: Class| share(class, several, true, one, alone);
        Words { title: of(Class::Read).title_of_both(&of(Class::Write)).into(), ..Words::default() }
    };
    let rounds = |class: Class| uneven_rounds(class, [9, 12, 8], 3.4, about(), lost());
    let together = |node: Option<(&str, bool)>| {
        let (mine_ns, others_ns) = ([6_000_000_000, 6_200_000_000, 6_400_000_000], [3_500_000_000; 3]);
        let (ranks, class) = ("ranks 8-15".into(), Class::Write);
        longer_together(&LongerTogether { ranks, node, class, mine_ns, others_ns, others: 56 }, about(), lost())
    };
    let thread = |class: Class, found: u64, same: bool, own: Option<(&str, bool)>| {
        let (number, of, tid, process, times, calls, p) = (3, 8, 4711, "rank 5", 2.4, 9000, 1e-9);
        slow_thread(&SlowThread { class, number, of, tid, process, found, same, times, calls, p, own }, about())
    };
    let slowest = |role: Role, inside: bool, users: u64| {
        let (rank, ranks, bytes, part, time_ns, mean_bytes, mean_ns) = (0, 64, 4 << 30, 0.97, 9e9, 64 << 20, 1e9);
        let of = Slowest { rank, role, file, inside, users, ranks, bytes, part, time_ns, mean_bytes, mean_ns };
        super::slowest(&of, about())
    };
    let asked = |key: &str| {
        asked_aggregators(
            &AskedAggregators { file, aggregators: 1, ranks: 64, key, asked: 1, could: 4 },
            about(),
            lost(),
        )
    };
    let (class, each_ns) = (Class::Write, 30_000_000);
    let many = ManyAggregators { file, class, aggregators: 4, bytes: 32 << 10, each_ns, calls: 20 };
    vec![
        (Code::ONE_RANK, uneven(false, true, true, false)),
        (Code::ONE_RANK, uneven(false, true, true, true)),
        (Code::ONE_RANK, transfers(&["MPI_Gather"], &[])),
        (Code::ONE_RANK, transfers(&[], &["MPI_Bcast"])),
        (Code::ONE_RANK, transfers(&["MPI_Gather"], &["MPI_Bcast"])),
        (Code::ONE_RANK, both(false, true, false)),
        (Code::ONE_RANK, both(false, true, true)),
        (Code::BYTE_IMBALANCE, uneven(false, true, false, false)),
        (Code::BYTE_IMBALANCE, uneven(false, false, false, false)),
        (Code::BYTE_IMBALANCE, uneven(true, true, false, false)),
        (Code::BYTE_IMBALANCE, both(true, false, false)),
        (Code::BYTE_IMBALANCE, rounds(Class::Read)),
        (Code::BYTE_IMBALANCE, rounds(Class::Write)),
        (Code::TIME_IMBALANCE, longer("rank 0", Class::Metadata, [4 << 30, 1 << 26, 6 << 30], about(), lost())),
        (Code::TIME_IMBALANCE, together(Some(("n1", true)))),
        (Code::TIME_IMBALANCE, together(Some(("n1", false)))),
        (Code::TIME_IMBALANCE, together(None)),
        (Code::TIME_IMBALANCE, slowest(Role::Slow, false, 64)),
        (Code::TIME_IMBALANCE, slowest(Role::Slow, true, 16)),
        (Code::ONE_RANK, slowest(Role::Mover, false, 64)),
        (Code::AGGREGATORS, slowest(Role::Aggregator, true, 16)),
        (Code::SLOW_THREAD, thread(Class::Read, 1, false, None)),
        (Code::SLOW_THREAD, thread(Class::Write, 16, true, Some((file, false)))),
        (Code::SLOW_THREAD, thread(Class::Write, 2, false, Some((file, true)))),
        (Code::ASKED_AGGREGATORS, asked("cb_nodes")),
        (Code::ASKED_AGGREGATORS, asked("io_ompio_num_aggregators")),
        (Code::MANY_AGGREGATORS, many_aggregators(&many, about(), lost())),
    ]
}
