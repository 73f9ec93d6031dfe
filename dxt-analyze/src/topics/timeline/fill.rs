//! The pass that fills the grids.

use super::axes::{self, Axis, Offsets, Targets};
use super::grid::{Cell, Grid};
use super::moments::Moments;
use super::slices::{Kind, Slices};
use super::span::{Near, Piece, Span, last_moment};
use crate::layouts::spread::spread;
use crate::model::{FileId, FileLayout, ProcessId, Run};
use crate::scan::{Analysis, Block, Row};
use crate::shared::targets::share_ns;
use trace_format::counters::{SIZE_BINS, size_bin};
use trace_format::frame::BlockHead;

/// What is filled.
#[derive(Debug)]
pub struct Activity<'a> {
    /// Which calls are told apart.
    pub slices: &'a Slices,
    /// Layouts per file.
    pub layouts: &'a [Option<FileLayout>],
    /// Bins of the job's own row.
    pub job: Span,
    /// Bins of all other grids.
    pub span: Span,
    /// Ranks, if they are asked for.
    pub ranks: Option<Axis>,
    /// Nodes.
    pub nodes: Option<Axis>,
    /// Files.
    pub files: Option<Axis>,
    /// Storage targets.
    pub targets: Option<Targets>,
    /// Offsets of files.
    pub offsets: Vec<Offsets>,
}

/// What a thread has filled.
#[derive(Clone, Debug)]
pub struct Grids {
    /// The job, in one row.
    pub job: Grid,
    /// Ranks by time.
    pub ranks: Grid,
    /// Nodes by time.
    pub nodes: Grid,
    /// Files by time.
    pub files: Grid,
    /// Storage targets by time.
    pub targets: Grid,
    /// Offsets by time, a grid for each file; slices are reads and writes.
    pub offsets: Vec<Grid>,
    /// By bin of the job: first start, last end and bytes of the program's own calls.
    pub moments: Vec<Moments>,
    /// By bin of the job: the program's own reads and writes that begin there, by size.
    pub sizes: Vec<[[u64; SIZE_BINS]; 2]>,
}

impl<'a> Activity<'a> {
    /// Everything, over the whole run.
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
            job: Span::of_run(run, bins.0),
            span: Span::of_run(run, bins.1),
            ranks: Some(axes::ranks(run, 0, usize::MAX)),
            nodes: Some(axes::nodes(run)),
            files: Some(axes::files(run, totals)),
            targets: Some(axes::targets(layouts)),
            offsets: axes::offsets(run, slices, totals),
        }
    }

    /// The job's own row only.
    #[must_use]
    pub fn of_job(slices: &'a Slices, job: Span) -> Self {
        let (ranks, nodes, files, targets, offsets) = (None, None, None, None, Vec::new());
        Self { slices, layouts: &[], job, span: job, ranks, nodes, files, targets, offsets }
    }

    /// Adds the bytes over time that have no segments: they are of no call, and nobody knows how long their calls took.
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

    fn on_targets(
        &self,
        grids: &mut Grids,
        targets: &Targets,
        slice: usize,
        file: FileId,
        row: &Row,
        pieces: &[Piece],
    ) {
        let Some(Some(layout)) = self.layouts.get(file.index()).filter(|l| l.as_ref().is_some_and(|l| !l.is_guess()))
        else {
            return;
        };
        let Ok(offset) = u64::try_from(row.offset) else { return };
        spread(&layout.layout, offset, row.length, |target, bytes| {
            let place = target.and_then(|target| targets.place.get(&target).copied());
            let Some(target_row) = place.and_then(|place| targets.axis.row(place)) else { return };
            for piece in pieces {
                let part = Cell {
                    calls: piece.calls,
                    bytes: share_ns(piece.bytes, bytes, row.length),
                    busy_ns: share_ns(piece.busy_ns, bytes, row.length),
                };
                grids.targets.add(slice, target_row, piece.bin, &part);
            }
        });
    }

    fn on_offsets(&self, grids: &mut Grids, kind: Kind, file: FileId, row: &Row, pieces: &[Piece]) {
        let Some(place) = self.offsets.iter().position(|offsets| offsets.file == file) else { return };
        let (Some(offsets), Some(grid)) = (self.offsets.get(place), grids.offsets.get_mut(place)) else { return };
        let Ok(first) = u64::try_from(row.offset) else { return };
        let end = first.saturating_add(row.length);
        let mut at = first;
        while at < end {
            let line = at / offsets.row_bytes;
            if line >= u64::from(offsets.rows) {
                return;
            }
            let until = (line + 1).saturating_mul(offsets.row_bytes).min(end);
            for piece in pieces {
                let part = Cell {
                    calls: piece.calls,
                    bytes: share_ns(piece.bytes, until - at, row.length),
                    busy_ns: share_ns(piece.busy_ns, until - at, row.length),
                };
                grid.add(usize::from(kind == Kind::Write), line as usize, piece.bin, &part);
            }
            if until <= at {
                return;
            }
            at = until;
        }
    }
}

impl Grids {
    /// Notes bytes that moved some time in a bin of the job.
    fn moment(&mut self, piece: Piece, job: &Span) {
        if let Some(moments) = self.moments.get_mut(piece.bin as usize) {
            let start = job.start_of(piece.bin as usize);
            moments.first_ns = moments.first_ns.min(start);
            moments.last_ns = moments.last_ns.max(start.saturating_add(job.width_ns).min(job.until_ns));
        }
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
        let process = block.process;
        let rank = self.ranks.as_ref().and_then(|axis| axis.row(block.number.0));
        let node = self.nodes.as_ref().and_then(|axis| axis.row(block.number.0));
        let mut pieces: Vec<Piece> = Vec::new();
        let (mut job_near, mut near) = (Near::default(), Near::default());
        for row in block.rows() {
            let Some(slice) = self.slices.find(block.number, row.stream) else { continue };
            let (Some(stream), Some(kind)) =
                (process.stream(row.stream), self.slices.all.get(slice).map(|slice| slice.kind))
            else {
                continue;
            };
            let start = row.start.saturating_add(process.shift_ns);
            let end = row.end.saturating_add(process.shift_ns);
            // What a seek or a lock calls its length are no bytes moved.
            let bytes = if kind == Kind::Metadata { 0 } else { row.length };
            if !(stream.nested || stream.in_hdf5) {
                own(&self.job, &mut job_near, grids, kind, (start, end), row.length);
            }
            self.job.cut_near(&mut job_near, start, end, bytes, |piece| {
                grids.job.add(slice, 0, piece.bin, &piece.into());
            });
            pieces.clear();
            self.span.cut_near(&mut near, start, end, bytes, |piece| pieces.push(piece));
            let file = self.files.as_ref().and_then(|axis| axis.row(stream.file.0));
            for piece in &pieces {
                let cell = Cell::from(*piece);
                if let Some(rank) = rank {
                    grids.ranks.add(slice, rank, piece.bin, &cell);
                }
                if let Some(node) = node {
                    grids.nodes.add(slice, node, piece.bin, &cell);
                }
                if let Some(file) = file {
                    grids.files.add(slice, file, piece.bin, &cell);
                }
            }
            if stream.storage && row.length > 0 {
                if let Some(targets) = &self.targets {
                    self.on_targets(grids, targets, slice, stream.file, &row, &pieces);
                }
                self.on_offsets(grids, kind, stream.file, &row, &pieces);
            }
        }
    }

    fn merge(&self, into: &mut Grids, other: Grids) {
        into.job.merge(other.job);
        into.ranks.merge(other.ranks);
        into.nodes.merge(other.nodes);
        into.files.merge(other.files);
        into.targets.merge(other.targets);
        into.offsets.iter_mut().zip(other.offsets).for_each(|(mine, theirs)| mine.merge(theirs));
        into.moments.iter_mut().zip(other.moments).for_each(|(mine, theirs)| mine.merge(theirs));
        for (mine, theirs) in into.sizes.iter_mut().flatten().flatten().zip(other.sizes.iter().flatten().flatten()) {
            *mine = mine.saturating_add(*theirs);
        }
    }
}

/// Notes a call that the program itself made.
fn own(job: &Span, near: &mut Near, grids: &mut Grids, kind: Kind, (start, end): (u64, u64), length: u64) {
    if !job.overlaps(start, end) {
        return;
    }
    let first = job.bin(start, near) as usize;
    if let Some(moments) = grids.moments.get_mut(first) {
        moments.first_ns = moments.first_ns.min(start);
        let at_once = kind != Kind::Metadata && start >= job.from_ns;
        moments.bytes = moments.bytes.saturating_add(if at_once { length } else { 0 });
    }
    let at = match kind {
        Kind::Read => Some(0),
        Kind::Write => Some(1),
        Kind::Metadata => None,
    };
    if let Some(at) = at.filter(|_| start >= job.from_ns)
        && let Some(size) = grids.sizes.get_mut(first).and_then(|sizes| sizes.get_mut(at)?.get_mut(size_bin(length)))
    {
        *size += 1;
    }
    let last = job.bin(last_moment(start, end).min(job.until_ns), near) as usize;
    if let Some(moments) = grids.moments.get_mut(last) {
        moments.last_ns = moments.last_ns.max(end);
    }
}
