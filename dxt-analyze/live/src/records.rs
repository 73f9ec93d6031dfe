//! Running totals of a process by file: the counters of a Darshan record, after each call.

use super::about::Target;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::Segment;
use trace_format::meta::Selection;
use trace_format::op::{Layer, OpClass};
use trace_format::spool::journal::{DataSetStream, Shape};

/// Totals of a process on one file through one interface, including the call just added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoFar {
    /// Number of successful calls of the added call's class (read, write, open or close); 0 for a call of another class.
    pub calls: u64,
    /// Total time, in ns, of the calls that Darshan sums together with the added call: reads; or writes, syncs and flushes; or opens,
    /// closes and other metadata.
    pub time_ns: u64,
    /// Highest byte offset read (after a read) or written (after a write) through POSIX or C streams, 0 if none yet; -1 after any other call.
    pub max_byte: i64,
    /// Number of switches between reading and writing; -1 if not counted.
    pub switches: i64,
    /// Number of flush and sync calls; -1 if not counted.
    pub flushes: i64,
    /// Counts of selections in an HDF5 data set; `None` if the call accesses no data set or its selections are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
}

/// Counts of a process's selections in one HDF5 data set, including the call just added; the counters of a Darshan record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// Number of reads and writes of selected points.
    pub points: i64,
    /// Number of reads and writes of irregular hyperslabs.
    pub irregular: i64,
    /// Number of reads and writes of regular hyperslabs.
    pub regular: i64,
    /// Number of dimensions of the data set when it was last opened; -1 if unknown.
    pub dimensions: i64,
    /// Number of elements of the data set when it was last opened; -1 if unknown.
    pub elements: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    /// Numbers of successful reads, writes, opens and closes, in this order.
    calls: [u64; 4],
    /// Total time in reads, in writes and syncs, and in all other calls, ns.
    time_ns: [u64; 3],
    max_byte: [Option<i64>; 2],
    switches: i64,
    flushes: i64,
    /// True if the latest data transfer was a write, false if a read; `None` before the first transfer.
    wrote: Option<bool>,
}

/// Totals of all files of a process, by file number and then by I/O interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records(BTreeMap<u32, BTreeMap<u32, Record>>);

impl Record {
    fn add(&mut self, target: &Target, segment: &Segment) -> SoFar {
        let duration = segment.end.saturating_sub(segment.start);
        let (call, time) = match target.class {
            OpClass::Read => (Some(0), 0),
            OpClass::Write => (Some(1), 1),
            OpClass::Open => (Some(2), 2),
            OpClass::Close => (Some(3), 2),
            // Darshan counts HDF5 flushes as metadata.
            OpClass::Sync if target.layer != Layer::Hdf5 => (None, 1),
            _ => (None, 2),
        };
        let calls = call.map_or(0, |kind: usize| {
            self.calls[kind] += u64::from(target.errno == 0);
            self.calls[kind]
        });
        self.time_ns[time] = self.time_ns[time].saturating_add(duration);
        self.flushes += i64::from(target.class == OpClass::Sync);
        let is_data = target.class.is_data();
        if is_data && target.errno == 0 {
            let writes = target.class == OpClass::Write;
            self.switches += i64::from(self.wrote.is_some_and(|wrote| wrote != writes));
            self.wrote = Some(writes);
            if segment.offset >= 0 && segment.length() > 0 {
                let last = segment.offset.saturating_add_unsigned(segment.length() - 1);
                let max = &mut self.max_byte[usize::from(writes)];
                *max = Some(max.map_or(last, |max| max.max(last)));
            }
        }
        let lacks_switches =
            target.layer == Layer::Stdio || target.layer == Layer::Hdf5 && target.op.starts_with("file");
        let has_bytes = is_data && matches!(target.layer, Layer::Posix | Layer::Stdio);
        let flushes = match (target.layer, target.class) {
            (Layer::Hdf5, _) | (Layer::Stdio, OpClass::Write | OpClass::Close) => self.flushes,
            _ => -1,
        };
        SoFar {
            calls,
            time_ns: self.time_ns[time],
            max_byte: if has_bytes { self.max_byte[time.min(1)].unwrap_or(0) } else { -1 },
            switches: if is_data && !lacks_switches { self.switches } else { -1 },
            flushes,
            selected: None,
        }
    }
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Drops the totals of all files but those numbered in `but`. Totals of a dropped file restart at zero.
    pub(super) fn forget(&mut self, but: &BTreeSet<u32>) {
        self.0.retain(|file, _| but.contains(file));
    }

    /// Adds a call on `target` and returns the totals including the call; its times are in ns.
    pub fn add(&mut self, target: &Target, segment: &Segment) -> SoFar {
        let record = self.0.entry(target.file_number).or_default().entry(target.layer.into()).or_default();
        record.add(target, segment)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SetRecord {
    record: Record,
    /// Number of reads and writes of points, of irregular hyperslabs, and of regular hyperslabs.
    selections: [i64; 3],
}

/// Totals of all HDF5 data sets of a process, by data set number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSets(BTreeMap<u32, SetRecord>);

impl DataSets {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a call on a data set of this `shape`, and returns the totals including the call.
    pub fn add(&mut self, stream: DataSetStream, shape: Option<Shape>, target: &Target, segment: &Segment) -> SoFar {
        let set = self.0.entry(stream.data_set).or_default();
        let so_far = set.record.add(target, segment);
        let kind = match stream.selection {
            Some(Selection::Points) => Some(0),
            Some(Selection::IrregularHyperslab) => Some(1),
            Some(Selection::RegularHyperslab) => Some(2),
            _ => None,
        };
        if let Some(count) = kind.and_then(|kind: usize| set.selections.get_mut(kind)) {
            *count += 1;
        }
        let [points, irregular, regular] = set.selections;
        let (dimensions, elements) = shape
            .map_or((-1, -1), |shape| (i64::from(shape.dimensions), i64::try_from(shape.elements).unwrap_or(i64::MAX)));
        // H5Dflush is not recorded, so flushes are unknown.
        SoFar { flushes: -1, selected: Some(Selected { points, irregular, regular, dimensions, elements }), ..so_far }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::segment::{NO_OFFSET, StreamId};

    fn target(class: OpClass) -> Target {
        Target {
            layer: Layer::Hdf5,
            class,
            op: "write".into(),
            file: "/a.h5".into(),
            file_number: 1,
            data_set: Some("/x".into()),
            record_id: 7,
            file_system: "".into(),
            errno: 0,
            nested: false,
        }
    }

    #[test]
    fn syncs_are_time_of_writes_and_streams_have_no_switches() {
        for layer in [Layer::Posix, Layer::Stdio] {
            let mut record = Record::default();
            let mut call = |class: OpClass, duration: u64| {
                let target = Target { layer, data_set: None, ..target(class) };
                record.add(&target, &Segment::new(StreamId(1), 0, 8, 100, 100 + duration))
            };
            call(OpClass::Open, 3);
            call(OpClass::Write, 10);
            assert_eq!(call(OpClass::Sync, 500).time_ns, 510);
            let read = call(OpClass::Read, 7);
            assert_eq!((read.time_ns, read.switches), (7, if layer == Layer::Stdio { -1 } else { 1 }));
            assert_eq!(call(OpClass::Write, 10).time_ns, 520);
            assert_eq!(call(OpClass::Close, 2).time_ns, 5);
        }
    }

    #[test]
    fn selections_are_counted_on_by_an_agent_that_is_started_anew() {
        let mut sets = DataSets::default();
        let mut counted = Vec::new();
        let all = [Selection::Points, Selection::All, Selection::RegularHyperslab, Selection::IrregularHyperslab];
        for (number, selection) in all.into_iter().cycle().take(8).enumerate() {
            let stream = DataSetStream { stream: 1, data_set: 5, selection: Some(selection) };
            let shape = (number > 0).then_some(Shape { data_set: 5, dimensions: 2, elements: 6, since: 0 });
            let segment = Segment::new(StreamId(1), NO_OFFSET, 8, 1, 2);
            let so_far = sets.add(stream, shape, &target(OpClass::Write), &segment);
            let Selected { points, irregular, regular, dimensions, elements } = so_far.selected.unwrap();
            counted.push((so_far.calls, points, irregular, regular, dimensions, elements));
            let text = serde_json::to_string(&sets).unwrap();
            sets = serde_json::from_str(&text).unwrap();
        }
        assert_eq!(counted[0], (1, 1, 0, 0, -1, -1));
        assert_eq!(counted[7], (8, 2, 2, 2, 2, 6));
        // Another data set has its own record.
        let other = DataSetStream { stream: 2, data_set: 6, selection: None };
        let so_far = sets.add(other, None, &target(OpClass::Close), &Segment::new(StreamId(2), NO_OFFSET, 0, 1, 2));
        assert_eq!((so_far.calls, so_far.selected.unwrap().points, so_far.flushes), (1, 0, -1));
    }
}
