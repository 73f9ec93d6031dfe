//! The verdict of a run, of all that was found.

use super::claims::Mending;
use super::joined::joined;
use super::remedy::facts::Facts;
use super::remedy::of_card;
use super::result::{JobLine, Rest, SHOWN, Verdict, Weighed};
use super::sentence::{Mapped, sentence};
use super::weigh::{Card, is_general, is_sum, weigh, weight};
use crate::findings::{Code, Explains, Finding, Saving, Severity};
use crate::model::FileId;
use crate::shared::ratio::share;
use crate::text::units;
use crate::topics::Whole;
use crate::topics::causes::claim::Claim;
use crate::topics::causes::class::{CLASSES, Class};
use crate::topics::causes::grid::Grid;
use crate::topics::causes::replay::Work;
use crate::topics::causes::shape::slow_metadata::MANY_METADATA;
use crate::topics::ledger::view::lead;
use crate::topics::summary::result::Summary;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::OpClass;

/// The codes of the findings that stand on the first screen of a page.
pub(crate) fn top_codes(verdict: &Verdict) -> Vec<Code> {
    verdict.findings.iter().take(SHOWN).map(|weighed| weighed.finding.code).collect()
}

/// Gives a finding of a section the weight that the verdict gives it; what the verdict explains otherwise is worth knowing at most.
pub(crate) fn give_weight(finding: &mut Finding, verdict: &Verdict) {
    let same = |weighed: &&Weighed| weighed.finding.code == finding.code && weighed.finding.title == finding.title;
    match verdict.findings.iter().find(same) {
        Some(weighed) => *finding = weighed.finding.clone(),
        None => finding.severity = Severity::Info,
    }
}

/// All findings of all topics, each once: those of the verdict in its order, then what it explains otherwise.
pub(crate) fn findings(whole: &Whole<'_>, verdict: &Verdict) -> Vec<Finding> {
    let mut all: Vec<Finding> = verdict.findings.iter().map(|weighed| weighed.finding.clone()).collect();
    let others: Vec<Finding> = whole
        .findings()
        .into_iter()
        .map(|mut finding| {
            give_weight(&mut finding, verdict);
            finding
        })
        .filter(|finding| !all.contains(finding) && !is_no_advice(finding.code))
        .collect();
    all.extend(crate::topics::report::each_once(&others));
    all
}

/// Of all that was found.
pub(crate) fn verdict(whole: &Whole<'_>) -> Verdict {
    let (grid, ledger, summary) = (&whole.causes.grid, &whole.ledger.result, &whole.summary);
    let least = &grid.run.thresholds;
    let run_ns = whole.causes.result.run_ns;
    let phases = Work::of(grid, false);
    let mut claims: Vec<Claim> = whole.causes.claims.clone();
    let all = whole.findings();
    let reread = all.iter().any(|finding| finding.code == Code::REREAD);
    let beside_ns = phases.one_after_another(&grid.slots.busy_without_pause());
    let in_collective = [Class::Read, Class::Write].map(|class| (class, super::outside::inside_of(whole, class, true)));
    let mending = Mending::new(grid, beside_ns, &claims, reread).with_collective(in_collective.into());
    claims.extend(super::outside::claim(whole, &claims));
    claims.extend(super::threads::claims(whole));
    claims.extend(super::overlap::claim(whole));
    let (mut patterns, mut others) = (Vec::<Claim>::new(), Vec::<Finding>::new());
    let between: Vec<Option<String>> =
        all.iter().filter(|finding| finding.code == Code::FALSE_SHARING).map(|finding| finding.about().file).collect();
    for finding in all {
        // Where nodes take a file's stripes from each other, those of one node wait for that.
        let beside = finding.code == Code::LOCAL_SHARING && between.contains(&finding.about().file);
        if beside {
            others.push(finding);
            continue;
        }
        if claims.iter().any(|claim| claim.finding == finding) || superseded(finding.code) || is_no_advice(finding.code)
        {
            continue;
        }
        match mending.claim(&finding).and_then(|claim| without_header(claim, &claims)) {
            Some(claim) if says_no_more(&claim, &claims) || is_of_header(grid, &claim, &claims) => {}
            // Of reads and of writes on one file the same is said once.
            Some(claim) if patterns.iter().any(|other| is_the_same(other, &claim)) => {}
            Some(claim) => patterns.push(claim),
            None => others.push(finding),
        }
    }
    super::wanted::joined(&mut claims, &mut patterns);
    super::aliasing::told(grid, &mut claims, &whole.stripes.result.files);
    super::interleaved::told(&mut claims, &mut patterns, &whole.stripes.result.files);
    patterns = super::scratch::joined(grid, patterns);
    // The last of those that take turns comes last, and waits for a message meanwhile.
    let takes_turns = |claim: &Claim| [Code::SERIALISED, Code::SERIAL].contains(&claim.finding.code);
    let always = patterns.iter().any(takes_turns);
    if always || claims.iter().any(takes_turns) {
        claims.retain(|claim| claim.finding.code != Code::LATE_TO_MEET);
    }
    // What is so in some phases only is told where it is not so on the whole.
    claims.retain(|claim| !(always && takes_turns(claim)));
    let (of_files, causes): (Vec<Claim>, Vec<Claim>) =
        claims.into_iter().partition(|claim| OF_ONE_FILE.contains(&claim.finding.code));
    let mut claims = causes;
    claims.extend(joined(grid, &phases, patterns.into_iter().chain(of_files).collect()));
    let claims = super::gathered::joined(grid.run, claims);
    let (mut cards, left) = weigh(grid, claims, least);
    let told = |card: &Card| saves(&card.finding) as f64 >= run_ns as f64 * least.least_run_share;
    if !cards.iter().any(told) {
        cards.extend(super::alternating::finding(whole).map(|finding| Card { finding, also: Vec::new() }));
    }
    // What is computed for too long is no matter of I/O.
    let of_io = cards.iter().filter(|card| card.finding.code != Code::LATE_TO_MEET);
    let most = of_io.map(|card| saves(&card.finding)).max().unwrap_or(0);
    let io_share = ledger.io_share.max(share(phases.critical() as u64, run_ns)).max(share(most, run_ns)).min(1.0);
    let io_matters = io_share >= least.io_matters_share;
    let outside = cards.iter().any(|card| TOLD_OUTSIDE.contains(&card.finding.code));
    let library_ns = if outside { 0.0 } else { super::outside::neither(whole) * ledger.processes as f64 };
    let waits = cards.iter().filter(|card| WAITS.contains(&card.finding.code)).map(|card| saves(&card.finding));
    let waits_ns = waits.sum::<u64>() as f64 * ledger.processes as f64;
    let rest = rest(grid, &left, ledger.job.io_ns() as f64, library_ns, waits_ns);
    others
        .extend(rest.as_ref().filter(|rest| rest.largest_share >= least.uncovered_share && io_matters).map(uncovered));
    cards.extend(others.into_iter().map(|finding| Card { finding, also: Vec::new() }));
    let facts = Facts::new(grid).with_layouts(&whole.stripes.result.files);
    let facts = facts.with_loops(&whole.signatures.result.advice.one_call);
    let matters = |card: &&Card| share(saves(&card.finding), run_ns) >= least.least_run_share;
    let facts = facts.with_slow(cards.iter().filter(matters).map(|card| &card.finding));
    // Of a sum that nobody can do without altogether, how much could be saved is a guess; and of what each process does once, it is the less the longer
    // a run is.
    let guess = |finding: &Finding| {
        let share = share(saves(finding), run_ns);
        is_sum(finding) && share < least.io_matters_share
            || share < least.high_run_share
                && (is_of_the_beginning(finding, ledger.processes) || is_as_ever(finding, ledger.processes))
    };
    let told = |card: &Card| io_matters && !guess(&card.finding);
    let mut findings: Vec<Weighed> =
        cards.into_iter().map(|card| (told(&card), card)).map(|(told, card)| weighed(card, told, &facts)).collect();
    findings.sort_by_key(|weighed| {
        let damaged = weighed.finding.code == Code::DAMAGED;
        let general = is_general(weighed.finding.code);
        (!damaged, Reverse(weighed.finding.severity), general, Reverse(weight(&weighed.finding)))
    });
    let mut verdict = Verdict {
        job: job(whole, run_ns),
        run_ns,
        ledger: ledger.job,
        lead: lead(ledger),
        io_share,
        background_share: if ledger.knows_waits {
            0.0
        } else {
            share(ledger.background_ns, run_ns.saturating_mul(ledger.processes.max(1)))
        },
        untimed: ledger.missing.untimed,
        io_matters,
        sentence: String::new(),
        findings,
        rest,
        missing: summary.missing.scope_lines().into_iter().chain(summary.missing.sentences()).collect(),
    };
    let one_stripe = super::one_stripe::hint(grid, &facts);
    verdict.sentence = sentence(&verdict, mapped(grid), summary.segments > 0, one_stripe);
    verdict
}

/// Causes that are told of a file, and may be those of others as well.
const OF_ONE_FILE: [Code; 3] = [Code::ASKED_AGGREGATORS, Code::COMMON_READS, Code::ALIASING];

/// Whether two claims say the same of the same calls.
fn is_the_same(one: &Claim, other: &Claim) -> bool {
    let says = |claim: &Claim| (claim.finding.code, claim.finding.title.clone());
    says(one) == says(other) && !one.shortened.is_empty() && one.shortened == other.shortened
}

/// Slow metadata calls of a process up to which it makes them once: it opens a file and closes it.
const ONCE: u64 = 2;

/// What a metadata call takes at least to be slow, where there are not many, ns.
const SLOW_NS: u64 = 5_000_000;

/// Whether a finding is of metadata calls that are neither many nor slow.
fn is_as_ever(finding: &Finding, processes: u64) -> bool {
    let calls = finding.about().calls.unwrap_or(0);
    let each_ns = finding.cost_ns.unwrap_or(0) / calls.max(1);
    finding.code == Code::METADATA_SHARE && calls < processes.saturating_mul(MANY_METADATA) && each_ns < SLOW_NS
}

/// Whether a finding is of what each process does but once, as it begins.
fn is_of_the_beginning(finding: &Finding, processes: u64) -> bool {
    let few = || finding.about().calls.is_some_and(|calls| calls <= processes.saturating_mul(ONCE));
    finding.code == Code::FIRST_CALLS || finding.code == Code::METADATA_SHARE && few()
}

/// Bytes of mapped files from which they are worth a word.
const MAPPED: u64 = 1 << 20;

/// The program's mapped files, and how much of them is mapped at a time, if it is much.
fn mapped(grid: &Grid<'_>) -> Option<Mapped> {
    let mut by: BTreeMap<FileId, u64> = BTreeMap::new();
    for entry in grid.entries.iter().filter(|entry| entry.leaf && !entry.inside) {
        let is = grid.stream(entry).is_some_and(|stream| grid.run.op(stream).class == Some(OpClass::Map));
        if is {
            let of = by.entry(entry.file).or_default();
            *of = (*of).max(entry.cell.bytes / entry.cell.calls.max(1));
        }
    }
    let bytes = by.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    (bytes >= MAPPED).then_some((by.len() as u64, bytes))
}

/// Part of the writes that go back from which a header that is written again is why.
const GO_BACK: f64 = 0.3;

/// Whether writes are in no order since a header is written between them.
fn is_of_header(grid: &Grid<'_>, claim: &Claim, causes: &[Claim]) -> bool {
    let Some(header) = causes.iter().find(|cause| cause.finding.code == Code::HEADER_REWRITTEN) else { return false };
    let file = |index: &u32| grid.entries.get(*index as usize).map(|entry| entry.file);
    let files: BTreeSet<FileId> = header.shortened.iter().filter_map(|(index, _)| file(index)).collect();
    let writes =
        grid.entries.iter().filter(|entry| entry.leaf && entry.class == Class::Write && files.contains(&entry.file));
    let all = writes.fold(0_u64, |sum, entry| sum.saturating_add(entry.cell.calls));
    let calls = header.finding.about().calls.unwrap_or(0);
    let time = |counts: &dyn Fn(&u32) -> bool| {
        claim.shortened.iter().filter(|(index, _)| counts(index)).map(|(_, ns)| ns).sum::<f64>()
    };
    let on_them = time(&|index| file(index).is_some_and(|file| files.contains(&file))) >= time(&|_| true) * AS_MUCH;
    claim.finding.code == Code::RANDOM_WRITES && on_them && calls as f64 >= all as f64 * GO_BACK
}

/// Small writes without those of a header, which are small by nature and are a cause of their own; `None` if there are no others.
fn without_header(mut claim: Claim, causes: &[Claim]) -> Option<Claim> {
    let header = causes.iter().find(|cause| cause.finding.code == Code::HEADER_REWRITTEN);
    if let Some(header) = header.filter(|_| claim.finding.code == Code::SMALL_WRITES) {
        let theirs: BTreeSet<u32> = header.shortened.iter().map(|(index, _)| *index).collect();
        claim.shortened.retain(|(index, _)| !theirs.contains(index));
    }
    (!claim.shortened.is_empty() || claim.waiting_ns > 0.0).then_some(claim)
}

/// Part of what a finding of all small requests explains that one of tiny ones does, from which that says it better.
const AS_MUCH: f64 = 0.8;

/// Whether a finding of all small requests is for the most part of those that a cause of the same code is of.
fn says_no_more(claim: &Claim, causes: &[Claim]) -> bool {
    let code = claim.finding.code;
    let time = |claim: &Claim| claim.shortened.iter().map(|(_, ns)| ns).sum::<f64>();
    let says = |cause: &Claim| cause.finding.code == code && time(cause) >= time(claim) * AS_MUCH;
    [Code::SMALL_READS, Code::SMALL_WRITES].contains(&code) && causes.iter().any(says)
}

/// Findings of time that no call takes, but all wait: as parts of the time in calls.
const WAITS: [Code; 4] = [Code::THREADS_BY_TURNS, Code::SERIALISED, Code::SERIAL, Code::BY_TURNS];

/// Codes that tell of the time in MPI-IO outside of system calls.
const TOLD_OUTSIDE: [Code; 5] =
    [Code::COMMUNICATION, Code::OUTSIDE_POSIX, Code::HDF5_COLLECTIVE, Code::BUFFER_SIZE, Code::SIEVING_BLOCK];

/// Findings whose question is answered by `causes`, on better ground.
fn superseded(code: Code) -> bool {
    const CODES: [Code; 17] = [
        Code::SLOW_OPERATIONS,
        Code::SLOW_RANK,
        Code::SLOW_NODE,
        Code::SLOW_TARGET,
        Code::SLOW_FILE,
        Code::LATE_RANKS,
        Code::LOCK_TIME,
        Code::ONE_RANK,
        Code::BYTE_IMBALANCE,
        Code::SYNC_PER_WRITE,
        Code::METADATA_TIME,
        Code::METADATA_SHARE,
        Code::COMMON_READS,
        Code::COMMUNICATION,
        Code::REPEATED_OPENS,
        Code::SEEK_PER_ACCESS,
        Code::INDEPENDENT,
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

/// What saves nothing is worth knowing at most, and what is not to be told; where I/O does not matter, that is everything.
fn weighed(card: Card, told: bool, facts: &Facts<'_, '_>) -> Weighed {
    let Card { mut finding, also } = card;
    let damaged = finding.code == Code::DAMAGED;
    if !damaged && (!told || saves(&finding) == 0) {
        finding.severity = Severity::Info;
    }
    let commands = of_card(facts, &finding, &also);
    let mut about = finding.about();
    if !ABOUT_A_UNIT.contains(&finding.code) {
        // Where an example lies is no accusation.
        (about.rank, about.node, about.ost) = (None, None, None);
    }
    Weighed { about, finding, also, commands }
}

/// Codes whose findings are about a rank, node or storage target; those of the others name one at most as an example.
const ABOUT_A_UNIT: [Code; 13] = [
    Code::SLOW_RANK,
    Code::SLOW_NODE,
    Code::SLOW_TARGET,
    Code::STALL,
    Code::LATE_RANKS,
    Code::LATE_TO_MEET,
    Code::ONE_RANK,
    Code::BYTE_IMBALANCE,
    Code::TIME_IMBALANCE,
    Code::SHARED_READ_IMBALANCE,
    Code::SHARED_WRITE_IMBALANCE,
    Code::FEW_TARGETS,
    Code::IMBALANCE,
];

/// Of `io_ns` in calls; of `library_ns` in MPI-IO and HDF5 outside of system calls nothing explains anything, and `waits_ns` are explained by findings
/// that are of no calls.
fn rest(grid: &Grid<'_>, left: &[f64], io_ns: f64, library_ns: f64, waits_ns: f64) -> Option<Rest> {
    let leaf = || grid.entries.iter().zip(left).filter(|(entry, _)| entry.leaf);
    let all = leaf().map(|(entry, _)| entry.cell.time_ns as f64).sum::<f64>().max(io_ns);
    if all <= 0.0 {
        return None;
    }
    let by_class = CLASSES
        .map(|class| (class, leaf().filter(|(entry, _)| entry.class == class).map(|(_, left)| *left).sum::<f64>()));
    let (class, most) = by_class.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let sum: f64 = by_class.iter().map(|(_, ns)| ns).sum::<f64>() + library_ns;
    let (largest, most) = if library_ns > most {
        ("MPI-IO and HDF5 outside of system calls", library_ns)
    } else {
        (class.plural(), most)
    };
    let (sum, most) = ((sum - waits_ns).max(0.0), (most - waits_ns).max(0.0));
    Some(Rest { share: (sum / all).min(1.0), largest: largest.into(), largest_share: most / all })
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
