//! Tests of program ends: after every end that lets code run, the trace is complete and the program ends as it would untraced.

use crate::harness::{Launch, Order, Outcome, Scratch, Traces, assert_same, library, read_log, recover, workload};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn end_by(scratch: &Scratch, way: &str) -> (Outcome, Outcome) {
    let launch = || Launch::new(scratch, workload("exits")).arg(scratch.data()).arg(way).arg("5000");
    let untraced = launch().untraced().env("OPLOG", scratch.root().join("untraced")).run();
    scratch.clear_data();
    (untraced, launch().run())
}

fn nothing_lost(way: &str, ended_by: Option<&str>) {
    let scratch = Scratch::new();
    let (untraced, traced) = end_by(&scratch, way);
    assert_eq!((traced.code, &traced.stdout, &traced.stderr), (untraced.code, &untraced.stdout, &untraced.stderr));
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    assert!(log.len() > 5000, "{}", log.len());
    assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
    assert_eq!(traces.processes.len(), 1);
    if let Some(ended_by) = ended_by {
        assert_eq!(traces.processes[0].info.ended_by, ended_by);
    }
}

#[test]
fn return_from_main() {
    nothing_lost("return", Some("exit"));
}

#[test]
fn exit() {
    nothing_lost("exit", Some("exit"));
}

#[test]
fn underscore_exit() {
    nothing_lost("_exit", Some("_exit"));
}

#[test]
fn underscore_capital_exit() {
    nothing_lost("_Exit", None);
}

#[test]
fn quick_exit() {
    nothing_lost("quick_exit", None);
}

#[test]
fn pthread_exit_of_main() {
    nothing_lost("pthread_exit", None);
}

#[test]
fn exit_from_another_thread() {
    nothing_lost("thread_exit", Some("exit"));
}

/// Runs a program that dies by its own signal in the way `way`, with and without the tracer. Asserts that both end with `code`, and that
/// the trace is complete or missing, never damaged. Returns true if there is a trace.
fn dies(way: &str, code: i32) -> bool {
    let scratch = Scratch::new();
    let (untraced, traced) = end_by(&scratch, way);
    assert_eq!((untraced.code, traced.code), (code, code));
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    if !traces.files.is_empty() {
        assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
    }
    !traces.files.is_empty()
}

#[test]
fn sigterm_with_default_action() {
    assert!(dies("sigterm", 128 + 15));
}

/// A signal that arrives while the trace is written at a normal end must not lose the trace.
#[test]
fn sigterm_at_any_moment_of_the_end() {
    for round in 0..60_u64 {
        let scratch = Scratch::new();
        let mut command = Command::new(workload("progress"));
        let calls = 20_000_u32;
        command.arg(scratch.data()).arg("1").arg(calls.to_string()).stdout(Stdio::piped());
        command.env("LD_PRELOAD", library()).env("DXT_ENABLE", "trace").env("DXT_OUTPUT_DIR", scratch.traces());
        let mut child = command.env("DXT_SPOOL", "off").spawn().expect("failed to run the program");
        let mut out = child.stdout.take().expect("its standard output is a pipe");
        let mut record = [0; 8];
        while record != [[0; 4], (calls + 1).to_le_bytes()].concat()[..] {
            out.read_exact(&mut record).expect("the program runs");
        }
        std::thread::sleep(Duration::from_micros(round * 50));
        let sent = Command::new("kill").arg(child.id().to_string()).stderr(Stdio::null()).status().expect("kill runs");
        let ended = child.wait().expect("failed to wait for the program");
        let by_signal = ended.signal() == Some(15);
        assert!(by_signal || ended.code() == Some(0), "round {round}: {ended:?}, {sent}");
        let traces = Traces::read(&scratch.traces());
        assert_eq!(traces.files.len(), 1, "round {round}: {ended:?}");
        let kept = traces.calls(&scratch.data()).values().map(|(count, _)| count).sum::<u64>();
        assert!(kept >= u64::from(calls), "round {round}: {kept} calls");
    }
}

#[test]
fn sigterm_handled_by_the_program() {
    nothing_lost("handled", Some("_exit"));
}

#[test]
fn sigterm_ignored_by_the_program() {
    nothing_lost("ignored", Some("exit"));
}

#[test]
fn sigterm_with_default_action_restored() {
    assert!(dies("default_again", 128 + 15));
}

/// The first process of a container is not ended by signals that it sends to itself, and has no parent in its namespace.
#[test]
fn the_first_process_of_a_namespace() {
    let command = |way: &str, scratch: &Scratch, preload: &str| {
        let launch = Launch::new(scratch, "unshare").untraced().args(["-p", "-f", "env"]).arg(preload);
        launch.arg(workload("exits")).arg(scratch.data()).arg(way).arg("3000").run()
    };
    let probe = Launch::new(&Scratch::new(), "unshare").untraced().args(["-p", "-f", "true"]).run();
    if probe.code != 0 {
        return crate::harness::skip_here("a namespace of processes may not be made here");
    }
    let preload = format!("LD_PRELOAD={}", library().display());
    // SIGTERM does not end this process, which continues to its normal end.
    for (way, code) in
        [("return", 7), ("exit", 7), ("_exit", 7), ("quick_exit", 7), ("thread_exit", 7), ("sigterm", 99)]
    {
        let untraced = command(way, &Scratch::new(), "NOTHING=").code;
        let scratch = Scratch::new();
        let traced = command(way, &scratch, &preload);
        assert_eq!((untraced, traced.code), (code, code), "{way}: {traced:?}");
        assert_eq!(traced.stderr, "", "{way}");
        recover(&scratch);
        let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
        assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
        assert!(traces.processes.iter().all(|process| process.info.pid == 1), "{way}");
    }
}

#[test]
fn sigint_with_default_action() {
    assert!(dies("sigint", 128 + 2));
}

#[test]
fn abort() {
    dies("abort", 128 + 6);
}

#[test]
fn sigkill() {
    dies("kill", 128 + 9);
}

/// Messages must be printed before standard error is closed: cat(1), cp(1) and dd(1) close it in exit(3), just before their trace is written.
#[test]
fn what_is_known_is_said_before_standard_error_is_closed() {
    let scratch = Scratch::new();
    let file = scratch.data().join("a file");
    std::fs::write(&file, "data").expect("a file");
    let cat = |into: &std::path::Path, verbose: &str| {
        let launch = Launch::new(&scratch, "/bin/cat").env("DXT_OUTPUT_DIR", into).env("DXT_VERBOSE", verbose);
        let outcome = launch.arg(&file).run();
        assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "data"), "{outcome:?}");
        outcome.stderr
    };
    let said = cat(&file.join("below"), "0");
    let why = format!(
        "dxt: failed to write the trace: failed to make the directory {}/below: Not a directory",
        file.display()
    );
    assert!(said.starts_with(&why) && said.lines().count() == 1, "{said}");
    assert_eq!(cat(&scratch.traces(), "0"), "");
    let said = cat(&scratch.traces(), "1");
    let place = format!("dxt: a trace will be written to {} (", scratch.traces().display());
    assert!(said.starts_with(&place) && said.lines().count() == 1, "{said}");
    assert_eq!(Traces::read(&scratch.traces()).files.len(), 2);
    // Other programs report the error once, at the end.
    let outcome = Launch::new(&scratch, "/bin/sh")
        .env("DXT_OUTPUT_DIR", file.join("below"))
        .arg("-c")
        .arg("read line <\"$0\"")
        .arg(&file)
        .run();
    assert!(outcome.stderr.contains("Not a directory") && outcome.stderr.lines().count() == 1, "{outcome:?}");
}

/// Ways in which the test program reuses file descriptor 2 (standard error) for a data file.
const TAKING: [&str; 18] = [
    "open",
    "openat",
    "creat",
    "same_file",
    "dup",
    "dup2",
    "dup3",
    "fcntl",
    "close_range",
    "closefrom",
    "fclose",
    "fclose_fopen",
    "freopen",
    "freopen_same",
    "system_calls",
    "system_dup3",
    "mkstemp",
    "reused",
];

/// Runs the test program, which reuses descriptor 2 (standard error) for a data file in the way `way`. Standard error was a file before.
/// `verbose`: DXT_VERBOSE. Returns the exit code, and the final contents of the data file and of the file that was standard error.
fn takes_stderr(way: &str, verbose: &str, traced: bool) -> (i32, String, String) {
    let scratch = Scratch::new();
    let (data, stderr) = (scratch.data().join("data"), scratch.root().join("stderr"));
    let script = "err=$1; shift; exec \"$0\" \"$@\" \"$err\" 2>\"$err\"";
    let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).arg(workload("takes_stderr")).arg(&stderr);
    let launch = launch.arg(way).arg(&data).env("DXT_APPS", "!sh,!dash,!bash").env("DXT_VERBOSE", verbose);
    let launch = launch.env("DXT_OUTPUT_DIR", "/proc/no/such/place");
    let outcome = if traced { launch.run() } else { launch.untraced().run() };
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    (outcome.code, text(&data), text(&stderr))
}

#[test]
fn no_word_comes_into_a_file_that_has_the_number_of_standard_error() {
    for (way, verbose) in TAKING.into_iter().flat_map(|way| [(way, "0"), (way, "2")]) {
        let (code, data, stderr) = takes_stderr(way, verbose, true);
        let (untraced_code, untraced_data, untraced) = takes_stderr(way, "0", false);
        assert_eq!((code, &data), (untraced_code, &untraced_data), "{way} {verbose}: {stderr}");
        assert_eq!(code, 7, "{way}");
        let others: Vec<&str> = stderr.lines().filter(|line| !line.starts_with("dxt: ")).collect();
        assert_eq!(others, untraced.lines().collect::<Vec<_>>(), "{way} {verbose}");
        // A file that is truncated loses earlier messages.
        let is_same = ["same_file", "freopen_same"].contains(&way);
        assert!(!is_same || stderr == "data\n", "{way} {verbose}: {stderr}");
    }
}

#[test]
fn words_go_to_standard_error_while_it_is_there() {
    for way in ["kept", "restored", "restored_opened"] {
        let (code, data, stderr) = takes_stderr(way, "0", true);
        assert_eq!((code, data.as_str()), (7, if way == "kept" { "" } else { "data\n" }), "{way}");
        let lines: Vec<&str> = stderr.lines().collect();
        assert_eq!((lines.len(), lines[0]), (2, "before"), "{way}: {stderr}");
        assert!(lines[1].starts_with("dxt: failed to write the trace"), "{way}: {stderr}");
    }
}

/// Messages must never block on a slow reader. A pipe without a reader, or a file at its size limit, must cause no signal.
#[test]
fn words_that_cannot_be_said_harm_nobody() {
    for (way, verbose) in ["no_reader", "no_room", "limit"].into_iter().flat_map(|way| [(way, "0"), (way, "2")]) {
        let (code, ..) = takes_stderr(way, verbose, true);
        assert_eq!(code, 7, "{way} {verbose}");
    }
}
