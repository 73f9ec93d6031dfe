//! Tests of nested layers, data sets, hints and datatypes in the summary and the dump.

use crate::common::{hdf5, json, put, stdout};
use serde_json::{Value, json};
use trace_format::meta::{DatatypeExtents, DatatypeRole};

#[test]
fn a_byte_counts_once_at_the_layer_that_the_program_called() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "hdf5.dxt", &hdf5());
    let found = json(&["summary", "--format", "json", &path], 0);
    for (key, expected) in [("bytes_written", 2 * 800), ("bytes_read", 2 * 400), ("files", 2), ("write_ns", 2 * 10_000)]
    {
        assert_eq!(found[key], expected, "{key}");
    }
    let rows: Vec<(&Value, &Value, &Value)> = found["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["layer"], &row["nested"], &row["in_hdf5"]))
        .collect();
    let row = |layer: &str, nested: bool, in_hdf5: bool| (json!(layer), json!(nested), json!(in_hdf5));
    let expected = [
        row("HDF5", false, false),
        row("HDF5", false, false),
        row("POSIX", false, false),
        row("MPIIO", false, true),
        row("POSIX", false, true),
        row("POSIX", true, false),
    ];
    assert_eq!(rows, expected.iter().map(|(layer, nested, hdf5)| (layer, nested, hdf5)).collect::<Vec<_>>());
    let text = stdout(&["summary", &path], 0);
    assert!(
        text.contains("POSIX in HDF5") && text.contains("MPI-IO in HDF5") && text.contains("POSIX in MPI-IO"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(found["top_files"][0]["bytes_written"], 800);
}

#[test]
fn the_summary_lists_data_sets_hints_and_datatypes() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "hdf5.dxt", &hdf5());
    let found = json(&["summary", "--format", "json", &path], 0);
    let sets = found["top_data_sets"].as_array().unwrap();
    assert_eq!(sets.len(), 2, "one path in two files is two data sets");
    assert_eq!(
        sets[1],
        json!({
            "file": "/scratch/1.h5", "data_set": "/grid/t", "element_bytes": 8, "extent": [11, 20], "processes": 1,
            "reads": 1, "writes": 1, "bytes_read": 400, "bytes_written": 800, "time_ns": 15_000,
            "read_selections": {"points": 1}, "write_selections": {"regular hyperslab": 1},
        })
    );
    assert_eq!(
        found["hints"][0],
        json!({"file": "/scratch/0.h5", "key": "cb_nodes", "asked": ["4"], "in_effect": ["1"]})
    );
    assert_eq!(found["hints"].as_array().unwrap().len(), 4);
    let datatype = json!({"file": "/scratch/0.h5", "role": "filetype", "combiner": "subarray", "calls": 1});
    assert_eq!(found["datatypes"][0], datatype);
    let text = stdout(&["summary", &path], 0);
    assert!(text.contains("cb_nodes") && !text.contains("romio_filesystem_type"), "{text}");
    assert!(text.contains("subarray") && !text.contains("named"), "{text}");
    let csv = stdout(&["summary", "--format", "csv", "--table", "data_sets", &path], 0);
    assert!(csv.contains("/grid/t,/scratch/0.h5,10x20,8,1,1,1,400,800,"), "{csv}");
}

#[test]
fn counters_have_the_extents_of_datatypes_by_file_and_role() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "hdf5.dxt", &hdf5());
    let found = json(&["counters", "--format", "json", &path], 0);
    let of = |file: &str, role: &str, extents: [u64; 10]| json!({"file": file, "role": role, "extents": extents});
    let expected: Vec<Value> = ["/scratch/0.h5", "/scratch/1.h5"]
        .iter()
        .flat_map(|file| {
            let filetype = of(file, "filetype", [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
            [filetype, of(file, "write buffer", [2, 0, 0, 0, 0, 0, 0, 0, 0, 1])]
        })
        .collect();
    assert_eq!(found["datatype_extents"], json!(expected));
    let csv = stdout(&["counters", "--format", "csv", "--table", "datatype_extents", &path], 0);
    let rows = ["filetype,100K-1M,1", "write buffer,0-100,2", "write buffer,1G+,1"];
    let rows = ["/scratch/0.h5", "/scratch/1.h5"].iter().flat_map(|file| rows.map(|row| format!("{file},{row}")));
    assert_eq!(csv.lines().collect::<Vec<_>>()[1..], rows.collect::<Vec<_>>(), "{csv}");
    let one = stdout(&["counters", "--files", "1.h5", "--format", "csv", "--table", "datatype_extents", &path], 0);
    assert!(one.contains("/scratch/1.h5,filetype") && !one.contains("/scratch/0.h5"), "{one}");
    assert!(stdout(&["counters", &path], 0).contains("Calls by extent of the datatype, bytes"));
    // Two processes use one file in the same way.
    let mut processes: Vec<_> = (0..2).map(|rank| crate::common::process(rank, "n")).collect();
    for process in &mut processes {
        process.add("/one", crate::common::op::MPIIO_WRITE_ALL, 0, 0, 8, 10, 20);
        let (file, role) = (process.file("/one"), DatatypeRole::Etype);
        process.process.datatype_extents =
            vec![DatatypeExtents { file, role, extents: [1, 2, 3, 4, 5, 6, 7, 8, 9, u64::MAX] }];
    }
    let path = put(folder.path(), "one.dxt", &crate::common::trace(&crate::common::job("k", 2), processes));
    let found = json(&["counters", "--format", "json", &path], 0);
    assert_eq!(found["datatype_extents"], json!([of("/one", "etype", [2, 4, 6, 8, 10, 12, 14, 16, 18, u64::MAX])]));
}

#[test]
fn the_dump_tells_the_data_set_and_what_lies_inside() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "hdf5.dxt", &hdf5());
    let lines = stdout(&["dump", "--format", "json", &path], 0);
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen: Vec<_> = rows[..6].iter().map(|row| json!([row["layer"], row["in_hdf5"], row["data_set"]])).collect();
    let expected = [
        json!(["POSIX", false, ""]),
        json!(["POSIX", true, ""]),
        json!(["MPIIO", true, ""]),
        json!(["HDF5", false, "/grid/t"]),
        json!(["POSIX", true, ""]),
        json!(["HDF5", false, "/grid/t"]),
    ];
    assert_eq!(seen, expected);
    assert!(stdout(&["dump", &path], 0).contains("/scratch/1.h5:/grid/t"));
}

/// HDF5 does not know the file offsets of its data, so without POSIX calls `stripes` uses the MPI-IO calls.
#[test]
fn a_stripe_audit_looks_at_the_layer_that_knows_offsets() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = crate::common::process(0, "n");
    for step in 0..20 {
        let (offset, start) = (step * 1_000_000, 10_000 + step as u64 * 100);
        process.add("/a.h5", crate::common::op::MPIIO_WRITE_ALL, 8, offset, 1_000_000, start, start + 50);
        process.add("/a.h5", crate::common::op::HDF5_WRITE_ALL, 0, -1, 1_000_000, start, start + 60);
    }
    let path = put(folder.path(), "a.dxt", &crate::common::trace(&crate::common::job("k", 0), vec![process]));
    let layout = put(folder.path(), "l", b"lmm_stripe_count: 4\nlmm_stripe_size: 1048576\nlmm_stripe_offset: 0\n");
    let found = json(&["stripes", "--format", "json", "--layout", &layout, &path], 0);
    assert_eq!(
        (&found["files"][0]["writes"], &found["files"][0]["bytes"]),
        (&20.into(), &20_000_000.into()),
        "{found}"
    );
}
