//! The `causes` command: results of two passes over the segments, and their output.

use super::args::Args;
use super::claim::Claim;
use super::result::claims;
use super::shape::aliasing;
use crate::cube::Cube;
use crate::cube::reading::cells;
use crate::cube::reading::depths::Depths;
use crate::cube::reading::episodes::{self, Episodes};
use crate::cube::reading::phases::{self, Phases};
use crate::cube::reading::questions::{self, Found, Questions};
use crate::cube::reading::read_before::{self, ReadBefore};
use crate::cube::reading::renamed::{self, Renamed};
use crate::cube::reading::usual::{self, Durations, Usual};
use crate::findings::Finding;
use crate::model::{Class, FileLayout, Run};
use crate::render::{Part, Report, View};
use crate::scan::{Lost, together};
use crate::shared::completeness::Completeness;
use crate::topics::Outcome;
use crate::topics::verdict;
use anyhow::Result;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::cmp::Reverse;

together!(
    /// Analyses of the first pass over the trace, and their results.
    First, FirstRead { phases, durations, questions, read_before, episodes, renamed }
);

/// Type of [`First`] for this command: the analyses of the first pass over the trace.
pub(super) type ReadsFirst = First<Phases, Durations, Questions, ReadBefore, Episodes, Renamed>;
/// Type of [`FirstRead`] for this command: partial results of the first pass over the trace.
pub(super) type ReadFirst = FirstRead<
    phases::Partial,
    usual::Partial,
    questions::Partial,
    read_before::Partial,
    episodes::Partial,
    renamed::Partial,
>;

impl ReadsFirst {
    pub(super) fn new(run: &Run) -> Self {
        let (questions, read_before) = (Questions::new(run), ReadBefore::new(run));
        Self {
            phases: Phases::new(run),
            durations: Durations::new(run),
            questions,
            read_before,
            episodes: Episodes::new(run),
            renamed: Renamed::new(run),
        }
    }
}

/// Result of the first pass: time windows, usual durations of calls, and data about waits, polled files and overwritten blocks.
#[derive(Debug)]
pub struct Frame {
    /// Time windows into which the run is divided.
    pub slots: crate::cube::reading::slots::Slots,
    /// Usual duration of calls, ns, by kind of calls (operation, open flags and size).
    pub usual: FxHashMap<usual::Kind, Usual>,
    /// Gaps before collective calls, by operation and file: time since each rank's previous collective call, ns.
    pub gaps: Vec<phases::Gaps>,
    /// Files that processes queried before the files existed, each with the time when it came into existence.
    pub found: Vec<Found>,
    /// Blocks that processes overwrite completely right after reading them, by process and file.
    pub read_before: read_before::Partial,
    /// Calls that processes repeat after each open of a file, and pauses after reads.
    pub episodes: episodes::Partial,
    /// New names of renamed files, by process and file.
    pub renamed: renamed::Partial,
}

impl Frame {
    pub(super) fn of(run: &Run, read: ReadFirst, questions: &Questions) -> Self {
        let FirstRead { mut phases, durations, questions: kept, read_before, episodes, renamed } = read;
        let gaps = phases.gaps();
        let found = questions.found(run, kept);
        Self {
            gaps,
            slots: phases.slots(run),
            usual: durations.usual(&run.thresholds),
            found,
            read_before,
            episodes,
            renamed,
        }
    }
}

/// Result of `causes`: run time, number of phases (from one synchronization or pause to the next) and findings.
#[derive(Debug, Serialize)]
pub struct Causes {
    /// Run time from the job's start to the last process's end, ns.
    pub run_ns: u64,
    /// Number of phases (from one synchronization of all ranks, or pause in the I/O, to the next).
    pub phases: usize,
    /// True if phases end at synchronization points of all ranks; else at pauses without I/O.
    pub ranks_met: bool,
    /// Parts of the trace that are missing, with reasons.
    pub missing: Completeness,
    /// Findings, largest saving first.
    pub findings: Vec<Finding>,
}

/// Result of `causes` with its claims (findings with savings) and cells (groups of similar calls), from which the verdict is made.
#[derive(Debug)]
pub struct CausesReport<'a> {
    /// Result of the command `causes`.
    pub result: Causes,
    /// Claims: findings with the calls that each explains.
    pub claims: Vec<Claim>,
    /// All cells (calls of one process, time window, stream and size) of the run.
    pub cube: Cube<'a>,
}

impl<'a> CausesReport<'a> {
    pub(super) fn of(
        run: &'a Run,
        frame: Frame,
        layouts: &[Option<FileLayout>],
        (mut cells, begun): (cells::Partial, aliasing::Found),
        lost: &Lost,
    ) -> Self {
        let missing = Completeness::of(run, lost);
        let (sums, depths) = (cells.take_depths(), Depths::new(run.length_ns(), layouts));
        let grows = |class: &Class| depths.grow(&sums, *class, &frame.slots);
        let grow_with_depth: Vec<Class> = [Class::Read, Class::Write].into_iter().filter(grows).collect();
        let mut cube = Cube::new(run, frame.slots, &frame.usual, layouts, cells.processes());
        cube.begin_together = cube.with_those_reached(begun.together);
        cube.grow_with_depth = grow_with_depth;
        cube.busy = [Class::Read, Class::Write].map(|class| (class, depths.busy(&sums, class))).into();
        cube.served = [Class::Read, Class::Write].map(|class| (class, depths.served(&sums, class, &cube.slots))).into();
        (cube.found, cube.read_before) = (frame.found, frame.read_before);
        (cube.repeated, cube.pauses) = (frame.episodes.repeated, frame.episodes.pauses);
        cube.renamed = frame.renamed;
        let claims = claims(&cube, &frame.gaps, &begun.files);
        let mut findings = missing.findings();
        findings.extend(claims.iter().map(|claim| claim.finding.clone()));
        let (phases, ranks_met) = (cube.slots.phases(), cube.slots.ranks_met);
        Self { result: Causes { run_ns: run.length_ns(), phases, ranks_met, missing, findings }, claims, cube }
    }
}

/// Loads the inputs and finds causes, with the prices that they have in the run's report.
///
/// # Errors
/// If nothing can be loaded, or the layouts are invalid.
pub fn causes(args: &Args) -> Result<Causes> {
    let run = crate::session::open(&args.inputs)?;
    let layout = args.options.layout.as_deref();
    let mut causes = verdict::with_prices(&run, layout, |whole| whole.causes.result, |causes| &mut causes.findings)?;
    causes.findings.sort_by_key(|finding| (Reverse(finding.severity), Reverse(finding.saving.map(|of| of.saves_ns))));
    Ok(causes)
}

impl Outcome for Causes {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.missing]
    }
}

impl Report for Causes {
    fn view(&self) -> View {
        let mut parts: Vec<Part> = self.missing.scope_part().into_iter().collect();
        let met =
            if self.ranks_met { "ended by calls that synchronize all ranks" } else { "ended by pauses without I/O" };
        let phases = crate::text::units::counted(self.phases as u64, "phase");
        parts.push(Part::Lines(vec![format!("{phases}, {met}")]));
        parts.push(Part::Findings(self.findings.clone()));
        parts.extend(self.missing.parts());
        View { parts, max_width: None }
    }
}
