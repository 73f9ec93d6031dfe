//! Tests of signals to dxt-run: the command gets each signal once, dxt-run ends as the command does, and the command starts with the signal
//! state and descriptors that dxt-run had.

use crate::harness::{
    Launch, Scratch, Traces, analyzer, dxt_run, executable, library, python, skip, skip_here, workload,
};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Returns the command `dxt-run --lib ... -o traces`, to which options and a program must be added.
fn launcher(scratch: &Scratch) -> Command {
    let mut command = Command::new(dxt_run());
    command.arg("--lib").arg(library()).arg("-o").arg(scratch.traces()).current_dir(scratch.root());
    for name in ["LD_PRELOAD", "DXT_ENABLE", "DXT_OUTPUT_DIR", "DXT_SPOOL"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts a shell script (sh(1), source `text`) under dxt-run.
fn script(scratch: &Scratch, text: &str) -> Child {
    launcher(scratch).args(["--", "/bin/sh", "-c", text]).spawn().expect("dxt-run can be started")
}

/// Waits until `is_so` returns true; fails after 20 s with the message `what`.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} has not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn send(signal: &str, process: i64) {
    let sent = Command::new("kill").args([&format!("-{signal}"), "--", &process.to_string()]).status();
    assert!(sent.expect("kill(1) is there").success());
}

fn ended(mut child: Child) -> ExitStatus {
    until("the end", || child.try_wait().expect("a child").is_some());
    child.wait().expect("a child")
}

/// Shell code that appends a line to the file `said` for each signal, and exits with 5 at SIGTERM.
const TRAPS: &str =
    "for s in INT HUP QUIT USR1 USR2 CONT; do trap \"echo $s >>said\" $s; done; trap 'echo TERM >>said; exit 5' TERM
    echo $$ >ready; while :; do sleep 0.02; done";

#[test]
fn each_reaches_the_command_once_and_dxt_run_ends_as_it_does() {
    let scratch = Scratch::new();
    let said = || std::fs::read_to_string(scratch.root().join("said")).unwrap_or_default();
    let child = script(&scratch, TRAPS);
    until("the command", || scratch.root().join("ready").exists());
    let mut expected = String::new();
    for signal in ["INT", "HUP", "QUIT", "USR1", "USR2", "CONT", "TERM"] {
        send(signal, child.id().into());
        expected += &format!("{signal}\n");
        until(signal, || said() == expected);
    }
    assert_eq!(ended(child).code(), Some(5));
    assert_eq!(said(), expected);
}

#[test]
fn it_ends_by_the_signal_that_ended_the_command() {
    let scratch = Scratch::new();
    for signal in [2, 6, 9, 11, 13, 15] {
        let status = ended(script(&scratch, &format!("ulimit -c unlimited; kill -{signal} $$; sleep 9")));
        assert_eq!((status.signal(), status.core_dumped()), (Some(signal), false), "{status:?}");
    }
    for code in [0, 7, 126, 143, 255] {
        assert_eq!(ended(script(&scratch, &format!("exit {code}"))).code(), Some(code));
    }
    // The signal is sent to dxt-run itself.
    let child = script(&scratch, "echo >ready; exec sleep 60");
    until("the command", || scratch.root().join("ready").exists());
    send("TERM", child.id().into());
    assert_eq!(ended(child).signal(), Some(15));
}

/// A terminal's interrupt reaches all processes of the foreground group. dxt-run must not forward it, or the command would get it twice.
#[test]
fn a_terminals_interrupt_comes_once() {
    let Some(python) = python() else { return skip("python3 is not installed") };
    let scratch = Scratch::new();
    let terminal = "import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
while not os.path.exists('ready'): time.sleep(0.01)
for key in b'\\x03', b'\\x1c':
    os.write(fd, key)
    time.sleep(0.3)
os.kill(int(open('ready').read()), 15)
try:
    while os.read(fd, 100): pass
except OSError: pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";
    let outcome = Launch::new(&scratch, python).untraced().arg("-c").arg(terminal).arg(dxt_run()).arg("--lib");
    let outcome = outcome.arg(library()).args(["-o", "traces", "sh", "-c", TRAPS]).run();
    let said = std::fs::read_to_string(scratch.root().join("said")).expect("what was said");
    assert_eq!((outcome.code, said.as_str()), (5, "INT\nQUIT\nTERM\n"), "{outcome:?}");
}

/// Returns the state of a process as in /proc/PID/stat, such as `T` for stopped.
fn state(process: &str) -> char {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    line.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('-')
}

#[test]
fn both_are_stopped_and_go_on_together() {
    let scratch = Scratch::new();
    // Uses a process group of its own, since processes of an orphaned group do not stop.
    let mut command = launcher(&scratch);
    command.args(["--", "/bin/sh", "-c", "echo $$ >ready; exec sleep 60"]).process_group(0);
    let child = command.spawn().expect("dxt-run can be started");
    let ready = || std::fs::read_to_string(scratch.root().join("ready")).unwrap_or_default();
    until("the command", || ready().ends_with('\n'));
    let both = [child.id().to_string(), ready().trim().to_owned()];
    for (signal, stopped) in [("TSTP", true), ("CONT", false), ("TSTP", true), ("CONT", false)] {
        send(signal, child.id().into());
        until(signal, || both.iter().all(|process| (state(process) == 'T') == stopped));
    }
    send("TERM", child.id().into());
    assert_eq!(ended(child).signal(), Some(15));
}

/// The command must inherit ignored and blocked signals, closed descriptors, and standard input from dxt-run's caller.
#[test]
fn the_command_starts_as_it_would_by_itself() {
    let Some(python) = python() else { return skip("python3 is not installed") };
    let scratch = Scratch::new();
    let start = "import os, signal, sys
for name in sys.argv[1].split():
    kind, of = name[0], name[1:]
    if kind == 'i': signal.signal(getattr(signal, 'SIG' + of), signal.SIG_IGN)
    elif kind == 'd': signal.signal(getattr(signal, 'SIG' + of), signal.SIG_DFL)
    elif kind == 'b': signal.pthread_sigmask(signal.SIG_BLOCK, [getattr(signal, 'SIG' + of)])
    else: os.close(int(of))
os.execvp(sys.argv[2], sys.argv[2:])";
    let show = "grep -E '^Sig(Ign|Blk)' /proc/self/status >state; ls /proc/self/fd >>state; cat >>state";
    let run = |how: &str, with: bool| {
        let mut words = vec!["-c".as_ref(), start.as_ref(), how.as_ref()];
        let (lib, traces) = (library(), scratch.traces());
        if with {
            words.extend([dxt_run(), "-q".as_ref(), "--lib".as_ref(), lib, "-o".as_ref(), traces.as_ref()]);
        }
        words.extend(["sh".as_ref(), "-c".as_ref(), Path::new(show)]);
        let mut command = Command::new(&python);
        command.args(words).current_dir(scratch.root()).env_remove("LD_PRELOAD").stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("python");
        let _ = std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), b"words\n");
        ended(child);
        std::fs::read_to_string(scratch.root().join("state")).expect("a state")
    };
    for how in ["", "iHUP iINT iQUIT", "iCHLD", "dPIPE", "bTERM bCHLD bUSR1", "c1", "c2", "c1 c2", "iCHLD c0 c1 c2"] {
        let (plain, traced) = (run(how, false), run(how, true));
        assert_eq!(traced, plain, "{how}");
        assert_eq!(plain.contains("words"), !how.contains("c0"), "{how}: {plain}");
    }
}

#[test]
fn reported_to_end_before_the_command_starts_it_leaves_nothing() {
    if !analyzer().exists() {
        return skip("dxt-analyze is not built beside the tests (cargo build)");
    }
    for signal in ["TERM", "INT", "HUP"] {
        let scratch = Scratch::new();
        let temporary = scratch.root().join("temporary");
        std::fs::create_dir(&temporary).expect("a directory");
        // Agent that never becomes ready.
        std::fs::write(scratch.root().join("agent"), "#!/bin/sh\nexec sleep 60\n").expect("a file");
        let mut command = launcher(&scratch);
        command.args(["--live", "--live-launch", "sh agent", "--", "touch", "ran"]).env("TMPDIR", &temporary);
        let path = analyzer().parent().map_or_else(String::new, |folder| folder.display().to_string());
        command.env("PATH", format!("{}:{path}", std::env::var("PATH").unwrap_or_default()));
        let child = command.spawn().expect("dxt-run");
        until("what is made", || std::fs::read_dir(&temporary).is_ok_and(|made| made.count() > 0));
        std::thread::sleep(Duration::from_millis(100));
        send(signal, child.id().into());
        let began = Instant::now();
        let status = ended(child);
        assert!(status.signal().is_some() && began.elapsed() < Duration::from_secs(3), "{status:?}");
        assert_eq!(std::fs::read_dir(&temporary).expect("a directory").count(), 0, "{signal}");
        assert_eq!(std::fs::read_dir(scratch.traces()).expect("a directory").count(), 0, "{signal}");
        assert!(!scratch.root().join("ran").exists());
    }
}

/// If the user interrupts again while dxt-run recovers the killed command's trace, the trace must not be lost.
#[test]
fn a_signal_while_it_recovers_is_passed_over() {
    if !analyzer().exists() {
        return skip("dxt-analyze is not built beside the tests (cargo build)");
    }
    let scratch = Scratch::new();
    // Stand-in for dxt-analyze that starts late, which leaves time for a signal to its process group.
    let beside = scratch.root().join("beside");
    std::fs::create_dir(&beside).expect("a directory");
    std::fs::copy(library(), beside.join("libdxt_tracer.so")).expect("a copy");
    let slow = format!("#!/bin/sh\necho >began; sleep 1\nexec {} \"$@\"\n", analyzer().display());
    executable(&beside.join("dxt-analyze"), &slow);
    let mut command = Command::new(dxt_run());
    command.arg("--lib").arg(beside.join("libdxt_tracer.so")).arg("-o").arg(scratch.traces()).arg("--");
    command.arg(workload("exits")).arg(scratch.data()).args(["kill", "50"]).current_dir(scratch.root());
    let child = command.env_remove("LD_PRELOAD").stderr(Stdio::null()).process_group(0).spawn().expect("dxt-run");
    until("the recovery", || scratch.root().join("began").exists());
    send("INT", -i64::from(child.id()));
    assert_eq!(ended(child).signal(), Some(9));
    assert_eq!(Traces::read(&scratch.traces()).segments.len(), 51);
}

/// In a container, dxt-run as first process adopts orphans and waits for them. Such a process ignores signals by default.
#[test]
fn as_the_first_process_it_waits_for_all() {
    let scratch = Scratch::new();
    let inside = |command: &str| {
        let launch = Launch::new(&scratch, "unshare").untraced().args(["--fork", "--pid", "--mount-proc", "--mount"]);
        let launch = launch.arg(dxt_run()).arg("--lib").arg(library()).arg("-o").arg(scratch.traces());
        launch.args(["sh", "-c", command]).run()
    };
    let outcome = inside("exit 3");
    if outcome.stderr.contains("unshare") {
        return skip_here("no namespaces of process numbers");
    }
    assert_eq!(outcome.code, 3, "{outcome:?}");
    let zombies =
        inside("for i in 1 2 3; do (sleep 0.1 & ) ; done; sleep 0.6; cat /proc/[0-9]*/stat | grep -c ') Z'; exit 4");
    assert_eq!((zombies.code, zombies.stdout.as_str()), (4, "0\n"), "{zombies:?}");
    let killed = inside("kill -9 $$");
    assert_eq!(killed.code, 128 + 9, "{killed:?}");
}

#[test]
fn it_needs_no_directory_no_home_and_few_variables() {
    let scratch = Scratch::new();
    let (run, lib, traces) = (dxt_run().display(), library().display(), scratch.traces());
    let traces = traces.display();
    for script in [
        "mkdir gone && cd gone && rmdir ../gone && RUN touch \"$0\"",
        "env -i RUN /bin/touch \"$0\"",
        "mkdir -m 0 closed && cd closed && RUN touch \"$0\"",
        "LD_LIBRARY_PATH=/nonexistent LD_PRELOAD=libm.so.6 RUN touch \"$0\"",
        "LD_PRELOAD=/nonexistent/libother.so RUN touch \"$0\"",
    ] {
        let made = scratch.data().join("made");
        let script = script.replace("RUN", &format!("{run} --lib {lib} -o {traces} --"));
        let outcome =
            Launch::new(&scratch, "/bin/sh").untraced().without("HOME").without("DXT_SPOOL").without("DXT_ENABLE");
        let outcome = outcome.arg("-c").arg(&script).arg(&made).run();
        assert!(outcome.code == 0 && made.exists(), "{script}: {outcome:?}");
        assert!(outcome.stderr.contains("dxt-run: wrote "), "{script}: {outcome:?}");
        std::fs::remove_file(made).expect("a file");
    }
}
