//! Makes the verdict of a run from the findings of all topics.

use super::claims::Mending;
use super::job_line::job_line;
use super::joined::joined;
use super::mapped::mapped;
use super::remedy::facts::Facts;
use super::rest::{rest, uncovered};
use super::result::{SHOWN, Verdict, Weighed};
use super::sentence::{is_beside_io, sentence, stated};
use super::severity::{is_a_guess, saves, weighed};
use super::weigh::{Card, Weighing, weigh, weight};
use crate::cube::Cell;
use crate::findings::{Code, Finding, Severity};
use crate::hypotheses::{Basis, Hypothesis, Origin, Says};
use crate::model::{Class, Run};
use crate::replay::Work;
use crate::session::Output;
use crate::shared::completeness;
use crate::shared::ratio::share;
use crate::topics::Whole;
use crate::topics::causes::claim::Claim;
use crate::topics::ledger::view::{lead, lead_of_script};
use crate::topics::report::{Job, Options};
use anyhow::Result;
use std::cmp::Reverse;
use std::path::Path;

/// Returns the codes of the findings on the first screen of a page.
pub(crate) fn top_codes(verdict: &Verdict) -> Vec<Code> {
    verdict.findings.iter().take(SHOWN).map(|weighed| weighed.finding.code).collect()
}

/// Gives a finding of a section the severity and saving that it has in the verdict (first screen); findings that the verdict explains by
/// another become `Info`.
pub(crate) fn give_weight(finding: &mut Finding, verdict: &Verdict) {
    match verdict.findings.iter().find(|weighed| weighed.finding.is_same(finding)) {
        Some(weighed) => *finding = weighed.finding.clone(),
        None => {
            finding.severity = Severity::Info;
            finding.about = finding.accused();
        }
    }
}

/// Returns the finding of the verdict from which a command's `finding` takes severity and saving: the same finding, on its own or as a
/// duplicate of another (then with the saving that it has without other findings); or else the better founded one that replaces it, with
/// the same code, file and unit. `None` if there is neither.
fn replacement<'v>(finding: &Finding, verdict: &'v Verdict) -> Option<&'v Finding> {
    let all = || verdict.findings.iter().flat_map(|weighed| [&weighed.finding].into_iter().chain(&weighed.also));
    let replaces = |other: &&Finding| {
        let (mine, theirs) = (finding.accused(), other.accused());
        let same_unit = mine.rank == theirs.rank && (mine.rank.is_some() || mine.node == theirs.node);
        let same_file = mine.file == theirs.file || mine.file.is_none() || theirs.file.is_none();
        superseded(finding.code) && other.code == finding.code && same_unit && same_file
    };
    all().find(|other| other.is_same(finding)).or_else(|| all().find(replaces))
}

/// True if a finding is about the job's I/O, and so gets a saving and severity; false for findings about the trace.
fn is_priced(finding: &Finding) -> bool {
    !completeness::CODES.contains(&finding.code)
}

/// Gives findings of a command the severities and savings of the verdict.
fn give_prices(verdict: &Verdict, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| is_priced(finding)) {
        let same = replacement(finding, verdict);
        // The command's words stay: by its options, it may know more than the report.
        let mut weighed = finding.clone();
        give_weight(&mut weighed, verdict);
        let (severity, saving) = same.map_or((weighed.severity, weighed.saving), |same| (same.severity, same.saving));
        (finding.severity, finding.saving) = (severity, saving);
        (finding.cost_ns, finding.about) = (weighed.cost_ns, weighed.about);
    }
    // The order of equal severities stays.
    findings.sort_by_key(|finding| Reverse(finding.severity));
}

/// Gives the findings of a command on `run` the severities and savings of the run's report; `layout`: file with stripe layouts. Does nothing if
/// `output` neither shows findings nor has an exit code that depends on them.
///
/// # Errors
/// Returns an error if the layouts are invalid.
pub(crate) fn price(run: &Run, layout: Option<&Path>, output: &Output, findings: &mut [Finding]) -> Result<()> {
    if output.needs_findings() && findings.iter().any(is_priced) {
        let options = Options::findings_only(layout);
        give_prices(&verdict(&crate::topics::whole(&Job::new(run, &options)?)?), findings);
    }
    Ok(())
}

/// Returns the findings with `code` of the report on `run`, including those that it shows beneath other findings. `layout`: file with stripe
/// layouts.
///
/// # Errors
/// Returns an error if the layouts are invalid.
pub(crate) fn with_code(run: &Run, layout: Option<&Path>, code: Code) -> Result<Vec<Finding>> {
    let options = Options::findings_only(layout);
    let verdict = verdict(&crate::topics::whole(&Job::new(run, &options)?)?);
    let all = verdict.findings.into_iter().flat_map(|weighed| std::iter::once(weighed.finding).chain(weighed.also));
    Ok(all.filter(|finding| finding.code == code).collect())
}

/// Analyses `run` by all topics, and returns what `take` chooses from their results. The result's findings (selected by `findings`) get the
/// severities and savings that they have in the run's report. No pass over the trace is made twice.
///
/// # Errors
/// Returns an error if the layouts are invalid.
pub(crate) fn with_prices<T>(
    run: &Run,
    layout: Option<&Path>,
    take: impl FnOnce(Whole<'_>) -> T,
    findings: impl FnOnce(&mut T) -> &mut [Finding],
) -> Result<T> {
    let options = Options::findings_only(layout);
    let job = Job::new(run, &options)?;
    let whole = crate::topics::whole(&job)?;
    let verdict = verdict(&whole);
    let mut out = take(whole);
    give_prices(&verdict, findings(&mut out));
    Ok(out)
}

/// Returns all findings of all topics, each once: those of the verdict in its order, then all further ones.
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

pub(crate) fn verdict(whole: &Whole<'_>) -> Verdict {
    let (cube, ledger, summary) = (&whole.causes.cube, &whole.ledger.result, &whole.summary);
    let least = &cube.run.thresholds;
    let run_ns = whole.causes.result.run_ns;
    let phases = Work::of(cube, false);
    let mut claims: Vec<Claim> = whole.causes.claims.clone();
    let all = whole.findings();
    let reread = all.iter().any(|finding| finding.code == Code::REREAD);
    let beside_ns = phases.one_after_another(&cube.slots.busy_without_pause());
    let in_collective = [Class::Read, Class::Write].map(|class| (class, super::outside::inside_of(whole, class, true)));
    let mending = Mending::new(cube, beside_ns, &claims, reread).with_collective(in_collective.into());
    claims.extend(super::outside::claim(whole, &claims));
    claims.extend(super::threads::claims(whole));
    claims.extend(super::overlap::claim(whole));
    let (mut patterns, mut others) = (Vec::<Claim>::new(), Vec::<Finding>::new());
    for finding in all {
        if claims.iter().any(|claim| claim.finding == finding)
            || superseded(finding.code) && !is_of_processes(cube.run, finding.code)
            || is_no_advice(finding.code)
        {
            continue;
        }
        // No process waits for another here, as ranks do: with one process for all, the reads would be fewer.
        let basis = is_of_processes(cube.run, finding.code).then_some(Basis::Form);
        let claim = mending.claim(&finding).map(|claim| Claim { basis: basis.unwrap_or(claim.basis), ..claim });
        match claim {
            Some(claim) => patterns.push(claim),
            None => others.push(finding),
        }
    }
    super::aliasing::reported(cube, &mut claims, &whole.stripes.result.files);
    let (of_files, causes): (Vec<Claim>, Vec<Claim>) =
        claims.into_iter().partition(|claim| Hypothesis::of(claim.finding.code).is_of_one_file);
    let mut claims = causes;
    claims.extend(joined(cube, &phases, patterns.into_iter().chain(of_files).collect()));
    let Weighing { mut cards, left, together } = weigh(cube, claims);
    let reported = |card: &Card| saves(&card.finding) as f64 >= run_ns as f64 * least.least_run_share;
    if !cards.iter().any(reported) {
        cards.extend(super::alternating::finding(whole).map(Card::of));
    }
    // A straggler that computes is not an I/O problem, and neither is a busy processor.
    let is_of_io =
        |card: &Card| ![Code::LATE_TO_MEET, Code::CPU_WAIT, Code::PROCESSED_AGAIN].contains(&card.finding.code);
    let most = cards.iter().filter(|card| is_of_io(card)).map(|card| saves(&card.finding)).max().unwrap_or(0);
    let io_share = ledger.io_share.max(share(phases.critical(cube) as u64, run_ns)).max(share(most, run_ns)).min(1.0);
    let leaves = || cube.cells.iter().filter(|cell| cell.leaf);
    let beside: f64 = leaves().filter(|cell| cube.computes_beside(cell.process)).map(Cell::time_ns).sum();
    let beside_computing = beside > 0.0 && beside >= leaves().map(Cell::time_ns).sum::<f64>() * least.nearly_all_share;
    let io_matters = io_share >= least.io_matters_share && !beside_computing;
    let outside =
        cards.iter().filter(|card| !is_of_io(card)).map(|card| saves(&card.finding)).fold(0, u64::saturating_add);
    let together = together.at_most(((io_share * run_ns as f64) as u64).saturating_add(outside));
    let rest = rest(whole, &left, &cards);
    others
        .extend(rest.as_ref().filter(|rest| rest.largest_share >= least.uncovered_share && io_matters).map(uncovered));
    cards.extend(others.into_iter().map(Card::of));
    let facts = Facts::new(cube).with_layouts(&whole.stripes.result.files);
    let facts = facts.with_loops(&whole.signatures.result.advice.one_call);
    let matters = |card: &&Card| share(saves(&card.finding), run_ns) >= least.least_run_share;
    let facts = facts.with_slow(cards.iter().filter(matters).map(|card| &card.finding));
    let matters = |finding: &Finding| io_matters || is_beside_io(finding.code);
    let reported = |card: &Card| matters(&card.finding) && !is_a_guess(&card.finding, run_ns, ledger.processes, least);
    let mut findings: Vec<Weighed> = cards
        .into_iter()
        .map(|card| (reported(&card), card))
        .map(|(reported, card)| {
            let sites = super::sites::of(whole, &card);
            Weighed { sites, ..weighed(card, reported, &facts) }
        })
        .map(super::sites::said)
        .collect();
    findings.sort_by_key(|weighed| {
        let damaged = weighed.finding.code == Code::DAMAGED;
        let general = Hypothesis::of(weighed.finding.code).says == Says::All;
        (!damaged, Reverse(weighed.finding.severity), general, Reverse(weight(least, &weighed.finding)))
    });
    let mut verdict = Verdict {
        job: job_line(whole, run_ns),
        run_ns,
        ledger: ledger.job,
        lead: if cube.run.ranks() == 0 && ledger.processes > 1 && !ledger.missing.untimed {
            lead_of_script(ledger, (phases.critical(cube) as u64).min(run_ns), run_ns)
        } else {
            lead(ledger)
        },
        io_share,
        background_share: if ledger.knows_waits {
            0.0
        } else {
            share(ledger.background_ns, run_ns.saturating_mul(ledger.processes.max(1)))
        },
        untimed: ledger.missing.untimed,
        lower_bounds: ledger.missing.lower_bounds,
        beside_computing,
        io_matters,
        sentence: String::new(),
        states: None,
        findings,
        together: Some(together).filter(|together| together.saves_ns > 0),
        rest,
        missing: summary.missing.scope_lines().into_iter().chain(summary.missing.sentences()).collect(),
    };
    let one_stripe = super::one_stripe::hint(cube, &facts);
    let stated = stated(&verdict, least, cube.run.is_sequential());
    let sentence = sentence(least, &verdict, stated, mapped(cube), summary.segments > 0, one_stripe);
    (verdict.states, verdict.sentence) = (stated.map(|finding| finding.code), sentence);
    verdict
}

/// True for findings of bytes that processes without ranks read one after another: [`crate::topics::causes`] only finds blocks that are read at
/// the same time.
fn is_of_processes(run: &Run, code: Code) -> bool {
    code == Code::COMMON_READS && run.is_sequential()
}

/// True for findings of other topics that [`crate::topics::causes`] replaces by better founded ones.
fn superseded(code: Code) -> bool {
    Hypothesis::of(code).origin == Origin::Causes
}

/// True for findings that only describe a program, without advice: they stay in the tables of their sections.
fn is_no_advice(code: Code) -> bool {
    Hypothesis::of(code).origin == Origin::Description
}
