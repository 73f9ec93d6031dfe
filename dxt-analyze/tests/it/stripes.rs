//! Tests of `stripes`, the audit of file striping: its counts and advice, with layouts from the trace, from `lfs getstripe -y` output, and
//! without any layout.

use crate::common::{Builder, job, json, op, process, put, stdout, trace, trace_of_calls};
use dxt_synth::lustre::attribute as lustre;
use serde_json::Value;
use trace_format::meta::{LayoutDef, LayoutMoment, LayoutSource, stream_flags};

fn with_layout(process: &mut Builder, path: &str, moment: LayoutMoment, bytes: Vec<u8>) {
    let file = process.file(path);
    process.process.layouts.push(LayoutDef { file, moment, source: LayoutSource::Lustre, bytes });
}

#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
fn codes(found: &Value) -> Vec<&str> {
    found["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

#[test]
fn the_layout_in_the_trace_places_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    with_layout(&mut one, "/lus/a", LayoutMoment::Open, lustre(1 << 20, &[1]));
    with_layout(&mut one, "/lus/a", LayoutMoment::Close, lustre(65_536, &[7, 3]));
    // Three stripes of data start in the middle of a stripe: half a stripe on OST 7, one on 3, one on 7, half on 3.
    one.write("/lus/a", 32_768, 3 * 65_536, 1000, 7000);
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 0), vec![one]));
    let found = json(&["stripes", "--format", "json", &path], 0);
    let file = &found["files"][0];
    assert_eq!(file["layout"]["origin"], "lustre");
    assert_eq!(file["layout"]["components"][0]["osts"], serde_json::json!([7, 3]));
    for (target, ost) in file["targets"].as_array().unwrap().iter().zip([3, 7]) {
        assert_eq!((&target["ost"], &target["bytes"]), (&ost.into(), &(65_536 + 32_768).into()));
        assert_eq!(target["operations"].as_u64(), Some(1));
    }
    for (key, expected) in [("unaligned", 1), ("crossing", 1), ("crossing_needlessly", 0), ("unaligned_bytes", 196_608)]
    {
        assert_eq!(file[key], expected, "{key}");
    }
}

#[test]
fn posix_below_mpi_io_is_what_reaches_storage() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    with_layout(&mut one, "/lus/a", LayoutMoment::Close, lustre(65_536, &[0]));
    one.add("/lus/a", op::MPIIO_WRITE_ALL, 0, 5, 10, 0, 900);
    one.add("/lus/a", op::POSIX_WRITE, stream_flags::NESTED, 0, 65_536, 100, 800);
    one.add("/lus/a", op::POSIX_WRITE, stream_flags::FAILED, 0, 0, 100, 800);
    with_layout(&mut one, "/lus/b", LayoutMoment::Close, lustre(65_536, &[0]));
    one.add("/lus/b", op::MPIIO_WRITE_ALL, 0, 0, 65_536, 1000, 1900);
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 0), vec![one]));
    let found = json(&["stripes", "--format", "json", &path], 0);
    for file in found["files"].as_array().unwrap() {
        assert_eq!((&file["writes"], &file["bytes"], &file["unaligned"]), (&1.into(), &65_536.into(), &0.into()));
    }
    assert_eq!(found["files"].as_array().unwrap().len(), 2);
}

#[test]
fn crossing_alignment_and_imbalance_are_found_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    for i in 0..100_u64 {
        // Requests of 1 MiB that straddle the boundaries of 1 MiB stripes.
        one.write("/lus/odd", (i * (1 << 20) + 4096) as i64, 1 << 20, i * 1000 + 1, i * 1000 + 900);
        // Every eighth stripe is written: all are on the same one of eight targets.
        one.write("/lus/stride", (i * (8 << 20)) as i64, 1 << 20, i * 1000 + 901, i * 1000 + 999);
    }
    let path = put(folder.path(), "a.dxt", &trace_of_calls(&job("k", 0), vec![one]));
    let layout = put(folder.path(), "layout", b"* size=1M count=8\n");
    let found = json(&["stripes", "--format", "json", "--layout", &layout, &path], 0);
    assert_eq!(codes(&found), ["DXT-S002", "DXT-S004", "DXT-S001"]);
    let file =
        |name: &str| found["files"].as_array().unwrap().iter().find(|file| file["file"] == name).unwrap().clone();
    assert_eq!(file("/lus/odd")["crossing_needlessly"], 100);
    assert_eq!(file("/lus/stride")["imbalance"], 8.0);
    assert!(file("/lus/stride")["crossing"] == 0 && file("/lus/stride")["unaligned"] == 0);
    let text = stdout(&["stripes", "--layout", &layout, &path], 0);
    assert!(text.contains("H5Pset_alignment(fapl, 1048576, 1048576)") && text.contains("lfs setstripe"), "{text}");
    // So short a run has no price at the default.
    let short = put(folder.path(), "short.toml", b"least_saving_ns = 1000\n");
    let strict = ["stripes", "--format", "json", "--layout", &layout, "--fail-on", "warn", &path];
    assert_eq!(json(&strict, 0)["files"][0]["reads"], 0);
    assert_eq!(json(&[&strict[..], &["--thresholds", &short]].concat(), 4)["files"][0]["reads"], 0);
}

#[test]
fn a_guess_is_said_to_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut processes = vec![process(0, "n"), process(1, "n")];
    for (rank, process) in processes.iter_mut().enumerate() {
        (0..50_u64).for_each(|i| {
            process.write("/tmp/a", (i * 2000 + rank as u64 * 1000) as i64, 1000, i * 1000, i * 1000 + 900);
        });
    }
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 2), processes));
    let found = json(&["stripes", "--format", "json", &path], 0);
    assert_eq!(found["files"][0]["layout"]["origin"], "guess");
    assert!(found["findings"].as_array().unwrap().iter().all(|finding| finding["severity"] == "info"));
    assert!(codes(&found).contains(&"DXT-S005"));
    assert!(stdout(&["stripes", &path], 0).contains("guess"));
}

#[test]
fn writes_that_follow_one_another_share_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut processes = vec![process(0, "n"), process(1, "n")];
    for (rank, process) in processes.iter_mut().enumerate() {
        let start = rank as u64 * 1_000_000;
        process.write("/tmp/a", rank as i64 * 100, 100, start + 1, start + 900_000);
    }
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 2), processes));
    let found = json(&["stripes", "--format", "json", &path], 0);
    let sharing = &found["files"][0]["sharing"];
    assert_eq!((&sharing["contested_stripes"], &sharing["shared_stripes"]), (&1.into(), &0.into()));
}

#[test]
fn lfs_text_is_a_layout() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    one.write("/lus/pfl", 0, 4096, 1, 2).write("/lus/pfl", 1 << 20, 4 << 20, 3, 4).write("/lus/pfl", 1 << 30, 1, 5, 6);
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 0), vec![one]));
    let layout = put(
        folder.path(),
        "layout.yaml",
        b"/lus/pfl
  lcm_layout_gen:    3
  lcm_entry_count:   3
  component0:
    lcme_flags:          init
    lcme_extent.e_start: 0
    lcme_extent.e_end:   1048576
    sub_layout:
      lmm_stripe_count:  0
      lmm_stripe_size:   1048576
      lmm_pattern:       mdt
  component1:
    lcme_flags:          init
    lcme_extent.e_start: 1048576
    lcme_extent.e_end:   1073741824
    sub_layout:
      lmm_stripe_count:  2
      lmm_stripe_size:   1048576
      lmm_pattern:       raid0
      lmm_objects:
      - 0: { l_ost_idx: 5, l_fid: [0x100000005:0x1:0x0] }
      - 1: { l_ost_idx: 8, l_fid: [0x100000008:0x1:0x0] }
  component2:
    lcme_flags:          0
    lcme_extent.e_start: 1073741824
    lcme_extent.e_end:   EOF
    sub_layout:
      lmm_stripe_count:  -1
      lmm_stripe_size:   1048576
      lmm_pattern:       raid0
",
    );
    let found = json(&["stripes", "--format", "json", "--layout", &layout, &path], 0);
    let file = &found["files"][0];
    assert_eq!((&file["on_metadata"], &file["not_placed"], &file["crossing"]), (&1.into(), &1.into(), &1.into()));
    let bytes: Vec<u64> = file["targets"].as_array().unwrap().iter().map(|t| t["bytes"].as_u64().unwrap()).collect();
    assert_eq!(bytes, [2 << 20, 2 << 20]);
}

#[test]
fn what_misalignment_costs_is_estimated_from_operations_of_like_size() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    for i in 0..90_u64 {
        // Aligned requests of 64 KiB take 100 µs, unaligned ones, which follow them, 150 µs.
        let (shift, takes) = if i < 60 { (0, 100_000) } else { (512, 150_000) };
        one.write("/lus/a", (i * 65_536 + shift) as i64, 65_536, i * 400_000 + 1, i * 400_000 + 1 + takes);
    }
    let path = put(folder.path(), "a.dxt", &trace_of_calls(&job("k", 0), vec![one]));
    let layout = put(folder.path(), "layout", b"* size=64K count=4");
    // So short a run has no price at the default.
    let short = put(folder.path(), "short.toml", b"least_saving_ns = 1000\n");
    let found = json(&["stripes", "--format", "json", "--layout", &layout, "--thresholds", &short, &path], 0);
    let part = &found["files"][0]["alignment_cost"][0];
    assert_eq!((&part["op"], &part["aligned"], &part["unaligned"]), (&"write".into(), &60.into(), &30.into()));
    assert_eq!((&part["aligned_mean_ns"], &part["unaligned_mean_ns"]), (&100_000.into(), &150_000.into()));
    assert_eq!(part["cost_ns"], 30 * 50_000);
    let finding = found["findings"].as_array().unwrap().iter().find(|f| f["code"] == "DXT-S001").unwrap();
    // The excess is 1.5 ms of 36 ms; as a part of the calls' time, it is rounded down.
    assert_eq!((&finding["cost_ns"], &finding["severity"]), (&1_499_999.into(), &"warn".into()));
    let text = stdout(&["stripes", "--layout", &layout, &path], 0);
    assert!(text.contains("the cost is an estimate"), "{text}");
}

#[test]
fn targets_that_are_used_in_turn_are_seen_over_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = process(0, "n");
    // Stripes are written one after another, 1 s each, so in total all targets get equal amounts.
    for i in 0..8_u64 {
        one.write("/lus/a", (i * 65_536) as i64, 65_536, i * 1_000_000_000, (i + 1) * 1_000_000_000);
    }
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 0), vec![one]));
    let layout = put(folder.path(), "layout", b"* size=64K osts=5,6,7,8");
    let found = json(&["stripes", "--format", "json", "--layout", &layout, &path], 0);
    assert_eq!(found["files"][0]["imbalance"], 1.0);
    let load = &found["ost_load"];
    assert_eq!(
        (&load["start_ns"], &load["bin_ns"], &load["known_targets"]),
        (&0.into(), &40_000_000.into(), &4.into())
    );
    assert_eq!(load["parallelism"], 1.0);
    for (number, target) in load["targets"].as_array().unwrap().iter().enumerate() {
        assert_eq!(target["ost"], 5 + number);
        for (bin, (bytes, time)) in
            target["bytes"].as_array().unwrap().iter().zip(target["time_ns"].as_array().unwrap()).enumerate()
        {
            let is_its_second = bin / 25 % 4 == number;
            assert_eq!(time, if is_its_second { 40_000_000 } else { 0 }, "{bin}");
            assert_eq!(bytes.as_u64().unwrap() > 0, is_its_second, "{bin}");
        }
        let sum: u64 = target["bytes"].as_array().unwrap().iter().map(|bytes| bytes.as_u64().unwrap()).sum();
        assert_eq!(sum, 2 * 65_536);
    }
    let moments = load["moments"].as_array().unwrap();
    assert!(moments.len() == 200 && moments.iter().all(|moment| moment["busiest_to_mean"] == 4.0));
    let csv = stdout(&["stripes", "--layout", &layout, "--format", "csv", "--table", "moments", &path], 0);
    assert_eq!(csv.lines().count(), 201);
}
