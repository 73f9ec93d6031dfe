//! `causes`: two passes, and how it looks.

use super::args::Args;
use super::claim::Claim;
use super::grid::Grid;
use super::reading::cells::{self, Cells};
use super::reading::depths::Depths;
use super::reading::phases::{self, Phases};
use super::reading::questions::{self, Found, Questions};
use super::reading::read_before::{self, ReadBefore};
use super::reading::usual::{self, Durations, Usual};
use super::result::claims;
use super::shape::aliasing::{self, Aliasing};
use crate::findings::Finding;
use crate::layouts::certain;
use crate::model::{Class, FileLayout, Run};
use crate::progress::Bar;
use crate::render::{Part, Report, View};
use crate::scan::{Lost, scan, together};
use crate::shared::completeness::Completeness;
use crate::topics::Outcome;
use anyhow::Result;
use rustc_hash::FxHashMap;
use serde::Serialize;

together!(
    /// What the first reading is for.
    First, FirstRead { phases, durations, questions, read_before }
);

/// All analyses of the first reading, and what they read.
pub(super) type ReadsFirst = First<Phases, Durations, Questions, ReadBefore>;
/// See above.
pub(super) type ReadFirst = FirstRead<phases::Partial, usual::Partial, questions::Partial, read_before::Partial>;

impl ReadsFirst {
    /// Of `run`.
    pub(super) fn new(run: &Run) -> Self {
        let (questions, read_before) = (Questions::new(run), ReadBefore::new(run));
        Self { phases: Phases::new(run), durations: Durations, questions, read_before }
    }
}

/// How the run is divided and what is usual in it.
#[derive(Debug)]
pub struct Frame {
    /// Slots.
    pub slots: super::reading::slots::Slots,
    /// By kind of calls.
    pub usual: FxHashMap<usual::Kind, Usual>,
    /// How late ranks came to collective calls.
    pub gaps: Vec<phases::Gaps>,
    /// Files that processes asked for before they were there.
    pub found: Vec<Found>,
    /// Blocks that processes read and overwrite at once.
    pub read_before: read_before::Partial,
}

impl Frame {
    pub(super) fn of(run: &Run, read: ReadFirst, questions: &Questions) -> Self {
        let FirstRead { mut phases, durations, questions: kept, read_before } = read;
        let gaps = phases.gaps();
        let found = questions.found(run, kept);
        Self { gaps, slots: phases.slots(run), usual: durations.usual(), found, read_before }
    }
}

/// The result.
#[derive(Debug, Serialize)]
pub struct Causes {
    /// From the job's start to its last end, ns.
    pub run_ns: u64,
    /// Phases that it is divided into.
    pub phases: usize,
    /// Whether they end where all ranks met.
    pub ranks_met: bool,
    /// What is missing.
    pub missing: Completeness,
    /// What is slow, the most costly first.
    pub findings: Vec<Finding>,
}

/// The result, and what it rests on: for who weighs it against other findings.
#[derive(Debug)]
pub struct CausesReport<'a> {
    /// The result.
    pub result: Causes,
    /// The calls that each finding explains.
    pub claims: Vec<Claim>,
    /// All calls.
    pub grid: Grid<'a>,
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
        let mut grid = Grid::new(run, frame.slots, &frame.usual, layouts, cells.processes());
        grid.begin_together = grid.with_those_reached(begun.together);
        grid.grow_with_depth = grow_with_depth;
        grid.busy = [Class::Read, Class::Write].map(|class| (class, depths.busy(&sums, class))).into();
        grid.served = [Class::Read, Class::Write].map(|class| (class, depths.served(&sums, class, &grid.slots))).into();
        (grid.found, grid.read_before) = (frame.found, frame.read_before);
        let (grid, claims) = claims(grid, &frame.gaps, &begun.files);
        let mut findings = missing.findings();
        findings.extend(claims.iter().map(|claim| claim.finding.clone()));
        let (phases, ranks_met) = (grid.slots.phases(), grid.slots.ranks_met);
        Self { result: Causes { run_ns: run.length_ns(), phases, ranks_met, missing, findings }, claims, grid }
    }
}

/// Loads and compares.
///
/// # Errors
/// If nothing can be loaded, or the layouts make no sense.
pub fn causes(args: &Args) -> Result<Causes> {
    let run = crate::session::open(&args.inputs)?;
    let layouts = certain(crate::session::layouts(&run, args.options.layout.as_deref())?);
    Ok(causes_of(&run, &layouts).result)
}

/// Of a run that is loaded.
#[must_use]
pub fn causes_of<'a>(run: &'a Run, layouts: &[Option<FileLayout>]) -> CausesReport<'a> {
    let bar = Bar::new(run.segments(), "baselines");
    let reads = ReadsFirst::new(run);
    let (first, lost) = scan(run, &reads, &bar);
    drop(bar);
    let frame = Frame::of(run, first, &reads.questions);
    let bar = Bar::new(run.segments(), "slow calls");
    let reading = (Cells::new(run, &frame.slots, &frame.usual, layouts), Aliasing::new(run, &frame.usual, layouts));
    let ((cells, moments), _) = scan(run, &reading, &bar);
    drop(bar);
    let begun = reading.1.found(&moments);
    CausesReport::of(run, frame, layouts, (cells, begun), &lost)
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
