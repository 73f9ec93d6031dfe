//! HDF5 data sets with their selections, hints of MPI-IO files, and MPI datatypes, as rows of the summary.

use crate::model::{FileId, ProcessId, Run, Selected};
use crate::shared::totals::StreamTotal;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::counters::SIZE_BINS;
use trace_format::meta::{HintOrigin, Selection};
use trace_format::op::OpClass;

/// Totals over the calls on one HDF5 data set.
#[derive(Clone, Debug, Serialize)]
pub struct DataSetRow {
    /// Path of the HDF5 file that contains the data set.
    pub file: String,
    /// Path of the data set inside the file.
    pub data_set: String,
    /// Size of an element of the data set, bytes; 0 if unknown.
    pub element_bytes: u32,
    /// Largest extent of the data set that was seen, in elements per dimension.
    pub extent: Vec<u64>,
    /// Number of processes that used the data set.
    pub processes: u64,
    /// Number of reads of the data set.
    pub reads: u64,
    /// Number of writes to the data set.
    pub writes: u64,
    /// Bytes of the data set's elements that the program read.
    pub bytes_read: u64,
    /// Bytes of the data set's elements that the program wrote.
    pub bytes_written: u64,
    /// Time in the calls on the data set, ns, summed over processes.
    pub time_ns: u64,
    /// Number of reads by type of HDF5 selection (all, regular hyperslab, ...).
    pub read_selections: BTreeMap<&'static str, u64>,
    /// Number of writes by type of HDF5 selection (all, regular hyperslab, ...).
    pub write_selections: BTreeMap<&'static str, u64>,
}

impl DataSetRow {
    /// Returns the types of HDF5 selection with their number of calls, most frequent first.
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

    /// Returns the types of selection with their number of calls, as text: `12 regular hyperslab, 2 none`.
    #[must_use]
    pub fn selected(&self) -> String {
        self.kinds().iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
    }

    /// Returns the most frequent type of HDF5 selection, followed by `, ...` if there are others.
    #[must_use]
    pub fn mostly(&self) -> String {
        match self.kinds().as_slice() {
            [] => String::new(),
            [(kind, _)] => (*kind).into(),
            [(kind, _), ..] => format!("{kind}, ..."),
        }
    }
}

/// Returns the `top` data sets on which processes spent most time, longest time first.
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

/// MPI-IO hint of a file, with the values requested and in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HintRow {
    /// Path of the file for which the hint is set.
    pub file: String,
    /// Name of the MPI-IO hint, such as `cb_nodes`.
    pub key: String,
    /// Values of the hint that the program requested.
    pub asked: Vec<String>,
    /// Values of the hint that MPI-IO reports to be in effect.
    pub in_effect: Vec<String>,
}

impl HintRow {
    /// True if the hint is shown to users: the program requested it, or it affects how data is moved or placed.
    #[must_use]
    pub fn matters(&self) -> bool {
        !self.asked.is_empty() || THAT_MATTER.contains(&self.key.as_str())
    }
}

/// Names of hints that affect how ROMIO and OMPIO move data, or where file systems place it.
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

/// Returns the hints of all files, sorted by file and name of the hint.
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

/// Number of calls that used MPI datatypes of one constructor in one role on a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DatatypeRow {
    /// Path of the file on which the datatypes were used.
    pub file: String,
    /// Use of the datatype: `filetype`, `write buffer`, ...
    pub role: &'static str,
    /// Constructor of the datatype: `named`, `subarray`, ...
    pub combiner: &'static str,
    /// Number of calls that used datatypes of this constructor in this role.
    pub calls: u64,
}

/// Returns the numbers of calls by datatype, sorted by file, role and constructor.
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

/// Extents of the MPI datatypes used in one role on a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExtentRow {
    /// Path of the file on which the datatypes were used.
    pub file: String,
    /// Use of the datatypes: `filetype`, `write buffer`, ...
    pub role: &'static str,
    /// Number of calls by extent of the datatype, in the histogram bins of request sizes: [`trace_format::counters::SIZE_BOUNDS`].
    pub extents: [u64; SIZE_BINS],
}

/// Returns the extents of datatypes, sorted by file and role.
#[must_use]
pub fn extents(run: &Run) -> Vec<ExtentRow> {
    let row = |sum: &crate::model::ExtentSum| ExtentRow {
        file: run.file_name(sum.file).to_owned(),
        role: sum.role.name(),
        extents: sum.extents,
    };
    run.datatype_extents.iter().map(row).collect()
}
