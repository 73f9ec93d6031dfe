//! Tests of output files (destinations) of `live` that agents share, that are added later, or that a killed agent leaves; and of event filters.

use super::trouble::open_spools;
use super::{Running, agent, in_intervals, lines};
use crate::harness::{Compiler, Launch, Scratch, skip, workload, workload_with};
use rustix::process::{Pid, Signal, kill_process};

/// Interrupts an agent (SIGINT); returns its messages.
fn interrupted(agent: Running) -> String {
    kill_process(Pid::from_child(&agent.0), Signal::INT).unwrap();
    agent.end().1
}

/// Runs a traced program that makes `number` calls, an open and a close. The program ends only after the agent has opened its spool.
fn calls(scratch: &Scratch, number: &str, agent: &Running) {
    let (program, go) = (workload("live"), scratch.root().join("go"));
    let _ = std::fs::remove_file(&go);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while open_spools(agent).is_empty() {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            std::fs::write(&go, "").unwrap();
        });
        Launch::new(scratch, program).args([number, "1", "go"]).traced();
    });
}

/// Waits until the file `name` in the data directory has `number` lines, as written by an agent that has seen all calls.
fn until_lines(scratch: &Scratch, name: &str, number: usize) {
    let path = scratch.data().join(name);
    while std::fs::read_to_string(&path).map_or(0, |text| text.lines().count()) < number {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn the_second_agent_of_a_file_says_so_and_the_first_loses_nothing() {
    let scratch = Scratch::new();
    let mut to = vec!["--to", "events:events"];
    if cfg!(feature = "parquet") {
        to.extend(["--to", "parquet:files"]);
    }
    let first = Running::new(agent(&scratch, &to));
    // The agent starts watching before it opens its files.
    while !scratch.data().join(to.last().unwrap().split_once(':').unwrap().1).exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for to in to.iter().filter(|word| **word != "--to") {
        let said = Running::started(agent(&scratch, &["--to", to])).end_with(1).1;
        assert!(said.contains("another `dxt-analyze live` writes") && said.contains("%h"), "{said}");
    }
    calls(&scratch, "100", &first);
    until_lines(&scratch, "events", 102);
    interrupted(first);
    assert_eq!(lines(&scratch, "events").len(), 102);
}

#[test]
fn each_node_has_a_file_of_its_own_and_whoever_waits_is_reported_when_to_begin() {
    let scratch = Scratch::new();
    let agent = Running::started(agent(&scratch, &["--to", "events:of-%h-%p", "--ready", "ready-%h", "--until-end"]));
    let node = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim_end().to_owned();
    while !scratch.data().join(format!("ready-{node}")).exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let name = format!("of-{node}-{}", agent.0.id());
    calls(&scratch, "100", &agent);
    agent.end();
    assert_eq!(lines(&scratch, &name).len(), 102);
}

#[test]
fn what_a_new_destination_lacks_is_said() {
    let scratch = Scratch::new();
    let run = |more: &[&str]| {
        let args = [&["--state", "state", "--until-end", "--to", "intervals:intervals"], more].concat();
        let agent = Running::new(agent(&scratch, &args));
        calls(&scratch, "100", &agent);
        agent.end().1
    };
    assert_eq!(run(&[]), "");
    let said = run(&["--to", "events:events"]);
    assert_eq!(said.matches("events:events: ").count(), 1, "{said}");
    assert!(said.contains("--state") && said.contains(" 102 calls "), "{said}");
    // At the next start, the destination is no longer new.
    assert_eq!(run(&["--to", "events:events"]), "");
    assert_eq!((lines(&scratch, "events").len(), in_intervals(&lines(&scratch, "intervals")).0), (204, 306));
}

#[test]
fn only_the_process_that_is_asked_for_is_shown() {
    let scratch = Scratch::new();
    let mut programs: Vec<_> = (0..2)
        .map(|_| {
            let mut command = std::process::Command::new(workload("live"));
            command.args(["50", "1", "go"]).current_dir(scratch.root()).env("DXT_ENABLE", "trace");
            command.env("DXT_SPOOL", scratch.spools()).env("DXT_OUTPUT_DIR", scratch.traces());
            command.env("LD_PRELOAD", crate::harness::library()).spawn().unwrap()
        })
        .collect();
    let pid = programs[1].id();
    let agent = Running::new(agent(&scratch, &["--to", "events:events", "--pid", &pid.to_string()]));
    until_lines(&scratch, "events", 52);
    std::fs::write(scratch.root().join("go"), "").unwrap();
    programs.iter_mut().for_each(|program| assert!(program.wait().unwrap().success()));
    interrupted(agent);
    let events = lines(&scratch, "events");
    assert_eq!(events.len(), 52);
    assert!(events.iter().all(|event| event["pid"] == pid));
}

#[test]
fn collective_calls_are_shown_where_they_are_asked_for() {
    let mpi = Compiler::Mpich;
    if !mpi.available() {
        return skip("mpicc.mpich is not installed");
    }
    let scratch = Scratch::new();
    let without = Running::new(agent(&scratch, &["--to", "events:without", "--until-end"]));
    let with = Running::new(agent(&scratch, &["--to", "events:with", "--until-end", "--mpi"]));
    let launch = Launch::new(&scratch, workload_with("runs", mpi, &["-O1"])).arg(scratch.data().join("file"));
    assert_eq!(launch.ranks(mpi, 2).run().code, 0);
    without.end();
    with.end();
    let count =
        |name: &str, mpi: bool| lines(&scratch, name).iter().filter(|event| (event["layer"] == "MPI") == mpi).count();
    assert_eq!(count("without", true), 0);
    assert!(count("with", true) > 0);
}

/// Returns the number of rows of a Parquet file, and its column names.
#[cfg(feature = "parquet")]
fn rows(path: &std::path::Path) -> (i64, Vec<String>) {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let about = reader.metadata().file_metadata();
    let names = about.schema_descr().columns().iter().map(|column| column.name().to_owned());
    (about.num_rows(), names.collect())
}

/// Returns the Parquet files that the agent has written, sorted by path.
#[cfg(feature = "parquet")]
fn parts(scratch: &Scratch) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(scratch.data().join("files")).into_iter().flatten();
    let mut all: Vec<_> = all.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

#[cfg(feature = "parquet")]
#[test]
fn what_waits_for_parquet_when_an_agent_is_killed_is_in_a_file_of_the_next_one() {
    let scratch = Scratch::new();
    let first = Running::new(agent(&scratch, &["--to", "parquet:files"]));
    while parts(&scratch).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    calls(&scratch, "100", &first);
    until_lines(&scratch, "files/pending.jsonl", 102);
    drop(first);
    // An invalid line and a truncated line are appended.
    let pending = scratch.data().join("files/pending.jsonl");
    let mut text = std::fs::read(&pending).unwrap();
    text.extend_from_slice(b"\xff\n{\"id\":");
    std::fs::write(&pending, text).unwrap();
    let second = Running::started(agent(&scratch, &["--to", "parquet:files", "--for", "300ms"]));
    let (_, said) = second.end_with(3);
    assert!(
        said.contains("1 line of files/pending.jsonl is not a call") && said.contains("are now in a Parquet file"),
        "{said}"
    );
    let all = parts(&scratch);
    assert_eq!(all.iter().map(|path| path.file_name().unwrap()).collect::<Vec<_>>(), ["part-000000.parquet"]);
    assert_eq!(rows(&all[0]).0, 102);
    // The damaged lines do not disturb the next agent.
    assert_eq!(Running::started(agent(&scratch, &["--to", "parquet:files", "--for", "100ms"])).end().1, "");
}

/// A Parquet file is completed after its time, even if no further event arrives. Its columns include every field of JSON events.
#[cfg(feature = "parquet")]
#[test]
fn a_parquet_file_is_ended_after_its_time_also_if_nothing_follows() {
    let scratch = Scratch::new();
    let to = ["--to", "parquet:files", "--to", "events:events", "--rotate", "200ms"];
    let agent = Running::new(agent(&scratch, &to));
    for count in [1, 2] {
        calls(&scratch, "100", &agent);
        let files = || parts(&scratch).iter().filter(|path| path.extension().unwrap() == "parquet").count();
        until_lines(&scratch, "events", 102 * count);
        while files() < count {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
    interrupted(agent);
    let all = parts(&scratch);
    assert!(all.iter().all(|path| path.extension().unwrap() == "parquet"), "{all:?}");
    assert_eq!(all.iter().map(|path| rows(path).0).sum::<i64>(), 204);
    let columns = rows(&all[0]).1;
    let event = &lines(&scratch, "events")[0];
    for name in event.as_object().unwrap().keys().filter(|name| *name != "so_far") {
        assert!(columns.contains(name), "{name}: {columns:?}");
    }
    for name in ["so_far_calls", "so_far_ns", "max_byte", "switches", "flushes", "data_set", "pt_sel", "npoints"] {
        assert!(columns.iter().any(|column| column == name), "{name}: {columns:?}");
    }
}
