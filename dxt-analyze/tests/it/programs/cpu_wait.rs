//! Tests of programs that share a processor, or have one each.

use super::analyze;
use crate::common::facts::{findings, stated};
use crate::harness::{Launch, Scratch, have, skip, skip_here, workload};

/// Runs `count` processes that write and compute, on CPU 0 if `together`; returns the JSON output of `report`.
fn report(count: u32, together: bool) -> (Scratch, serde_json::Value) {
    let scratch = Scratch::new();
    let (program, data) = (workload("computes"), scratch.data());
    let pin = if together { "taskset -c 0 " } else { "" };
    let script = format!(
        "for i in $(seq {count}); do {pin}'{}' '{}'/part.$i 200 300 & done; wait",
        program.display(),
        data.display()
    );
    let outcome = Launch::new(&scratch, "sh").arg("-c").arg(script).env("DXT_JOB_ID", "cpus").run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let found = analyze(&scratch, "report", &["--force"], 0);
    (scratch, found)
}

#[test]
fn eight_processes_on_one_cpu_wait_for_it_and_accuse_no_storage() {
    if !have("taskset") {
        return skip("taskset is not installed");
    }
    if std::fs::metadata("/proc/self/schedstat").is_err() {
        return skip_here("this kernel does not count waits for a processor");
    }
    let (_scratch, found) = report(8, true);
    assert_eq!(stated(&found), Some("DXT-V036"), "{}", found["verdict"]);
    let title = found["verdict"]["sentence"].as_str().unwrap_or_default();
    assert!(title.starts_with("8 processes on 1 CPU waited"), "{title}");
    let loud = findings(&found).into_iter().filter(|one| one["code"] != "DXT-V036" && one["severity"] != "info");
    assert_eq!(loud.count(), 0, "{}", found["verdict"]);
}

#[test]
fn one_process_with_a_cpu_of_its_own_is_quiet() {
    let (_scratch, found) = report(1, false);
    let loud: Vec<_> = findings(&found).into_iter().filter(|one| one["severity"] != "info").collect();
    if loud.iter().any(|one| one["code"] == "DXT-V036") {
        return skip_here("other processes use the processors");
    }
    assert!(loud.is_empty(), "{}", found["verdict"]);
}
