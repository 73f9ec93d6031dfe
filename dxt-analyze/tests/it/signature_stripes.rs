//! Tests of recommended stripe sizes and counts for each phase of a file: results of `signatures` agree with those of `stripes` for the
//! phase's time range.

use crate::common::{Builder, job, json, op, process, put, stdout, trace};
use dxt_synth::lustre::attribute;
use serde_json::Value;
use trace_format::meta::{LayoutDef, LayoutMoment, LayoutSource};

const FILE: &str = "/lustre/shared";
const MS: u64 = 1_000_000;
const SIZES: [u64; 4] = [1 << 10, 4 << 10, 64 << 10, 1 << 20];

/// Returns the paper's experiment: four phases with requests of 1, 4, 64 KiB and 1 MiB on separate data, 1 s apart, in which 4 ranks alternate.
fn phases(stripe_bytes: u32, osts: &[u32]) -> Vec<Builder> {
    let rank = |rank: u64| {
        let mut one = process(rank as i32, &format!("n{rank}"));
        let mut at = MS;
        for (phase, size) in SIZES.into_iter().enumerate() {
            for k in 0..64 {
                let offset = ((phase as u64) << 30) + (k * 4 + rank) * size;
                one.add(FILE, op::POSIX_WRITE, 0, offset as i64, size, at, at + MS);
                at += 2 * MS;
            }
            at += 1000 * MS;
        }
        if !osts.is_empty() {
            let (file, bytes) = (one.file(FILE), attribute(stripe_bytes, osts));
            let (moment, source) = (LayoutMoment::Open, LayoutSource::Lustre);
            one.process.layouts.push(LayoutDef { file, moment, source, bytes });
        }
        one
    };
    (0..4).map(rank).collect()
}

fn rows(found: &Value) -> Vec<&Value> {
    let mut rows: Vec<&Value> = found["advice"]["stripes"].as_array().unwrap().iter().collect();
    rows.sort_by_key(|row| row["start_ns"].as_u64());
    rows
}

#[test]
fn each_phase_has_what_a_replay_of_its_time_finds() {
    let folder = tempfile::tempdir().unwrap();
    let mut far = 0;
    for (stripe_bytes, osts) in [(64 << 10, &[3, 5, 7, 9][..]), (1 << 20, &[3, 5, 7, 9]), (1 << 20, &[3])] {
        let path = put(folder.path(), "a.dxt", &trace(&job("stripes", 4), phases(stripe_bytes, osts)));
        let found = json(&["signatures", "--format", "json", &path], 0);
        let rows = rows(&found);
        assert_eq!(rows.iter().map(|row| row["request_bytes"].as_u64().unwrap()).collect::<Vec<_>>(), SIZES);
        for row in rows {
            let at = |name: &str| row[name].as_u64().unwrap() as f64 / 1e9;
            let time = format!("{:.4}:{:.4}", at("start_ns") - 0.0005, at("last_start_ns") + 0.0005);
            let expected = json(&["stripes", "--recommend", "--time", &time, "--format", "json", &path], 0);
            let file = &expected["what_if"][0];
            let trials = file["trials"].as_array().unwrap();
            let (replayed, today) = (&row["replayed"], &trials[0]);
            assert_eq!(replayed["operations"], today["operations"], "{time}");
            assert_eq!(replayed["operations"], 256);
            let of =
                |trial: &Value| [&trial["stripe_size"], &trial["stripe_count"]].map(|number| number.as_u64().unwrap());
            let mine = ["stripe_bytes", "stripe_count"].map(|name| replayed[name].as_u64().unwrap());
            let same = trials.iter().skip(1).find(|trial| of(trial) == mine).unwrap();
            let share = same["cost_bytes"].as_f64().unwrap() / today["cost_bytes"].as_f64().unwrap();
            assert_eq!(replayed["costs_of_today"].as_f64(), Some(share), "{time}");
            assert_eq!(replayed["is_better"], !file["recommended"].is_null());
            let model = row["lustre_bytes"].as_u64().unwrap();
            let is_near = model.max(mine[0]) <= 4 * model.min(mine[0]);
            assert_eq!(replayed["why_apart"] == "", is_near, "{row:#}");
            far += usize::from(!is_near);
            if let Some(recommended) = file["recommended"].as_u64() {
                assert_eq!(of(&trials[usize::try_from(recommended).unwrap()]), mine, "{time}");
            }
        }
    }
    assert!(far > 0, "model and replay never differ by more than 4 times");
}

#[test]
fn what_a_replay_does_not_agree_with_is_no_finding() {
    let folder = tempfile::tempdir().unwrap();
    for (stripe_bytes, osts) in [(64 << 10, &[3, 5, 7, 9][..]), (1 << 20, &[3])] {
        let path = put(folder.path(), "a.dxt", &trace(&job("stripes", 4), phases(stripe_bytes, osts)));
        let found = json(&["signatures", "--format", "json", &path], 0);
        let worth = |row: &&&Value| {
            row["costs_times"].as_f64().is_some_and(|times| times >= 1.5) && row["replayed"]["is_better"] == true
        };
        let rows = rows(&found);
        let findings = found["findings"].as_array().unwrap().iter().filter(|one| one["code"] == "DXT-I002");
        let found: Vec<&Value> = findings.collect();
        assert_eq!(found.len(), rows.iter().filter(worth).count().min(3), "{found:#?}");
        for finding in found {
            let hint = finding["hint"].as_str().unwrap();
            assert!(hint.contains("lfs setstripe -") && hint.contains(" -c "), "{hint}");
        }
    }
}

/// A layout given as a file leads to the same advice as that layout in the trace.
#[test]
fn layouts_come_from_the_trace_or_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let traced = put(folder.path(), "a.dxt", &trace(&job("stripes", 4), phases(1 << 20, &[0, 1, 2, 3])));
    let without = put(folder.path(), "b.dxt", &trace(&job("stripes", 4), phases(1 << 20, &[])));
    let layout = put(folder.path(), "layouts", b"/lustre/* size=1M count=4\n");
    let advice = |found: Value| found["advice"]["stripes"].clone();
    let expected = advice(json(&["signatures", "--format", "json", &traced], 0));
    assert_eq!(advice(json(&["signatures", "--format", "json", "--layout", &layout, &without], 0)), expected);
    assert_eq!(advice(json(&["signatures", "--format", "json", &without], 0)), Value::Array(Vec::new()));
    stdout(&["signatures", "--layout", &folder.path().join("none").to_string_lossy(), &without], 1);
}

/// Each phase uses its own file range, one after another. The recommended component of each phase ends on a stripe boundary, before the
/// next phase's first byte.
#[test]
fn parts_of_a_file_have_stripes_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace(&job("stripes", 4), phases(1 << 20, &[3, 5, 7, 9])));
    let found = json(&["signatures", "--format", "json", &path], 0);
    let parts = found["advice"]["file_parts"].as_array().unwrap();
    let rows = rows(&found);
    assert!(parts.len() > 1, "{rows:#?}");
    let number = |value: &Value| value.as_u64().unwrap();
    for (part, next) in parts.iter().zip(parts.iter().skip(1).map(Some).chain([None])) {
        assert_eq!(part["end"].as_u64(), next.map(|next| number(&next["first_byte"])));
        let inside = |row: &&&Value| {
            number(&row["first_byte"]) >= number(&part["first_byte"])
                && part["end"].as_u64().is_none_or(|end| number(&row["end"]) <= end)
        };
        let mut inside = rows.iter().filter(inside).peekable();
        assert!(inside.peek().is_some(), "a part without a pattern");
        for row in inside {
            let best = ["stripe_bytes", "stripe_count"].map(|name| number(&row["replayed"][name]));
            assert_eq!(best, ["stripe_bytes", "stripe_count"].map(|name| number(&part[name])));
        }
        let end = part["end"].as_u64();
        assert!(end.is_none_or(|end| end % number(&part["stripe_bytes"]) == 0), "{part}");
    }
    let reported = parts[0]["command"].as_str().unwrap();
    assert_eq!(reported.matches(" -E ").count(), parts.len());
    assert!(
        reported.starts_with("lfs setstripe -E ") && reported.contains(" -E -1 -S ") && reported.ends_with(" NEW_FILE"),
        "{reported}"
    );
    for finding in found["findings"].as_array().unwrap().iter().filter(|one| one["code"] == "DXT-I002") {
        assert!(finding["hint"].as_str().unwrap().contains(reported), "{finding}");
    }
}

#[test]
fn files_of_their_own_are_not_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let rank = |rank: i32| {
        let mut one = process(rank, "n");
        for k in 0..64 {
            let start = k as u64 * 2 * MS;
            one.write(&format!("/lustre/part.{rank}"), k << 20, 1 << 20, start, start + MS);
        }
        one
    };
    let path = put(folder.path(), "a.dxt", &trace(&job("stripes", 4), (0..4).map(rank).collect()));
    let found = json(&["signatures", "--targets", "4", "--format", "json", &path], 0);
    let rows = rows(&found);
    assert!(rows.len() == 1 && rows[0]["replayed"].is_null(), "{rows:#?}");
}

#[test]
fn a_layout_that_is_not_known_is_compared_with_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "a.dxt", &trace(&job("stripes", 4), phases(0, &[])));
    let found = json(&["signatures", "--targets", "4", "--format", "json", &path], 0);
    for row in rows(&found) {
        let replayed = &row["replayed"];
        assert_eq!((&replayed["costs_of_today"], &replayed["is_better"]), (&Value::Null, &Value::Null));
        assert!((1..=4).contains(&replayed["stripe_count"].as_u64().unwrap()), "{row:#}");
    }
    let table = stdout(&["signatures", "--targets", "4", "--format", "csv", "--table", "stripe_sizes", &path], 0);
    let heads: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    assert!(["replayed_stripes", "replayed_costs"].iter().all(|head| heads.contains(head)), "{heads:?}");
    // A report does not read the trace again for the replay.
    let found = json(&["report", "--format", "json", &path], 0);
    assert!(!found.to_string().contains("\"replayed\""));
}
