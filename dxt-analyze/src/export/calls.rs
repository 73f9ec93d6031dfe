//! Fields of a segment (one call) in the row formats: the columns common to CSV, JSON and Parquet, and the storage targets of an access.

use super::Job;
use crate::layouts::spread::Parts;
use crate::model::{FileLayout, Process, ProcessId, Run, Stream};
use crate::scan::{Block, Row};
use crate::text::signed::signed;
use crate::topics::sites::numbered::Numbered;
use serde::Serialize;
use std::fmt::{self, Display};
use trace_format::op::OpClass;

/// Returns the display name of a call's form, such as `collective`; `plain` for the ordinary form.
pub(crate) fn mode_name(name: &'static str) -> &'static str {
    if name.is_empty() { "plain" } else { name }
}

pub(crate) fn kind_name(class: Option<OpClass>) -> &'static str {
    match class {
        Some(OpClass::Read) => "read",
        Some(OpClass::Write) => "write",
        Some(OpClass::Open) => "open",
        Some(OpClass::Close) => "close",
        Some(OpClass::Sync) => "sync",
        Some(OpClass::Seek) => "seek",
        Some(OpClass::Metadata) => "metadata",
        Some(OpClass::Lock) => "lock",
        Some(OpClass::Unlock) => "unlock",
        Some(OpClass::Map) => "map",
        Some(OpClass::Wait) => "wait",
        _ => "other",
    }
}

/// Converts ns since the job's start to ns since 1970-01-01 UTC.
pub(crate) fn unix(run: &Run, since_start: u64) -> i64 {
    run.start_unix_ns.saturating_add(signed(since_start))
}

/// Returns the path of the HDF5 data set that the calls of a stream (one operation on one file) access; `None` if they access no data set.
pub(crate) fn data_set<'a>(run: &'a Run, stream: &Stream) -> Option<&'a str> {
    run.data_sets.get(stream.data_set? as usize).map(|set| set.path.as_str())
}

macro_rules! columns {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $kind:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Serialize)]
        pub(crate) struct $name<'a> {
            $(pub(crate) $field: $kind,)+
        }

        pub(crate) const COLUMNS: &[&str] = &[$(stringify!($field)),+];

        impl $name<'_> {
            /// Passes the CSV text of each field to `each`, in order.
            pub(crate) fn fields<E>(&self, mut each: impl FnMut(&dyn Display) -> Result<(), E>) -> Result<(), E> {
                $(each(&Field(&self.$field))?;)+
                Ok(())
            }
        }
    };
}

columns! {
    /// One call (segment) as written to CSV and JSON. `docs/interop.md` documents the fields.
    Call {
        job: &'a str,
        rank: i32,
        node: &'a str,
        pid: u32,
        thread: u32,
        file: &'a str,
        data_set: Option<&'a str>,
        layer: &'static str,
        op: &'a str,
        mode: &'static str,
        kind: &'static str,
        nested: bool,
        in_hdf5: bool,
        failed: bool,
        errno: u16,
        offset: Option<i64>,
        length: i64,
        start_ns: i64,
        end_ns: i64,
        start_unix_ns: i64,
        end_unix_ns: i64,
        stripe: Option<i64>,
        osts: &'a [i32],
        site: Option<u32>,
        place: Option<&'a str>,
    }
}

/// Field in CSV format: `None` is empty, the numbers of a list are separated by blanks.
struct Field<'a, T>(&'a T);

macro_rules! as_it_is {
    ($($kind:ty),+) => {
        $(impl Display for Field<'_, $kind> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        })+
    };
}
as_it_is!(&str, bool, u16, u32, i32, i64);

impl<T: Display> Display for Field<'_, Option<T>> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|value| value.fmt(f))
    }
}

impl Display for Field<'_, &[i32]> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut numbers = self.0.iter();
        numbers.next().into_iter().try_for_each(|number| number.fmt(f))?;
        numbers.try_for_each(|number| write!(f, " {number}"))
    }
}

/// Finds the storage targets that an access touches. The buffers are reused from call to call.
#[derive(Default)]
pub(crate) struct Storage {
    parts: Parts,
    /// Storage targets of the most recently located access, in order.
    pub(crate) osts: Vec<i32>,
}

impl Storage {
    /// Returns the number of the stripe in which the access begins, and sets `osts` to the storage targets that the access touches. Only
    /// successful reads and writes of the layer that reaches storage are located, so that no byte counts twice. `None` for other calls, and
    /// if the file's layout or the stripe is unknown.
    pub(crate) fn locate(&mut self, layouts: &[Option<FileLayout>], stream: &Stream, row: &Row) -> Option<i64> {
        self.osts.clear();
        let layout = &layouts.get(stream.file.index())?.as_ref()?.layout;
        let offset = u64::try_from(row.offset).ok().filter(|_| stream.storage && row.length > 0)?;
        let component = layout.component(offset)?;
        let parts = self.parts.of(layout, offset, row.length);
        let targets = parts.iter().filter_map(|&(target, _)| i32::try_from(target?).ok());
        self.osts.extend(targets);
        (!component.on_metadata).then(|| signed(offset / component.stripe_size.max(1)))
    }
}

/// Passes every segment of `block` that the user's selection includes to `each`.
pub(crate) fn each<E>(
    job: &Job<'_>,
    sites: &Numbered,
    block: &Block<'_>,
    storage: &mut Storage,
    mut each: impl FnMut(&Call<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (run, process) = (job.run, block.process);
    let (tid, node) = (process.tid(block.thread), run.node(process));
    for (row, id) in block.rows().zip(&block.columns.stream) {
        let Some(stream) = process.stream(row.stream.any()) else { continue };
        let stripe = storage.locate(&job.layouts, stream, &row);
        let op = run.op(stream);
        let (start, end) = times(process, &row);
        let site = process.site(*id);
        each(&Call {
            job: &run.info.key,
            rank: process.rank,
            node,
            pid: process.pid,
            thread: tid,
            file: run.file(stream.file).map_or("?", |file| file.name.as_str()),
            data_set: data_set(run, stream),
            layer: op.layer_name(),
            op: &op.name,
            mode: mode_name(op.mode.name()),
            kind: kind_name(op.class),
            nested: stream.nested,
            in_hdf5: stream.in_hdf5,
            failed: stream.failed,
            errno: stream.errno,
            offset: (row.offset >= 0).then_some(row.offset),
            length: signed(row.length),
            start_ns: signed(start),
            end_ns: signed(end),
            start_unix_ns: unix(run, start),
            end_unix_ns: unix(run, end),
            stripe,
            osts: &storage.osts,
            site,
            place: site.and_then(|site| sites.place(site)),
        })?;
    }
    Ok(())
}

/// Returns the start and end of a segment, in ns since the job's start.
pub(crate) fn times(process: &Process, row: &Row) -> (u64, u64) {
    (since_start(process, row.start), since_start(process, row.end))
}

/// Converts `time`, in ns on the process's time axis, to ns since the job's start.
pub(crate) fn since_start(process: &Process, time: u64) -> u64 {
    time.saturating_add(process.shift_ns)
}

/// Returns (process, block number) of every segment block, sorted: the order of every output format.
pub(crate) fn blocks(run: &Run) -> Vec<(ProcessId, u32)> {
    let processes = run.numbered_processes();
    let blocks =
        processes.flat_map(|(number, process)| (0..process.blocks.len()).map(move |block| (number, block as u32)));
    blocks.collect()
}
