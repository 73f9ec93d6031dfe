//! Tests of finding a slow run among runs of one program: it is named with its slow calls and the time since when they are slow; other runs are not.

use super::{corpus, text};
use crate::common::{self, Builder, job, op, process, put, trace};
use serde_json::Value;
use std::path::Path;

/// Number of writes of each rank, and of reads.
const CALLS: u64 = 40;
/// Part of the sentence on a slow run in the text output.
const COMPARED: &str = "the same I/O";
const US: u64 = 1000;
const MS: u64 = 1000 * US;
const DAY_NS: i64 = 86_400_000_000_000;

/// Run of two ranks that write `CALLS` blocks each, then read them.
struct Run<'a> {
    name: &'a str,
    exe: &'a [u8],
    /// Start of the run, in days after the first day.
    day: i64,
    block: u64,
    /// Function that returns the duration of a call in ns, given operation code (write or read) and call number.
    takes: &'a dyn Fn(u16, u64) -> u64,
}

impl Run<'_> {
    fn put(&self, folder: &Path) {
        let one = |rank: i32| -> Builder {
            let mut one = process(rank, "n");
            let mut now = 10 * MS;
            for code in [op::POSIX_WRITE, op::POSIX_READ] {
                for number in 0..CALLS {
                    let takes = (self.takes)(code, number);
                    let at = (number as i64 * 2 + i64::from(rank)) * self.block as i64;
                    one.add("/scratch/file", code, 0, at, self.block, now, now + takes);
                    // The rank computes between its calls.
                    now += takes + 10 * MS;
                }
            }
            one.process.info.end_ns = now;
            one.process.info.epoch_unix_ns += self.day * DAY_NS;
            one
        };
        let mut job = job(self.name, 2);
        job.info.exe = self.exe.to_vec();
        job.info.start_unix_ns += self.day * DAY_NS;
        put(folder, &format!("{}.dxt", self.name), &trace(&job, (0..2).map(one).collect()));
    }
}

/// Returns `ns` varied by up to 5 %, depending on run and call number.
fn about(ns: u64, run: u64, number: u64) -> u64 {
    ns * (95 + (run * 7919 + number * 104_729) % 11) / 100
}

/// Writes `count` similar runs; in the second run, calls take `slower(operation code, call number)` times as long.
fn runs(folder: &Path, count: u64, slower: impl Fn(u16, u64) -> u64) {
    for run in 1..=count {
        let name = format!("run-{run}");
        let takes = |code: u16, number: u64| {
            let usual = if code == op::POSIX_WRITE { 2 * MS } else { 500 * US };
            about(usual, run, number) * if run == 2 { slower(code, number) } else { 1 }
        };
        Run { name: &name, exe: b"/opt/bin/app", day: 0, block: 1 << 20, takes: &takes }.put(folder);
    }
}

/// Returns the slowdown factor of a call: writes are slow from the 20th on, and all reads are slow.
fn from_half_time(code: u16, number: u64) -> u64 {
    match code {
        op::POSIX_WRITE if number < 20 => 1,
        op::POSIX_WRITE => 3,
        _ => 100,
    }
}

fn slow_runs(report: &Value) -> &Vec<Value> {
    report["slow_runs"].as_array().unwrap()
}

#[test]
fn the_slow_run_is_named_with_its_moment_and_that_writes_were_slow_already() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path(), 5, from_half_time);
    // Two runs are slower by nature: one of another program, and one with more work.
    let slow = |_: u16, _: u64| 900 * MS;
    Run { name: "other", exe: b"/opt/bin/other", day: 0, block: 1 << 20, takes: &slow }.put(folder.path());
    Run { name: "larger", exe: b"/opt/bin/app", day: 0, block: 1 << 21, takes: &slow }.put(folder.path());
    for more in [&[][..], &["--no-findings"], &["-n", "1"]] {
        let report = corpus(&[more, &[text(folder.path())]].concat(), 0);
        let [slow] = slow_runs(&report).as_slice() else { panic!("{}", report["slow_runs"]) };
        assert_eq!((&slow["job"], &slow["program"], &slow["others"]), (&"run-2".into(), &"app".into(), &4.into()));
        // Writes of 2 ms, each followed by 10 ms of computing, are fast 20 times.
        let from_ms = slow["from_ns"].as_u64().unwrap() / MS;
        assert!((210..290).contains(&from_ms), "{slow}");
        assert_eq!(slow["from_unix_ns"], common::EPOCH + slow["from_ns"].as_i64().unwrap());
        assert_eq!((&slow["until_ns"], &slow["all_the_time"]), (&Value::Null, &false.into()));
        let [writes, reads] = slow["calls"].as_array().unwrap().as_slice() else { panic!("{slow}") };
        assert_eq!((&writes["does"], &reads["does"]), (&"write".into(), &"read".into()));
        let slower = [writes, reads].map(|calls| calls["slower"].as_f64().unwrap());
        assert!((2.4..3.2).contains(&slower[0]) && (90.0..110.0).contains(&slower[1]), "{slow}");
        // On each of 2 ranks, 20 writes are longer by 4 ms, and 40 reads by 49.5 ms.
        let longer_ms = slow["longer_ns"].as_u64().unwrap() / MS;
        assert!((3900..4400).contains(&longer_ms), "{slow}");
    }
    let people = common::stdout(&["corpus", text(folder.path())], 0);
    assert!(people.lines().any(|line| line.contains(COMPARED) && line.contains("run-2")), "{people}");
    let rows = common::stdout(&["corpus", "--format", "csv", "--table", "slow_runs", text(folder.path())], 0);
    let rows: Vec<&str> = rows.lines().collect();
    assert!(rows.len() == 3 && rows[0].starts_with("job,program,others,does,from_s,"), "{rows:?}");
    assert!(rows[1].starts_with("run-2,app,4,write,0.2") && rows[2].starts_with("run-2,app,4,read,0."), "{rows:?}");
}

/// Each of several slow runs is named, for any number of runs.
#[test]
fn several_slow_runs_do_not_hide_each_other() {
    for (fast, slow) in [(20, 1), (20, 2), (20, 3), (800, 15), (20, 0)] {
        let folder = tempfile::tempdir().unwrap();
        for run in 1..=fast + slow {
            let takes = |code: u16, number: u64| {
                let usual = if code == op::POSIX_WRITE { 100 * US } else { 50 * US };
                let delay = if run <= slow && code == op::POSIX_WRITE { 500 * US } else { 0 };
                about(usual, run, number) + delay
            };
            let name = format!("run-{run}");
            Run { name: &name, exe: b"/opt/bin/app", day: 0, block: 1 << 20, takes: &takes }.put(folder.path());
        }
        let report = corpus(&[text(folder.path())], 0);
        let mut named: Vec<&str> = slow_runs(&report).iter().map(|one| one["job"].as_str().unwrap()).collect();
        named.sort_unstable();
        let mut expected: Vec<String> = (1..=slow).map(|run| format!("run-{run}")).collect();
        expected.sort();
        assert_eq!(named, expected, "{fast} and {slow}");
        assert!(slow_runs(&report).iter().all(|one| one["others"] == fast + slow - 1), "{fast} and {slow}");
    }
}

#[test]
fn runs_that_are_similar_are_not_blamed() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path(), 5, |_, _| 1);
    let report = corpus(&[text(folder.path())], 0);
    assert_eq!(slow_runs(&report), &Vec::<Value>::new());
    assert!(!common::stdout(&["corpus", text(folder.path())], 0).contains(COMPARED));
}

#[test]
fn slow_for_a_while_at_first_and_all_the_time() {
    let said = |slower: &dyn Fn(u16, u64) -> u64| -> Value {
        let folder = tempfile::tempdir().unwrap();
        runs(folder.path(), 5, slower);
        let report = corpus(&[text(folder.path())], 0);
        let [slow] = slow_runs(&report).as_slice() else { panic!("{}", report["slow_runs"]) };
        assert_eq!(slow["job"], "run-2");
        slow.clone()
    };
    let does = |slow: &Value| -> Vec<String> {
        slow["calls"].as_array().unwrap().iter().map(|calls| calls["does"].as_str().unwrap().to_owned()).collect()
    };
    let times = |slow: &Value, name: &str| slow[name].as_u64().unwrap() / MS;
    // Until then, 30 writes take 12 ms each; then 10 writes take 20 ms and 10 reads 14 ms.
    let between = said(&|code, number| {
        let is_slow = if code == op::POSIX_WRITE { number >= 30 } else { number < 10 };
        if is_slow { 8 } else { 1 }
    });
    assert_eq!((does(&between), between["all_the_time"].as_bool()), (vec!["write".into(), "read".into()], Some(false)));
    let (from, until) = (times(&between, "from_ns"), times(&between, "until_ns"));
    assert!((320..420).contains(&from) && (700..860).contains(&until), "{between}");
    let first = said(&|code, _| if code == op::POSIX_WRITE { 4 } else { 1 });
    assert_eq!((does(&first), times(&first, "from_ns")), (vec!["write".into()], 0), "{first}");
    assert!((680..760).contains(&times(&first, "until_ns")), "{first}");
    let always = said(&|_, _| 2);
    assert_eq!(always["all_the_time"], true, "{always}");
    assert_eq!(
        (does(&always), &always["from_ns"], &always["until_ns"]),
        (vec!["write".into(), "read".into()], &0.into(), &Value::Null),
        "{always}"
    );
}

#[test]
fn few_runs_say_little() {
    let found = |count: u64, slower: u64| -> usize {
        let folder = tempfile::tempdir().unwrap();
        runs(folder.path(), count, |_, number| if number < 20 { 1 } else { slower });
        slow_runs(&corpus(&[text(folder.path())], 0)).len()
    };
    assert_eq!(found(1, 50), 0);
    // With two runs, neither can be called normal.
    assert_eq!(found(2, 50), 0);
    assert_eq!(found(3, 5), 1);
}

#[test]
fn runs_that_are_collected_in_one_night_are_held_against_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, out) = (folder.path().join("logs"), folder.path().join("out"));
    std::fs::create_dir(&logs).unwrap();
    runs(&logs, 5, from_half_time);
    let collect = || corpus(&["--incremental", "-o", text(&out), text(&logs)], 0);
    assert_eq!(slow_runs(&collect())[0]["job"], "run-2");
    // Slow runs are reported only once.
    assert!(slow_runs(&collect()).is_empty());
}

#[test]
fn a_run_is_held_against_those_of_earlier_nights() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, out) = (folder.path().join("logs"), folder.path().join("out"));
    std::fs::create_dir(&logs).unwrap();
    let collect = || corpus(&["--incremental", "-o", text(&out), text(&logs)], 0);
    let put = |name: &str, number: u64, day: i64, slower: &dyn Fn(u16, u64) -> u64| {
        let takes = |code: u16, call: u64| {
            let usual = if code == op::POSIX_WRITE { 2 * MS } else { 500 * US };
            about(usual, number, call) * slower(code, call)
        };
        Run { name, exe: b"/opt/bin/app", day, block: 1 << 20, takes: &takes }.put(&logs);
    };
    let said = |report: &Value| -> Vec<(String, u64)> {
        let rows = slow_runs(report).iter();
        rows.map(|slow| (slow["job"].as_str().unwrap().to_owned(), slow["others"].as_u64().unwrap())).collect()
    };
    runs(&logs, 4, |_, _| 1);
    assert_eq!(said(&collect()), []);
    // The next run comes a week later, after the earlier traces were deleted.
    (1..=4).for_each(|run| std::fs::remove_file(logs.join(format!("run-{run}.dxt"))).unwrap());
    put("late", 9, 7, &from_half_time);
    let report = collect();
    assert_eq!(said(&report), [("late".to_owned(), 4)]);
    let from_ms = slow_runs(&report)[0]["from_ns"].as_u64().unwrap() / MS;
    assert!((210..290).contains(&from_ms), "{report}");
    let late = &slow_runs(&report)[0];
    assert_eq!((&late["program"], &late["all_the_time"]), (&"app".into(), &false.into()), "{late}");
    // Earlier slow runs are no reference, and are not reported again.
    put("well", 10, 8, &|_, _| 1);
    put("again", 11, 7, &from_half_time);
    assert_eq!(said(&collect()), [("again".to_owned(), 5)]);
    // A changed job is compared with the others, not with its earlier state.
    put("well", 10, 8, &from_half_time);
    assert_eq!(said(&collect()), [("well".to_owned(), 4)]);
    // Without the day of the healthy runs, slow is normal.
    std::fs::remove_dir_all(out.join("day=2023-11-14")).unwrap();
    put("alone", 12, 9, &from_half_time);
    assert_eq!(said(&collect()), []);
}

/// Stored call times of earlier runs serve only as a reference for later runs: rows are collected even if the times are damaged.
#[test]
fn times_that_cannot_be_read_stop_no_night() {
    let cut = |file: &Path| {
        let bytes = std::fs::read(file).unwrap();
        std::fs::write(file, &bytes[..bytes.len().min(200)]).unwrap();
    };
    let other = |file: &Path| std::fs::write(file, zstd::encode_all(&b"{}\n"[..], 1).unwrap()).unwrap();
    let foreign = |file: &Path| std::fs::write(file, b"no such thing").unwrap();
    let folder_there = |file: &Path| {
        std::fs::remove_file(file).unwrap();
        std::fs::create_dir(file).unwrap();
    };
    for damage in [&cut as &dyn Fn(&Path), &other, &foreign, &folder_there] {
        let folder = tempfile::tempdir().unwrap();
        let (logs, out) = (folder.path().join("logs"), folder.path().join("out"));
        std::fs::create_dir(&logs).unwrap();
        let collect = || corpus(&["--incremental", "-o", text(&out), text(&logs)], 0);
        let remarks = |report: &Value| report["remarks"].to_string().matches(".paces.jsonl.zst").count();
        runs(&logs, 4, |_, _| 1);
        collect();
        let paces = out.join("day=2023-11-14/.paces.jsonl.zst");
        damage(&paces);
        // A run of another day only reads the damaged file, and one of the same day rewrites it.
        for (name, day) in [("next", 1), ("same", 0)] {
            let takes = |_: u16, _: u64| 2 * MS;
            Run { name, exe: b"/opt/bin/app", day, block: 1 << 20, takes: &takes }.put(&logs);
            let report = collect();
            assert_eq!((&report["whole"]["jobs"], remarks(&report)), (&1.into(), 1), "{report}");
        }
        let takes = |_: u16, _: u64| 2 * MS;
        Run { name: "last", exe: b"/opt/bin/app", day: 2, block: 1 << 20, takes: &takes }.put(&logs);
        assert_eq!(remarks(&collect()), 0);
        let kept = corpus(&[text(&logs)], 0);
        assert_eq!(kept["whole"]["jobs"], 7);
    }
}
