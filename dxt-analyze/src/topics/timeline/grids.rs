//! Grids of rows by time bins that the pass fills, and functions that add calls to them.

use super::axes::{Offsets, Targets};
use super::bin_times::Moments;
use super::grid::{Cell, Grid};
use super::slices::Kind;
use super::span::{Near, Piece, Span, last_moment};
use crate::layouts::placed::Placed;
use crate::scan::Row;
use crate::shared::sum_cache::InTurn;
use crate::shared::targets::share_ns;
use trace_format::counters::{SIZE_BINS, size_bin};

/// Grids (rows by time bins) filled by one thread of the analyzer.
#[derive(Clone, Debug)]
pub struct Grids {
    /// Grid whose only row is the whole job.
    pub job: Grid,
    /// Grid whose rows are ranks.
    pub ranks: Grid,
    /// Grid whose rows are nodes.
    pub nodes: Grid,
    /// Grid whose rows are files.
    pub files: Grid,
    /// Grid whose rows are storage targets.
    pub targets: Grid,
    /// Grids whose rows are offset ranges of one file each; slice 0 has the reads, slice 1 the writes.
    pub offsets: Vec<Grid>,
    /// First start, last end and bytes of the program's own calls in each time bin of the job.
    pub moments: Vec<Moments>,
    /// Number of the program's own reads and writes that start in each time bin of the job, by request size.
    pub sizes: Vec<[[u64; SIZE_BINS]; 2]>,
}

/// Sums not yet added to the grid of storage targets, by (slice, storage target, time bin).
pub(super) type OpenTargets = InTurn<(usize, u32, u32), Cell>;

/// Row of offsets with sums not yet added to it; successive calls mostly lie in one row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenLine {
    from: u64,
    until: u64,
    cell: Cell,
}

impl OpenLine {
    /// True if a call has bytes (`length` bytes at offset `first`) and all of them lie in the row's offset range.
    #[inline]
    fn holds(&self, first: u64, length: u64) -> bool {
        first >= self.from && length > 0 && first < self.until && length <= self.until - first
    }
}

/// Properties that all calls of one stream (one operation, file and caller) share: the rows that count the calls in the grids of ranks,
/// nodes and files, and the file's layout.
pub(super) struct Of<'a> {
    pub(super) slice: usize,
    pub(super) kind: Kind,
    /// True if the program itself makes the calls, false if a library does.
    pub(super) own: bool,
    /// Row in the grid of ranks that counts the calls.
    pub(super) rank: Option<usize>,
    /// Row in the grid of nodes that counts the calls.
    pub(super) node: Option<usize>,
    /// Row in the grid of files that counts the calls.
    pub(super) file: Option<usize>,
    /// Axis of storage targets, and layout of the file; `None` if the calls reach no known storage target.
    pub(super) targets: Option<(&'a Targets, Placed<'a>)>,
    /// Index and axis of the file's grid of offsets; `None` if the file has none.
    pub(super) offsets: Option<(usize, &'a Offsets)>,
}

impl Grids {
    /// Adds a piece of a call (its part in one time bin) to the grids of ranks, nodes and files.
    #[inline]
    pub(super) fn on_axes(&mut self, of: &Of<'_>, piece: &Piece) {
        let cell = Cell::from(*piece);
        let rows = [(&mut self.ranks, of.rank), (&mut self.nodes, of.node), (&mut self.files, of.file)];
        for (grid, row) in rows {
            if let Some(row) = row {
                grid.add(of.slice, row, piece.bin, &cell);
            }
        }
    }

    /// Adds a call to the rows of its offsets, and to `open`, whose sums are later added to the rows of storage targets.
    #[inline]
    pub(super) fn on_storage(&mut self, of: &Of<'_>, row: &Row, pieces: &[Piece], open: &mut OpenTargets) {
        let Ok(first) = u64::try_from(row.offset) else { return };
        if let Some((targets, placed)) = &of.targets {
            placed.spread(first, row.length, |target, bytes| {
                let Some(target) = target else { return };
                for piece in pieces {
                    let part = share(piece, bytes, row.length);
                    let key = (of.slice, target, piece.bin);
                    let before = open.add(target as usize, key, part, |sum, more| sum.merge(&more));
                    before.into_iter().for_each(|before| self.on_target(targets, before));
                }
            });
        }
        if let Some((offsets, grid)) = of.offsets.and_then(|(place, of)| Some((of, self.offsets.get_mut(place)?))) {
            on_offsets(grid, offsets, of.kind, (first, row.length), pieces);
        }
    }

    /// Adds a call that lies in one time bin as [`Self::on_storage`] does, but faster if `line` is of the same bin.
    #[inline]
    pub(super) fn on_storage_at_once(
        &mut self,
        of: &Of<'_>,
        row: &Row,
        piece: Piece,
        (open, line): (&mut OpenTargets, &mut OpenLine),
    ) {
        let quickly = of.targets.as_ref().map(|(_, placed)| placed.target(row.offset.cast_unsigned(), row.length));
        let sum = match quickly {
            // The call has an unknown offset, or spans several stripes.
            _ if row.offset < 0 => None,
            Some(None) => None,
            Some(Some(target)) => open.find(target as usize, &(of.slice, target, piece.bin)).map(Some),
            None => Some(None),
        };
        let Some(sum) = sum else { return self.on_storage(of, row, &[piece], open) };
        if let Some(sum) = sum {
            sum.merge(&piece.into());
        }
        if line.holds(row.offset.cast_unsigned(), row.length) {
            line.cell.merge(&piece.into());
        } else if of.offsets.is_some() {
            self.on_other_line(of, row, piece, line);
        }
    }

    /// Adds a call outside `line` to the rows of its offsets. If the call lies in a single row, that row becomes the new `line`.
    fn on_other_line(&mut self, of: &Of<'_>, row: &Row, piece: Piece, line: &mut OpenLine) {
        self.settle_line(of, piece.bin, line);
        let Some((place, offsets)) = of.offsets else { return };
        let first = row.offset.cast_unsigned();
        let from = offsets.row(first).saturating_mul(offsets.row_bytes);
        *line = OpenLine { from, until: from.saturating_add(offsets.row_bytes), cell: piece.into() };
        if !line.holds(first, row.length) {
            *line = OpenLine::default();
            if let Some(grid) = self.offsets.get_mut(place) {
                on_offsets(grid, offsets, of.kind, (first, row.length), &[piece]);
            }
        }
    }

    /// Adds the collected sums of `line` to its row of offsets.
    pub(super) fn settle_line(&mut self, of: &Of<'_>, bin: u32, line: &mut OpenLine) {
        let OpenLine { from, cell, .. } = std::mem::take(line);
        let Some((place, offsets)) = of.offsets.filter(|_| !cell.is_empty()) else { return };
        let row = offsets.row(from);
        if let Some(grid) = self.offsets.get_mut(place).filter(|_| row < u64::from(offsets.rows)) {
            grid.add(usize::from(of.kind == Kind::Write), row as usize, bin, &cell);
        }
    }

    fn on_target(&mut self, targets: &Targets, ((slice, target, bin), sum): ((usize, u32, u32), Cell)) {
        let place = targets.place.get(&target).copied();
        if let Some(row) = place.and_then(|place| targets.axis.row(place)) {
            self.targets.add(slice, row, bin, &sum);
        }
    }

    /// Adds the sums collected in `open` to the rows of storage targets in the grid.
    pub(super) fn settle(&mut self, targets: &Targets, open: OpenTargets) {
        open.rest().for_each(|one| self.on_target(targets, one));
    }

    /// Returns the counts by size of the reads or writes (`kind`) that start in a time bin of the job; `None` for metadata calls.
    pub(super) fn sizes_of(&mut self, kind: Kind, bin: usize) -> Option<&mut [u64; SIZE_BINS]> {
        let at = match kind {
            Kind::Read => 0,
            Kind::Write => 1,
            Kind::Metadata => return None,
        };
        self.sizes.get_mut(bin)?.get_mut(at)
    }

    /// Extends the first start and the last end of calls in a time bin of the job to the whole bin, for bytes that moved at an unknown time
    /// within it.
    pub(super) fn moment(&mut self, piece: Piece, job: &Span) {
        if let Some(moments) = self.moments.get_mut(piece.bin as usize) {
            let start = job.start_of(piece.bin as usize);
            moments.first_ns = moments.first_ns.min(start);
            moments.last_ns = moments.last_ns.max(start.saturating_add(job.width_ns).min(job.until_ns));
        }
    }

    /// Counts a call that the program itself made in the time bins of the job in which it starts and ends: first start, last end, bytes and
    /// size.
    pub(super) fn own(&mut self, job: &Span, near: &mut Near, kind: Kind, (start, end): (u64, u64), length: u64) {
        if !job.overlaps(start, end) {
            return;
        }
        let first = job.bin(start, near) as usize;
        if let Some(moments) = self.moments.get_mut(first) {
            moments.first_ns = moments.first_ns.min(start);
            let at_once = kind != Kind::Metadata && start >= job.from_ns;
            moments.bytes = moments.bytes.saturating_add(if at_once { length } else { 0 });
        }
        let sizes = self.sizes_of(kind, first).filter(|_| start >= job.from_ns);
        if let Some(size) = sizes.and_then(|sizes| sizes.get_mut(size_bin(length))) {
            *size += 1;
        }
        let last = job.bin(last_moment(start, end).min(job.until_ns), near) as usize;
        if let Some(moments) = self.moments.get_mut(last) {
            moments.last_ns = moments.last_ns.max(end);
        }
    }

    /// Adds the grids that another thread of the analyzer filled.
    pub(super) fn merge(&mut self, other: Self) {
        self.job.merge(other.job);
        self.ranks.merge(other.ranks);
        self.nodes.merge(other.nodes);
        self.files.merge(other.files);
        self.targets.merge(other.targets);
        self.offsets.iter_mut().zip(other.offsets).for_each(|(mine, theirs)| mine.merge(theirs));
        self.moments.iter_mut().zip(other.moments).for_each(|(mine, theirs)| mine.merge(theirs));
        for (mine, theirs) in self.sizes.iter_mut().flatten().flatten().zip(other.sizes.iter().flatten().flatten()) {
            *mine = mine.saturating_add(*theirs);
        }
    }
}

/// Returns the part of a piece (a call's part in one time bin) that belongs to `bytes` of the call's `length` bytes.
#[inline]
fn share(piece: &Piece, bytes: u64, length: u64) -> Cell {
    Cell {
        calls: piece.calls,
        bytes: share_ns(piece.bytes, bytes, length),
        busy_ns: share_ns(piece.busy_ns, bytes, length),
    }
}

#[inline]
fn on_offsets(grid: &mut Grid, offsets: &Offsets, kind: Kind, (first, length): (u64, u64), pieces: &[Piece]) {
    let end = first.saturating_add(length);
    let mut at = first;
    if let ([piece], Some(last)) = (pieces, end.checked_sub(1))
        && first < end
        && length > 0
        && offsets.row(first) == offsets.row(last)
    {
        let line = offsets.row(first);
        if line < u64::from(offsets.rows) {
            let cell = if end - first == length { Cell::from(*piece) } else { share(piece, end - first, length) };
            grid.add(usize::from(kind == Kind::Write), line as usize, piece.bin, &cell);
        }
        return;
    }
    while at < end {
        let line = offsets.row(at);
        if line >= u64::from(offsets.rows) {
            return;
        }
        let until = (line + 1).saturating_mul(offsets.row_bytes).min(end);
        for piece in pieces {
            let part = share(piece, until - at, length);
            grid.add(usize::from(kind == Kind::Write), line as usize, piece.bin, &part);
        }
        if until <= at {
            return;
        }
        at = until;
    }
}
