//! Message format of the LDMS-Darshan connector: the fields that the published version sends for each call (darshan-runtime,
//! darshan-ldms.c), and the data set's name, which the connector's paper adds. Operations without a name in this format are omitted and
//! counted.

pub(crate) use dxt_base::connector::{NOTHING, header};

use crate::event::Event;
use crate::records::Selected;
use serde::Serialize;
use std::borrow::Cow;
use trace_format::op::{Layer, OpClass};

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Message<'a> {
    pub(crate) schema: &'a str,
    pub(crate) uid: u32,
    pub(crate) exe: &'a str,
    pub(crate) job_id: u64,
    pub(crate) rank: i32,
    #[serde(rename = "ProducerName")]
    pub(crate) producer_name: &'a str,
    pub(crate) file: Cow<'a, str>,
    pub(crate) record_id: u64,
    pub(crate) module: &'a str,
    #[serde(rename = "type")]
    pub(crate) kind: &'a str,
    pub(crate) max_byte: i64,
    pub(crate) switches: i64,
    pub(crate) flushes: i64,
    pub(crate) cnt: u64,
    pub(crate) op: &'a str,
    pub(crate) seg: [Segment<'a>; 1],
}

/// Values of the data set selection fields for calls that access no data set.
const NOT_KNOWN: Selected = Selected { points: -1, irregular: -1, regular: -1, dimensions: -1, elements: -1 };

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Segment<'a> {
    /// Path of the HDF5 data set within its file.
    pub(crate) data_set: &'a str,
    pub(crate) pt_sel: i64,
    pub(crate) irreg_hslab: i64,
    pub(crate) reg_hslab: i64,
    pub(crate) ndims: i64,
    pub(crate) npoints: i64,
    pub(crate) off: i64,
    pub(crate) len: i64,
    pub(crate) start: Number,
    pub(crate) dur: Number,
    pub(crate) total: Number,
    pub(crate) timestamp: Number,
}

/// Time in seconds with six decimals, as JSON text.
pub(crate) type Number = Box<serde_json::value::RawValue>;

/// Formats ns as seconds with six decimals, truncated as the connector does.
pub(crate) fn seconds(ns: i128) -> String {
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    format!("{sign}{}.{:06}", ns / 1_000_000_000, ns / 1_000 % 1_000_000)
}

fn number(ns: i128) -> Number {
    serde_json::value::RawValue::from_string(seconds(ns)).unwrap_or_default()
}

/// Returns the connector's names of the call's module and operation; `None` if the format has no name for the operation.
pub(crate) fn names(event: &Event) -> Option<(&'static str, &'static str)> {
    let target = &event.target;
    let module = match target.layer {
        Layer::Posix => "POSIX",
        Layer::Mpiio => "MPIIO",
        Layer::Stdio => "STDIO",
        // Opens and closes are of files, unless the operation's name ends in `_dataset`.
        Layer::Hdf5 if !target.class.is_data() && !target.op.ends_with("_dataset") => "H5F",
        Layer::Hdf5 => "H5D",
        _ => return None,
    };
    let op = match target.class {
        OpClass::Open => "open",
        OpClass::Read => "read",
        OpClass::Write => "write",
        OpClass::Close => "close",
        _ => return None,
    };
    (target.errno == 0).then_some((module, op))
}

/// Returns the message that the LDMS-Darshan connector would send for a call; `None` if its format has no name for the operation.
pub(crate) fn message(event: &Event) -> Option<Message<'_>> {
    let (module, op) = names(event)?;
    let (process, target, so_far) = (&event.process, &event.target, &event.so_far);
    let opens = op == "open";
    let moves = target.class.is_data();
    let since_start = i128::from(event.start_unix_ns) - i128::from(process.job_start_unix_ns);
    let described = |text| if opens { text } else { NOTHING };
    let selected = so_far.selected.unwrap_or(NOT_KNOWN);
    let (off, len) = match (module, moves) {
        (_, false) => (-1, -1),
        ("H5D", true) => (-1, event.length.cast_signed()),
        (_, true) => (event.offset, event.length.cast_signed()),
    };
    Some(Message {
        schema: described("darshan_data"),
        uid: process.uid,
        exe: described(&process.exe),
        job_id: process.job_id,
        rank: process.rank,
        producer_name: &process.node,
        file: if opens { target.record() } else { NOTHING.into() },
        record_id: target.record_id,
        module,
        kind: if opens { "MET" } else { "MOD" },
        max_byte: so_far.max_byte,
        switches: so_far.switches,
        flushes: so_far.flushes,
        cnt: so_far.calls,
        op,
        seg: [Segment {
            data_set: target.data_set.as_deref().filter(|path| !path.is_empty()).unwrap_or(NOTHING),
            pt_sel: selected.points,
            irreg_hslab: selected.irregular,
            reg_hslab: selected.regular,
            ndims: selected.dimensions,
            npoints: selected.elements,
            off,
            len,
            start: number(since_start),
            dur: number(event.duration_ns().into()),
            total: number(so_far.time_ns.into()),
            timestamp: number(event.end_unix_ns.into()),
        }],
    })
}
