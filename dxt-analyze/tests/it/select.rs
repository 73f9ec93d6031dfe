//! Tests of the filters `--ranks`, `--files`, `--layer` and `--time` with every command, of thresholds from a file, and of `explain`.

use crate::common::{job, json, op, process, put, run, small, stdout, trace};
use tempfile::tempdir;

fn lines(args: &[&str]) -> Vec<String> {
    let all: Vec<&str> = [&["dump", "--format", "csv"], args].concat();
    stdout(&all, 0).lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_choice_of_ranks_files_and_layers_is_that_part_of_the_whole() {
    let folder = tempdir().unwrap();
    let (job, processes) = small();
    let path = put(folder.path(), "a.dxt", &trace(&job, processes));
    let all = lines(&[&path]);
    let rank = |line: &String| line.split(',').next().unwrap().parse::<i32>().unwrap();
    let has = |part: &'static str| move |line: &String| line.contains(part);
    let some = |keep: &dyn Fn(&String) -> bool| all.iter().filter(|line| keep(line)).cloned().collect::<Vec<_>>();
    assert_eq!(lines(&["--ranks", "1,3:", &path]), some(&|line| matches!(rank(line), 1 | 3)));
    assert_eq!(lines(&["--files", "*.h5", &path]), some(&has("/scratch/out.h5")));
    assert_eq!(lines(&["--files", "/etc/**", "--files", "nothing", &path]), some(&has("/etc/conf")));
    // Segment numbers count within the selection, so they are unchanged for a whole layer.
    assert_eq!(lines(&["--layer", "mpiio", &path]), some(&has(",MPIIO,")));

    let whole = json(&["summary", "--format", "json", &path], 0);
    let part = json(&["summary", "--ranks", "2", "--layer", "posix", "--format", "json", &path], 0);
    assert_eq!((whole["segments"].as_u64(), part["segments"].as_u64()), (Some(28), Some(5)));
    assert_eq!((part["ranks"].as_u64(), part["bytes_written"].as_u64()), (Some(1), Some(0)));
    assert_eq!(part["missing"]["selection"]["--layer"], "POSIX");
    let text = stdout(&["summary", "--ranks", "2", &path], 0);
    assert!(text.contains("only") && text.contains("--ranks 2"), "{text}");
}

#[test]
fn a_span_of_time_keeps_what_overlaps_with_it_however_blocks_are_cut() {
    let folder = tempdir().unwrap();
    let mut one = process(0, "n");
    for call in 0..200_000_u64 {
        one.write("/f", call as i64, 1, call * 1000, call * 1000 + 500);
    }
    let path = put(folder.path(), "a.dxt", &trace(&job("j", 1), vec![one]));
    for (span, first, last) in
        [("0.1:0.1000021", 100_000, 100_002), (":0.000001", 0, 0), ("0.1999985:", 199_998, 199_999)]
    {
        let starts: Vec<u64> = lines(&["--time", span, &path])
            .iter()
            .map(|line| line.split(',').nth(11).unwrap().parse().unwrap())
            .collect();
        let expected: Vec<u64> = (first..=last).map(|call| call * 1000).collect();
        assert_eq!(starts, expected, "{span}");
        let summary = json(&["summary", "--time", span, "--format", "json", &path], 0);
        assert_eq!(summary["bytes_written"].as_u64(), Some(expected.len() as u64), "{span}");
        assert_eq!(summary["segments"].as_u64(), Some(expected.len() as u64), "{span}");
    }
}

#[test]
fn choices_that_make_no_sense_are_said() {
    let folder = tempdir().unwrap();
    let (job, processes) = small();
    let path = put(folder.path(), "a.dxt", &trace(&job, processes));
    for wrong in [["--ranks", "x"], ["--ranks", "3:1"], ["--time", "5"], ["--time", "2:1"], ["--files", "[a"]] {
        let output = run(&["summary", wrong[0], wrong[1], &path]);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && err.contains(wrong[1]), "{wrong:?}: {err}");
    }
}

#[test]
fn thresholds_from_a_file_change_verdicts() {
    let folder = tempdir().unwrap();
    let processes = (0..10)
        .map(|rank| {
            let mut process = process(rank, "n");
            let each = if rank == 7 { 1_400_000 } else { 1_000_000 + rank as u64 * 1000 };
            process.add("/f", op::POSIX_WRITE, 0, 0, 1 << 20, 0, each);
            process
        })
        .collect();
    let path = put(folder.path(), "a.dxt", &trace(&job("j", 10), processes));
    let outliers = |more: &[&str]| {
        let args = [&["outliers", "--by", "rank", "--format", "json"], more, &[&path]].concat();
        json(&args, 0)["units"][0]["outliers"].as_u64().unwrap()
    };
    assert_eq!(outliers(&[]), 1);
    let file = put(folder.path(), "t.toml", b"# a site's own\nmin_slowdown = 2\n");
    assert_eq!(outliers(&["--thresholds", &file]), 0);
    let wrong = put(folder.path(), "w.toml", b"min_slowdwn = 2\n");
    let output = run(&["outliers", "--thresholds", &wrong, &path]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && err.contains("min_slowdwn") && err.contains("w.toml"), "{err}");
}

#[test]
fn codes_are_explained() {
    let text = stdout(&["explain", "o002"], 0);
    assert!(text.contains("DXT-O002") && text.contains("Iglewicz") && text.contains("modified_z"), "{text}");
    // The explanation contains the thresholds in effect.
    let folder = tempfile::tempdir().unwrap();
    let other = put(folder.path(), "t.toml", b"modified_z = 7.25\n");
    assert!(text.contains("3.5") && stdout(&["explain", "o002", "--thresholds", &other], 0).contains("7.25"), "{text}");
    assert!(stdout(&["explain"], 0).lines().count() > 10);
    assert_eq!(run(&["explain", "DXT-X999"]).status.code(), Some(2));
}
