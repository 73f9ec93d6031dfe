//! Collects single calls for the charts, if there are few enough to draw each.

use super::slices::Slices;
use super::span::Span;
use crate::model::{FileId, ProcessId, Run};
use crate::scan::{Analysis, Block};
use serde::Serialize;
use trace_format::frame::BlockHead;

/// Maximum number of single calls that are drawn.
pub const MOST: usize = 20_000;

/// Analysis that collects the calls in a time span, or none if there are too many.
#[derive(Debug)]
pub struct Exact<'a> {
    /// Slices (sets of calls of one file, layer, operation and caller) to collect.
    pub slices: &'a Slices,
    /// Time span in which calls are collected.
    pub span: Span,
    /// First and last process whose calls are collected, as indices into [`Run::processes`].
    pub processes: (ProcessId, ProcessId),
    /// Maximum number of calls to collect; with more, none are collected.
    pub most: usize,
}

/// Single call, ordered by process, then by start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Process that made the call, as an index into [`Run::processes`].
    pub process: ProcessId,
    /// Start of the call, ns since the job's start.
    pub start_ns: u64,
    /// End of the call, ns since the job's start.
    pub end_ns: u64,
    /// Index of the call's slice (file, layer, operation and caller).
    pub slice: u16,
    /// File of the call, as an index into [`Run::files`].
    pub file: FileId,
    /// Operation of the call, as an index into [`Run::ops`].
    pub op: u16,
    /// Offset of the call in the file, bytes; -1 if it has none.
    pub offset: i64,
    /// Size of the call, bytes.
    pub length: u64,
}

/// Collected calls; `None` if there were too many.
pub type Calls = Option<Vec<Call>>;

impl Analysis for Exact<'_> {
    type Partial = Calls;

    fn start(&self) -> Calls {
        Some(Vec::new())
    }

    fn wants(&self, run: &Run, process: ProcessId, head: &BlockHead) -> bool {
        let Some(found) = run.process(process) else { return false };
        let place = |time: u64| time.saturating_add(found.shift_ns);
        (self.processes.0..=self.processes.1).contains(&process)
            && self.span.overlaps(place(head.min_start), place(head.max_end))
    }

    fn block(&self, partial: &mut Calls, block: &Block<'_>) {
        if !(self.processes.0..=self.processes.1).contains(&block.number) {
            return;
        }
        let Some(calls) = partial else { return };
        for row in block.rows() {
            let Some(slice) = self.slices.find(block.number, row.stream) else { continue };
            let Some(stream) = block.process.stream(row.stream) else { continue };
            let start_ns = row.start.saturating_add(block.process.shift_ns);
            let end_ns = row.end.saturating_add(block.process.shift_ns);
            if !self.span.overlaps(start_ns, end_ns) {
                continue;
            }
            if calls.len() >= self.most {
                *partial = None;
                return;
            }
            let (process, file, op) = (block.number, stream.file, stream.op);
            let (offset, length) = (row.offset, row.length);
            calls.push(Call { process, start_ns, end_ns, slice: slice as u16, file, op, offset, length });
        }
    }

    fn merge(&self, into: &mut Calls, other: Calls) {
        let both = into.take().zip(other);
        *into = both.map(|(mut mine, theirs)| {
            mine.extend(theirs);
            mine
        });
        if into.as_ref().is_some_and(|calls| calls.len() > self.most) {
            *into = None;
        }
    }
}

/// Calls in the form that the page's scripts read: one list per property, each name stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallColumns {
    /// Names of the files that the calls use.
    pub files: Vec<String>,
    /// Names of the operations, each with its layer.
    pub ops: Vec<String>,
    /// Process of each call, which is also the call's row in a chart of ranks with one process per row.
    pub process: Vec<ProcessId>,
    /// Names of the processes that have calls.
    pub names: Vec<(ProcessId, String)>,
    /// Index of each call's slice (file, layer, operation and caller).
    pub slice: Vec<u16>,
    /// File of each call, as an index into `files`.
    pub file: Vec<u32>,
    /// Operation of each call, as an index into `ops`.
    pub op: Vec<u32>,
    /// Offset of each call in its file, bytes; -1 if the call has none.
    pub offset: Vec<i64>,
    /// Size of each call, bytes.
    pub length: Vec<u64>,
    /// Start of each call, ns since the job's start.
    pub start_ns: Vec<u64>,
    /// Duration of each call, ns.
    pub duration_ns: Vec<u64>,
}

/// Converts calls to one list per property, sorted by process and start.
#[must_use]
pub fn columns(run: &Run, mut calls: Vec<Call>) -> CallColumns {
    calls.sort_unstable();
    let mut out = CallColumns::default();
    let (mut files, mut ops): (Vec<FileId>, Vec<u16>) = (Vec::new(), Vec::new());
    let mut last = None;
    for call in calls {
        let place = files.iter().position(|&file| file == call.file).unwrap_or_else(|| {
            files.push(call.file);
            files.len() - 1
        });
        let op = ops.iter().position(|&op| op == call.op).unwrap_or_else(|| {
            ops.push(call.op);
            ops.len() - 1
        });
        if last != Some(call.process) {
            out.names.push((call.process, run.process_name(call.process)));
            last = Some(call.process);
        }
        out.process.push(call.process);
        out.slice.push(call.slice);
        out.file.push(place as u32);
        out.op.push(op as u32);
        out.offset.push(call.offset);
        out.length.push(call.length);
        out.start_ns.push(call.start_ns);
        out.duration_ns.push(call.end_ns.saturating_sub(call.start_ns));
    }
    let name = |file: &FileId| run.file_name(*file).to_owned();
    out.files = files.iter().map(name).collect();
    let label = |op: &u16| {
        let op = run.ops.get(usize::from(*op));
        op.map_or_else(String::new, |op| format!("{} {}", op.layer_name(), op.label()))
    };
    out.ops = ops.iter().map(label).collect();
    out
}
