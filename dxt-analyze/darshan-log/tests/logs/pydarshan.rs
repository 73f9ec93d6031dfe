//! Comparison of written logs with the numbers that PyDarshan reads from them.

use crate::samples::skip;
use crate::written::{Content, made_up, write};
use darshan_log::write::LustreVersion;
use darshan_log::{Log, Module, Segment};
use std::fs::File;
use std::path::Path;

/// Script that reads a log with PyDarshan and prints its numbers, one per line.
const SCRIPT: &str = r#"
import sys, darshan
from darshan.backend import cffi_backend
report = darshan.DarshanReport(sys.argv[1], read_all=False)
job = report.metadata["job"]
print("nprocs", job["nprocs"])
print("jobid", job["jobid"])
print("run_time", report.metadata["job"]["run_time"])
print("exe", report.metadata["exe"])
print("mounts", len(report.mounts))
names = cffi_backend.log_get_name_records(report.log)
for id in sorted(names):
    print("name", id, names[id])
for module in sorted(report.modules):
    print("module", module, report.modules[module]["ver"], report.modules[module]["partial_flag"])
for module in ("POSIX", "MPI-IO", "STDIO", "PNETCDF_FILE", "PNETCDF_VAR", "H5F", "H5D", "DFS", "DAOS"):
    if module in report.modules:
        report.mod_read_all_records(module)
        frames = report.records[module].to_df()
        counters, fcounters = frames["counters"], frames["fcounters"]
        print(module, len(counters))
        for name in counters.columns:
            if name not in ("id", "rank"):
                print(name, int(counters[name].sum()))
        for name in fcounters.columns:
            if name not in ("id", "rank"):
                print(name, "%.9f" % fcounters[name].sum())
for module in ("DXT_POSIX", "DXT_MPIIO"):
    if module in report.modules:
        report.mod_read_all_dxt_records(module)
        for record in report.records[module]:
            for kind in ("write_segments", "read_segments"):
                for segment in record[kind].to_dict("records") if hasattr(record[kind], "to_dict") else record[kind]:
                    print(module, record["rank"], kind, segment["offset"], segment["length"],
                          "%.9f" % segment["start_time"], "%.9f" % segment["end_time"])
if "HEATMAP" in report.modules:
    report.read_all_heatmap_records()
    for name in sorted(report.heatmaps):
        heatmap = report.heatmaps[name].to_df(["read", "write"])
        print("heatmap", name, int(heatmap.to_numpy().sum()))
"#;

/// Returns the lines that the script must print for the log and its records.
fn expected(log: &Log<File>, content: &Content) -> Vec<String> {
    let job = log.job();
    let mut lines = vec![
        format!("nprocs {}", job.nprocs),
        format!("jobid {}", job.jobid),
        format!("run_time {:?}", job.run_time),
        format!("exe {}", job.exe),
        format!("mounts {}", log.mounts().iter().len()),
    ];
    let mut names: Vec<_> = log.names().iter().collect();
    names.sort();
    lines.extend(names.iter().map(|(id, name)| format!("name {id} {name}")));
    let mut modules: Vec<_> =
        log.header().modules.iter().filter_map(|entry| Some((entry.module?.name(), entry))).collect();
    modules.sort_by_key(|(name, _)| *name);
    lines.extend(modules.iter().map(|(name, entry)| {
        format!("module {name} {} {}", entry.version, if entry.partial { "True" } else { "False" })
    }));
    let mut all =
        vec![(Module::Posix, &content.posix), (Module::MpiIo, &content.mpi_io), (Module::Stdio, &content.stdio)];
    for module in [Module::PnetcdfFile, Module::PnetcdfVar, Module::H5F, Module::H5D, Module::Dfs, Module::Daos] {
        all.extend(content.others.iter().find(|(known, _)| *known == module).map(|(_, records)| (module, records)));
    }
    for (module, records) in all {
        lines.push(format!("{module} {}", records.len()));
        for (index, name) in darshan_log::counters::int_names(module).iter().enumerate() {
            lines.push(format!("{name} {}", records.iter().map(|record| record.ints[index]).sum::<i64>()));
        }
        for (index, name) in darshan_log::counters::float_names(module).iter().enumerate() {
            lines.push(format!("{name} {:.9}", records.iter().map(|record| record.floats[index]).sum::<f64>()));
        }
    }
    for (module, records) in ["DXT_POSIX", "DXT_MPIIO"].into_iter().zip(&content.dxt) {
        for (record, segments) in records {
            for (number, segment) in (0..).zip(segments) {
                let kind = if number < record.write_count { "write_segments" } else { "read_segments" };
                let Segment { offset, length, start, end, .. } = segment;
                lines.push(format!("{module} {} {kind} {offset} {length} {start:.9} {end:.9}", record.rank));
            }
        }
    }
    let bytes: i64 =
        content.heatmaps.iter().flat_map(|record| record.write_bytes.iter().chain(&record.read_bytes)).sum();
    lines.push(format!("heatmap POSIX {bytes}"));
    lines
}

#[test]
fn pydarshan_reads_the_same_numbers() {
    let Some(python) = std::env::var_os("DXT_TEST_PYTHON") else {
        skip("PyDarshan: DXT_TEST_PYTHON names no Python that has the module darshan");
        return;
    };
    let has_module = std::process::Command::new(&python).args(["-c", "import darshan"]).output();
    if !has_module.is_ok_and(|output| output.status.success()) {
        skip(&format!("PyDarshan: {} has not the module darshan", Path::new(&python).display()));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (job, mounts, names, content) = made_up();
    for (version, name) in [(LustreVersion::V1, "v1.darshan"), (LustreVersion::V2, "v2.darshan")] {
        let path = folder.path().join(name);
        let file = File::create_new(&path).expect("a file");
        write(file, &job, &mounts, &names, &content, version).expect("a log");
        let output = std::process::Command::new(&python).arg("-c").arg(SCRIPT).arg(&path).output().expect("Python");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        let printed = String::from_utf8_lossy(&output.stdout);
        let log = Log::open(&path).expect("a log");
        let mut printed = printed.lines();
        for line in expected(&log, &content) {
            assert_eq!(printed.next(), Some(line.as_str()), "{error}");
        }
        assert_eq!(printed.next(), None);
    }
}
