//! Tests of programs that share a processor, or have one each.

use super::analyze;
use crate::common::facts::{findings, stated};
use crate::harness::{Launch, Scratch, Traces, have, skip, skip_here, workload};
use std::path::{Path, PathBuf};

/// Directory in memory, whose speed depends on no disk; removed when dropped.
struct InMemory(PathBuf);

impl InMemory {
    /// Makes the directory; `None`, with a message, if there is no file system in memory.
    fn new(name: &str) -> Option<Self> {
        let path = Path::new("/dev/shm").join(format!("dxt-{name}-{}", std::process::id()));
        if std::fs::create_dir(&path).is_err() {
            skip_here("there is no file system in memory");
            return None;
        }
        Some(Self(path))
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the number of the first CPU on which this process may run.
fn first_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc(5)");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list of CPUs");
    list.trim().split(['-', ',']).next().unwrap_or_default().to_owned()
}

/// Runs `count` processes that write to `data` and compute, all on one CPU if `together`; returns the JSON output of `report`.
fn report(count: u32, together: bool, data: &InMemory) -> (Scratch, serde_json::Value) {
    let (scratch, program) = (Scratch::new(), workload("computes"));
    // Without a shell, whose own processes would wait, too.
    let one = |number: u32| {
        let launch = Launch::new(&scratch, if together { "taskset".as_ref() } else { program.as_os_str() });
        let launch = if together { launch.arg("-c").arg(first_cpu()).arg(&program) } else { launch };
        let launch = launch.arg(data.0.join(format!("part.{number}"))).arg("60").arg("1000").env("DXT_JOB_ID", "cpus");
        let outcome = launch.run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
    };
    let one = &one;
    std::thread::scope(|scope| (0..count).for_each(|number| _ = scope.spawn(move || one(number))));
    let found = analyze(&scratch, "report", &["--force"], 0);
    (scratch, found)
}

#[test]
fn eight_processes_on_one_cpu_wait_for_it_and_accuse_no_storage() {
    if !have("taskset") {
        return skip("taskset is not installed");
    }
    if !std::fs::read_to_string("/proc/thread-self/schedstat").is_ok_and(|text| text.trim() != "0 0 0") {
        return skip_here("this kernel does not count waits for a processor");
    }
    let Some(data) = InMemory::new("cpu-wait") else { return };
    let (_scratch, found) = report(8, true, &data);
    assert_eq!(stated(&found), Some("DXT-V036"), "{}", found["verdict"]);
    let title = found["verdict"]["sentence"].as_str().unwrap_or_default();
    assert!(title.starts_with("8 processes on 1 CPU waited"), "{title}");
    let loud = findings(&found).into_iter().filter(|one| one["code"] != "DXT-V036" && one["severity"] != "info");
    assert_eq!(loud.count(), 0, "{}", found["verdict"]);
}

#[test]
fn one_process_with_a_cpu_of_its_own_is_quiet() {
    let Some(data) = InMemory::new("cpu-alone") else { return };
    let (scratch, found) = report(1, false, &data);
    // Judged by the kernel's numbers, not by the analyzer.
    let waits = |process: &crate::harness::ProcessTrace| {
        let waited = process.block.processor.threads.iter().flat_map(|thread| thread.samples.iter().skip(1));
        waited.map(|sample| sample.wait_ns).sum::<u64>() * 20 > process.info.end_ns
    };
    if Traces::read(&scratch.traces()).processes.iter().any(waits) {
        return skip_here("other processes use the processors");
    }
    let loud: Vec<_> = findings(&found).into_iter().filter(|one| one["severity"] != "info").collect();
    assert!(loud.is_empty(), "{}", found["verdict"]);
}
