//! Tests of scarce memory (exhausted, locked, limited): the program ends as untraced, and its calls are in its trace, or in a spool that a
//! message names.

use crate::harness::{Compiler, Launch, Outcome, Scratch, Traces, have, is_root, recover, spools, workload_with};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

fn program() -> std::path::PathBuf {
    workload_with("scarce", Compiler::Cc, &["-O1", "-pthread", "-ldl"])
}

fn launch<'a>(scratch: &'a Scratch, way: &str) -> Launch<'a> {
    Launch::new(scratch, program()).arg(scratch.data()).arg(way)
}

/// Recovers all spools, and returns the number of writes in the traces. A spool may remain only if a message reported it.
fn writes(scratch: &Scratch, outcome: &Outcome) -> u64 {
    let left = !spools(scratch).is_empty();
    // If exec(3) fails, the message may precede a later, successful attempt to write the trace.
    assert!(!left || outcome.stderr.contains("recover"), "{outcome:?}");
    if left {
        recover(scratch);
    }
    Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data()).0
}

#[test]
fn a_program_that_uses_up_its_memory() {
    for (way, calls) in [("used_up", 400_000), ("data_limit", 400_000), ("limited", 200_010)] {
        for overflow in ["compact", "spill", "fold"] {
            let scratch = Scratch::new();
            let outcome = launch(&scratch, way).env("DXT_OVERFLOW", overflow).run();
            assert_eq!(outcome.code, 5, "{way}, {overflow}: {outcome:?}");
            assert!(outcome.stderr.lines().count() <= 1, "{way}, {overflow}: {outcome:?}");
            assert_eq!(writes(&scratch, &outcome), calls, "{way}, {overflow}: {outcome:?}");
        }
        let scratch = Scratch::new();
        let outcome = launch(&scratch, way).env("DXT_ENABLE", "counters").run();
        assert_eq!((outcome.code, outcome.stderr.lines().count() <= 1), (5, true), "{way}: {outcome:?}");
    }
}

#[test]
fn a_child_without_memory_counts_what_it_cannot_record() {
    for (mode, spool) in [("trace", "off"), ("counters", "off"), ("trace", "on")] {
        let scratch = Scratch::new();
        let launch = launch(&scratch, "poor").arg("500").env("DXT_ENABLE", mode);
        let outcome = if spool == "off" { launch.env("DXT_SPOOL", spool) } else { launch }.run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (5, ""), "{mode} {spool}: {outcome:?}");
        let traces = Traces::read(&scratch.traces());
        let recorded = traces.totals(&["POSIX"], "write", &scratch.data()).0;
        let notes = traces.processes.iter().flat_map(|process| &process.notes);
        let counted: u64 =
            notes.filter(|note| note.what.contains("table of the tracer was full")).map(|note| note.count).sum();
        assert_eq!(recorded + counted, 510, "{mode} {spool}: {recorded} recorded, {counted} counted");
    }
}

/// Runs the program repeatedly with `calls` calls, each time with another memory allocation failing: the first, the second, and so on (in
/// growing steps), until the number exceeds the number of allocations made. `way`, `end`: the program's arguments; `mode`: DXT_ENABLE;
/// `overflow`: DXT_OVERFLOW.
fn each_fails(way: &str, mode: &str, overflow: &str, calls: &str, end: &str) {
    let (mut number, mut whole, mut failed) = (1_u32, 0, 0);
    // A forked child continues its parent's count, so the same allocation fails in both.
    let processes = if end == "fork" { 2 } else { 1 };
    // Failures of early allocations have no effect: a chunk that cannot be packed stays unpacked.
    while failed == 0 || whole < 3 {
        let scratch = Scratch::new();
        let launch = launch(&scratch, way).arg(number.to_string()).arg(calls).arg(end);
        let outcome = launch.env("DXT_ENABLE", mode).env("DXT_OVERFLOW", overflow).env("DXT_BUFFER_MAX", "64K").run();
        let what = format!("{way} {number}, {mode} {overflow}, {end}: {outcome:?}");
        assert_eq!(outcome.code, 5, "{what}");
        if outcome.stderr.is_empty() {
            whole += 1;
        } else {
            (whole, failed) = (0, failed + 1);
            assert!(outcome.stderr.lines().all(|line| line.contains("not enough memory")), "{what}");
            assert!(outcome.stderr.lines().count() <= processes, "{what}");
        }
        if mode == "trace" {
            let made = calls.parse::<u64>().expect("a number") * processes as u64;
            assert_eq!(writes(&scratch, &outcome), made, "{what}");
        }
        // Steps grow, since later allocations are equal.
        number += 1 + number / 16;
        assert!(number < 20_000, "{way}, {mode} {overflow}, {end}: {failed} failed, {whole} whole");
    }
    assert!(failed > 5, "{way}, {mode} {overflow}, {end}: {failed} failed");
}

#[test]
fn every_allocation_fails_once() {
    for end in ["exit", "_exit", "exec", "fork"] {
        each_fails("fails", "trace", "fold", "300", end);
    }
    for overflow in ["compact", "spill"] {
        each_fails("fails", "trace", overflow, "20000", "exit");
    }
    each_fails("fails", "counters", "compact", "300", "exit");
}

#[test]
fn every_allocation_fails_from_one_on() {
    for (overflow, calls) in [("fold", "300"), ("compact", "20000"), ("spill", "20000")] {
        each_fails("fails_from", "trace", overflow, calls, "exit");
    }
    each_fails("fails_from", "counters", "compact", "300", "fork");
}

/// Parses the two numbers of the program's output: locked and resident memory, in kB.
fn locked(outcome: &Outcome) -> Option<(i64, i64)> {
    assert_eq!(outcome.code, 5, "{outcome:?}");
    let (locked, resident) = outcome.stdout.trim().split_once(' ')?;
    Some((locked.parse().ok()?, resident.parse().ok()?))
}

#[test]
fn locked_memory_is_the_programs() {
    if !is_root() {
        return crate::harness::skip_here("only root may lock as much as it wants");
    }
    for what in ["current", "future", "both"] {
        let before = locked(&launch(&Scratch::new(), "lock").arg(what).untraced().run()).expect("it may");
        for (mode, buffer) in [("trace", "1M"), ("counters", "1M")] {
            let scratch = Scratch::new();
            let launch = launch(&scratch, "lock").arg(what).env("DXT_ENABLE", mode).env("DXT_BUFFER_MAX", buffer);
            let after = locked(&launch.run()).expect("it may as well");
            println!("{what}, {mode}: {before:?} kB untraced, {after:?} traced, locked and resident");
            // The library's own code and data take some 4 MiB. Buffers and tables in use are not locked.
            assert!(after.0 - before.0 < 8 << 10 && after.1 - before.1 < 16 << 10, "{what}: {before:?}, {after:?}");
        }
    }
}

#[test]
fn who_may_lock_little_still_may() {
    if !is_root() || !have("setpriv") || !have("prlimit") {
        return crate::harness::skip_here("needs root, setpriv(1) and prlimit(1)");
    }
    // MCL_CURRENT compares the limit with the whole address space, including the library's code and data (docs/configuration.md).
    for what in ["future"] {
        for traced in [false, true] {
            let scratch = Scratch::new();
            let open = std::env::temp_dir().join(format!("dxt-lock-{}-{what}-{traced}", std::process::id()));
            let shared = std::fs::Permissions::from_mode(0o777);
            std::fs::create_dir_all(&open).and_then(|()| std::fs::set_permissions(&open, shared)).expect("a directory");
            let preload = if traced { format!("LD_PRELOAD={}/library", open.display()) } else { "NOTHING=".to_owned() };
            let script = format!(
                "cp {1} {0}/program && cp {2} {0}/library && chmod 755 {0}/* && cd {0} && prlimit --memlock=8388608:8388608 \
                 setpriv --reuid=65534 --regid=65534 --clear-groups env DXT_SPOOL={0}/s DXT_OUTPUT_DIR={0}/o {preload} \
                 ./program {0} lock {what}; ls {0}/o 2>/dev/null; rm -r {0}",
                open.display(),
                program().display(),
                crate::harness::library().display()
            );
            let outcome = Launch::new(&scratch, "/bin/sh").untraced().arg("-c").arg(script).run();
            let numbers = outcome.stdout.lines().next().unwrap_or_default();
            assert!(numbers.split(' ').all(|number| number.parse::<u64>().is_ok()), "{what}, {traced}: {outcome:?}");
            assert_eq!(outcome.stdout.contains(".dxt"), traced, "{what}: {outcome:?}");
        }
    }
}

/// Starts the program in the way `way`, sends SIGTERM after the time `after`, and returns the program's exit status.
fn ended_by_sigterm(scratch: &Scratch, way: &str, after: Duration) -> Option<i32> {
    let mut child = Command::new(program())
        .arg(scratch.data())
        .arg(way)
        .env("LD_PRELOAD", crate::harness::library())
        .env("DXT_OUTPUT_DIR", scratch.traces())
        .env("DXT_SPOOL", scratch.spools())
        .env("DXT_ENABLE", "trace")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut ready = [0; 6];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut ready).expect("it says so");
    std::thread::sleep(after);
    let pid = child.id().to_string();
    assert!(Command::new("kill").arg("-TERM").arg(&pid).status().is_ok_and(|status| status.success()));
    for _ in 0..600 {
        if let Some(status) = child.try_wait().expect("our child") {
            return status.signal();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().expect("our child");
    child.wait().expect("our child");
    None
}

#[test]
fn sigterm_while_forking() {
    for turn in 0..12 {
        let scratch = Scratch::new();
        let ended = ended_by_sigterm(&scratch, "forks", Duration::from_millis(10 + 7 * turn));
        assert_eq!(ended, Some(15), "turn {turn}");
        let traces = Traces::read(&scratch.traces());
        assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()).0, 100_000, "turn {turn}");
    }
}

#[test]
fn forks_while_other_threads_pack() {
    for (overflow, mode) in [("compact", "trace"), ("spill", "trace"), ("compact", "counters")] {
        let scratch = Scratch::new();
        let launch = launch(&scratch, "packs").arg("3").env("DXT_ENABLE", mode);
        let outcome = launch.env("DXT_OVERFLOW", overflow).env("DXT_BUFFER_MAX", "64K").run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (5, ""), "{overflow}, {mode}");
        let (children, calls) = outcome.stdout.trim().split_once(' ').expect("two numbers");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let (made, _) = Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data().join("child"));
        assert_eq!(made, number(children) * number(calls), "{overflow}, {mode}");
    }
}

/// A rank that lacks the memory to write its trace must neither end nor block the other ranks.
#[test]
fn a_rank_without_memory_for_its_trace() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi] {
        if !mpi.available() {
            continue;
        }
        let program = workload_with("scarce_mpi", mpi, &["-O1", "-ldl"]);
        for (rank, failing) in [("0", "-1"), ("1", "-1"), ("2", "-7"), ("1", "1"), ("0", "4"), ("2", "30"), ("1", "90")]
        {
            for mode in ["trace", "counters"] {
                let scratch = Scratch::new();
                let launch = Launch::new(&scratch, &program).ranks(mpi, 3).env("DXT_ENABLE", mode);
                let outcome = launch.arg(scratch.data()).arg(rank).arg(failing).run();
                assert_eq!(outcome.code, 5, "{mode}, rank {rank}, {failing}: {outcome:?}");
                if mode == "trace" {
                    assert_eq!(writes(&scratch, &outcome), 9000, "rank {rank}, {failing}: {outcome:?}");
                }
            }
        }
    }
}
