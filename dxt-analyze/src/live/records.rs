//! What a process has done to a file so far, call by call: Darshan's counters of a record while they grow.

use super::about::Target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trace_format::Segment;
use trace_format::op::{Layer, OpClass};

/// What a process had done to a file, through one interface, when a call returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoFar {
    /// Calls of this kind.
    pub calls: u64,
    /// Time in calls of this kind, in ns; opens, closes and other metadata are one kind here.
    pub time_ns: u64,
    /// Highest byte read, or written, by the kind of the call; -1 where there is none.
    pub max_byte: i64,
    /// How often a read followed a write or the reverse; -1 where that is not counted.
    pub switches: i64,
    /// Calls of flush or sync; -1 where they are not counted.
    pub flushes: i64,
}

/// One file through one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Reads, writes, opens, closes.
    calls: [u64; 4],
    /// In reads, writes, and all else.
    time_ns: [u64; 3],
    max_byte: [Option<i64>; 2],
    switches: i64,
    flushes: i64,
    /// Whether the latest of reads and writes was a write.
    wrote: Option<bool>,
}

/// All files of a process, by number and interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records(BTreeMap<u32, BTreeMap<u32, Record>>);

impl Records {
    /// Adds a call; times in any unit of ns.
    pub fn add(&mut self, target: &Target, segment: &Segment) -> SoFar {
        let record = self.0.entry(target.file_number).or_default().entry(target.layer.into()).or_default();
        let duration = segment.end.saturating_sub(segment.start);
        let (call, time) = match target.class {
            OpClass::Read => (Some(0), 0),
            OpClass::Write => (Some(1), 1),
            OpClass::Open => (Some(2), 2),
            OpClass::Close => (Some(3), 2),
            _ => (None, 2),
        };
        let calls = call.map_or(0, |kind: usize| {
            record.calls[kind] += u64::from(target.errno == 0);
            record.calls[kind]
        });
        record.time_ns[time] = record.time_ns[time].saturating_add(duration);
        record.flushes += i64::from(target.class == OpClass::Sync);
        let is_data = target.class.is_data();
        if is_data && target.errno == 0 {
            let writes = target.class == OpClass::Write;
            record.switches += i64::from(record.wrote.is_some_and(|wrote| wrote != writes));
            record.wrote = Some(writes);
            if segment.offset >= 0 && segment.length() > 0 {
                let last = segment.offset.saturating_add_unsigned(segment.length() - 1);
                let max = &mut record.max_byte[usize::from(writes)];
                *max = Some(max.map_or(last, |max| max.max(last)));
            }
        }
        let is_hdf5 = target.layer == Layer::Hdf5;
        let has_bytes = is_data && matches!(target.layer, Layer::Posix | Layer::Stdio);
        let flushes = match (target.layer, target.class) {
            (Layer::Hdf5, _) | (Layer::Stdio, OpClass::Write | OpClass::Close) => record.flushes,
            _ => -1,
        };
        SoFar {
            calls,
            time_ns: record.time_ns[time],
            max_byte: if has_bytes { record.max_byte[time.min(1)].unwrap_or(0) } else { -1 },
            switches: if is_data && !(is_hdf5 && target.op.starts_with("file")) { record.switches } else { -1 },
            flushes,
        }
    }
}
