//! Tests of `stripes --what-if` and `--recommend`: the same accesses on other stripe layouts, compared with results that the tests calculate.

use crate::common::{Builder, job, json, op, process, put, run, stdout, trace};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const MIB: u64 = 1 << 20;
/// Head of a recommendation in the text output.
const RECOMMENDED: &str = "Recommended";

#[expect(clippy::unwrap_used, reason = "a failure here is the test's")]
fn trial(found: &Value, size: u64, count: u64) -> Value {
    let trials = found["what_if"][0]["trials"].as_array().unwrap();
    let wanted =
        |trial: &&Value| trial["stripe_size"] == size && trial["stripe_count"] == count && trial["kind"] != "today";
    trials.iter().find(wanted).unwrap().clone()
}

/// Encodes a trace of `ranks` processes that together read the first 4 MiB of every 16 MiB of a file. In each step, every process reads one
/// such piece, all at the same time.
fn strided(ranks: u64, reads: u64) -> Vec<u8> {
    let processes = (0..ranks).map(|rank| {
        let mut one = process(rank as i32, &format!("n{rank}"));
        for step in 0..reads {
            let number = step * ranks + rank;
            let start = 1000 + step * 1_000_000;
            one.add("/lus/a", op::POSIX_READ, 0, (number * 16 * MIB) as i64, 4 * MIB, start, start + 900_000);
        }
        one
    });
    trace(&job("k", ranks as u32), processes.collect())
}

/// Yin et al. (IOSIG, Figure 2): four servers handle reads of 4 MiB of every 16 MiB well or badly, depending on the stripe size.
#[test]
fn a_stride_meets_one_two_or_four_of_four_servers() {
    let folder = tempfile::tempdir().unwrap();
    let layout = put(folder.path(), "layout", b"* size=4M count=4");
    for (ranks, reads) in [(1, 640), (8, 320)] {
        let path = put(folder.path(), "a.dxt", &strided(ranks, reads));
        let mut args = vec!["stripes", "--format", "json", "--layout", &layout, &path];
        for size in ["1M", "4M", "8M", "16M"] {
            args.extend(["--what-if", Box::leak(format!("size={size},count=4").into_boxed_str())]);
        }
        let found = json(&args, 0);
        let mut costs = Vec::new();
        // Columns: stripe size in MiB, servers per read, servers in total, ratio of the busiest to the mean.
        for (size, per_read, used, to_mean) in [(1, 4.0, 4, 1.0), (4, 1.0, 1, 4.0), (8, 1.0, 2, 2.0), (16, 1.0, 4, 1.0)]
        {
            let trial = trial(&found, size * MIB, 4);
            assert_eq!(trial["osts_per_operation"], per_read, "{size}");
            assert_eq!((&trial["osts_used"], &trial["busiest_to_mean"]), (&used.into(), &to_mean.into()), "{size}");
            let parallel = trial["parallelism"].as_f64().unwrap();
            assert!(parallel <= f64::from(used) && parallel >= 0.7 * f64::from(used), "{size}: {parallel}");
            assert_eq!(trial["operations"].as_u64(), Some(ranks * reads));
            costs.push(trial["cost_bytes"].as_u64().unwrap());
        }
        let [one, four, eight, sixteen] = costs[..] else { panic!("{costs:?}") };
        assert!(four >= eight && eight >= sixteen, "{costs:?}");
        if ranks == 1 {
            // A single reader waits for each read: only small stripes make four servers work on it.
            assert!(one < sixteen, "{costs:?}");
        } else {
            // Eight readers keep four servers busy anyway, and 4 MiB from one server are fewer requests.
            assert!(four > eight && eight > sixteen && sixteen < one && one < four, "{costs:?}");
        }
        // The current layout is among the trials, with the numbers that it has as a requested layout.
        let (mut today, mut asked) = (found["what_if"][0]["trials"][0].clone(), trial(&found, 4 * MIB, 4));
        (today["kind"], asked["kind"]) = (Value::Null, Value::Null);
        assert_eq!(today, asked);
    }
}

/// Returns eight processes on three nodes with random writes, and the list of these writes (rank, offset, length).
fn scattered() -> (Vec<Builder>, Vec<(u32, u64, u64)>) {
    let (mut state, mut all) = (1_u64, Vec::new());
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let processes = (0..8_u32).map(|rank| {
        let mut one = process(rank as i32, &format!("n{}", rank % 3));
        for step in 0..20 {
            let granule = [1, 65_536][random(2) as usize];
            let (offset, length) = (random(1 << 20) / granule * granule, 1 + random(100_000));
            let length = length.div_ceil(granule) * granule;
            one.write("/lus/a", offset as i64, length, 1000 * step, 1000 * step + 500);
            all.push((rank, offset, length));
        }
        one
    });
    (processes.collect(), all)
}

#[test]
fn the_numbers_are_those_of_counting_byte_by_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (processes, writes) = scattered();
    let path = put(folder.path(), "a.dxt", &trace(&job("k", 8), processes));
    let layout = put(folder.path(), "layout", b"* size=100000 osts=4,7,4");
    let found = json(
        &[
            "stripes",
            "--format",
            "json",
            "--layout",
            &layout,
            "--what-if",
            "size=64K,count=3",
            "--what-if",
            "size=256K,osts=9,2",
            &path,
        ],
        0,
    );
    let today = found["what_if"][0]["trials"][0].clone();
    let cases = [
        (today, 100_000, vec![4, 7, 4]),
        (trial(&found, 65_536, 3), 65_536, vec![0, 1, 2]),
        (trial(&found, 262_144, 2), 262_144, vec![9, 2]),
    ];
    for (reported, size, osts) in cases {
        let (mut unaligned, mut crossing, mut touched) = (0_u64, 0_u64, 0_u64);
        let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
        let mut writers: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for &(rank, offset, length) in &writes {
            let mut of_stripe: BTreeMap<u64, u64> = BTreeMap::new();
            let mut targets = BTreeSet::new();
            for byte in offset..offset + length {
                *of_stripe.entry(byte / size).or_default() += 1;
                let ost = osts[(byte / size % osts.len() as u64) as usize];
                *bytes.entry(ost).or_default() += 1;
                targets.insert(ost);
            }
            touched += targets.len() as u64;
            crossing += u64::from(of_stripe.len() > 1);
            let parts: Vec<u64> =
                of_stripe.iter().filter(|(_, bytes)| **bytes < size).map(|(stripe, _)| *stripe).collect();
            unaligned += u64::from(!parts.is_empty());
            parts.into_iter().for_each(|stripe| writers.entry(stripe).or_default().push(rank));
        }
        let several = |of: fn(u32) -> u32| {
            writers.values().filter(move |ranks| ranks.iter().map(|rank| of(*rank)).collect::<BTreeSet<_>>().len() > 1)
        };
        let number = |key: &str| reported[key].as_u64().unwrap();
        assert_eq!(
            (number("operations"), number("unaligned"), number("crossing")),
            (160, unaligned, crossing),
            "{size}"
        );
        assert_eq!(number("contested_stripes"), several(|rank| rank).count() as u64, "{size}");
        assert_eq!(number("contested_between_nodes"), several(|rank| rank % 3).count() as u64, "{size}");
        let to_them: usize = several(|rank| rank % 3).map(Vec::len).sum();
        assert_eq!(number("writes_contested_between_nodes"), to_them as u64, "{size}");
        assert_eq!(reported["osts_per_operation"], touched as f64 / 160.0, "{size}");
        let (most, sum) = (*bytes.values().max().unwrap() as f64, bytes.values().sum::<u64>() as f64);
        let ratio = reported["busiest_to_mean"].as_f64().unwrap();
        assert!((ratio - most * bytes.len() as f64 / sum).abs() < 1e-9, "{size}: {ratio}");
    }
}

/// 1,024 ranks on 64 nodes write alternating blocks of 4 MiB of a file, so 4 MiB is the best stripe size. Smaller stripes cost requests,
/// and larger ones are shared by ranks.
#[test]
fn the_stripe_size_of_the_request_is_recommended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.dxt");
    let path = path.to_str().unwrap();
    let args =
        ["dxt-synth", "ior-strided", "-n", "1024", "--segments", "8", "--transfer", "4M", "--stripe-size", "64K"];
    dxt_synth::run(args.into_iter().chain(["--stripe-count", "16", "-o", path])).unwrap();
    let found = json(&["stripes", "--format", "json", "--recommend", path], 0);
    let file = &found["what_if"][0];
    let best = &file["trials"][file["recommended"].as_u64().unwrap() as usize];
    assert_eq!((&best["stripe_size"], &best["stripe_count"]), (&(4 * MIB).into(), &16.into()));
    assert_eq!((&best["unaligned"], &best["contested_stripes"]), (&0.into(), &0.into()));
    assert!(file["how"][0].as_str().unwrap().starts_with("lfs setstripe -S 4M -c 16 "), "{}", file["how"]);
    // Larger stripes would be shared by ranks; stripes of 128 MiB and more also by nodes, of 16 ranks each.
    assert!(trial(&found, 16 * MIB, 16)["contested_stripes"].as_u64().unwrap() > 0);
    assert_eq!(trial(&found, 64 * MIB, 16)["contested_between_nodes"], 0);
    assert!(trial(&found, 128 * MIB, 16)["contested_between_nodes"].as_u64().unwrap() > 0);
    // The result does not depend on the number of threads.
    let one = json(&["--threads", "1", "stripes", "--format", "json", "--recommend", path], 0);
    assert_eq!(one["what_if"], found["what_if"]);
    assert_eq!(one["ost_load"], found["ost_load"]);
    let text = stdout(&["stripes", "--recommend", path], 0);
    assert!(text.contains(RECOMMENDED) && text.contains("lfs setstripe -S 4M -c 16"), "{text}");
    // A good layout gets no recommendation.
    let args = ["dxt-synth", "ior-strided", "-n", "64", "--segments", "8", "--transfer", "4M", "--stripe-size", "4M"];
    dxt_synth::run(args.into_iter().chain(["--stripe-count", "16", "-o", path])).unwrap();
    let found = json(&["stripes", "--format", "json", "--recommend", path], 0);
    assert!(found["what_if"][0]["recommended"].is_null());
}

#[test]
fn a_guess_is_nothing_to_compare_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &strided(2, 50));
    let found = json(&["stripes", "--format", "json", "--recommend", "--what-if", "size=1M,count=4", &path], 0);
    let file = &found["what_if"][0];
    assert!(file["is_guess"] == true && file["recommended"].is_null());
    assert_eq!(trial(&found, MIB, 4)["osts_per_operation"], 4.0);
    let text = stdout(&["stripes", "--recommend", &path], 0);
    assert!(text.contains("not known") && !text.contains(RECOMMENDED), "{text}");
}

#[test]
fn a_layout_that_makes_no_sense_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &strided(1, 2));
    for wrong in ["size=1M", "count=4", "size=0,count=1", "size=8G,count=1", "16M"] {
        let output = run(&["stripes", "--what-if", wrong, &path]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("--what-if"), "{wrong}");
    }
}
