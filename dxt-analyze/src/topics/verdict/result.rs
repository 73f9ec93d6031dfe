//! The verdict of a run.

use super::claims::Mending;
use super::sentence::sentence;
use super::weigh::{Card, weigh};
use crate::findings::{About, Code, Explains, Finding, Saving, Severity};
use crate::shared::ratio::share;
use crate::text::units;
use crate::topics::Whole;
use crate::topics::causes::grid::{CLASSES, Grid};
use crate::topics::causes::replay::Work;
use crate::topics::causes::result::Claim;
use crate::topics::ledger::parts::Parts;
use crate::topics::ledger::view::lead;
use crate::topics::summary::result::Summary;
use serde::Serialize;
use std::cmp::Reverse;

/// Cards on the first screen.
pub(crate) const SHOWN: usize = 3;

/// A finding with what it is about, for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Weighed {
    /// The finding.
    #[serde(flatten)]
    pub(crate) finding: Finding,
    /// What it is about.
    pub(crate) about: About,
    /// Other findings that say the same of the same calls.
    pub(crate) also: Vec<Finding>,
}

/// What no finding explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Rest {
    /// Share of the time in calls.
    pub(crate) share: f64,
    /// Its largest part, in words.
    pub(crate) largest: String,
    /// Share of the time in calls that this is.
    pub(crate) largest_share: f64,
}

/// Who ran what where.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct JobLine {
    /// Program, with its script and arguments.
    pub(crate) command: String,
    /// User id.
    pub(crate) uid: u32,
    /// The scheduler's job id, or empty.
    pub(crate) scheduler: String,
    /// When it started, for people.
    pub(crate) start: String,
    /// How long it ran, ns.
    pub(crate) run_ns: u64,
    /// MPI processes, or processes without MPI.
    pub(crate) processes: String,
    /// Nodes, in words.
    pub(crate) nodes: String,
    /// MPI library, or empty.
    pub(crate) mpi: String,
    /// File systems that hold the files.
    pub(crate) file_systems: Vec<String>,
}

/// What the first screen says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    /// The job.
    pub(crate) job: JobLine,
    /// From the job's start to its last end, ns.
    pub(crate) run_ns: u64,
    /// Where its time went, mean over processes.
    pub(crate) ledger: Parts,
    /// The same in a sentence.
    pub(crate) lead: String,
    /// Share of the run time in I/O: the mean over processes, or that of the slowest ones of each phase if that is more.
    pub(crate) io_share: f64,
    /// Whether that is enough to matter.
    pub(crate) io_matters: bool,
    /// The verdict in a sentence.
    pub(crate) sentence: String,
    /// All findings, those that save most first.
    pub(crate) findings: Vec<Weighed>,
    /// What they leave unexplained.
    pub(crate) rest: Option<Rest>,
    /// What the trace lacks, in sentences.
    pub(crate) missing: Vec<String>,
}

/// The codes of the findings that stand on the first screen of a page.
pub(crate) fn top_codes(verdict: &Verdict) -> Vec<Code> {
    verdict.findings.iter().take(SHOWN).map(|weighed| weighed.finding.code).collect()
}

/// Of all that was found.
pub(crate) fn verdict(whole: &Whole<'_>) -> Verdict {
    let (grid, ledger, summary) = (&whole.causes.grid, &whole.ledger.result, &whole.summary);
    let least = &grid.run.thresholds;
    let run_ns = whole.causes.run_ns;
    let phases = Work::of(grid, false);
    let mending = Mending::new(grid, phases.one_after_another(&grid.slots.busy_by_phase()));
    let mut claims: Vec<Claim> = whole.causes.claims.clone();
    claims.extend(super::outside::claim(whole));
    let mut others: Vec<Finding> = Vec::new();
    for finding in whole.findings() {
        if claims.iter().any(|claim| claim.finding == finding) || superseded(finding.code) || is_no_advice(finding.code)
        {
            continue;
        }
        match mending.claim(&finding) {
            Some(claim) => claims.push(claim),
            None => others.push(finding),
        }
    }
    let (mut cards, left) = weigh(grid, claims, least);
    let most = cards.iter().map(|card| saves(&card.finding)).max().unwrap_or(0);
    let io_share = ledger.io_share.max(share(phases.critical() as u64, run_ns)).max(share(most, run_ns)).min(1.0);
    let io_matters = io_share >= least.io_matters_share;
    let rest = rest(grid, &left);
    others
        .extend(rest.as_ref().filter(|rest| rest.largest_share >= least.uncovered_share && io_matters).map(uncovered));
    cards.extend(others.into_iter().map(|finding| Card { finding, also: Vec::new() }));
    let mut findings: Vec<Weighed> = cards.into_iter().map(|card| weighed(card, io_matters)).collect();
    findings.sort_by_key(|weighed| {
        let damaged = weighed.finding.code == Code::DAMAGED;
        (!damaged, Reverse(weighed.finding.severity), Reverse(saves(&weighed.finding)))
    });
    let mut verdict = Verdict {
        job: job(whole, run_ns),
        run_ns,
        ledger: ledger.job,
        lead: lead(ledger),
        io_share,
        io_matters,
        sentence: String::new(),
        findings,
        rest,
        missing: summary.missing.scope_lines().into_iter().chain(summary.missing.sentences()).collect(),
    };
    verdict.sentence = sentence(&verdict);
    verdict
}

/// Findings whose question is answered by `causes`, on better ground.
fn superseded(code: Code) -> bool {
    const CODES: [Code; 13] = [
        Code::SLOW_OPERATIONS,
        Code::SLOW_RANK,
        Code::SLOW_NODE,
        Code::SLOW_TARGET,
        Code::LATE_RANKS,
        Code::LOCK_TIME,
        Code::ONE_RANK,
        Code::BYTE_IMBALANCE,
        Code::SYNC_PER_WRITE,
        Code::METADATA_TIME,
        Code::METADATA_SHARE,
        Code::COMMON_READS,
        Code::COMMUNICATION,
    ];
    CODES.contains(&code)
}

/// Findings that tell what a program does and ask for nothing: they stay in their tables.
fn is_no_advice(code: Code) -> bool {
    [Code::STDIO_SHARE, Code::CALL_MIX, Code::BYTE_MIX].contains(&code)
}

fn saves(finding: &Finding) -> u64 {
    finding.saving.map_or(0, |saving: Saving| saving.saves_ns)
}

/// What saves nothing is worth knowing at most; where I/O does not matter, so is everything.
fn weighed(card: Card, io_matters: bool) -> Weighed {
    let Card { mut finding, also } = card;
    let damaged = finding.code == Code::DAMAGED;
    if !damaged && (!io_matters || saves(&finding) == 0) {
        finding.severity = Severity::Info;
    }
    let mut about = finding.about();
    if !ABOUT_A_UNIT.contains(&finding.code) {
        // Where an example lies is no accusation.
        (about.rank, about.node, about.ost) = (None, None, None);
    }
    Weighed { about, finding, also }
}

/// Codes whose findings are about a rank, node or storage target; those of the others name one at most as an example.
const ABOUT_A_UNIT: [Code; 12] = [
    Code::SLOW_RANK,
    Code::SLOW_NODE,
    Code::SLOW_TARGET,
    Code::STALL,
    Code::LATE_RANKS,
    Code::ONE_RANK,
    Code::BYTE_IMBALANCE,
    Code::TIME_IMBALANCE,
    Code::SHARED_READ_IMBALANCE,
    Code::SHARED_WRITE_IMBALANCE,
    Code::FEW_TARGETS,
    Code::IMBALANCE,
];

fn rest(grid: &Grid<'_>, left: &[f64]) -> Option<Rest> {
    let leaf = || grid.entries.iter().zip(left).filter(|(entry, _)| entry.leaf);
    let all: f64 = leaf().map(|(entry, _)| entry.cell.time_ns as f64).sum();
    if all <= 0.0 {
        return None;
    }
    let by_class = CLASSES
        .map(|class| (class, leaf().filter(|(entry, _)| entry.class == class).map(|(_, left)| *left).sum::<f64>()));
    let (class, most) = by_class.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let sum: f64 = by_class.iter().map(|(_, ns)| ns).sum();
    Some(Rest { share: sum / all, largest: class.plural().into(), largest_share: most / all })
}

/// A kind of calls that takes much of the time in I/O and that no finding explains.
fn uncovered(rest: &Rest) -> Finding {
    Finding {
        code: Code::UNCOVERED,
        severity: Severity::Info,
        title: format!(
            "{} take {:.0} % of the time in I/O, and nothing about them is odd",
            rest.largest,
            rest.largest_share * 100.0
        ),
        evidence: Vec::new(),
        cost_ns: None,
        saving: Some(Saving {
            saves_ns: 0,
            saves_low_ns: None,
            saves_high_ns: None,
            explains: Explains { time_ns: 0, millionths: 0 },
        }),
        hint: "compare their rate with what the file system can do, and with another run (`compare`)".into(),
    }
}

fn job(whole: &Whole<'_>, run_ns: u64) -> JobLine {
    let (summary, run): (&Summary, _) = (&whole.summary, whole.causes.grid.run);
    let job = &summary.job;
    let mut systems: Vec<String> =
        run.files.iter().filter(|file| file.name.starts_with('/')).map(|file| run.place_of(file)).collect();
    systems.sort();
    systems.dedup();
    JobLine {
        command: if job.args.is_empty() { job.exe.clone() } else { job.args.join(" ") },
        uid: job.uid,
        scheduler: job.scheduler.clone(),
        start: job.start.clone(),
        run_ns,
        processes: if summary.ranks > 0 {
            units::counted(summary.ranks, "rank")
        } else {
            units::processes(summary.processes)
        },
        nodes: units::nodes(summary.nodes),
        mpi: job.mpi.clone(),
        file_systems: systems,
    }
}
