//! Assigns a process's calls to signatures, decides which calls must be sorted, and applies MPI file views. The index of a signature in its
//! process is called its place.

use super::order::ByStart;
use super::views::{Reported, State, Views, reported};
use crate::model::{FileId, Op, Origin, Process, Run, Stream, StreamIx, Within};
use crate::scan::{Block, Row};
use crate::shared::layer_calls::Form;
use iosig::Access;
use rustc_hash::FxHashMap;
use trace_format::op::{Layer, OpClass};

/// Effect of the calls of a stream (one operation, file and caller) on signatures.
#[derive(Clone, Copy, Debug)]
enum Member {
    /// No effect: the calls are neither reads nor writes.
    None,
    /// Reads or writes that belong to the signature with this index.
    At(u32),
    /// Reads or writes that belong to the signature with the first index, on a file with MPI file views with the second index (see
    /// [`Views`]).
    Viewed(u32, u32),
    /// Calls that change the MPI file view in force on the file with this index, and their kind.
    ChangesView(u32, Reported),
}

/// Signatures of a process: each stream (one operation, file and caller) belongs to the signature of its file, interface and caller.
#[derive(Debug)]
pub(super) struct Places {
    of_stream: Vec<Member>,
    /// File, interface and caller of each signature.
    pub(super) of: Vec<(FileId, Layer, Within)>,
    /// For each signature, true if its calls may overlap, so that they must be sorted by start.
    overlap: Vec<bool>,
    views: Views,
}

/// Classification of one recorded call: read or write with or without an offset, or another call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Taken {
    /// The call is neither a read nor a write.
    Nothing,
    /// The call is a read or write with unknown offset.
    Nowhere,
    /// The call is a read or write that belongs to the signature with this index; the flag is false if the MPI file view in force is
    /// unknown.
    Access(u32, Access, bool),
}

impl Places {
    pub(super) fn new(run: &Run, process: &Process) -> Self {
        let mut known: FxHashMap<(FileId, Layer, Within), u32> = FxHashMap::default();
        // Darshan logs usually do not distinguish threads, so recorded calls may overlap.
        let is_log = run.origin() == Origin::Darshan;
        let views = Views::of(run, process);
        let (mut of, mut overlap) = (Vec::new(), Vec::new());
        let member = |stream: &Stream| {
            let op = run.op(stream);
            let viewed = views.number(stream.file);
            if let Some(reported) = reported(op, stream).filter(|_| stream.chosen) {
                return viewed.map_or(Member::None, |number| Member::ChangesView(number, reported));
            }
            let Some(layer) = op.layer.filter(|_| is_data(op, stream)) else { return Member::None };
            let key = (stream.file, layer, stream.within());
            let place = *known.entry(key).or_insert_with(|| {
                of.push(key);
                overlap.push(is_log);
                of.len() as u32 - 1
            });
            if let Some(overlap) = overlap.get_mut(place as usize) {
                *overlap |= Form::of(op.mode) == Form::Unfinished;
            }
            let viewed = viewed.filter(|_| layer == Layer::Mpiio);
            viewed.map_or(Member::At(place), |number| Member::Viewed(place, number))
        };
        let of_stream = process.streams.iter().map(member).collect();
        Self { of_stream, of, overlap, views }
    }

    /// Returns the index of the signature to which the calls of a stream (one operation, file and caller) belong; `None` if they are
    /// neither reads nor writes.
    pub(super) fn get(&self, stream: StreamIx) -> Option<u32> {
        match self.of_stream.get(stream.index())? {
            Member::At(place) | Member::Viewed(place, _) => Some(*place),
            Member::None | Member::ChangesView(..) => None,
        }
    }

    /// Returns the index of the signature of a stream (one operation, file and caller) if its calls can be used as recorded: neither sorted
    /// by start nor converted for an MPI file view. `None` for all other streams.
    pub(super) fn plain(&self, stream: StreamIx) -> Option<u32> {
        match self.of_stream.get(stream.index())? {
            Member::At(place) if !self.by_start(*place) => Some(*place),
            _ => None,
        }
    }

    /// True if calls of the signature with index `place` must be sorted by start.
    #[inline]
    pub(super) fn by_start(&self, place: u32) -> bool {
        self.overlap.get(place as usize).is_some_and(|overlap| *overlap)
    }

    pub(super) fn begin(&self) -> Reading {
        Reading { order: ByStart::default(), state: self.views.begin() }
    }
}

/// State while the calls of one thread are read: sorting buffers and MPI file views in force.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) order: ByStart,
    state: State,
}

impl Reading {
    /// Classifies a recorded call, and converts it to an access if it is a read or write.
    #[inline]
    pub(super) fn take(&mut self, places: &Places, block: &Block<'_>, row: &Row) -> Taken {
        match places.of_stream.get(row.stream.index()).copied().unwrap_or(Member::None) {
            Member::None => Taken::Nothing,
            Member::At(place) => access(block, row).map_or(Taken::Nowhere, |access| Taken::Access(place, access, true)),
            Member::Viewed(place, number) => access(block, row).map_or(Taken::Nowhere, |mut access| {
                let known = self.state.apply(block.run, number, &mut access);
                Taken::Access(place, access, known)
            }),
            Member::ChangesView(number, reported) => {
                self.state.tell(&places.views, number, reported, row.offset);
                Taken::Nothing
            }
        }
    }
}

/// Converts a recorded call to an access; `None` if its offset is unknown.
#[inline]
fn access(block: &Block<'_>, row: &Row) -> Option<Access> {
    let offset = u64::try_from(row.offset).ok()?;
    let op = block.process.stream(row.stream).map_or(u16::MAX, |stream| stream.op);
    let shift = block.process.shift_ns;
    let (start_ns, end_ns) = (row.start.saturating_add(shift), row.end.saturating_add(shift));
    Some(Access { op, offset, length: row.length, start_ns, end_ns })
}

/// True for selected, successful reads and writes, except library calls that a Darshan log counts in addition to the calls inside them
/// ([`Stream::overview`]).
pub(super) fn is_data(op: &Op, stream: &Stream) -> bool {
    let data = matches!(op.class, Some(OpClass::Read | OpClass::Write));
    data && stream.chosen && !stream.failed && !stream.overview && !stream.meets
}
