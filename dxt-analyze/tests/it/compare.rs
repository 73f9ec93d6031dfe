//! Tests of `compare` on two runs: equal runs yield no finding, and an injected difference is found with its size.

use crate::common::facts::{assert_found, assert_says};
use crate::common::{job, json, op, process, put, stdout, trace};
use serde_json::{Value, json};

fn synthetic(folder: &tempfile::TempDir, name: &str, args: &[&str]) -> String {
    let path = folder.path().join(name).to_str().expect("text").to_owned();
    dxt_synth::run(["dxt-synth"].iter().chain(args).chain(&["-o", &path])).expect("a trace");
    path
}

fn codes(found: &Value) -> Vec<&str> {
    found["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|finding| finding["code"].as_str().expect("a code"))
        .collect()
}

fn compare(one: &str, two: &str) -> Value {
    json(&["compare", "--format", "json", one, two], 0)
}

#[test]
fn equal_runs_yield_no_findings_whatever_the_seed() {
    let folder = tempfile::tempdir().unwrap();
    let patterns: [&[&str]; 4] = [
        &["ior-shared", "-n", "64", "--segments", "32"],
        &["ior-strided", "-n", "32", "--layer", "mpiio", "--jitter", "0.6"],
        &["file-per-process", "-n", "40", "--op", "read", "--jitter", "0.4"],
        &["hacc", "-n", "16"],
    ];
    for (number, pattern) in patterns.iter().enumerate() {
        for seed in 1..6 {
            let of = |seed: u32| {
                let seed = seed.to_string();
                let args: Vec<&str> = pattern.iter().copied().chain(["--seed", &seed]).collect();
                synthetic(&folder, &format!("{number}-{seed}.dxt"), &args)
            };
            let found = compare(&of(2 * seed), &of(2 * seed + 1));
            assert_eq!(codes(&found), Vec::<&str>::new(), "{pattern:?}, seed {seed}: {}", found["findings"]);
        }
    }
}

#[test]
fn an_operation_that_is_slower_by_a_third_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let args = |bandwidth, seed| {
        ["ior-shared", "-n", "16", "--segments", "16", "--latency", "0", "--bandwidth", bandwidth, "--seed", seed]
    };
    let one = synthetic(&folder, "a.dxt", &args("1.3e9", "1"));
    let two = synthetic(&folder, "b.dxt", &args("1.0e9", "2"));
    let found = compare(&one, &two);
    assert_eq!(codes(&found), ["DXT-D001"]);
    let write = found["operations"].as_array().unwrap().iter().find(|row| row["op"] == "write").unwrap();
    assert_eq!(write["verdict"], "slower");
    for test in ["calls", "ranks"] {
        assert!((write[test]["slower"].as_f64().unwrap() - 1.3).abs() < 0.05, "{write}");
        assert!(write[test]["q"].as_f64().unwrap() < 0.001);
    }
    // The cost is the time in excess of the matching calls before.
    let time = |side: &str| write[side]["time_ns"].as_i64().unwrap();
    assert_eq!(write["extra_ns"].as_i64().unwrap(), time("after") - time("before"));
    // In reverse order, the second run is faster, which is no finding.
    let back = compare(&two, &one);
    assert_eq!(codes(&back), Vec::<&str>::new());
    let write = back["operations"].as_array().unwrap().iter().find(|row| row["op"] == "write").unwrap().clone();
    assert_eq!(write["verdict"], "faster");
    stdout(&["compare", "--fail-on", "warn", &one, &two], 4);
    stdout(&["compare", "--fail-on", "info", &two, &one], 0);
}

#[test]
fn one_slow_rank_is_named_and_does_not_make_the_operation_slow() {
    let folder = tempfile::tempdir().unwrap();
    let args = |slow: &'static [&'static str]| [&["ior-shared", "-n", "32", "--segments", "32"], slow].concat();
    let one = synthetic(&folder, "a.dxt", &args(&["--seed", "1"]));
    let two = synthetic(&folder, "b.dxt", &args(&["--seed", "2", "--slow-rank", "7:2"]));
    let found = compare(&one, &two);
    assert_eq!(codes(&found), ["DXT-D008"]);
    assert_found(&found, "DXT-D008", &json!({ "rank": 7 }));
    let worst = &found["ranks"]["rows"][0];
    assert_eq!((&worst["unit"], &worst["outlier"]), (&"7".into(), &true.into()));
    assert!((worst["slower"].as_f64().unwrap() - 2.0).abs() < 0.1);
}

#[test]
fn layouts_ranks_and_growth() {
    let folder = tempfile::tempdir().unwrap();
    let one = synthetic(&folder, "a.dxt", &["ior-shared", "-n", "16", "--segments", "16"]);
    let wide = synthetic(&folder, "b.dxt", &["ior-shared", "-n", "16", "--segments", "16", "--stripe-count", "4"]);
    let found = compare(&one, &wide);
    assert!(codes(&found).contains(&"DXT-D005"), "{:?}", codes(&found));
    let changed = &found["layouts"][0];
    assert_eq!((&changed["before"], &changed["after"]), (&"1M x 8".into(), &"1M x 4".into()));
    // With twice the ranks and equal work per rank, nothing grows per rank.
    let more = synthetic(&folder, "c.dxt", &["ior-shared", "-n", "32", "--segments", "16"]);
    assert_eq!(codes(&compare(&one, &more)), ["DXT-D007"]);
    let longer = synthetic(&folder, "d.dxt", &["ior-shared", "-n", "16", "--segments", "20"]);
    let found = compare(&one, &longer);
    assert_eq!(codes(&found), ["DXT-D002", "DXT-D003"]);
    assert_found(&found, "DXT-D002", &json!({ "operation": "POSIX write" }));
    let write = found["operations"].as_array().unwrap().iter().find(|row| row["op"] == "write").unwrap();
    assert_eq!((&write["before"]["calls"], &write["after"]["calls"]), (&256.into(), &320.into()));
    // If both ranks and work grow, the numbers per rank are means, not totals.
    let both = synthetic(&folder, "e.dxt", &["ior-shared", "-n", "32", "--segments", "20"]);
    let found = compare(&one, &both);
    let more = assert_found(&found, "DXT-D002", &json!({ "operation": "POSIX write" }));
    assert_says(more, &["16 before", "20 now"]);
}

#[test]
fn files_match_by_folder_and_by_numbers_and_new_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let build = |job_id: &str, extra: &str| {
        let processes = (0..2).map(|rank| {
            let mut one = process(rank, "n");
            one.write(&format!("/scratch/{job_id}/mesh.h5"), 0, 4096, 1000, 2000);
            one.write(&format!("/scratch/{job_id}/out.{job_id}.{rank}"), 0, 8192, 3000, 4000);
            one.write(extra, 0, 100, 5000, 6000);
            one
        });
        put(folder.path(), &format!("{job_id}.dxt"), &trace(&job(job_id, 2), processes.collect()))
    };
    let found = compare(&build("4711", "/tmp/x/old"), &build("4712", "/tmp/y/other"));
    assert_eq!(codes(&found), ["DXT-D004"]);
    let rows = found["files"]["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["unit"] == name).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(row("/scratch/4711/mesh.h5")["other"], "/scratch/4712/mesh.h5");
    assert_eq!(row("/scratch/4711/out.4711.1")["other"], "/scratch/4712/out.4712.1");
    assert_eq!(row("/scratch/4711/out.4711.1")["after"]["bytes"], 8192);
    assert_eq!((&row("/tmp/y/other")["before"], &row("/tmp/x/old")["after"]), (&Value::Null, &Value::Null));
}

#[test]
fn longer_requests_are_compared_by_bandwidth() {
    let folder = tempfile::tempdir().unwrap();
    let build = |name: &str, length: u64, ns: u64| {
        let processes = (0..10).map(|rank| {
            let mut one = process(rank, "n");
            (0..20_u64).for_each(|i| {
                let took = ns + (i * 7 + rank as u64) % 13;
                one.add("/f", op::POSIX_READ, 0, (i * length) as i64, length, i * 100_000, i * 100_000 + took);
            });
            one
        });
        put(folder.path(), name, &trace(&job(name, 10), processes.collect()))
    };
    // Requests twice as large that take twice as long are not slower; at four times the duration, bandwidth is half.
    let one = build("a.dxt", 1000, 5000);
    let read = |found: &Value| found["operations"][0].clone();
    let same = read(&compare(&one, &build("b.dxt", 2000, 10_000)));
    assert_eq!((&same["metric"], &same["verdict"]), (&"bandwidth".into(), &"same".into()));
    let slow = read(&compare(&one, &build("c.dxt", 2000, 20_000)));
    assert_eq!(slow["verdict"], "slower");
    assert!((slow["calls"]["slower"].as_f64().unwrap() - 2.0).abs() < 0.01);
}

#[test]
fn forms_and_errors() {
    let folder = tempfile::tempdir().unwrap();
    let one = synthetic(&folder, "a.dxt", &["ior-shared", "-n", "4"]);
    let csv = stdout(&["compare", "--format", "csv", "--table", "files", &one, &one], 0);
    assert!(csv.starts_with("file,matched_by,file_after,calls_before,bytes_before,time_before_s"), "{csv}");
    assert!(stdout(&["compare", &one, &one], 0).contains("No findings."));
    stdout(&["compare", &one, "/nowhere"], 1);
    stdout(&["compare", &one], 2);
}

#[test]
fn what_is_chosen_may_be_in_one_of_the_runs_only() {
    let folder = tempfile::tempdir().unwrap();
    let posix = synthetic(&folder, "posix.dxt", &["ior-strided", "-n", "4"]);
    let mpiio = synthetic(&folder, "mpiio.dxt", &["ior-strided", "-n", "4", "--layer", "mpiio"]);
    for (one, two, side) in [(&posix, &mpiio, "calls_after"), (&mpiio, &posix, "calls_before")] {
        let table = stdout(&["compare", "--layer", "mpiio", "--format", "csv", "--table", "operations", one, two], 0);
        let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<&str>>());
        let column = lines.next().unwrap().iter().position(|name| *name == side).unwrap();
        assert!(lines.any(|line| line[column] != "0"), "{table}");
    }
    let neither = crate::common::run(&["compare", "--layer", "hdf5", &posix, &mpiio]);
    let error = String::from_utf8_lossy(&neither.stderr);
    assert!(neither.status.code() == Some(2) && error.contains("the calls are of POSIX"), "{error}");
}

/// Writes a run of two ranks that make eight writes of 64 KiB each, in `ns` ns per write. `shared`: to one shared file instead of own
/// files. `mpiio`: through MPI-IO instead of POSIX.
fn way(folder: &tempfile::TempDir, name: &str, shared: bool, mpiio: bool, ns: u64) -> String {
    let ranks = (0..2_i32).map(|rank| {
        let mut one = process(rank, "a");
        let file = if shared { "/s/all".to_owned() } else { format!("/s/data.{rank}") };
        for call in 0..8_u64 {
            let start = 1000 + call * (ns + 1000);
            let from = if shared { rank as u64 * 8 + call } else { call } * 65536;
            if mpiio {
                one.add(
                    &file,
                    op::POSIX_WRITE,
                    trace_format::meta::stream_flags::NESTED,
                    from as i64,
                    65536,
                    start + 100,
                    start + ns - 100,
                );
                one.add(&file, op::MPIIO_WRITE_ALL, 0, from as i64, 65536, start, start + ns);
            } else {
                one.write(&file, from as i64, 65536, start, start + ns);
            }
        }
        one.process.info.end_ns = 10_000_000 + ns * 8;
        one
    });
    put(folder.path(), name, &trace(&job(name, 2), ranks.collect()))
}

#[test]
fn another_interface_is_one_finding_and_files_of_ranks_are_one_data_set() {
    let folder = tempfile::tempdir().unwrap();
    let (posix, mpiio) = (way(&folder, "a.dxt", false, false, 1_000_000), way(&folder, "b.dxt", true, true, 1_010_000));
    let found = compare(&posix, &mpiio);
    assert_eq!(codes(&found), ["DXT-D010"], "{}", found["findings"]);
    assert_eq!(found["findings"][0]["severity"], "info");
    let write = &found["job"]["directions"][0];
    assert_eq!((&write["before"]["interface"], &write["after"]["interface"]), (&"POSIX".into(), &"MPI-IO".into()));
    assert_eq!(write["before"]["time_ns"], 16e6);
    assert_eq!(write["after"]["inside"], json!([["POSIX", 16.0 * 1_009_800.0]]));
    let text = stdout(&["compare", &posix, &mpiio], 0);
    // The slowest rank moves 2 x 512 KiB in 8 ms before and in 8.08 ms after.
    assert!(
        text.contains("write: POSIX 16.0 ms, 125 MiB/s before, MPI-IO 16.2 ms, of which POSIX 16.2 ms, 124 MiB/s now; bandwidth -1.0 %"),
        "{text}"
    );
    let files = found["files"]["rows"].as_array().unwrap();
    assert_eq!((files.len(), &files[0]["matched_by"]), (1, &"data set".into()));
    assert_eq!(files[0]["unit"], "/s/data.0 and 1 more");
    assert!(compare(&posix, &way(&folder, "c.dxt", true, true, 3_000_000))["findings"][0]["severity"] != "info");
}

#[test]
fn repeats_tell_a_change_from_their_own_scatter() {
    let folder = tempfile::tempdir().unwrap();
    let runs = |name: &str, times: [u64; 3]| times.map(|ns| way(&folder, &format!("{name}{ns}.dxt"), true, false, ns));
    let of = |one: &[String; 3], two: &[String; 3]| {
        let words: Vec<&str> =
            ["compare", "--format", "json"].into_iter().chain(one.iter().map(String::as_str)).collect();
        let behind: Vec<&str> = ["--"].into_iter().chain(two.iter().map(String::as_str)).collect();
        json(&[words, behind].concat(), 0)
    };
    let number = |found: &Value, name: &str| {
        let all = found["job"]["numbers"].as_array().unwrap();
        all.iter().find(|row| row["measure"] == name).unwrap().clone()
    };
    let before = runs("a", [5_000_000, 5_100_000, 4_900_000]);
    let slower = of(&before, &runs("b", [9_000_000, 9_100_000, 8_900_000]));
    let row = number(&slower, "run_time_ns");
    assert_eq!((&row["beyond_scatter"], row["before"]["runs"].as_u64()), (&true.into(), Some(3)), "{row}");
    assert_eq!((row["before"]["mean"].as_f64(), row["before"]["most"].as_f64()), (Some(50e6), Some(50.8e6)));
    assert!(codes(&slower).contains(&"DXT-D011"), "{:?}", codes(&slower));
    assert!(slower["detailed"][0].as_str().unwrap().ends_with("a5000000.dxt"));
    // The means differ as much, but repeats scatter as much as well.
    let noisy = of(&runs("c", [5_000_000, 9_000_000, 2_000_000]), &runs("d", [6_000_000, 10_000_000, 3_000_000]));
    assert_eq!(number(&noisy, "run_time_ns")["beyond_scatter"], false);
    assert!(!codes(&noisy).contains(&"DXT-D011"));
    // Without repeats, scatter is unknown; and the arguments must separate before from after.
    assert_eq!(number(&compare(&before[0], &before[1]), "run_time_ns")["beyond_scatter"], Value::Null);
    for words in [vec!["compare", &before[0]], vec!["compare", &before[0], &before[1], &before[2]]] {
        stdout(&words, 2);
    }
}

#[test]
fn a_page_lays_two_runs_over_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html").to_str().unwrap().to_owned();
    let (one, two) = (way(&folder, "a.dxt", true, false, 1_000_000), way(&folder, "b.dxt", true, false, 2_000_000));
    stdout(&["compare", "-o", &page, &one, &two], 0);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("Both runs overlaid") && text.contains("<svg"), "{}", text.len());
}
