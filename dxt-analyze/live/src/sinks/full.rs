//! Events as JSON objects with all fields and times in whole ns, which other commands can parse back into events.

#[cfg(any(test, feature = "nats"))]
use crate::about::{Process, Target};
use crate::event::Event;
#[cfg(any(test, feature = "nats"))]
use crate::event::Key;
use crate::records::SoFar;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
#[cfg(any(test, feature = "nats"))]
use trace_format::op::Layer;
use trace_format::op::OpClass;

pub(super) const BEGIN: &str = "{\"id\":";

#[derive(Serialize, Deserialize)]
pub(super) struct Line<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) job: Cow<'a, str>,
    pub(super) job_id: u64,
    pub(super) job_start_unix_ns: i64,
    pub(super) node: Cow<'a, str>,
    pub(super) rank: i32,
    pub(super) pid: u32,
    /// Start of the process, in clock ticks since boot.
    pub(super) started: u64,
    /// Number of the spool (file with recorded calls) among the spools of its process.
    pub(super) spool: u64,
    /// Zero point of the times in the spool (file with recorded calls), in ns since 1970-01-01 UTC.
    pub(super) epoch_unix_ns: i64,
    /// Index of the calling thread in the process.
    pub(super) thread: u32,
    /// Sequence number of the call's buffer among the buffers of the thread.
    pub(super) sequence: u32,
    /// Index of the call's record in that buffer of its thread.
    pub(super) slot: u32,
    pub(super) uid: u32,
    pub(super) exe: Cow<'a, str>,
    pub(super) file: Cow<'a, str>,
    pub(super) file_number: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) data_set: Option<Cow<'a, str>>,
    pub(super) file_system: Cow<'a, str>,
    pub(super) record_id: u64,
    pub(super) layer: Cow<'a, str>,
    pub(super) op: Cow<'a, str>,
    /// Operation class: 0 read, 1 write, 2 open, ... as in the trace format.
    pub(super) class: OpClass,
    pub(super) errno: u16,
    pub(super) nested: bool,
    pub(super) offset: i64,
    pub(super) length: u64,
    pub(super) start_unix_ns: i64,
    pub(super) end_unix_ns: i64,
    pub(super) so_far: SoFar,
    pub(super) stands_for: u32,
}

/// Message in a NATS stream of calls: number of calls that an agent has dropped since it started.
#[cfg(feature = "nats")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dropped<'a> {
    pub(crate) dropped: u64,
    pub(crate) agent: Cow<'a, str>,
}

/// Message in a NATS stream of calls: number of processes on an agent's node that ended before the agent, or the earlier agents that it
/// resumed, could observe them.
#[cfg(feature = "nats")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unseen<'a> {
    pub(crate) unseen: u64,
    /// Id of the agent; a resumed agent keeps its predecessor's id.
    pub(crate) watcher: Cow<'a, str>,
}

pub(crate) fn line(event: &Event, out: &mut Vec<u8>) -> Result<()> {
    let (process, target, key) = (&event.process, &event.target, &event.key);
    let line = Line {
        id: event.id().into(),
        job: (&process.job).into(),
        job_id: process.job_id,
        job_start_unix_ns: process.job_start_unix_ns,
        node: (&process.node).into(),
        rank: process.rank,
        pid: process.pid,
        started: process.started,
        spool: process.spool,
        epoch_unix_ns: process.epoch_unix_ns,
        thread: key.thread,
        sequence: key.sequence,
        slot: key.slot,
        uid: process.uid,
        exe: (&process.exe).into(),
        file: (&*target.file).into(),
        file_number: target.file_number,
        data_set: target.data_set.as_deref().map(Cow::from),
        file_system: (&*target.file_system).into(),
        record_id: target.record_id,
        layer: target.layer.name().into(),
        op: (&target.op).into(),
        class: target.class,
        errno: target.errno,
        nested: target.nested,
        offset: event.offset,
        length: event.length,
        start_unix_ns: event.start_unix_ns,
        end_unix_ns: event.end_unix_ns,
        so_far: event.so_far,
        stands_for: event.stands_for,
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.push(b'\n');
    Ok(())
}

/// Returns the I/O layer named `name`; [`Layer::Other`] if this version does not know the name.
#[cfg(any(test, feature = "nats"))]
fn layer(name: &str) -> Layer {
    use Layer::{Daos, Dfs, Hdf5, Mpi, Mpiio, Pnetcdf, Posix, Stdio};
    let all = [Posix, Stdio, Mpiio, Hdf5, Pnetcdf, Mpi, Dfs, Daos];
    all.into_iter().find(|layer| layer.name() == name).unwrap_or(Layer::Other)
}

/// Parses one JSON line into an event. Fails if the text is not an event in this module's format.
#[cfg(any(test, feature = "nats"))]
pub(crate) fn parse(text: &[u8]) -> Result<Event> {
    let line: Line<'_> = serde_json::from_slice(text)?;
    let process = Process {
        job: line.job.into_owned(),
        job_id: line.job_id,
        node: line.node.into_owned(),
        rank: line.rank,
        pid: line.pid,
        uid: line.uid,
        exe: line.exe.into_owned(),
        started: line.started,
        spool: line.spool,
        epoch_unix_ns: line.epoch_unix_ns,
        job_start_unix_ns: line.job_start_unix_ns,
    };
    let target = Target {
        layer: layer(&line.layer),
        class: line.class,
        op: line.op.into_owned(),
        file: line.file.into(),
        file_number: line.file_number,
        data_set: line.data_set.map(|set| set.into()),
        record_id: line.record_id,
        file_system: line.file_system.into(),
        errno: line.errno,
        nested: line.nested,
    };
    Ok(Event {
        process: process.into(),
        target: target.into(),
        key: Key { thread: line.thread, sequence: line.sequence, slot: line.slot },
        offset: line.offset,
        length: line.length,
        start_unix_ns: line.start_unix_ns,
        end_unix_ns: line.end_unix_ns,
        so_far: line.so_far,
        stands_for: line.stands_for.max(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Selected;

    #[test]
    fn what_is_written_is_read() {
        let process =
            Process { job: "a\"b".into(), node: "n".into(), rank: 3, pid: 7, started: 9, ..Process::default() };
        let target = Target {
            layer: Layer::Mpiio,
            class: OpClass::Write,
            op: "write_at".into(),
            file: "/x\ny".into(),
            file_number: 4,
            data_set: Some("/x".into()),
            record_id: u64::MAX,
            file_system: "/ ext4".into(),
            errno: 28,
            nested: true,
        };
        let selected = Selected { points: 1, irregular: 0, regular: 2, dimensions: 3, elements: 1 << 40 };
        let event = Event {
            process: process.into(),
            target: target.into(),
            key: Key { thread: 1, sequence: 2, slot: 3 },
            offset: -1,
            length: 5,
            start_unix_ns: 6,
            end_unix_ns: 8,
            so_far: SoFar { calls: 2, max_byte: -1, selected: Some(selected), ..SoFar::default() },
            stands_for: 10,
        };
        let mut text = Vec::new();
        line(&event, &mut text).unwrap();
        let read = parse(&text).unwrap();
        assert_eq!((&*read.process, &*read.target, read.key), (&*event.process, &*event.target, event.key));
        assert_eq!(format!("{read:?}"), format!("{event:?}"));
        assert_eq!(read.id(), "n-7-9-0-1-2-3");
    }
}
