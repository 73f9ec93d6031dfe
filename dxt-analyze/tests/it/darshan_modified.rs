//! Tests of Darshan logs that lack records or contradict themselves: modified builds, partial modules, DAOS, PnetCDF.

use crate::common::{json, run, skip_here, text};
use crate::darshan_counted::{FILE, RANKS, counters, job, record, row, written};
use darshan_log::write::Writer;
use darshan_log::{Module, Mount, record_id};
use serde_json::Value;
use std::path::Path;

/// Returns the path of a log written by a modified Darshan, which is not part of the project; `None` if it is missing.
fn modified(name: &str) -> Option<std::path::PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/labels/modified-darshan").join(name);
    if !path.exists() {
        skip_here(&format!("{}: logs of modified builds are not there", path.display()));
        return None;
    }
    Some(path)
}

/// Runs a command that must exit with 0 or 3; returns its output with each run of white space replaced by a single space.
fn reported(args: &[&str]) -> String {
    let output = run(args);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{args:?}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn logs_of_modified_builds_are_read_and_said_to_be_such() {
    let Some(path) = modified("mdtest-easy_POSIX-0.darshan") else { return };
    for (name, part) in [
        ("mdtest-easy_POSIX-0.darshan", "POSIX records have 720 bytes, 16 more than Darshan's"),
        ("mdtest-easy_POSIX-0.darshan", "heads of DXT_POSIX records have 120 bytes, 16 more than Darshan's"),
        ("ior-easy_POSIX_1MB_False-1.darshan", "POSIX records have 720 bytes, 16 more than Darshan's"),
        (
            "mdtest-hard_POSIX-0.darshan",
            "8192 zero bytes before the job region, written by a modified Darshan, are skipped",
        ),
    ] {
        let path = path.with_file_name(name);
        let summary = reported(&["summary", text(&path)]);
        assert!(summary.contains(part), "{name}: {summary}");
        assert!(!summary.contains("implausible") && !summary.contains("Darshan record 0"), "{name}: {summary}");
    }
    let found =
        json(&["summary", "--format", "json", text(&path.with_file_name("ior-easy_POSIX_1MB_False-1.darshan"))], 0);
    assert_eq!((&found["bytes_read"], &found["bytes_written"]), (&1_073_741_824.into(), &1_073_741_824.into()));
}

#[test]
fn sums_of_what_lacks_records_are_lower_bounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.darshan");
    // The job takes 10 s, with milliseconds of I/O.
    let posix = record(
        Module::Posix,
        0,
        &[("POSIX_OPENS", 1.0), ("POSIX_WRITES", 3.0), ("POSIX_BYTES_WRITTEN", 3000.0), ("POSIX_F_WRITE_TIME", 0.05)],
    );
    let write = |partial: Option<Module>, version: Option<u32>| {
        let mounts = [Mount { point: "/".into(), fs_type: "ext4".into() }];
        let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), &job(1), &mounts, [FILE]).expect("a writer");
        writer.counters(Module::Posix, [&posix]).expect("written");
        writer.counters(Module::Stdio, [record(Module::Stdio, 0, &[("STDIO_OPENS", 1.0)])]).expect("written");
        partial.into_iter().for_each(|module| writer.set_partial(module));
        let mut log = writer.finish().expect("a log").into_inner();
        if let Some(version) = version {
            let at = 1072 + 4 * Module::Stdio.place();
            log[at..at + 4].copy_from_slice(&version.to_le_bytes());
        }
        std::fs::write(&path, log).expect("written");
    };
    // Returns two facts: if I/O matters, and if shares are lower bounds.
    let facts = |path: &Path| {
        let report: Value = serde_json::from_str(&reported(&["report", "--format", "json", text(path)])).expect("JSON");
        (report["verdict"]["io_matters"].as_bool(), report["verdict"]["lower_bounds"] == true)
    };
    let printed = || {
        let page = folder.path().join("r.html");
        reported(&["report", text(&path), "-o", text(&page)])
    };
    // Heat maps and Lustre layouts contain no calls.
    for whole in [None, Some(Module::Heatmap), Some(Module::Lustre)] {
        write(whole, None);
        let said = printed();
        assert_eq!(facts(&path), (Some(false), false), "{whole:?} {said}");
        assert!(!reported(&["summary", text(&path)]).contains("written at least"), "{whole:?}");
        assert!(reported(&["ledger", text(&path)]).contains(" no I/O ") && !said.contains("not recorded"), "{whole:?}");
    }
    for (partial, version) in
        [(Some(Module::Posix), None), (Some(Module::Stdio), None), (None, Some(9)), (Some(Module::MpiIo), None)]
    {
        write(partial, version);
        let said = printed();
        assert_eq!(facts(&path), (Some(false), true), "{partial:?} {said}");
        assert!(said.contains("I/O takes at least"), "{partial:?} {said}");
        let summary = reported(&["summary", text(&path)]);
        assert!(summary.contains("written at least") && summary.contains("sums are lower bounds"), "{summary}");
        // Time without records is not reported as time without I/O.
        for text in [said, reported(&["ledger", text(&path)])] {
            let said = text.matches("not recorded, or no I/O").count();
            assert!(said > 0 && text.matches("no I/O").count() == said, "{text}");
        }
    }
    let Some(path) = modified("mdtest-hard_POSIX-0.darshan") else { return };
    let said = reported(&["report", text(&path), "-o", text(&folder.path().join("r.html"))]);
    assert!(facts(&path).1 && said.contains("I/O takes at least"), "{said}");
    assert!(said.contains("not recorded, or no I/O 99.6 %"), "{said}");
}

#[test]
fn complete_segments_win_over_counters_of_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.darshan");
    let of = |rank: i64, times: f64, sequential: f64| {
        let fields = [
            ("POSIX_OPENS", times),
            ("POSIX_WRITES", 5.0 * times),
            ("POSIX_BYTES_WRITTEN", 8000.0 * times),
            ("POSIX_SEQ_WRITES", sequential),
            ("POSIX_CONSEC_WRITES", sequential),
            ("POSIX_F_WRITE_TIME", 0.05 * times),
        ];
        record(Module::Posix, rank, &fields)
    };
    let per_rank = |sequential| (0..RANKS).map(|rank| of(rank, 1.0, sequential)).collect::<Vec<_>>();
    // Each case has counters of all ranks, and true if they contradict the 5 consecutive writes in each rank's segments.
    for (records, contradicted) in [
        (per_rank(0.0), true),
        (per_rank(4.0), false),
        (per_rank(1.0), true),
        (vec![of(-1, 3.0, 0.0)], true),
        (vec![of(-1, 3.0, 12.0)], false),
    ] {
        written(&path, &job(RANKS), &records, &[], true);
        let found = counters(&path);
        let row = row(&found, "accesses", &[("layer", "POSIX"), ("direction", "write")]).expect("writes");
        assert_eq!((&row["ordered"], &row["sequential"], &row["consecutive"]), (&15.into(), &12.into(), &12.into()));
        let said = reported(&["summary", text(&path)]);
        assert_eq!(said.contains("contradict their segments"), contradicted, "{said}");
    }
    // If segments are incomplete, only the counters are complete.
    let mut some = per_rank(0.0);
    some.iter_mut().for_each(|record| record.ints[4] = 50);
    written(&path, &job(RANKS), &some, &[], true);
    assert!(!reported(&["summary", text(&path)]).contains("contradict"));
}

#[test]
fn files_and_objects_of_daos_and_variables_of_pnetcdf_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.darshan");
    let names = [FILE, "/scratch/x.nc", "/scratch/x.nc:temp"];
    let mounts = [Mount { point: "/".into(), fs_type: "ext4".into() }];
    let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), &job(1), &mounts, names).expect("a writer");
    let mut var = record(
        Module::PnetcdfVar,
        0,
        &[("PNETCDF_VAR_OPENS", 1.0), ("PNETCDF_VAR_COLL_WRITES", 3.0), ("PNETCDF_VAR_BYTES_WRITTEN", 600.0)],
    );
    (var.id, var.file_id) = (record_id(b"/scratch/x.nc:temp"), Some(record_id(b"/scratch/x.nc")));
    writer.counters(Module::PnetcdfVar, [var]).expect("written");
    let dfs = [
        ("DFS_OPENS", 1.0),
        ("DFS_WRITES", 5.0),
        ("DFS_WRITEXS", 1.0),
        ("DFS_NB_WRITES", 2.0),
        ("DFS_REMOVES", 1.0),
        ("DFS_BYTES_WRITTEN", 6000.0),
        ("DFS_F_WRITE_TIME", 0.5),
    ];
    let daos = [
        ("DAOS_ARRAY_OPENS", 1.0),
        ("DAOS_ARRAY_WRITES", 6.0),
        ("DAOS_KV_GETS", 2.0),
        ("DAOS_BYTES_WRITTEN", 6000.0),
        ("DAOS_BYTES_READ", 20.0),
        ("DAOS_F_WRITE_TIME", 0.25),
    ];
    let (mut file, mut object) = (record(Module::Dfs, 0, &dfs), record(Module::Daos, 0, &daos));
    object.id = 34;
    for daos in [&mut file.daos, &mut object.daos].into_iter().flatten() {
        (daos.pool, daos.container) = ([0x11; 16], [0x22; 16]);
        daos.object = daos.object.map(|_| (3, 4));
    }
    writer.counters(Module::Dfs, [file]).expect("written");
    writer.counters(Module::Daos, [object]).expect("written");
    std::fs::write(&path, writer.finish().expect("a log").into_inner()).expect("written");

    let found = json(&["summary", "--format", "json", text(&path)], 0);
    let sum = |layer: &str, op: &str, mode: &str| {
        let row = row(&found, "operations", &[("layer", layer), ("op", op), ("mode", mode)]);
        row.map(|row| (row["count"].as_u64().expect("a count"), row["bytes"].as_u64().expect("bytes")))
    };
    assert_eq!(sum("DFS", "write", ""), Some((4, 4000)), "{found}");
    assert_eq!(sum("DFS", "write", "nonblocking"), Some((2, 2000)));
    assert_eq!(sum("DFS", "remove", ""), Some((1, 0)));
    assert_eq!(sum("DAOS", "write", ""), Some((6, 6000)));
    assert_eq!(sum("DAOS", "read", ""), Some((2, 20)));
    assert_eq!(sum("PNETCDF", "write", "collective"), Some((3, 600)));
    // DFS writes the bytes of MPI-IO to DAOS objects, so they count once.
    assert_eq!(found["bytes_written"], 6000, "{found}");
    let (pool, container) = ("11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222");
    let dump = reported(&["dump", text(&path)]);
    for name in [format!("daos://{pool}/{container}/scratch/shared"), format!("daos://{pool}/{container}/3.4")] {
        assert!(dump.contains(&name), "{name}: {dump}");
    }
    let said = reported(&["summary", text(&path)]);
    assert!(said.contains("temp"), "{said}");
    let page = folder.path().join("r.html");
    reported(&["report", text(&path), "-o", text(&page)]);
    assert!(std::fs::read_to_string(&page).expect("a page").contains("DFS"));
    reported(&["export", text(&path), "--to", "parquet", "-o", text(&folder.path().join("p"))]);
}

/// Bytes that MPI-IO writes to a DAOS file count once, though MPI-IO calls DFS and DFS writes objects. A POSIX file in the same job changes nothing.
#[test]
fn bytes_of_mpi_io_on_daos_count_once() {
    let folder = tempfile::tempdir().expect("a folder");
    for all_ranks in [false, true] {
        let path = folder.path().join(format!("{all_ranks}.darshan"));
        let mounts = [Mount { point: "/".into(), fs_type: "ext4".into() }];
        let names = ["daos:/shared", FILE, "/scratch/log"];
        let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), &job(2), &mounts, names).expect("a writer");
        let rank = if all_ranks { -1 } else { 0 };
        let mut posix =
            record(Module::Posix, 1, &[("POSIX_OPENS", 1.0), ("POSIX_WRITES", 1.0), ("POSIX_BYTES_WRITTEN", 10.0)]);
        posix.id = record_id(b"/scratch/log");
        let above = [("MPIIO_COLL_OPENS", 2.0), ("MPIIO_COLL_WRITES", 8.0), ("MPIIO_BYTES_WRITTEN", 8000.0)];
        let mut mpi = record(Module::MpiIo, rank, &above);
        mpi.id = record_id(b"daos:/shared");
        let mut file =
            record(Module::Dfs, rank, &[("DFS_OPENS", 2.0), ("DFS_WRITES", 8.0), ("DFS_BYTES_WRITTEN", 8000.0)]);
        let mut object = record(Module::Daos, rank, &[("DAOS_ARRAY_WRITES", 8.0), ("DAOS_BYTES_WRITTEN", 8000.0)]);
        object.id = 34;
        for daos in [&mut file.daos, &mut object.daos].into_iter().flatten() {
            (daos.pool, daos.container) = ([0x11; 16], [0x22; 16]);
        }
        writer.counters(Module::Posix, [posix]).expect("written");
        writer.counters(Module::MpiIo, [mpi]).expect("written");
        writer.counters(Module::Dfs, [file]).expect("written");
        writer.counters(Module::Daos, [object]).expect("written");
        std::fs::write(&path, writer.finish().expect("a log").into_inner()).expect("written");
        let found = json(&["summary", "--format", "json", text(&path)], 0);
        assert_eq!(found["bytes_written"], 8010, "{all_ranks}: {found}");
    }
}
