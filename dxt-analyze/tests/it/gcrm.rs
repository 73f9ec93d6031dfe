//! Tests of the GCRM case of the DXT paper (Xu et al., CUG 2017, Figure 4): 256 ranks write one shared file with 4 MiB stripes, most writes
//! near 1.4 GB/s, and fourteen small ones take 3.5 s because they fall into the same few stripes.

use crate::common::facts::{assert_found, of_code};
use crate::common::{Builder, job, json, process, put, stdout, trace};

/// Slow writes: rank, offset and length (bytes), start and end (hundredths of a second).
const SLOW: [(i32, i64, u64, u64, u64); 14] = [
    (0, 96, 40, 2487, 2841),
    (1, 800, 40, 2488, 2838),
    (2, 1384, 120, 2485, 2836),
    (3, 2536, 328, 2485, 2835),
    (4, 3568, 328, 2488, 2838),
    (5, 1_090_523_536, 40, 2485, 2835),
    (6, 1_090_524_944, 328, 2487, 2838),
    (7, 1_090_525_976, 328, 2488, 2839),
    (9, 2_181_047_352, 328, 2487, 2838),
    (10, 2_181_048_384, 328, 2485, 2836),
    (11, 3_271_568_024, 328, 2485, 2835),
    (12, 3_271_568_936, 120, 2488, 2838),
    (13, 3_271_569_760, 328, 2485, 2835),
    (14, 3_271_570_792, 328, 2488, 2839),
];
const STRIPES: [u64; 14] = [0, 0, 0, 0, 0, 260, 260, 260, 520, 520, 780, 780, 780, 780];
const MIB: u64 = 1 << 20;

/// Encodes the case as a trace. Rank r is on node r / 16, or on node r mod 16 if `scattered` is true.
fn gcrm(scattered: bool) -> Vec<u8> {
    let mut processes: Vec<Builder> = (0..256)
        .map(|rank| {
            let node = if scattered { rank % 16 } else { rank / 16 };
            let mut process = process(rank, &format!("nid{node:05}"));
            for step in 0..8_u64 {
                // These writes cover whole stripes far behind the small ones, near 1.4 GB/s with some spread.
                let stripe = 1000 + step * 256 + rank as u64;
                let duration = 4 * MIB * 1000 / (1400 + (stripe * 7919) % 101);
                let start = 1_000_000_000 + step * 10_000_000;
                process.write("/scratch/gcrm.nc", (stripe * 4 * MIB) as i64, 4 * MIB, start, start + duration);
            }
            process
        })
        .collect();
    for (rank, offset, length, start, end) in SLOW {
        processes[rank as usize].write("/scratch/gcrm.nc", offset, length, start * 10_000_000, end * 10_000_000);
    }
    trace(&job("gcrm", 256), processes)
}

#[test]
fn outliers_are_exactly_the_fourteen_slow_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "gcrm.dxt", &gcrm(false));
    for count in [26, 52] {
        let layout = put(folder.path(), "layout", format!("*.nc size=4M count={count}").as_bytes());
        let found = json(&["outliers", "--format", "json", "--layout", &layout, &path], 0);
        let group = &found["operations"][0];
        assert_eq!((&group["op"], &group["outliers"]), (&"write".into(), &14.into()));
        let rows = group["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 14);
        for ((row, (rank, offset, length, start, end)), stripe) in rows.iter().zip(SLOW).zip(STRIPES) {
            assert_eq!(row["rank"], rank);
            assert_eq!((&row["offset"], &row["length"]), (&offset.into(), &length.into()));
            assert_eq!(row["start_ns"], start * 10_000_000);
            assert_eq!(row["end_ns"], end * 10_000_000);
            assert_eq!((&row["stripe"], &row["ost"]), (&stripe.into(), &0.into()));
        }
        let median = group["median"].as_f64().unwrap();
        assert!((1.4e9..1.6e9).contains(&median), "{median}");
    }
    assert_eq!(
        json(&["outliers", "--format", "json", "--fail-on", "info", &path], 4)["findings"][0]["code"],
        "DXT-O001"
    );
    let by_time = json(&["outliers", "--format", "json", "--metric", "duration", &path], 0);
    assert_eq!(by_time["operations"][0]["outliers"], 14);
    let short = stdout(&["outliers", "--top", "3", "--format", "csv", &path], 0);
    assert_eq!(short.lines().count(), 4);
}

#[test]
fn stripes_names_the_falsely_shared_stripes() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "gcrm.dxt", &gcrm(true));
    let layout = put(folder.path(), "layout", b"* size=4M count=52");
    let found = json(&["stripes", "--format", "json", "--layout", &layout, &path], 0);
    let file = &found["files"][0];
    let stripes: Vec<u64> = file["stripes"].as_array().unwrap().iter().map(|s| s["stripe"].as_u64().unwrap()).collect();
    assert_eq!(stripes, [0, 260, 520, 780]);
    assert_eq!(file["sharing"]["shared_stripes"], 4);
    assert_eq!(file["sharing"]["writes"], 14);
    assert_eq!(
        (&file["sharing"]["stripes_between_nodes"], &file["sharing"]["writes_between_nodes"]),
        (&4.into(), &14.into())
    );
    assert_eq!(file["unaligned"], 14);
    assert_eq!(file["crossing"], 0);
    assert_eq!(file["stripes"][0]["ranks"], serde_json::json!(["0", "1", "2", "3", "4"]));
    let finding = assert_found(&found, "DXT-S003", &serde_json::json!({"file": "/scratch/gcrm.nc"}));
    // The report explains the same writes by the lack of collective calls.
    assert_eq!(finding["severity"], "info");
    assert!(finding["hint"].as_str().unwrap().contains("H5Pset_alignment"));
    let text = stdout(&["stripes", "--layout", &layout, &path], 0);
    assert!(text.contains("False sharing") && text.contains("0 1 2 3 4"), "{text}");
    let csv = stdout(&["stripes", "--layout", &layout, "--format", "csv", "--table", "stripes", &path], 0);
    assert_eq!(csv.lines().count(), 5);
}

#[test]
fn ranks_of_one_node_share_without_passing_locks() {
    let folder = tempfile::tempdir().unwrap();
    // The fourteen slow writes are all by the first sixteen ranks, on one node.
    let path = put(folder.path(), "gcrm.dxt", &gcrm(false));
    let layout = put(folder.path(), "layout", b"* size=4M count=52");
    let found = json(&["stripes", "--format", "json", "--layout", &layout, &path], 0);
    let sharing = &found["files"][0]["sharing"];
    assert_eq!((&sharing["shared_stripes"], &sharing["stripes_between_nodes"]), (&4.into(), &0.into()));
    let finding = assert_found(&found, "DXT-S005", &serde_json::json!({"file": "/scratch/gcrm.nc"}));
    assert_eq!(finding["severity"], "info");
    assert_eq!(of_code(&found, "DXT-S003"), None);
}
