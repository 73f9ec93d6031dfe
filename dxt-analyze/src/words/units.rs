//! Sentences on units that are slower than their peers: processes, nodes, storage targets, files and time spans.

use super::Words;
use super::common::list;
use crate::findings::{About, Evidence};
use crate::limits::NAMED_EXAMPLES;
use crate::model::Class;
use crate::text::units;

/// Advice on a slow storage target.
pub(super) const AVOID_OST: &str = "place files on other OSTs with `lfs setstripe -o` or `lfs migrate`, and report the slow OST to the file system's administrators";

/// Subject of a finding on slow calls: storage target, node, process, file or time span.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    /// Storage target, given by its OST index.
    Target(u32),
    /// Node, with the number of its processes.
    Node {
        name: String,
        processes: u64,
    },
    /// Process; `is_rank` is false in a run without MPI.
    Process {
        name: String,
        is_rank: bool,
    },
    Folder(String),
    File(String),
    /// Part of a file; offset and length are in bytes.
    Region {
        file: String,
        offset: u64,
        length: u64,
    },
    /// Start and end of a time span, ns since the job's start.
    Span(u64, u64),
}

impl Subject {
    /// Returns the name of the subject for use in a title.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Target(ost) => format!("OST {ost}"),
            Self::Node { name, processes } => format!("node {name} ({})", units::counted(*processes, "process")),
            Self::Process { name, .. } => name.clone(),
            Self::Folder(name) => format!("files in {name}"),
            Self::File(name) => format!("file {name}"),
            Self::Region { file, offset, length } => {
                format!("the part of {file} at offset {} ({})", units::bytes(*offset), units::bytes(*length))
            }
            Self::Span(from, until) => format!("from {} to {}", units::moment(*from), units::moment(*until)),
        }
    }

    /// Returns the plural name of the units with which the subject is compared, e.g. `other nodes`.
    const fn others(&self) -> &'static str {
        match self {
            Self::Target(_) => "other OSTs",
            Self::Node { .. } => "other nodes",
            Self::Process { is_rank: true, .. } => "other ranks",
            Self::Process { is_rank: false, .. } => "other processes",
            Self::Folder(_) => "files in other folders",
            Self::File(_) => "other files",
            Self::Region { .. } => "other parts",
            Self::Span(..) => "at other times",
        }
    }

    /// Returns the place of the calls with which the subject's calls are compared, e.g. `on other nodes`.
    fn elsewhere(&self) -> String {
        match self {
            Self::Process { .. } => format!("of {}", self.others()),
            Self::Span(..) => self.others().to_owned(),
            Self::Region { .. } => format!("on {} of the file", self.others()),
            _ => format!("on {}", self.others()),
        }
    }

    /// Returns the name of one of the units with which the subject is compared, e.g. `node`.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Target(_) => "OST",
            Self::Node { .. } => "node",
            Self::Process { is_rank: true, .. } => "rank",
            Self::Process { is_rank: false, .. } => "process",
            Self::Folder(_) => "folder",
            Self::File(_) => "file",
            Self::Region { .. } => "part",
            Self::Span(..) => "time window",
        }
    }
}

/// Calls of one operation class on a slow unit (storage target, node, process, file, ...).
#[derive(Clone, Debug)]
pub(crate) struct SlowCalls {
    pub(crate) class: Class,
    /// Name of the operation if nearly all calls are metadata calls of one operation; else `None`.
    pub(crate) op: Option<String>,
    /// Duration of the slow calls / duration of their peers (similar calls on other units).
    pub(crate) times: f64,
    pub(crate) calls: u64,
    /// Modified z-score of the slow unit (OST, node, process, file, ...), compared with its peers.
    pub(crate) score: f64,
    /// p-value: probability of the z-score by chance.
    pub(crate) p: f64,
    /// Number of units (the slow one and its peers) that are compared.
    pub(crate) among: usize,
}

impl SlowCalls {
    fn name(&self) -> String {
        match self.op.as_deref() {
            Some("close") => "closes".to_owned(),
            Some(op) => format!("{op} calls"),
            None => self.class.plural().to_owned(),
        }
    }

    /// Returns the evidence that the calls of this class on `unit` are slow.
    fn compared(&self, unit: &Subject) -> String {
        format!(
            "{} {}: {:.1} times as long as similar calls {} ({} compared; modified z-score {:.1}, p-value {})",
            units::count(self.calls),
            self.name(),
            self.times,
            unit.elsewhere(),
            units::counted(self.among as u64, unit.kind()),
            self.score,
            units::chance(self.p)
        )
    }
}

/// Processes that are the only users of a slow unit.
#[derive(Clone, Debug)]
pub(crate) struct Users {
    /// First of the processes, for a sentence about a single one.
    pub(crate) first: Subject,
    pub(crate) processes: u64,
    /// Ranks of all the processes, in ascending order; `None` if they are not MPI ranks.
    pub(crate) ranks: Option<Vec<u64>>,
}

impl Users {
    fn name(&self) -> String {
        match &self.ranks {
            Some(ranks) if ranks.len() > 1 => format!("ranks {}", units::ranges(ranks)),
            _ if self.processes > 1 => units::counted(self.processes, "process"),
            _ => self.first.name(),
        }
    }
}

/// Processes that cannot be distinguished from a slow file or storage target, because only they use it.
#[derive(Clone, Debug)]
pub(crate) enum SoleUser {
    /// Processes that are slow, rather than their files.
    Theirs(Users),
    /// Either the process or its file is slow.
    Either(Users),
    /// Either the process or its storage target is slow.
    EitherOnTarget(Users, Subject),
}

/// Storage target, node, process, file or time span that is slower than its peers.
#[derive(Clone, Debug)]
pub(crate) struct SlowUnit {
    pub(crate) unit: Subject,
    pub(crate) about: About,
    /// Further slow units of the same kind.
    pub(crate) more: Vec<(Subject, About)>,
    /// Ranks of all slow units, in ascending order; `None` if they are not MPI ranks.
    pub(crate) ranks: Option<Vec<u64>>,
    /// Storage targets that the same requests reach: any of them may be the slow one.
    pub(crate) either: Vec<(Subject, About)>,
    /// Slow calls by operation class; the class with the longest time is first.
    pub(crate) calls: Vec<SlowCalls>,
    pub(crate) sole_user: Option<SoleUser>,
    /// Load of the overloaded storage target / load of the other targets; `None` if the target is not overloaded.
    pub(crate) load: Option<f64>,
    /// True if calls get slower until the end of the time span.
    pub(crate) grows: bool,
    /// Word for the run's processes, `ranks` or `processes`; `None` if there is only one.
    pub(crate) workers: Option<&'static str>,
}

impl SlowUnit {
    /// Returns the names of all units that are or may be slow.
    fn name(&self) -> String {
        let others = |all: &[(Subject, About)]| all.iter().map(|(unit, _)| unit.name()).collect::<Vec<String>>();
        let mut name = self.unit.name();
        match &self.ranks {
            None if self.more.len() > NAMED_EXAMPLES && matches!(self.unit, Subject::Folder(_) | Subject::File(_)) => {
                let noun = if matches!(self.unit, Subject::Folder(_)) { "other folder" } else { "other file" };
                name.push_str(&format!(" and {}", units::counted(self.more.len() as u64, noun)));
            }
            // Many ranks are named as ranges, e.g. 0-31.
            Some(ranks) if self.more.len() >= NAMED_EXAMPLES => name = format!("ranks {}", units::ranges(ranks)),
            _ => name = list(&[vec![name], others(&self.more)].concat()),
        }
        match others(&self.either).as_slice() {
            [] => name,
            [first @ .., last] => {
                format!("{} or {last}", std::iter::once(&name).chain(first).cloned().collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Returns subject, verb and factor of the title, e.g. `reads take 2.9 times`.
    fn slow_calls(&self) -> String {
        let Some(first) = self.calls.first() else { return String::new() };
        if self.calls.len() == 1 || !matches!(self.unit, Subject::Span(..)) {
            return format!("{} take {} times", first.name(), units::times(first.times));
        }
        let names: Vec<String> = self.calls.iter().map(SlowCalls::name).collect();
        let most = self.calls.iter().map(|calls| calls.times).fold(first.times, f64::max);
        format!("{} take up to {} times", list(&names), units::times(most))
    }

    const fn are(&self) -> &'static str {
        if self.more.is_empty() && !matches!(self.unit, Subject::Folder(_)) { "is" } else { "are" }
    }

    fn words(&self, title: String, hint: &str) -> Words {
        let mut evidence: Vec<Evidence> = self.calls.iter().map(|calls| calls.compared(&self.unit).into()).collect();
        if let Some(first) = evidence.first_mut() {
            first.about = self.about.clone();
        }
        let more = self.more.iter().take(NAMED_EXAMPLES);
        evidence.extend(more.map(|(unit, about)| Evidence::of(format!("also slow: {}", unit.name()), about.clone())));
        evidence.extend(indistinguishable(&self.unit, &self.either));
        Words::of(title, evidence, hint)
    }

    /// Returns the finding on a unit that is slow compared with other units. `those` is `on` or `those of`, as in `3 times as long as those
    /// of other ranks`.
    fn slow(&self, those: &str, hint: &str) -> Words {
        let (name, are, others) = (self.name(), self.are(), self.unit.others());
        self.words(format!("{name} {are} slow: {} as long as {those} {others}", self.slow_calls()), hint)
    }

    fn user_or_target(&self, user: &Users, target: &Subject) -> Words {
        let title = format!(
            "{} or {} is slow: {} as long as {}",
            user.name(),
            target.name(),
            self.slow_calls(),
            match self.unit {
                Subject::Target(_) => "on other OSTs".to_owned(),
                _ => format!("those of {}", self.unit.others()),
            }
        );
        self.words(
            title,
            "place the rank's file on another OST (`lfs setstripe -o`), and another rank's file on this OST: whichever stays slow is at fault, the OST or the rank (its node)",
        )
        .with(either_may_be(&user.name(), &target.name()), About::default())
    }
}

/// Returns the evidence that each of the storage targets `either` may be the slow one instead of `unit`.
pub(super) fn indistinguishable<'a>(
    unit: &'a Subject,
    either: &'a [(Subject, About)],
) -> impl Iterator<Item = Evidence> + 'a {
    either.iter().map(|(other, about)| {
        let (other, unit) = (other.name(), unit.name());
        let words = format!("{other} cannot be distinguished from {unit}: the same requests reach both");
        Evidence::of(words, about.clone())
    })
}

/// Returns the evidence that `user`, the only user of `what`, may be slow instead of `what`.
fn either_may_be(user: &str, what: &str) -> String {
    format!("only {user} uses {what}, so either may be the cause")
}

/// Formats finding DXT-V001: time span in which calls take longer than at other times.
pub(crate) fn slow_moment(facts: &SlowUnit) -> Words {
    let (name, calls) = (facts.name(), facts.slow_calls());
    let most = facts.workers.map_or_else(String::new, |workers| format!(", on most {workers}"));
    if facts.grows {
        return facts.words(
            format!("{name}, {calls} as long as before, and ever longer{most}"),
            "look for something that grows during the run (a file, a folder, a list that is searched, a cache that fills up), and check whether restarting the program makes calls fast again",
        );
    }
    facts.words(
        format!("{name}, {calls} as long as {}{most}", facts.unit.others()),
        "check what else used the file system or the network while calls were slow, and repeat the run before changing the program",
    )
}

/// Formats finding DXT-O002: processes that are slow.
pub(crate) fn slow_rank(facts: &SlowUnit) -> Words {
    let users = match &facts.sole_user {
        Some(SoleUser::Theirs(users)) => users,
        Some(SoleUser::EitherOnTarget(user, target)) => return facts.user_or_target(user, target),
        _ => {
            return facts.slow(
                "those of",
                "place the rank on another node to see whether the rank or the node stays slow; compare its offsets and files with those of other ranks, and check for other load on its node",
            );
        }
    };
    let on = match (facts.more.is_empty(), users.processes > 1) {
        (true, _) => facts.name(),
        (false, true) => "files that only they use".to_owned(),
        (false, false) => "files that only it uses".to_owned(),
    };
    let title = format!(
        "{} {} slow on {on}: {} as long as those of {}{}",
        users.name(),
        if users.processes > 1 { "are" } else { "is" },
        facts.slow_calls(),
        users.first.others(),
        if facts.more.is_empty() { " on other files" } else { "" }
    );
    facts.words(
        title,
        "nobody else uses these files: check where they are stored (`lfs getstripe`); place the rank on another node to see whether the rank or the node stays slow, \
         and check for other load on its node",
    )
}

/// Formats finding DXT-O003: nodes that are slow.
pub(crate) fn slow_node(facts: &SlowUnit) -> Words {
    facts.slow(
        "those of",
        "have the node checked (network link, file system client, other processes), or exclude the node from the next job",
    )
}

/// Formats finding DXT-O004: storage targets that are slow or overloaded.
pub(crate) fn slow_target(facts: &SlowUnit) -> Words {
    if let Some(SoleUser::EitherOnTarget(user, target)) = &facts.sole_user {
        return facts.user_or_target(user, target);
    }
    let Some(load) = facts.load else {
        return facts.slow("on", AVOID_OST);
    };
    let title = format!(
        "{} {} overloaded: {}{load:.1} times the load of {}, and {} as long",
        facts.name(),
        facts.are(),
        if facts.more.is_empty() { "" } else { "each has " },
        facts.unit.others(),
        facts.slow_calls()
    );
    facts.words(
        title,
        "spread files evenly before writing them: `lfs setstripe -i -1` (the file system chooses the first OST) or more stripes (`-c`) for the files' folder",
    )
}

/// Formats finding DXT-O005: files, folders or parts of a file that are slow.
pub(crate) fn slow_file(facts: &SlowUnit) -> Words {
    if let Some(SoleUser::Either(user)) = &facts.sole_user {
        let title = format!(
            "{} or its {} is slow: {} as long as on {}",
            user.name(),
            facts.name(),
            facts.slow_calls(),
            facts.unit.others()
        );
        let hint = "let another rank use the file to see whether the rank or the file stays slow; check where the file is stored (another file system, a busy server), and for other load on the rank's node";
        return facts.words(title, hint).with(either_may_be(&user.name(), &facts.name()), About::default());
    }
    facts.slow(
        "on",
        match facts.unit {
            Subject::Folder(_) => {
                "similar calls on other files are faster: check with `lfs getstripe` whether the slow files lie on another file system or pool, and how they are accessed (order, alignment, locks)"
            }
            Subject::Region { .. } => {
                "check where the slow part of the file is stored (`lfs getstripe`: in another component of the layout, on a busy or degraded OST), and whether other ranks write to this part (locks)"
            }
            _ => {
                "similar calls on other files are faster: check where this file is stored (another file system, a busy server) and how it is accessed (order, \
                 alignment, locks)"
            }
        },
    )
}

#[cfg(test)]
pub(super) fn samples() -> Vec<super::tests::Sample> {
    use crate::findings::Code;
    let rank = |rank: u32| Subject::Process { name: format!("rank {rank}"), is_rank: true };
    let read = SlowCalls { class: Class::Read, op: None, times: 2.9, calls: 2000, score: 8.25, p: 3e-5, among: 64 };
    let close = SlowCalls { class: Class::Metadata, op: Some("close".into()), p: 0.0, ..read.clone() };
    let stat = SlowCalls { op: Some("stat".into()), times: 120.0, ..close.clone() };
    let of = |unit: Subject| SlowUnit {
        unit,
        about: About::default(),
        more: Vec::new(),
        ranks: None,
        either: Vec::new(),
        calls: vec![read.clone()],
        sole_user: None,
        load: None,
        grows: false,
        workers: None,
    };
    let also = |all: Vec<Subject>| all.into_iter().map(|unit| (unit, About::default())).collect::<Vec<_>>();
    let user = Users { first: rank(3), processes: 1, ranks: Some(vec![3]) };
    let ranks = Users { first: rank(3), processes: 2, ranks: Some(vec![3, 4]) };
    let pid = Subject::Process { name: "pid 4711".into(), is_rank: false };
    let pids = Users { first: pid.clone(), processes: 2, ranks: None };
    let (file, target) = (of(Subject::File("/scratch/a".into())), of(Subject::Target(3)));
    let theirs = |users: &Users| SlowUnit { sole_user: Some(SoleUser::Theirs(users.clone())), ..file.clone() };
    let on_target = Some(SoleUser::EitherOnTarget(user.clone(), Subject::Target(3)));
    let folder = |name: &str| Subject::Folder(format!("/scratch/{name}"));
    let folders = also(["a", "b", "c", "d"].map(folder).into());
    let region = Subject::Region { file: "/scratch/a".into(), offset: 1 << 30, length: 64 << 20 };
    let span = of(Subject::Span(10_000_000_000, 20_000_000_000));
    let all = also((4..7).map(rank).collect());
    vec![
        (Code::SLOW_MOMENT, slow_moment(&SlowUnit { workers: Some("ranks"), ..span.clone() })),
        (Code::SLOW_MOMENT, slow_moment(&SlowUnit { calls: vec![read.clone(), stat.clone(), close], ..span.clone() })),
        (Code::SLOW_MOMENT, slow_moment(&SlowUnit { grows: true, workers: Some("processes"), ..span })),
        (Code::SLOW_RANK, slow_rank(&of(rank(3))).on(super::common::lost_sample())),
        (Code::SLOW_RANK, slow_rank(&SlowUnit { more: all, ranks: Some(vec![3, 4, 5, 6]), ..of(rank(3)) })),
        (Code::SLOW_RANK, slow_rank(&SlowUnit { more: also(vec![rank(7)]), calls: vec![stat], ..of(pid) })),
        (Code::SLOW_RANK, slow_rank(&theirs(&user))),
        (Code::SLOW_RANK, slow_rank(&theirs(&ranks))),
        (Code::SLOW_RANK, slow_rank(&SlowUnit { more: also(vec![Subject::File("b".into())]), ..theirs(&pids) })),
        (Code::SLOW_RANK, slow_rank(&SlowUnit { sole_user: on_target.clone(), ..of(rank(3)) })),
        (Code::SLOW_NODE, slow_node(&of(Subject::Node { name: "n7".into(), processes: 32 }))),
        (Code::SLOW_TARGET, slow_target(&target)),
        (Code::SLOW_TARGET, slow_target(&SlowUnit { sole_user: on_target, ..target.clone() })),
        (Code::SLOW_TARGET, slow_target(&SlowUnit { load: Some(3.0), ..target.clone() })),
        (
            Code::SLOW_TARGET,
            slow_target(&SlowUnit { load: Some(3.0), more: also(vec![Subject::Target(4)]), ..target.clone() }),
        ),
        (Code::SLOW_TARGET, slow_target(&SlowUnit { either: also(vec![Subject::Target(4)]), ..target.clone() })),
        (
            Code::SLOW_TARGET,
            slow_target(&SlowUnit { either: also(vec![Subject::Target(4), Subject::Target(5)]), ..target }),
        ),
        (Code::SLOW_FILE, slow_file(&file)),
        (Code::SLOW_FILE, slow_file(&SlowUnit { sole_user: Some(SoleUser::Either(user)), ..file })),
        (Code::SLOW_FILE, slow_file(&of(folder("in")))),
        (Code::SLOW_FILE, slow_file(&SlowUnit { more: folders, ..of(folder("in")) })),
        (Code::SLOW_FILE, slow_file(&of(region))),
    ]
}
