//! Tests that the instructions executed by commands grow linearly, not quadratically, with the number of ranks and of files.

use super::common::{self, op, process, put, skip, trace};
use std::path::Path;
use std::process::Command;

/// Ranks, or files, of the three jobs that each command is run on.
const COUNTS: [usize; 3] = [500, 1000, 2000];
/// Largest allowed (I(2000) - I(1000)) / (I(1000) - I(500)), where I(n) is the number of instructions for n ranks or files: 2.0 is linear,
/// 4.0 quadratic; n log n is 2.2.
const MOST: f64 = 2.3;
/// Commands that are run: `report` has the analyses of most others.
const COMMANDS: [&str; 4] = ["report", "signatures", "compare", "scaling"];
/// Ranks of the jobs with many files.
const RANKS: usize = 4;

/// Returns the instructions that dxt-analyze executes for `args`.
fn instructions(args: &[&str]) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_dxt-analyze"))
        .args(args)
        .args(["--threads", "1", "--format", "json"])
        .output()
        .expect("valgrind runs");
    let report = String::from_utf8_lossy(&output.stderr);
    // 3: there are findings.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{args:?}: {report}");
    let count = report.lines().find_map(|line| line.split_once("refs:"));
    let (_, count) = count.unwrap_or_else(|| panic!("no count for {args:?}: {report}"));
    count.trim().replace(',', "").parse().expect("a number")
}

/// Checks each command on three jobs; `make` writes the job with a number of ranks or files.
fn check(what: &str, make: impl Fn(&Path, usize) -> String) {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip("valgrind is not installed");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let traces = COUNTS.map(|count| make(folder.path(), count));
    let mut above = Vec::new();
    for command in COMMANDS {
        let [few, more, most] = [0, 1, 2].map(|at| {
            let trace = traces[at].as_str();
            let args: &[&str] =
                if matches!(command, "compare" | "scaling") { &[command, trace, trace] } else { &[command, trace] };
            instructions(args)
        });
        let ratio = most.saturating_sub(more) as f64 / more.saturating_sub(few).max(1) as f64;
        println!("{command:12} {few:12} {more:12} {most:12} {ratio:6.2}");
        if ratio > MOST {
            above.push(format!("{command}: {ratio:.2}"));
        }
    }
    assert!(above.is_empty(), "more than linear in {what}: {}", above.join(", "));
}

#[test]
fn commands_are_linear_in_ranks() {
    check("ranks", |folder, count| {
        let file = folder.join(format!("{count}.dxt"));
        let file = common::text(&file).to_owned();
        let count = count.to_string();
        dxt_synth::run(["dxt-synth", "ior-strided", "-n", &count, "--segments", "1", "-o", &file]).expect("a trace");
        file
    });
}

#[test]
fn commands_are_linear_in_files() {
    check("files", |folder, count| {
        let of_rank = |rank: usize| {
            let mut process = process(rank as i32, "node1");
            for number in (rank..count).step_by(RANKS) {
                let (path, at) = (format!("/scratch/run/out.{number}"), 1_000_000 * number as u64);
                process.add(&path, op::POSIX_OPEN, 0, -1, 0, at, at + 20_000);
                process.write(&path, 0, 4096, at + 30_000, at + 90_000);
                process.add(&path, op::POSIX_CLOSE, 0, -1, 0, at + 100_000, at + 110_000);
            }
            process
        };
        let bytes = trace(&common::job("job-1", RANKS as u32), (0..RANKS).map(of_rank).collect());
        put(folder, &format!("{count}.dxt"), &bytes)
    });
}
