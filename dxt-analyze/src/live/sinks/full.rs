//! An event with everything that is known of it, as one JSON object: times are whole ns.

use crate::live::event::Event;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What is in a line.
#[derive(Serialize, Deserialize)]
pub(super) struct Line<'a> {
    pub(super) id: String,
    #[serde(borrow)]
    pub(super) job: Cow<'a, str>,
    pub(super) job_id: u64,
    pub(super) node: Cow<'a, str>,
    pub(super) rank: i32,
    pub(super) pid: u32,
    pub(super) thread: u32,
    pub(super) uid: u32,
    pub(super) exe: Cow<'a, str>,
    pub(super) file: Cow<'a, str>,
    pub(super) file_system: Cow<'a, str>,
    pub(super) record_id: u64,
    pub(super) layer: Cow<'a, str>,
    pub(super) op: Cow<'a, str>,
    pub(super) errno: u16,
    pub(super) nested: bool,
    pub(super) offset: i64,
    pub(super) length: u64,
    pub(super) start_unix_ns: i64,
    pub(super) end_unix_ns: i64,
    pub(super) stands_for: u32,
}

/// Adds a line.
pub(super) fn line(event: &Event, out: &mut Vec<u8>) -> Result<()> {
    let (process, target) = (&event.process, &event.target);
    let line = Line {
        id: event.id(),
        job: (&*process.job).into(),
        job_id: process.job_id,
        node: (&*process.node).into(),
        rank: process.rank,
        pid: process.pid,
        thread: event.key.thread,
        uid: process.uid,
        exe: (&*process.exe).into(),
        file: (&*target.file).into(),
        file_system: (&*target.file_system).into(),
        record_id: target.record_id,
        layer: target.layer.name().into(),
        op: (&*target.op).into(),
        errno: target.errno,
        nested: target.nested,
        offset: event.offset,
        length: event.length,
        start_unix_ns: event.start_unix_ns,
        end_unix_ns: event.end_unix_ns,
        stands_for: event.stands_for,
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.push(b'\n');
    Ok(())
}
