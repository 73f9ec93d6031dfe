//! Tiles: the grid of one kind of rows over a short span of time, and the single calls in it where they are few. Only blocks that
//! overlap with the span are read.

use crate::model::{FileLayout, ProcessId, Run};
use crate::page::built_in::json;
use crate::scan::{Progress, scan};
use crate::shared::totals::StreamTotal;
use crate::topics::timeline::axes;
use crate::topics::timeline::charts as data;
use crate::topics::timeline::drawn::GridView;
use crate::topics::timeline::exact::{self, CallColumns, Exact};
use crate::topics::timeline::fill::Activity;
use crate::topics::timeline::slices::Slices;
use crate::topics::timeline::span::Span;
use crate::topics::timeline::unseen::{self, By, Unseen};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bins of a tile.
const BINS: u32 = 800;
/// Most cells of a tile.
const CELLS: usize = 200_000;

/// Rows that a tile can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rows {
    /// Ranks.
    Ranks,
    /// Nodes.
    Nodes,
    /// Storage targets.
    Targets,
    /// Files.
    Files,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TileQuery {
    rows: Rows,
    /// From when, ns since the job's start.
    from: u64,
    /// Until when.
    until: u64,
    /// First process, for ranks.
    #[serde(default)]
    first: usize,
    /// End of the processes.
    end: Option<usize>,
}

impl TileQuery {
    /// What is wrong with it, if something is.
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

/// An answer.
#[derive(Debug, Serialize)]
struct Tile {
    grid: GridView,
    calls: Option<CallColumns>,
}

/// A scan for a request that may be taken back.
struct Asked<'a>(&'a AtomicBool);

impl Progress for Asked<'_> {
    fn advance(&self, _segments: u64) {}

    fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Makes tiles of a run.
#[derive(Debug)]
pub(crate) struct Tiler {
    run: Run,
    layouts: Vec<Option<FileLayout>>,
    totals: Vec<StreamTotal>,
    slices: Slices,
    unseen: Vec<Unseen>,
}

impl Tiler {
    /// A pass over the run chooses what is told apart, as for the page.
    pub(crate) fn new(run: Run, layouts: Vec<Option<FileLayout>>) -> Self {
        let totals = data::totals(&run);
        let slices = Slices::new(&run, &totals);
        let unseen = unseen::unseen(&run);
        Self { run, layouts, totals, slices, unseen }
    }

    /// The answer to a query that makes sense. Once `gone` says so, nobody wants it any more: then it is of no use, and quick.
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
