//! Tests of `scaling`, which tabulates many runs: groups, medians and ranges, efficiency, definitions of bandwidth, and program options as
//! group keys.

use crate::common::facts::text_has;
use crate::common::{Builder, job, json, op, process, put, stdout, trace};
use serde_json::Value;
use std::path::Path;
use trace_format::meta::stream_flags;
use trace_format::op::{Layer, OpClass, OpDef, OpMode};

/// Writes a run of `ranks` ranks, which each write 1 MiB in four calls of `ns` ns each, with pauses of equal length. Returns the trace's path.
fn run(folder: &Path, name: &str, ranks: u32, ns: u64, args: &[&str]) -> String {
    let mut of = job(name, ranks);
    of.info.args = ["prog"].iter().chain(args).map(|arg| arg.as_bytes().to_vec()).collect();
    let processes = (0..ranks).map(|rank| {
        let mut one: Builder = process(rank as i32, if rank % 2 == 0 { "a" } else { "b" });
        for call in 0..4_u64 {
            let start = 1 + call * 2 * ns;
            one.write("/scratch/f", (u64::from(rank) * 4 + call) as i64 * 262_144, 262_144, start, start + ns);
        }
        one
    });
    put(folder, &format!("{name}.dxt"), &trace(&of, processes.collect()))
}

fn group<'a>(found: &'a Value, name: &str) -> &'a Value {
    let groups = found["groups"].as_array().expect("groups");
    groups.iter().find(|group| group["group"] == name).unwrap_or_else(|| panic!("no group {name}: {groups:#?}"))
}

fn number(group: &Value, name: &str, part: &str) -> f64 {
    group["measures"][name][part].as_f64().unwrap_or_else(|| panic!("{name}: {}", group["measures"][name]))
}

#[test]
fn repeats_are_a_median_with_a_range_and_groups_are_in_the_order_of_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for (name, ns) in [("a", 1_000_000), ("b", 2_000_000), ("c", 4_000_000)] {
        run(folder.path(), name, 2, ns, &[]);
    }
    run(folder.path(), "d", 16, 2_000_000, &[]);
    let place = folder.path().to_str().unwrap();
    let found = json(&["scaling", "--format", "json", place], 0);
    let names: Vec<&str> =
        found["groups"].as_array().expect("groups").iter().map(|group| group["group"].as_str().unwrap()).collect();
    assert_eq!(names, ["2", "16"]);
    let two = group(&found, "2");
    assert_eq!((two["runs"].as_u64(), found["runs"].as_array().unwrap().len()), (Some(3), 4));
    let bytes = 2.0 * 1048576.0;
    // By slowest rank: each of two ranks moves 1 MiB in the 4 x 2 ms of one; over span: the pauses are included, 7 x 2 ms.
    let near = |value: f64, wanted: f64| assert!((value / wanted - 1.0).abs() < 1e-9, "{value} {wanted}");
    near(number(two, "posix_write_by_slowest", "median"), bytes / 8e-3);
    near(number(two, "posix_write_by_slowest", "least"), bytes / 16e-3);
    near(number(two, "posix_write_by_slowest", "most"), bytes / 4e-3);
    near(number(two, "posix_write_over_span", "median"), bytes / 14e-3);
    near(number(two, "posix_write_effective", "median"), bytes / 16e-3);
    assert_eq!(number(two, "nodes", "median"), 2.0);
    assert_eq!(two["measures"]["mpiio_read_effective"], Value::Null);
    assert_eq!(two["sizes"][0]["sizes"][4], 24);
    // Eight times the ranks move eight times the bytes in the median time of the two-rank runs.
    let many = group(&found, "16");
    assert!(
        (many["efficiency"].as_f64().unwrap() - 1.0).abs() < 0.01 && two["efficiency"] == 1.0,
        "{}",
        many["efficiency"]
    );
    assert!((many["speedup"].as_f64().unwrap() - 8.0).abs() < 0.1);
    let csv = stdout(&["scaling", "--format", "csv", place], 0);
    assert!(csv.starts_with("group,runs,ranks,ranks_least,ranks_most,") && csv.lines().count() == 3, "{csv}");
    let text = stdout(&["scaling", place], 0);
    assert!(text.contains("Efficiency") && text.contains("The 4 runs"), "{text}");
}

#[test]
fn runs_are_reported_apart_by_an_option_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "a", 2, 1_000_000, &["-t", "1m"]);
    run(folder.path(), "b", 2, 1_000_000, &["-t", "64k"]);
    run(folder.path(), "c", 2, 1_000_000, &["--verbose"]);
    let place = folder.path().to_str().unwrap();
    for by in ["-t", "--group-by"] {
        let words: Vec<&str> = if by == "-t" { vec!["--group-by", "-t"] } else { vec!["--group-by=2"] };
        let found = json(&[&["scaling", "--format", "json"], words.as_slice(), &[place]].concat(), 0);
        let names: Vec<&str> =
            found["groups"].as_array().expect("groups").iter().map(|group| group["group"].as_str().unwrap()).collect();
        assert_eq!(names, ["64k", "1m", "-"], "{by}");
    }
    let found = json(&["scaling", "--format", "json", "--group-by", "--none", place], 0);
    let groups: Vec<&Value> = found["groups"].as_array().expect("groups").iter().map(|group| &group["group"]).collect();
    assert_eq!(groups, ["-"]);
    assert!(text_has(&found["remarks"].to_string(), &["--none"]), "{}", found["remarks"]);
}

/// Returns the names of the groups in order, and all remarks as one text.
fn groups(args: &[&str], place: &str) -> (Vec<String>, String) {
    let found = json(&[&["scaling", "--format", "json"], args, &[place]].concat(), 0);
    let groups = found["groups"].as_array().expect("groups").iter();
    (groups.map(|group| group["group"].as_str().expect("a name").to_owned()).collect(), found["remarks"].to_string())
}

#[test]
fn runs_have_several_keys_and_those_of_other_programs_are_no_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let of_program = |name: &str, program: &str, ranks: u32, nodes: u32| {
        let mut of = job(name, ranks);
        of.info.exe = format!("/opt/{program}").into_bytes();
        let processes = (0..ranks).map(|rank| {
            let mut one: Builder = process(rank as i32, &format!("n{}", rank % nodes));
            one.write("/scratch/f", i64::from(rank) << 20, 1 << 20, 1, 1_000_000);
            one
        });
        put(folder.path(), &format!("{name}.dxt"), &trace(&of, processes.collect()));
    };
    // One program runs packed on one node and scattered over four, and another program on as many ranks.
    of_program("packed", "ior", 4, 1);
    of_program("scattered", "ior", 4, 4);
    of_program("many", "ior", 16, 4);
    of_program("other", "hacc", 4, 1);
    let place = folder.path().to_str().unwrap();
    let (names, remarks) = groups(&[], place);
    assert_eq!(names, ["hacc, 4", "ior, 4", "ior, 16"]);
    assert!(text_has(&remarks, &["2 runs", "ior, 4", "nodes from 1 to 4"]), "{remarks}");
    let (names, remarks) = groups(&["--group-by", "program,ranks,nodes"], place);
    assert_eq!(names, ["hacc, 4, 1", "ior, 4, 1", "ior, 4, 4", "ior, 16, 4"]);
    assert_eq!(remarks, "[]");
    // Each program's runs are compared with its own first group.
    let found = json(&["scaling", "--format", "json", "--group-by", "ranks,nodes", place], 0);
    for first in ["hacc, 4, 1", "ior, 4, 1"] {
        assert_eq!(
            (group(&found, first)["efficiency"].as_f64(), &group(&found, first)["runs"]),
            (Some(1.0), &1.into())
        );
    }
    let csv = stdout(&["scaling", "--format", "csv", "--table", "runs", "--group-by", "nodes,ranks", place], 0);
    let of_runs: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split('"').nth(1)).collect();
    assert_eq!(of_runs, ["hacc, 1, 4", "ior, 1, 4", "ior, 4, 4", "ior, 4, 16"]);
}

#[test]
fn locks_inside_mpi_io_writes_are_a_share_of_the_writes_alone() {
    let folder = tempfile::tempdir().unwrap();
    let traced = |name: &str, ranks: u32| {
        let mut of = job(name, ranks);
        let def = |code, layer, class, name: &str| OpDef { code, layer, class, mode: OpMode::Plain, name: name.into() };
        of.ops.extend([
            def(20, Layer::Posix, OpClass::Lock, "lock"),
            def(21, Layer::Posix, OpClass::Unlock, "unlock"),
            def(22, Layer::Mpiio, OpClass::Read, "read"),
        ]);
        let processes = (0..ranks).map(|rank| {
            let mut one: Builder = process(rank as i32, "a");
            let nested = stream_flags::NESTED;
            one.add("/f", 20, nested, 0, 100, 1100, 3100);
            one.add("/f", op::POSIX_WRITE, nested, 0, 100, 3200, 8200);
            one.add("/f", 21, nested, 0, 100, 9000, 9500);
            one.add("/f", op::MPIIO_WRITE_ALL, 0, 0, 100, 1000, 11_000);
            // A read with a longer lock does not belong to the writes.
            one.add("/f", 20, nested, 0, 100, 21_000, 29_000);
            one.add("/f", 22, 0, 0, 100, 20_000, 30_000);
            one
        });
        put(folder.path(), &format!("{name}.dxt"), &trace(&of, processes.collect()));
    };
    traced("one", 1);
    traced("two", 2);
    let csv = stdout(&["scaling", "--format", "csv", "--table", "write_locks", folder.path().to_str().unwrap()], 0);
    assert_eq!(
        csv,
        "group,mpiio_write_s,posix_in_writes_s,posix_in_writes_share,lock_in_writes_s,lock_in_writes_share,unlock_in_writes_s,unlock_in_writes_share\n\
         1,0.000010000,0.000007500,0.750000,0.000002000,0.200000,0.000000500,0.050000\n\
         2,0.000020000,0.000015000,0.750000,0.000004000,0.200000,0.000001000,0.050000\n"
    );
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_there() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "a", 2, 1_000_000, &[]);
    put(folder.path(), "b.dxt", b"no trace");
    let place = folder.path().to_str().unwrap();
    let found = json(&["scaling", "--format", "json", place], 3);
    assert_eq!((found["runs"].as_array().unwrap().len(), found["left_out"].as_array().unwrap().len()), (1, 1));
    let only = folder.path().join("b.dxt");
    let text = stdout(&["scaling", only.to_str().unwrap()], 1);
    assert!(text.contains("left out: ") && text.contains("b.dxt"), "{text}");
}

#[test]
fn logs_stand_beside_traces_and_have_no_locks() {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/darshan");
    let found = json(&["scaling", "--format", "json", "--group-by", "run", logs.to_str().unwrap()], 0);
    let groups = found["groups"].as_array().unwrap();
    assert!(groups.len() > 1);
    for group in groups {
        assert_eq!(group["measures"]["lock_ns"], Value::Null, "{}", group["group"]);
    }
    let uses_mpiio =
        |group: &&Value| group["measures"]["mpiio_calls"]["median"].as_f64().is_some_and(|calls| calls > 0.0);
    assert!(
        groups
            .iter()
            .any(|group| uses_mpiio(&group) && group["measures"]["posix_in_mpiio_share"]["median"].as_f64().is_some())
    );
}

#[test]
fn locks_inside_mpi_io_are_a_share_of_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut of = job("a", 1);
    let def =
        |code, class, name: &str| OpDef { code, layer: Layer::Posix, class, mode: OpMode::Plain, name: name.into() };
    of.ops.extend([def(20, OpClass::Lock, "lock"), def(21, OpClass::Unlock, "unlock")]);
    let mut one: Builder = process(0, "a");
    one.add("/f", 20, stream_flags::NESTED, 0, 100, 1100, 3100);
    one.add("/f", op::POSIX_WRITE, stream_flags::NESTED, 0, 100, 3200, 8200);
    one.add("/f", 21, stream_flags::NESTED, 0, 100, 9000, 9500);
    one.add("/f", op::MPIIO_WRITE_ALL, 0, 0, 100, 1000, 11_000);
    let path = put(folder.path(), "a.dxt", &trace(&of, vec![one]));
    let found = json(&["scaling", "--format", "json", &path], 0);
    let only = group(&found, "1");
    let shares = ["lock_share", "unlock_share", "posix_in_mpiio_share"].map(|name| number(only, name, "median"));
    assert_eq!(shares, [0.2, 0.05, 0.75]);
    let rows = json(&["corpus", "--format", "json", folder.path().to_str().unwrap()], 0);
    let inside = &rows["jobs"][0]["inside_mpiio"];
    assert_eq!((inside["locks"]["time_ns"].as_u64(), inside["unlocks"]["time_ns"].as_u64()), (Some(2000), Some(500)));
}

#[test]
fn a_page_is_written_and_what_is_no_page_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(folder.path(), "a", 2, 1_000_000, &[]);
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    stdout(&["scaling", "-o", page, &path], 0);
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("<svg") && text.contains("Run time and efficiency"));
    std::fs::write(page, "mine").unwrap();
    stdout(&["scaling", "-o", page, &path], 1);
    assert_eq!(std::fs::read_to_string(page).unwrap(), "mine");
    stdout(&["scaling", "--force", "-o", page, &path], 0);
}
