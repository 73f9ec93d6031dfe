//! Data of the page's charts as one JSON object, which `assets/report/data.js` reads.

use crate::model::{FileId, FileLayout, ProcessId, Run};
use crate::progress::Bar;
use crate::scan::{Lost, scan};
use crate::shared::totals::{StreamTotal, Totals, with_missing};
use crate::topics::outliers::result::OperationGroup;
use crate::topics::timeline::exact::{self, CallColumns, Exact};
use crate::topics::timeline::fill::Activity;
use crate::topics::timeline::grid::Packed;
use crate::topics::timeline::grids::Grids;
use crate::topics::timeline::page_grids::{GridView, OffsetView};
use crate::topics::timeline::phases::Phase;
use crate::topics::timeline::slices::{Kind, Slices};
use crate::topics::timeline::span::Span;
use crate::topics::timeline::unseen::{self, By};
use crate::topics::timeline::view::{self, TimelineReport};
use serde::Serialize;
use trace_format::counters::{SIZE_BINS, SIZE_BOUNDS};

/// Maximum numbers of time bins: of the grid whose only row is the job, and of all other grids.
pub(crate) const BINS: (u32, u32) = (1000, 400);
/// Maximum number of non-empty cells (sums by slice, row and time bin) per grid that the page contains; each takes about 25 bytes of text.
const CELLS: usize = 60_000;
/// Maximum number of non-empty cells (sums by offset row and time bin) that the page contains for the offsets of one file.
const OFFSET_CELLS: usize = 8_000;

/// Slice (calls of the same file, layer, operation and caller) with names instead of indices.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SliceName {
    file: Option<String>,
    layer: &'static str,
    nested: bool,
    kind: Kind,
    op: String,
}

/// Job over time: the grid whose only row is the job.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct JobSeries {
    from_ns: u64,
    width_ns: u64,
    bins: usize,
    lines: Vec<Packed>,
    /// Number of reads and writes, by time bin, then by request size.
    sizes: Vec<[u64; SIZE_BINS]>,
    /// Upper bounds (exclusive) of the request size bins, bytes.
    size_bounds: [u64; SIZE_BINS - 1],
}

/// Data of all charts on the page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PageData {
    pub(crate) start_unix_ns: i64,
    pub(crate) span: Span,
    pub(crate) processes: usize,
    pub(crate) segments: u64,
    pub(crate) slices: Vec<SliceName>,
    pub(crate) job: JobSeries,
    pub(crate) ranks: GridView,
    pub(crate) nodes: GridView,
    pub(crate) targets: GridView,
    pub(crate) files: GridView,
    pub(crate) offsets: Vec<OffsetView>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) calls: Option<CallColumns>,
    pub(crate) boxes: Vec<OperationGroup>,
    /// True if a server (`serve`) provides finer grids on demand.
    pub(crate) tiles: bool,
}

/// Computes the totals of all streams (one operation, file and caller), from which the slices (sets of calls) of the charts are chosen.
pub(crate) fn totals(run: &Run) -> Vec<StreamTotal> {
    let (partial, _) = scan(run, &Totals, &Bar::new(run.segments(), "totals"));
    with_missing(run, partial)
}

/// Analyses whose results the charts show: grids, and single calls if the run has few.
pub(crate) type Drawn<'a> = (Activity<'a>, Option<Exact<'a>>);

/// Creates the analyses whose results the charts show.
pub(crate) fn drawn<'a>(
    run: &'a Run,
    layouts: &'a [Option<FileLayout>],
    slices: &'a Slices,
    totals: &[StreamTotal],
) -> Drawn<'a> {
    let activity = Activity::whole(run, slices, layouts, totals, BINS);
    let few = (1..=exact::MOST as u64).contains(&run.segments());
    let exact = few.then_some(Exact {
        slices,
        span: Span { from_ns: 0, until_ns: u64::MAX, ..activity.span },
        processes: (ProcessId(0), ProcessId::NONE),
        most: exact::MOST,
    });
    (activity, exact)
}

impl PageData {
    /// Creates the data of the charts, and the timeline, from the grids that a pass filled.
    pub(crate) fn of(
        run: &Run,
        (activity, _): &Drawn<'_>,
        (mut grids, calls): (Grids, Option<exact::Calls>),
        lost: &Lost,
    ) -> (Self, TimelineReport) {
        activity.add_heat(run, &mut grids);
        let timeline = view::read_off(run, activity, &grids, lost);
        let calls = calls.flatten().map(|calls| exact::columns(run, calls));
        (Self::put_together(run, activity, grids, calls, &timeline), timeline)
    }

    fn put_together(
        run: &Run,
        activity: &Activity<'_>,
        grids: Grids,
        calls: Option<CallColumns>,
        timeline: &TimelineReport,
    ) -> Self {
        let (span, job) = (&activity.span, &activity.job);
        let sizes = timeline.bins.iter().map(|bin| {
            let mut sum = bin.read_sizes;
            sum.iter_mut().zip(bin.write_sizes).for_each(|(sum, more)| *sum = sum.saturating_add(more));
            sum
        });
        let job = JobSeries {
            from_ns: job.from_ns,
            width_ns: job.width_ns,
            bins: grids.job.bins(),
            sizes: sizes.collect(),
            size_bounds: SIZE_BOUNDS,
            lines: grids.job.packed(),
        };
        let none = Default::default();
        let unseen = unseen::unseen(run);
        let view = |axis, grid, by| GridView::new(axis, span, grid, CELLS, unseen::by_row(&unseen, by));
        let ranks = activity.ranks.as_ref().unwrap_or(&none);
        let nodes = activity.nodes.as_ref().unwrap_or(&none);
        let files = activity.files.as_ref().unwrap_or(&none);
        let targets = activity.targets.as_ref().map_or(&none, |targets| &targets.axis);
        let offsets = activity.offsets.iter().zip(grids.offsets);
        Self {
            start_unix_ns: run.start_unix_ns,
            span: *span,
            processes: run.processes.len(),
            segments: run.segments(),
            slices: names(run, activity.slices),
            job,
            ranks: view(ranks, grids.ranks, By::Process(ranks)),
            nodes: view(nodes, grids.nodes, By::Process(nodes)),
            targets: view(targets, grids.targets, By::Any(targets.rows.len())),
            files: view(files, grids.files, By::File(files)),
            offsets: offsets.map(|(of, grid)| OffsetView::new(run, of, span, grid, OFFSET_CELLS, &unseen)).collect(),
            phases: timeline.phases.clone(),
            calls,
            boxes: Vec::new(),
            tiles: false,
        }
    }
}

fn names(run: &Run, slices: &Slices) -> Vec<SliceName> {
    let name = |file: FileId| run.file(file).map(|file| file.name.clone());
    let one = |slice: &crate::topics::timeline::slices::Slice| SliceName {
        file: slice.file.and_then(name),
        layer: slice.layer,
        nested: slice.nested,
        kind: slice.kind,
        op: slice.op.clone(),
    };
    slices.all.iter().map(one).collect()
}
