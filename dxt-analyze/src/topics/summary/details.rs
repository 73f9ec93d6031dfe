//! Details of the summary: data sets with their selections, hints of MPI-IO files, datatypes.

use crate::model::{FileId, ProcessId, Run, Selected};
use crate::shared::totals::StreamTotal;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::counters::SIZE_BINS;
use trace_format::meta::{HintOrigin, Selection};
use trace_format::op::OpClass;

/// Sums of one data set.
#[derive(Clone, Debug, Serialize)]
pub struct DataSetRow {
    /// File with the data set.
    pub file: String,
    /// Path inside the file.
    pub data_set: String,
    /// Size of an element, bytes; 0 if unknown.
    pub element_bytes: u32,
    /// Largest extent seen.
    pub extent: Vec<u64>,
    /// Number of processes that used it.
    pub processes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of the elements read.
    pub bytes_read: u64,
    /// Bytes of the elements written.
    pub bytes_written: u64,
    /// Time in calls, ns, summed over processes.
    pub time_ns: u64,
    /// Reads by kind of selection.
    pub read_selections: BTreeMap<&'static str, u64>,
    /// Writes by kind of selection.
    pub write_selections: BTreeMap<&'static str, u64>,
}

impl DataSetRow {
    /// Returns the kinds of selection with their frequency, most frequent first.
    fn kinds(&self) -> Vec<(&'static str, u64)> {
        let mut all = self.read_selections.clone();
        for (kind, count) in &self.write_selections {
            let sum = all.entry(kind).or_default();
            *sum = sum.saturating_add(*count);
        }
        let mut all: Vec<(&str, u64)> = all.into_iter().collect();
        all.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), *kind));
        all
    }

    /// Returns the selections with their frequency: `12 regular hyperslab, 2 none`.
    #[must_use]
    pub fn selected(&self) -> String {
        self.kinds().iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
    }

    /// Returns the most frequent selection, with a mark if there are others.
    #[must_use]
    pub fn mostly(&self) -> String {
        match self.kinds().as_slice() {
            [] => String::new(),
            [(kind, _)] => (*kind).into(),
            [(kind, _), ..] => format!("{kind}, ..."),
        }
    }
}

/// Returns the `top` data sets with most time.
#[must_use]
pub fn data_sets(run: &Run, totals: &[StreamTotal], top: usize) -> Vec<DataSetRow> {
    let mut sums: Vec<(BTreeSet<ProcessId>, [u64; 2], u64)> = vec![Default::default(); run.data_sets.len()];
    for total in totals {
        let stream = run.process(total.process).and_then(|p| p.stream(total.stream));
        let Some((stream, set)) = stream.and_then(|stream| Some((stream, stream.data_set?))) else { continue };
        let Some((processes, bytes, time)) = sums.get_mut(set as usize) else { continue };
        processes.insert(total.process);
        match run.op(stream).class {
            Some(OpClass::Read) => bytes[0] = bytes[0].saturating_add(total.all.bytes),
            Some(OpClass::Write) => bytes[1] = bytes[1].saturating_add(total.all.bytes),
            _ => {}
        }
        *time = time.saturating_add(total.all.duration);
    }
    let mut order: Vec<usize> = (0..sums.len()).filter(|&set| !sums[set].0.is_empty()).collect();
    order.sort_by_key(|&set| (std::cmp::Reverse(sums[set].2), set));
    order.truncate(top);
    let row = |set: usize| {
        let (def, (processes, [bytes_read, bytes_written], time_ns)) = (&run.data_sets[set], &sums[set]);
        DataSetRow {
            file: run.file_name(def.file).to_owned(),
            data_set: def.path.clone(),
            element_bytes: def.element_bytes,
            extent: def.extent.clone(),
            processes: processes.len() as u64,
            reads: def.reads.selections.iter().sum(),
            writes: def.writes.selections.iter().sum(),
            bytes_read: *bytes_read,
            bytes_written: *bytes_written,
            time_ns: *time_ns,
            read_selections: by_kind(&def.reads),
            write_selections: by_kind(&def.writes),
        }
    };
    order.into_iter().map(row).collect()
}

fn by_kind(selected: &Selected) -> BTreeMap<&'static str, u64> {
    let kinds = Selection::ALL.iter().map(|kind| kind.name()).zip(selected.selections);
    kinds.filter(|(_, count)| *count > 0).collect()
}

/// Hint of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HintRow {
    /// File.
    pub file: String,
    /// Key.
    pub key: String,
    /// Values requested.
    pub asked: Vec<String>,
    /// Values in effect.
    pub in_effect: Vec<String>,
}

impl HintRow {
    /// True if the hint is shown to people: if it was requested, or influences how data is moved or placed.
    #[must_use]
    pub fn matters(&self) -> bool {
        !self.asked.is_empty() || THAT_MATTER.contains(&self.key.as_str())
    }
}

/// Hints that decide how ROMIO and OMPIO move data, and where file systems place it.
const THAT_MATTER: [&str; 9] = [
    "cb_nodes",
    "cb_buffer_size",
    "romio_cb_read",
    "romio_cb_write",
    "romio_ds_read",
    "romio_ds_write",
    "romio_no_indep_rw",
    "striping_factor",
    "striping_unit",
];

/// Returns the hints by file and key.
#[must_use]
pub fn hints(run: &Run) -> Vec<HintRow> {
    let mut rows: BTreeMap<(FileId, &str), HintRow> = BTreeMap::new();
    for hint in &run.hints {
        let row = rows.entry((hint.file, &hint.key)).or_insert_with(|| HintRow {
            file: run.file_name(hint.file).to_owned(),
            key: hint.key.clone(),
            asked: Vec::new(),
            in_effect: Vec::new(),
        });
        match hint.origin {
            HintOrigin::Asked => row.asked.push(hint.value.clone()),
            HintOrigin::InEffect => row.in_effect.push(hint.value.clone()),
            _ => {}
        }
    }
    rows.into_values().collect()
}

/// Datatypes of one kind used on a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DatatypeRow {
    /// File.
    pub file: String,
    /// Role: `filetype`, `write buffer`, ...
    pub role: &'static str,
    /// Constructor: `named`, `subarray`, ...
    pub combiner: &'static str,
    /// Number of calls.
    pub calls: u64,
}

/// Returns the datatypes by file, role and combiner.
#[must_use]
pub fn datatypes(run: &Run) -> Vec<DatatypeRow> {
    let row = |sum: &crate::model::DatatypeSum| DatatypeRow {
        file: run.file_name(sum.file).to_owned(),
        role: sum.role.name(),
        combiner: sum.combiner.name(),
        calls: sum.count,
    };
    run.datatypes.iter().map(row).collect()
}

/// Extents of the datatypes used on a file in one role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExtentRow {
    /// File.
    pub file: String,
    /// Role: `filetype`, `write buffer`, ...
    pub role: &'static str,
    /// Calls by extent in bytes, binned like request sizes: [`trace_format::counters::SIZE_BOUNDS`].
    pub extents: [u64; SIZE_BINS],
}

/// Returns the extents of datatypes by file and role.
#[must_use]
pub fn extents(run: &Run) -> Vec<ExtentRow> {
    let row = |sum: &crate::model::ExtentSum| ExtentRow {
        file: run.file_name(sum.file).to_owned(),
        role: sum.role.name(),
        extents: sum.extents,
    };
    run.datatype_extents.iter().map(row).collect()
}
