//! Pass over the segments that fills the grids of rows by time bins.

use super::axes::{self, Axis, Offsets, Targets};
use super::bin_times::Moments;
use super::grid::{Cell, Grid};
use super::grids::{Grids, Of, OpenLine, OpenTargets};
use super::slices::{Kind, Slices};
use super::span::{Near, Piece, Span};
use crate::layouts::placed::Placed;
use crate::model::{FileLayout, ProcessId, Run, StreamIx};
use crate::scan::{Analysis, Block, Row, Stretch};
use trace_format::counters::{SIZE_BINS, add_sizes};
use trace_format::frame::BlockHead;

/// Analysis that fills the grids of rows by time bins.
#[derive(Debug)]
pub struct Activity<'a> {
    /// Slices (file, layer, operation and caller) by which calls are counted.
    pub slices: &'a Slices,
    /// Stripe layout of each file of the run; `None` if unknown.
    pub layouts: &'a [Option<FileLayout>],
    /// Time bins of the grid whose only row is the job.
    pub job: Span,
    /// Time bins of all other grids.
    pub span: Span,
    /// Axis of ranks; `None` if no grid of ranks is requested.
    pub ranks: Option<Axis>,
    /// Axis of nodes; `None` if no grid of nodes is requested.
    pub nodes: Option<Axis>,
    /// Axis of files; `None` if no grid of files is requested.
    pub files: Option<Axis>,
    /// Axis of storage targets; `None` if no grid of storage targets is requested.
    pub targets: Option<Targets>,
    /// Offset axes of the files that get a grid of offsets.
    pub offsets: Vec<Offsets>,
}

impl<'a> Activity<'a> {
    /// Creates the analysis that fills all grids (ranks, nodes, files, targets, offsets) over the whole run.
    #[must_use]
    pub fn whole(
        run: &Run,
        slices: &'a Slices,
        layouts: &'a [Option<FileLayout>],
        totals: &[crate::shared::totals::StreamTotal],
        bins: (u32, u32),
    ) -> Self {
        Self {
            slices,
            layouts,
            job: Span::of_charts(run, bins.0),
            span: Span::of_charts(run, bins.1),
            ranks: Some(axes::ranks(run, 0, usize::MAX)),
            nodes: Some(axes::nodes(run)),
            files: Some(axes::files(run, totals)),
            targets: Some(axes::targets(layouts)),
            offsets: axes::offsets(run, slices, totals),
        }
    }

    /// Creates the analysis that fills only the grid whose only row is the job. `job`: its time bins.
    #[must_use]
    pub fn of_job(slices: &'a Slices, job: Span) -> Self {
        let (ranks, nodes, files, targets, offsets) = (None, None, None, None, Vec::new());
        Self { slices, layouts: &[], job, span: job, ranks, nodes, files, targets, offsets }
    }

    /// Adds heat maps (bytes over time without segments) to the grids; the number and duration of their calls are unknown.
    pub fn add_heat(&self, run: &Run, grids: &mut Grids) {
        for ((number, process), slices) in run.numbered_processes().zip(&self.slices.of_heat) {
            let row = |axis: &Option<Axis>| axis.as_ref().and_then(|axis| axis.row(number.0));
            let (rank, node) = (row(&self.ranks), row(&self.nodes));
            for (def, slice) in process.heat.iter().zip(slices) {
                let slice = usize::from(*slice);
                let Some(of_slice) = self.slices.all.get(slice) else { continue };
                for (bin, bytes) in (def.first_bin..).zip(&def.bytes).filter(|(_, bytes)| **bytes > 0) {
                    let (start, end) = process.heat_bin(def, bin);
                    let cell = |piece: Piece| Cell { bytes: piece.bytes, ..Cell::default() };
                    self.job.cut(start, end, *bytes, |piece| grids.job.add(slice, 0, piece.bin, &cell(piece)));
                    if !of_slice.nested {
                        self.job.cut(start, end, *bytes, |piece| grids.moment(piece, &self.job));
                    }
                    self.span.cut(start, end, *bytes, |piece| {
                        if let Some(rank) = rank {
                            grids.ranks.add(slice, rank, piece.bin, &cell(piece));
                        }
                        if let Some(node) = node {
                            grids.nodes.add(slice, node, piece.bin, &cell(piece));
                        }
                    });
                }
            }
        }
    }

    /// Returns the rows that count the calls of a stream (one operation, file and caller); `None` if the calls belong to no slice of the
    /// charts.
    fn of(&self, block: &Block<'_>, stream: StreamIx) -> Option<Of<'_>> {
        let slice = self.slices.find(block.number, stream)?;
        let (stream, kind) = (block.process.stream(stream)?, self.slices.all.get(slice)?.kind);
        let row = |axis: &Option<Axis>, unit: u32| axis.as_ref().and_then(|axis| axis.row(unit));
        let layout = self.layouts.get(stream.file.index()).and_then(Option::as_ref);
        let layout = layout.filter(|layout| stream.storage && !layout.is_guess()).map(|layout| &layout.layout);
        let place = self.offsets.iter().position(|offsets| offsets.file == stream.file && stream.storage);
        Some(Of {
            slice,
            kind,
            own: !(stream.nested || stream.in_hdf5),
            rank: row(&self.ranks, block.number.0),
            node: row(&self.nodes, block.number.0),
            file: row(&self.files, stream.file.0),
            targets: self.targets.as_ref().zip(layout.map(Placed::new)),
            offsets: place.and_then(|place| Some((place, self.offsets.get(place)?))),
        })
    }

    /// Adds one call of any offset and duration to the grids; its times are ns since the job's start.
    fn call(&self, grids: &mut Grids, of: &Of<'_>, near: &mut Nears, row: &Row, pieces: &mut Vec<Piece>) {
        // The length of a seek or a lock is not a number of bytes moved.
        let bytes = if of.kind == Kind::Metadata { 0 } else { row.length };
        if of.own {
            grids.own(&self.job, &mut near.job, of.kind, (row.start, row.end), row.length);
        }
        self.job.cut_near(&mut near.job, row.start, row.end, bytes, |piece| {
            grids.job.add(of.slice, 0, piece.bin, &piece.into());
        });
        pieces.clear();
        self.span.cut_near(&mut near.all, row.start, row.end, bytes, |piece| pieces.push(piece));
        for piece in pieces.iter() {
            grids.on_axes(of, piece);
        }
        grids.on_storage(of, row, pieces, &mut near.open);
    }

    /// Adds the sums of successive calls that each lie within the time bins of the previous call (fast path).
    fn calm(&self, grids: &mut Grids, of: &Of<'_>, near: &mut Nears, calls: Stretch<'_>, shift: u64) {
        let mut sum = Piece { bin: near.all.bin, busy_ns: 0, bytes: 0, calls: calls.start.len() as u64 };
        let (mut first, mut last) = (u64::MAX, 0);
        for (&start, &end) in calls.start.iter().zip(calls.end) {
            sum.busy_ns = sum.busy_ns.saturating_add(end.saturating_sub(start));
            (first, last) = (first.min(start), last.max(end));
        }
        if of.kind != Kind::Metadata {
            sum.bytes = calls.length.iter().fold(0, |sum, length| sum.saturating_add(*length));
        }
        grids.on_axes(of, &sum);
        grids.job.add(of.slice, 0, near.job.bin, &sum.into());
        let bin = near.job.bin as usize;
        if let Some(moments) = grids.moments.get_mut(bin).filter(|_| of.own) {
            moments.first_ns = moments.first_ns.min(first.saturating_add(shift));
            moments.last_ns = moments.last_ns.max(last.saturating_add(shift));
            moments.bytes = moments.bytes.saturating_add(sum.bytes);
        }
        if let Some(sizes) = grids.sizes_of(of.kind, bin).filter(|_| of.own) {
            add_sizes(sizes, calls.length);
        }
        if of.targets.is_some() || of.offsets.is_some() {
            let moves = if of.kind == Kind::Metadata { 0 } else { u64::MAX };
            let mut line = OpenLine::default();
            for row in calls.rows() {
                let bytes = row.length & moves;
                let piece = Piece { bin: near.all.bin, busy_ns: row.end.saturating_sub(row.start), bytes, calls: 1 };
                grids.on_storage_at_once(of, &row, piece, (&mut near.open, &mut line));
            }
            grids.settle_line(of, near.all.bin, &mut line);
        }
    }
}

/// Time bins that contain the last call in both spans (job and other grids), and sums not yet added to the grids.
#[derive(Default)]
struct Nears {
    job: Near,
    all: Near,
    open: OpenTargets,
}

impl Nears {
    /// Returns the number of leading calls that each lie within the cached time bins of both spans.
    fn calm(&self, calls: Stretch<'_>, shift: u64) -> usize {
        let moments = calls.start.iter().zip(calls.end);
        let calm = moments.take_while(|&(start, end)| {
            let (start, end) = (start.saturating_add(shift), end.saturating_add(shift));
            self.job.holds(start, end) && self.all.holds(start, end)
        });
        calm.count()
    }
}

fn grid(slices: usize, axis: Option<&Axis>, span: &Span) -> Grid {
    Grid::new(slices, axis.map_or(0, |axis| axis.rows.len()), span.bins)
}

impl Analysis for Activity<'_> {
    type Partial = Grids;

    fn start(&self) -> Grids {
        let slices = self.slices.all.len();
        Grids {
            job: Grid::new(slices, 1, self.job.bins),
            ranks: grid(slices, self.ranks.as_ref(), &self.span),
            nodes: grid(slices, self.nodes.as_ref(), &self.span),
            files: grid(slices, self.files.as_ref(), &self.span),
            targets: grid(slices, self.targets.as_ref().map(|targets| &targets.axis), &self.span),
            offsets: self.offsets.iter().map(|o| Grid::new(2, o.rows as usize, self.span.bins)).collect(),
            moments: vec![Moments::default(); self.job.bins as usize],
            sizes: vec![[[0; SIZE_BINS]; 2]; self.job.bins as usize],
        }
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        let Some(process) = run.process(process) else { return false };
        let place = |time: u64| time.saturating_add(process.shift_ns);
        let (start, end) = (place(head.min_start), place(head.max_end));
        self.span.overlaps(start, end) || self.job.overlaps(start, end)
    }

    fn block(&self, grids: &mut Grids, block: &Block<'_>) {
        let shift = block.process.shift_ns;
        let mut pieces: Vec<Piece> = Vec::new();
        let mut near = Nears::default();
        for mut calls in block.stretches() {
            let Some(of) = self.of(block, calls.stream) else { continue };
            while let Some(row) = calls.rows().next() {
                let calm = near.calm(calls, shift);
                if calm > 0 {
                    self.calm(grids, &of, &mut near, calls.part(0, calm), shift);
                } else {
                    let (start, end) = (row.start.saturating_add(shift), row.end.saturating_add(shift));
                    self.call(grids, &of, &mut near, &Row { start, end, ..row }, &mut pieces);
                }
                calls = calls.part(calm.max(1), calls.start.len());
            }
        }
        if let Some(targets) = &self.targets {
            grids.settle(targets, near.open);
        }
    }

    fn merge(&self, into: &mut Grids, other: Grids) {
        into.merge(other);
    }
}
