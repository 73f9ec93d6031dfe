//! Tests of crashes of the subprocess that reads a job: only the job that causes the crash is lost.

use super::{corpus, site, text};
use darshan_log::counters::int_names;
use darshan_log::write::Writer;
use darshan_log::{CounterRecord, Job, Module, Mount, record_id};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Memory limit of the reading process (writable memory, KiB): above the need of small jobs, below that of a large one.
const KILOBYTES: &str = "80000";

/// Writes a log with so many files that reading it exceeds the memory limit.
fn large(path: &Path) {
    let names: Vec<String> = (0..40_000).map(|number| format!("/scratch/large/of/many/files.{number}")).collect();
    let mut job = Job::default();
    (job.nprocs, job.exe, job.start_sec, job.end_sec) = (300, "./app".into(), 1_600_000_000, 1_600_000_010);
    job.metadata.push(("lib_ver".into(), "3.5.0".into()));
    let mounts = [Mount { point: "/".into(), fs_type: "ext4".into() }];
    let mut writer = Writer::new(std::io::Cursor::new(Vec::new()), &job, &mounts, &names).unwrap();
    let at = |name: &str| int_names(Module::Posix).iter().position(|known| *known == name).unwrap();
    let records = (0..).zip(&names).map(|(number, name): (i64, _)| {
        let mut record = CounterRecord::zero(Module::Posix, record_id(name.as_bytes()), number / 300).unwrap();
        for counter in ["POSIX_OPENS", "POSIX_READS", "POSIX_WRITES", "POSIX_BYTES_READ", "POSIX_BYTES_WRITTEN"] {
            record.ints[at(counter)] = 3;
        }
        record
    });
    writer.counters(Module::Posix, records).unwrap();
    std::fs::write(path, writer.finish().unwrap().into_inner()).unwrap();
}

/// Returns the jobs of a report without the analysis time, which varies.
fn jobs(report: &Value) -> Vec<&Value> {
    report["jobs"].as_array().unwrap().iter().collect()
}

#[test]
fn memory_that_is_used_up_costs_one_job() {
    let folder = tempfile::tempdir().unwrap();
    site(folder.path());
    let whole = corpus(&[text(folder.path())], 0);
    large(&folder.path().join("2024/large.darshan"));
    let limited = |more: &[&str]| {
        let script = format!("ulimit -d {KILOBYTES}; exec \"$@\"");
        let mut command = Command::new("bash");
        command.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_dxt-analyze"), "--threads", "2"]);
        let output = command.args(["corpus", "--format", "json"]).args(more).arg(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    for more in [&[][..], &["-o", text(&folder.path().join("out")), "--no-findings"]] {
        let report = limited(more);
        let left_out = report["left_out"].as_array().unwrap();
        assert_eq!(left_out.len(), 1, "{left_out:?}");
        assert!(left_out[0]["file"].as_str().unwrap().ends_with("2024/large.darshan"));
        let why = left_out[0]["why"].as_str().unwrap();
        assert!(why.contains("memory was used up (signal: 6 (SIGABRT)): memory allocation of"), "{why}");
        if more.is_empty() {
            assert_eq!(jobs(&report), jobs(&whole));
        }
    }
}

fn children(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// Returns true if a process has a file of the folder open.
fn reads(pid: u32, folder: &Path) -> bool {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|file| file.starts_with(folder))
}

#[test]
fn a_worker_that_is_killed_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = &folder.path().canonicalize().unwrap();
    site(folder);
    // Reading the large log takes long enough to kill the process meanwhile.
    large(&folder.join("2024/large.darshan"));
    let whole = corpus(&[text(folder)], 0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    command.args(["--threads", "2", "corpus", "--format", "json"]).arg(folder);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut killed = false;
    while !killed && Path::new(&format!("/proc/{}/exe", child.id())).exists() {
        let reading = children(child.id()).into_iter().find(|worker| reads(*worker, folder));
        if let Some(worker) = reading {
            killed = Command::new("kill").args(["-9", &worker.to_string()]).status().unwrap().success();
        } else if std::fs::read_to_string(format!("/proc/{}/stat", child.id())).is_ok_and(|stat| stat.contains(") Z "))
        {
            break;
        }
    }
    let output = child.wait_with_output().unwrap();
    assert!(killed && output.status.code() == Some(0), "{killed} {output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["left_out"], Value::Array(Vec::new()));
    assert_eq!(jobs(&report), jobs(&whole));
}
