//! Tests of `dxt-run --live` and `--live-to`: one monitoring agent (`dxt-analyze live`) is started before the program and runs beside it.
//! Failures of the agent do not affect the program.

use crate::harness::{
    Compiler, Launch, Outcome, Scratch, analyzer, dxt_run, executable, library, skip, workload, workload_with,
};
use std::collections::BTreeSet;
use std::path::Path;

/// Runs `dxt-run -o traces OPTIONS -- COMMAND` with a library in a directory that also has this build's dxt-analyze.
fn run(scratch: &Scratch, options: &[&str], command: &[&Path]) -> Outcome {
    run_with(scratch, options, command, &[])
}

/// Runs dxt-run as [`run`] does, with additional environment variables.
fn run_with(scratch: &Scratch, options: &[&str], command: &[&Path], variables: &[(&str, &str)]) -> Outcome {
    let (lib, beside) = (scratch.root().join("libdxt_tracer.so"), scratch.root().join("dxt-analyze"));
    if !lib.exists() {
        std::fs::copy(library(), &lib).expect("failed to copy the library");
        std::os::unix::fs::symlink(analyzer(), beside).expect("failed to make a link");
    }
    let launch =
        Launch::new(scratch, dxt_run()).untraced().without("DXT_ENABLE").without("DXT_OUTPUT_DIR").without("DXT_SPOOL");
    let launch = variables.iter().fold(launch, |launch, (name, value)| launch.env(name, value));
    let launch = launch.arg("--lib").arg(lib).arg("-o").arg(scratch.traces());
    let launch = options.iter().fold(launch, |launch, option| launch.arg(option)).arg("--");
    command.iter().fold(launch, |launch, argument| launch.arg(argument)).run()
}

fn has_analyzer() -> bool {
    let is_there = analyzer().exists();
    if !is_there {
        skip("no dxt-analyze beside this test");
    }
    is_there
}

fn lines(scratch: &Scratch, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(scratch.root().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns the number that follows `name` in the last line that contains `name`.
fn number(lines: &[String], name: &str) -> Option<u64> {
    let name = format!("\"{name}\":");
    let (_, behind) = lines.iter().rev().find_map(|line| line.split_once(&name))?;
    behind.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}

#[test]
fn each_rank_is_seen_or_counted_however_short_it_is() {
    let mpi = Compiler::Mpich;
    if !mpi.available() {
        return skip("mpicc.mpich is not installed");
    }
    if !has_analyzer() {
        return;
    }
    let scratch = Scratch::new();
    let (program, data) = (workload_with("mpiio", mpi, &["-O1"]), scratch.data());
    let command = ["mpirun.mpich".as_ref(), "-n".as_ref(), "2".as_ref(), &*program, &*data];
    let to = ["events", "intervals"].map(|kind| format!("{kind}:{}", scratch.root().join(kind).display()));
    let outcome = run(&scratch, &["--live", "--live-to", &to[0], "--live-to", &to[1]], &command);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stderr.contains("http://127.0.0.1:"), "{outcome:?}");
    let pids: BTreeSet<u64> =
        lines(&scratch, "events").iter().filter_map(|line| number(std::slice::from_ref(line), "pid")).collect();
    let unseen = number(&lines(&scratch, "intervals"), "spools").expect("what was not seen");
    assert_eq!(pids.len() as u64 + unseen, 2, "{outcome:?}");
}

#[test]
fn an_agent_that_cannot_begin_is_reported_before_the_program_runs() {
    if !has_analyzer() {
        return;
    }
    let scratch = Scratch::new();
    let done = scratch.root().join("done");
    for (to, why) in
        [("events:/nonexistent/x", "failed to open /nonexistent/x"), ("nothing:x", "unknown destination `nothing`")]
    {
        let outcome = run(&scratch, &["--live-to", to], &["/bin/touch".as_ref(), &*done]);
        assert_eq!((outcome.code, done.exists()), (2, false), "{outcome:?}");
        assert!(outcome.stderr.contains(why) && outcome.stderr.contains("was not started"), "{outcome:?}");
    }
}

#[test]
fn what_an_agent_lost_is_said_once_and_the_programs_status_stays() {
    if !has_analyzer() {
        return;
    }
    let scratch = Scratch::new();
    // The shell lives long enough for the agent to see it; an unseen process would lose no data.
    let script = "\"$0\" 10 1 & p=$!; sleep 1; wait $p; exit 7";
    let command = ["/bin/sh".as_ref(), "-c".as_ref(), script.as_ref(), &*workload("live")];
    let outcome = run(&scratch, &["--live-to", "events:/dev/full"], &command);
    assert_eq!(outcome.code, 7, "{outcome:?}");
    assert_eq!(outcome.stderr.matches("dxt-analyze live ended with exit code 3").count(), 1, "{outcome:?}");
    // If no data was lost, nothing is reported.
    let outcome = run(&scratch, &["--live-to", "events:/dev/null"], &command);
    assert_eq!((outcome.code, outcome.stderr.contains("dxt-analyze live")), (7, false), "{outcome:?}");
}

#[test]
fn agents_of_several_nodes_write_files_of_their_own() {
    if !has_analyzer() {
        return;
    }
    let scratch = Scratch::new();
    let path = scratch.root().join("events");
    let to = format!("events:{}", path.display());
    let outcome = run(&scratch, &["--live-launch", "env", "--live-to", &to], &["/bin/true".as_ref()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stderr.contains(&format!("--live-to {to}.%h")), "{outcome:?}");
    let node = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a node's name");
    assert!(!path.exists() && scratch.root().join(format!("events.{}", node.trim_end())).exists());
}

#[test]
fn in_a_job_of_several_nodes_an_agent_comes_to_each_beside_mpirun_too() {
    if !has_analyzer() {
        return;
    }
    let scratch = Scratch::new();
    let tools = scratch.root().join("tools");
    std::fs::create_dir(&tools).expect("failed to make a directory");
    // Stand-ins: srun logs its options and starts one agent, mpirun starts the program.
    let said = scratch.root().join("srun.said");
    let srun = format!(
        "#!/bin/sh\nwhile :; do case $1 in --*) echo \"$1\" >>{0} ;; *) break ;; esac; shift; done\nexec \"$@\"\n",
        said.display()
    );
    for (name, text) in [("srun", srun.as_str()), ("mpirun", "#!/bin/sh\n[ \"$1\" = --version ] || exec \"$@\"\n")] {
        executable(&tools.join(name), text);
    }
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let of_job = [("PATH", path.as_str()), ("SLURM_JOB_NUM_NODES", "2")];
    let to = format!("events:{}", scratch.root().join("events").display());
    let options = ["--live-to", to.as_str()];
    let outcome = run_with(&scratch, &options, &["mpirun".as_ref(), "/bin/true".as_ref()], &of_job);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let options_said = std::fs::read_to_string(&said).unwrap_or_default();
    assert!(options_said.contains("--overlap\n") && options_said.contains("--nodes=2\n"), "{options_said} {outcome:?}");
    assert!(outcome.stderr.contains(&format!("--live-to {to}.%h")), "{outcome:?}");
    // A program without a launcher runs on this node.
    std::fs::remove_file(&said).expect("what was said");
    let outcome = run_with(&scratch, &options, &["/bin/true".as_ref()], &of_job);
    assert_eq!((outcome.code, said.exists()), (0, false), "{outcome:?}");
}
