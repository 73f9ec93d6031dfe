//! Counters of HDF5 and PnetCDF: files from H5F and PNETCDF_FILE records, data sets and variables from H5D and PNETCDF_VAR records.
//! Operations made inside the libraries' calls have separate records at the lower layers.

use super::counted;
use super::layouts::Layouts;
use super::named::Named;
use super::ops::{Code, code};
use super::tables::Tables;
use darshan_log::{Module, record_id};
use trace_format::counters::Counters;
use trace_format::meta::{DataSetAccess, Selection};
use trace_format::op::{Layer, OpMode};

pub(crate) const LIBRARIES: [Module; 4] = [Module::H5F, Module::H5D, Module::PnetcdfFile, Module::PnetcdfVar];

/// Adds the calls counted in a record of one of [`LIBRARIES`] to `tables`.
pub(crate) fn add(named: Named<'_>, tables: &mut Tables<'_>, layouts: &mut Layouts) {
    match named.module {
        Module::H5D | Module::PnetcdfVar => data_set(named, tables, layouts),
        _ => file(named, tables, layouts),
    }
}

fn file(named: Named<'_>, tables: &mut Tables<'_>, layouts: &mut Layouts) {
    let file = tables.file(named.record.id, layouts);
    counted::metadata(named, 0, |code, counters| tables.missing(file, code, counters, false));
    for (counter, mode) in [("INDEP_WAITS", OpMode::Plain), ("COLL_WAITS", OpMode::Collective)] {
        let others = named.count("INDEP_WAITS").saturating_add(named.count("COLL_WAITS"));
        let waits = Counters {
            segments: named.count(counter),
            duration: share(named.ns("WAIT_TIME"), named.count(counter), others),
            first_start: named.ns("WAIT_START_TIMESTAMP"),
            last_end: named.ns("WAIT_END_TIMESTAMP").max(named.ns("WAIT_START_TIMESTAMP")),
            ..Counters::default()
        };
        tables.missing(file, code(named.layer(), "wait", mode), waits, false);
    }
}

fn share(whole: u64, part: u64, parts: u64) -> u64 {
    u64::try_from(u128::from(whole) * u128::from(part) / u128::from(parts.max(1))).unwrap_or(u64::MAX)
}

fn data_set(named: Named<'_>, tables: &mut Tables<'_>, layouts: &mut Layouts) {
    let name = tables.name(named.record.id).unwrap_or_default();
    // The name of a record is `file:data set`; H5D records of version 1 have no file id.
    let split = || name.iter().rposition(|byte| *byte == b':').map(|at| record_id(name.get(..at).unwrap_or_default()));
    let file_id = named.record.file_id.filter(|id| *id != 0).or_else(split).unwrap_or(named.record.id);
    let of_file = tables.name(file_id).map_or(0, |file| file.len() + 1);
    let path = name.get(of_file..).unwrap_or(name).to_vec();
    let file = tables.file(file_id, layouts);
    let element_bytes = u32::try_from(named.count("DATATYPE_SIZE")).unwrap_or(0);
    let set = tables.data_set(file, path, element_bytes);
    counted::metadata(named, 0, |code, counters| {
        tables.of_data_set(file, set, code, counters);
    });
    let mut kinds = selections(named);
    for writes in [false, true] {
        for (code, counters) in transfers(named, writes) {
            let (calls, bytes) = (counters.segments, counters.bytes);
            let Some(stream) = tables.of_data_set(file, set, code, counters) else { continue };
            let elements = bytes.checked_div(u64::from(element_bytes)).unwrap_or(0);
            let selections = kinds.take(calls);
            if selections.iter().any(|count| *count > 0) {
                tables.selected(set, DataSetAccess { stream, selections, elements });
            }
        }
    }
}

/// Returns the counters of the reads, or of the writes if `writes` is true, by form (independent, collective, ...).
fn transfers(named: Named<'_>, writes: bool) -> Vec<(Code, Counters)> {
    let (name, all) = (if writes { "write" } else { "read" }, named.data(writes));
    let of = |mode| code(named.layer(), name, mode);
    if named.layer() == Layer::Hdf5 {
        let together = named.count("USE_MPIIO_COLLECTIVE") > 0;
        return vec![(of(if together { OpMode::Collective } else { OpMode::Plain }), all)];
    }
    counted::by_form(&all, named.forms(writes)).into_iter().map(|(mode, counters)| (of(mode), counters)).collect()
}

/// Number of calls by type of selection, over reads and writes: Darshan does not count these separately.
struct Kinds([u64; Selection::COUNT]);

fn selections(named: Named<'_>) -> Kinds {
    let mut out = [0; Selection::COUNT];
    let counters = [
        (Selection::RegularHyperslab, "REGULAR_HYPERSLAB_SELECTS"),
        (Selection::IrregularHyperslab, "IRREGULAR_HYPERSLAB_SELECTS"),
        (Selection::Points, "POINT_SELECTS"),
    ];
    for (kind, counter) in counters {
        if let Some(count) = Selection::ALL.iter().position(|known| *known == kind).and_then(|at| out.get_mut(at)) {
            *count = named.count(counter);
        }
    }
    Kinds(out)
}

impl Kinds {
    /// Removes and returns the selections of the next `calls` calls. Calls beyond the known selections count as `Other`.
    fn take(&mut self, calls: u64) -> [u64; Selection::COUNT] {
        let mut left = calls;
        let mut out = self.0.map(|_| 0);
        for (mine, taken) in self.0.iter_mut().zip(&mut out) {
            *taken = left.min(*mine);
            *mine -= *taken;
            left -= *taken;
        }
        if let Some(other) =
            Selection::ALL.iter().position(|kind| *kind == Selection::Other).and_then(|at| out.get_mut(at))
        {
            *other = other.saturating_add(left);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use darshan_log::counters::{float_names, int_names};
    use darshan_log::{CounterRecord, Names};
    use trace_format::meta::Process;

    fn record(module: Module, name: &str, of_file: Option<&str>, counters: &[(&str, f64)]) -> CounterRecord {
        let mut record = CounterRecord::zero(module, record_id(name.as_bytes()), 0).expect("a module with counters");
        record.file_id = of_file.map(|file| record_id(file.as_bytes()));
        for (counter, value) in counters {
            let place = |names: &[&str]| names.iter().position(|known| known == counter);
            match (place(int_names(module)), place(float_names(module))) {
                (Some(at), _) => record.ints[at] = *value as i64,
                (_, Some(at)) => record.floats[at] = *value,
                _ => panic!("{counter} is not known"),
            }
        }
        record
    }

    /// Returns the operations of a process: name, mode (such as collective), number of calls, bytes, time in ns.
    fn done(process: &Process) -> Vec<(String, OpMode, u64, u64, u64)> {
        let ops = crate::import::darshan::ops::table(false);
        let one = |missing: &trace_format::meta::Missing| {
            let stream = process.streams.iter().find(|stream| stream.id == missing.stream).expect("a stream");
            let op = ops.iter().find(|op| op.code == stream.op).expect("an operation of the table");
            let sums = &missing.counters;
            (op.name.clone(), op.mode, sums.segments, sums.bytes, sums.duration)
        };
        process.missing.iter().map(one).collect()
    }

    #[test]
    fn variables_of_pnetcdf_are_data_sets_of_their_file() {
        let names: Names = ["/p/x.nc", "/p/x.nc:temp"].into_iter().collect();
        let counters = [
            ("PNETCDF_VAR_OPENS", 1.0),
            ("PNETCDF_VAR_COLL_WRITES", 3.0),
            ("PNETCDF_VAR_INDEP_WRITES", 1.0),
            ("PNETCDF_VAR_BYTES_WRITTEN", 4000.0),
            ("PNETCDF_VAR_F_WRITE_TIME", 8e-6),
        ];
        let var = record(Module::PnetcdfVar, "/p/x.nc:temp", Some("/p/x.nc"), &counters);
        let counters = [
            ("PNETCDF_FILE_CREATES", 1.0),
            ("PNETCDF_FILE_REDEFS", 2.0),
            ("PNETCDF_FILE_COLL_WAITS", 4.0),
            ("PNETCDF_FILE_F_WAIT_TIME", 1e-6),
            ("PNETCDF_FILE_F_META_TIME", 2e-6),
        ];
        let file = record(Module::PnetcdfFile, "/p/x.nc", None, &counters);
        let mut tables = Tables::new(Process::default(), &names);
        let mut layouts = Layouts::default();
        for (module, record) in [(Module::PnetcdfFile, &file), (Module::PnetcdfVar, &var)] {
            add(Named { module, record }, &mut tables, &mut layouts);
        }
        let process = tables.process;
        assert_eq!(process.files.len(), 1);
        assert_eq!((process.data_sets.len(), process.data_sets[0].path.as_slice()), (1, b"temp".as_slice()));
        let op = |name: &str, mode, calls, bytes, ns| (name.to_owned(), mode, calls, bytes, ns);
        let expected = [
            op("open", OpMode::Plain, 1, 0, 2000),
            op("redef", OpMode::Plain, 2, 0, 0),
            op("wait", OpMode::Collective, 4, 0, 1000),
            op("open", OpMode::Plain, 1, 0, 0),
            op("write", OpMode::Plain, 1, 1000, 2000),
            op("write", OpMode::Collective, 3, 3000, 6000),
        ];
        assert_eq!(done(&process), expected);
    }
}
