//! Tiles for zoomed views: the activity of all ranks, nodes, storage targets or files in a short time window, plus the single calls in the
//! window if they are few. Only blocks that overlap the window are read.

use crate::model::{FileLayout, ProcessId, Run};
use crate::page::built_in::json;
use crate::scan::{Progress, scan};
use crate::shared::totals::StreamTotal;
use crate::topics::timeline::axes;
use crate::topics::timeline::charts as data;
use crate::topics::timeline::exact::{self, CallColumns, Exact};
use crate::topics::timeline::fill::Activity;
use crate::topics::timeline::page_grids::GridView;
use crate::topics::timeline::slices::Slices;
use crate::topics::timeline::span::Span;
use crate::topics::timeline::unseen::{self, By, Unseen};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

const BINS: u32 = 800;
const CELLS: usize = 200_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rows {
    Ranks,
    Nodes,
    Targets,
    Files,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TileQuery {
    rows: Rows,
    /// Start of the time window, in ns since the job's start.
    from: u64,
    /// End of the time window, in ns since the job's start.
    until: u64,
    /// Index of the first process shown, if the rows are ranks.
    #[serde(default)]
    first: usize,
    /// Index after the last process shown; `None` for all.
    end: Option<usize>,
}

impl TileQuery {
    /// Checks that the ranges of the query are not empty; the error describes what is wrong.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.from >= self.until {
            return Err("from must be less than until");
        }
        if self.end.is_some_and(|end| end <= self.first) {
            return Err("first must be less than end");
        }
        Ok(())
    }
}

#[derive(Debug, Serialize)]
struct Tile {
    grid: GridView,
    calls: Option<CallColumns>,
}

/// Progress of a scan; stops the scan when the client has dropped its request.
struct Asked<'a>(&'a AtomicBool);

impl Progress for Asked<'_> {
    fn advance(&self, _segments: u64) {}

    fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
pub(crate) struct Tiler {
    run: Run,
    layouts: Vec<Option<FileLayout>>,
    totals: Vec<StreamTotal>,
    slices: Slices,
    unseen: Vec<Unseen>,
}

impl Tiler {
    /// Creates the source of tiles (data of zoomed views). Passes over the run once, to select the same rows as the page shows.
    pub(crate) fn new(run: Run, layouts: Vec<Option<FileLayout>>) -> Self {
        let totals = data::totals(&run);
        let slices = Slices::new(&run, &totals);
        let unseen = unseen::unseen(&run);
        Self { run, layouts, totals, slices, unseen }
    }

    /// Answers a valid query with JSON. Once `gone` is set, nobody needs the answer, and the scan stops early.
    pub(crate) fn json(&self, query: &TileQuery, gone: &AtomicBool) -> Result<String> {
        json(&self.tile(query, gone))
    }

    fn tile(&self, query: &TileQuery, gone: &AtomicBool) -> Tile {
        let run = &self.run;
        let span = Span::new(query.from, query.until, BINS);
        let end = query.end.unwrap_or(run.processes.len()).min(run.processes.len());
        let is = |rows| query.rows == rows;
        let activity = Activity {
            ranks: is(Rows::Ranks).then(|| axes::ranks(run, query.first, end)),
            nodes: is(Rows::Nodes).then(|| axes::nodes(run)),
            targets: is(Rows::Targets).then(|| axes::targets(&self.layouts)),
            files: is(Rows::Files).then(|| axes::files(run, &self.totals)),
            span,
            layouts: &self.layouts,
            ..Activity::of_job(&self.slices, Span::new(query.from, query.until, 2))
        };
        let exact = (is(Rows::Ranks) && end > query.first).then(|| Exact {
            slices: &self.slices,
            span: Span { from_ns: query.from, until_ns: query.until, ..span },
            processes: (ProcessId::at(query.first), ProcessId::at(end - 1)),
            most: exact::MOST,
        });
        let both = (activity, exact);
        let ((mut grids, calls), _) = scan(run, &both, &Asked(gone));
        both.0.add_heat(run, &mut grids);
        let (activity, none) = (&both.0, Default::default());
        let (axis, grid) = match query.rows {
            Rows::Ranks => (activity.ranks.as_ref(), grids.ranks),
            Rows::Nodes => (activity.nodes.as_ref(), grids.nodes),
            Rows::Targets => (activity.targets.as_ref().map(|targets| &targets.axis), grids.targets),
            Rows::Files => (activity.files.as_ref(), grids.files),
        };
        let axis = axis.unwrap_or(&none);
        let by = match query.rows {
            Rows::Ranks | Rows::Nodes => By::Process(axis),
            Rows::Targets => By::Any(axis.rows.len()),
            Rows::Files => By::File(axis),
        };
        Tile {
            grid: GridView::new(axis, &span, grid, CELLS, unseen::by_row(&self.unseen, by)),
            calls: calls.flatten().map(|calls| exact::columns(run, calls)),
        }
    }
}
