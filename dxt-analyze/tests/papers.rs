//! Cases of papers that a synthetic trace can make again.

mod common;

use common::{Builder, job, json, process, put, trace};
use serde_json::Value;

/// Bytes of a block of MADBench2, 8 for each of 1,564 x 1,564 matrix elements, and the gap behind it.
const BLOCK: u64 = 8 * 1564 * 1564;
const GAP: u64 = 1920;
const RANKS: i32 = 64;
const BLOCKS: u64 = 256;

/// Carns et al., "24/7 Characterization of Petascale I/O Workloads", 2009, Table III: MADBench2 accesses a shared file in blocks of
/// 18.66 MiB with a gap of 1,920 bytes, so that of 16,384 only 32 begin at a multiple of 4 MiB.
#[test]
fn madbench2_is_all_but_unaligned() {
    let folder = tempfile::tempdir().expect("a folder");
    let ranks = (0..RANKS).map(|rank| {
        let mut process: Builder = process(rank, "n");
        for block in 0..BLOCKS {
            let (offset, start) = ((rank as u64 * BLOCKS + block) * (BLOCK + GAP), block * 20_000_000 + 1);
            process.write("/scratch/matrices", offset as i64, BLOCK, start, start + 10_000_000);
        }
        process
    });
    let path = put(folder.path(), "a.dxt", &trace(&job("k", RANKS as u32), ranks.collect()));
    let layout = put(folder.path(), "layout", b"* size=4M count=16\n");

    let found = json(&["counters", "--format", "json", &path], 0);
    let posix = &found["patterns"][0];
    let common = |value: u64, count: u64| serde_json::json!({"value": value, "count": count, "over": 0});
    assert_eq!(posix["sizes"], Value::from(vec![common(BLOCK, 16_384)]));
    assert_eq!(posix["strides"], Value::from(vec![common(GAP, RANKS as u64 * (BLOCKS - 1))]));
    assert_eq!(format!("{:.2}", BLOCK as f64 / f64::from(1 << 20)), "18.66");

    let found = json(&["stripes", "--layout", &layout, "--format", "json", &path], 0);
    let file = &found["files"][0];
    let at_start = file["unaligned_start"].as_u64().expect("a count");
    assert_eq!((file["writes"].as_u64(), 16_384 - at_start), (Some(16_384), 32), "{file:#}");
    assert!(found["findings"].to_string().contains("DXT-S001"));
}
