//! An event with everything that is known of it, as one JSON object: times are whole ns.

use crate::live::event::Event;
use anyhow::Result;
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a> {
    id: String,
    job: &'a str,
    job_id: u64,
    node: &'a str,
    rank: i32,
    pid: u32,
    thread: u32,
    uid: u32,
    exe: &'a str,
    file: &'a str,
    file_system: &'a str,
    record_id: u64,
    layer: &'a str,
    op: &'a str,
    errno: u16,
    nested: bool,
    offset: i64,
    length: u64,
    start_unix_ns: i64,
    end_unix_ns: i64,
    stands_for: u32,
}

/// Adds a line.
pub(super) fn line(event: &Event, out: &mut Vec<u8>) -> Result<()> {
    let (process, target) = (&event.process, &event.target);
    let line = Line {
        id: event.id(),
        job: &process.job,
        job_id: process.job_id,
        node: &process.node,
        rank: process.rank,
        pid: process.pid,
        thread: event.key.thread,
        uid: process.uid,
        exe: &process.exe,
        file: &target.file,
        file_system: &target.file_system,
        record_id: target.record_id,
        layer: target.layer.name(),
        op: &target.op,
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
