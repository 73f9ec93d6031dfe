//! Tests of crash safety: after a kill at any time, exactly the calls that had returned are recorded. A process that ends normally leaves no spool.

use crate::harness::{
    Launch, Order, Scratch, Traces, assert_same, is_root, library, look, read_log, recover, skip_here, spools,
    under_strace, workload,
};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Starts a traced test program whose `threads` threads report each completed call on a pipe.
fn start(scratch: &Scratch, threads: u32, settings: &[(&str, &str)]) -> Child {
    let mut command = Command::new(workload("progress"));
    command.arg(scratch.data()).arg(threads.to_string()).arg("100000000").stdout(Stdio::piped());
    command.env("LD_PRELOAD", library()).env("DXT_ENABLE", "trace").env("DXT_OUTPUT_DIR", scratch.traces());
    command.env("DXT_SPOOL", scratch.spools()).envs(settings.iter().copied());
    command.spawn().expect("failed to run the program")
}

/// Kills the program `later` after it has reported `after` calls. Returns the number of calls that each thread completed.
fn kill(mut child: Child, threads: u32, after: u64, later: Duration) -> Vec<u64> {
    let mut out = child.stdout.take().expect("its standard output is a pipe");
    let mut reported = vec![0; threads as usize];
    let mut record = [0; 8];
    for _ in 0..after {
        out.read_exact(&mut record).expect("the program runs");
        note(&mut reported, record);
    }
    std::thread::sleep(later);
    child.kill().expect("failed to kill the program");
    child.wait().expect("failed to wait for the program");
    while out.read_exact(&mut record).is_ok() {
        note(&mut reported, record);
    }
    reported
}

fn note(reported: &mut [u64], record: [u8; 8]) {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    reported[number(&record[..4]) as usize] = u64::from(number(&record[4..]));
}

/// Returns operation, offset and length of call `i` of thread `t`, as documented at the top of the test program `progress`. Call 0 is the
/// open.
fn call(t: u64, i: u64) -> (&'static str, i64, u64) {
    match i.checked_sub(1) {
        None => ("open", -1, 0),
        Some(i) => (if i % 3 == 2 { "read" } else { "write" }, (4099 * i % (1 << 20)) as i64, 1 + (7 * i + t) % 500),
    }
}

/// Returns a pseudo-random number by SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators").
fn random(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Runs and kills the program `times` times, each time after a random number of calls below `most_calls`. Each time, recovers the spool and
/// checks the recorded calls.
fn kills(times: u64, seed: u64, threads: u32, most_calls: u64, settings: &[(&str, &str)]) {
    for round in 0..times {
        let chance = random(seed * 1000 + round);
        let scratch = Scratch::new();
        let child = start(&scratch, threads, settings);
        let later = Duration::from_micros(chance >> 32 & 0xfff);
        let reported = kill(child, threads, chance % most_calls, later);
        let uncertain = recover(&scratch);
        let traces = Traces::read(&scratch.traces());
        for (t, reported) in reported.iter().enumerate() {
            let path = scratch.data().join(format!("t{t}")).display().to_string();
            let kept: Vec<_> = traces.segments.iter().filter(|segment| segment.op.path == path).collect();
            let missing = traces.processes.iter().flat_map(|process| &process.missing);
            let folded = missing.filter(|missing| missing.op.path == path).map(|missing| missing.counters.segments);
            let folded: u64 = folded.sum();
            let count = kept.len() as u64 + folded;
            // One call may have returned without having been reported.
            let most = reported + 1 + uncertain;
            assert!(
                (*reported..=most).contains(&count),
                "round {round}, thread {t}: {count} calls, {reported} reported, {uncertain}"
            );
            let checked = if folded == 0 { kept.len() } else { 0 };
            for (i, segment) in kept.iter().take(checked).enumerate() {
                let op = &segment.op;
                assert_eq!(
                    (op.name.as_str(), op.offset, op.length),
                    call(t as u64, i as u64),
                    "round {round}, call {i}"
                );
            }
        }
    }
}

#[test]
fn killed_at_any_moment_nothing_is_missing_and_nothing_invented() {
    kills(100, 1, 1, 20_000, &[]);
}

#[test]
fn killed_while_segments_are_packed() {
    // The buffer has room for two chunks, so nearly all the time is spent packing them.
    kills(60, 2, 3, 30_000, &[("DXT_BUFFER_MAX", "160K")]);
}

#[test]
fn killed_while_segments_are_spilled() {
    kills(40, 4, 3, 30_000, &[("DXT_BUFFER_MAX", "160K"), ("DXT_OVERFLOW", "spill")]);
}

#[test]
fn killed_while_segments_are_folded() {
    kills(40, 3, 2, 20_000, &[("DXT_BUFFER_MAX", "16K"), ("DXT_OVERFLOW", "fold")]);
}

#[test]
fn killed_while_calls_are_counted() {
    let live = [("DXT_ENABLE", "counters")];
    kills(60, 5, 1, 20_000, &live);
    kills(40, 6, 3, 20_000, &live);
}

/// Reads the spool of a running process with `threads` threads repeatedly. Asserts that it contains all calls reported so far, once and in
/// order. `may_fold`: true if calls may be counted instead of recorded.
fn watched(threads: u32, settings: &[(&str, &str)], may_fold: bool) {
    let scratch = Scratch::new();
    let mut child = start(&scratch, threads, settings);
    let mut out = child.stdout.take().expect("its standard output is a pipe");
    let (mut reported, mut record) = (vec![0; threads as usize], [0; 8]);
    for round in 0..60 {
        for _ in 0..3_000 {
            out.read_exact(&mut record).expect("the program runs");
            note(&mut reported, record);
        }
        let (bytes, uncertain) = look(&scratch);
        let place = scratch.root().join(format!("look{round}"));
        std::fs::create_dir(&place).expect("a directory");
        std::fs::write(place.join("x.dxt"), bytes).expect("a file");
        let traces = Traces::read(&place);
        // A call in one thread's scratch is uncertain even before another thread has folded any call.
        let folds = traces.processes.iter().any(|process| !process.missing.is_empty());
        // The scratch slots of all threads may each be uncertain twice: during a fold, and after further progress.
        let most = if may_fold { 2 * 64 * u64::from(threads) } else { 0 };
        assert!((may_fold || !folds) && uncertain <= most, "round {round}: {uncertain} uncertain");
        for (t, reported) in reported.iter().enumerate() {
            let path = scratch.data().join(format!("t{t}")).display().to_string();
            let kept: Vec<_> = traces.segments.iter().filter(|segment| segment.op.path == path).collect();
            let missing = traces.processes.iter().flat_map(|process| &process.missing);
            let folded = missing.filter(|missing| missing.op.path == path).map(|missing| missing.counters.segments);
            let folded: u64 = folded.sum();
            assert!(
                kept.len() as u64 + folded >= *reported,
                "round {round}, thread {t}: {} and {folded}, {reported} reported",
                kept.len()
            );
            // Calls made during the read may or may not be found, individually.
            let checked = if folded == 0 { *reported as usize } else { 0 };
            for (i, segment) in kept.iter().take(checked).enumerate() {
                let op = &segment.op;
                let found = (op.name.as_str(), op.offset, op.length);
                assert_eq!(found, call(t as u64, i as u64), "round {round}, thread {t}, call {i}");
            }
        }
        std::fs::remove_dir_all(place).expect("a directory");
    }
    child.kill().expect("failed to kill the program");
    child.wait().expect("failed to wait for the program");
}

/// A spool in memory must grow without a temporary descriptor, whose number another thread might assign to a file at that moment (dup2(2)).
#[test]
fn a_spool_in_memory_grows_without_a_descriptor() {
    let scratch = Scratch::new();
    let spools = Path::new("/dev/shm").join(format!("dxt-grows-{}", std::process::id()));
    let report = scratch.root().join("strace.out");
    let options = ["-e", "trace=openat,fallocate,madvise", "-o", report.to_str().expect("a name in UTF-8")];
    let Some(launch) = under_strace(&scratch, &options, workload("exits")) else { return };
    let outcome = launch.env("DXT_SPOOL", &spools).arg(scratch.data()).args(["exit", "30000"]).run();
    let _ = std::fs::remove_dir(&spools);
    assert_eq!(outcome.code, 7, "{outcome:?}");
    let report = std::fs::read_to_string(&report).expect("strace writes a report");
    if !report.contains("MADV_POPULATE_WRITE) = 0") {
        return skip_here("the kernel has no MADV_POPULATE_WRITE");
    }
    let of = |words: &str| report.lines().filter(|line| line.contains(words)).count();
    assert!(of("MADV_POPULATE_WRITE) = 0") > 8, "it has grown by doubling");
    assert_eq!((of(".spool\""), of("fallocate(")), (1, 1), "opened, and room taken, when it is made");
    assert_same(
        Order::Thread,
        &read_log(&scratch),
        &Traces::read(&scratch.traces()).own_ops(&["POSIX", "STDIO"], &scratch.data()),
    );
}

#[test]
fn a_reader_beside_the_process_finds_all_it_had_done() {
    watched(1, &[], false);
}

#[test]
fn a_reader_finds_all_while_segments_are_packed() {
    // The first third of 190,000 calls fills the buffer, which holds four times as many calls once packed, so none is folded.
    watched(2, &[("DXT_BUFFER_MAX", "2M")], false);
    watched(2, &[("DXT_BUFFER_MAX", "256K"), ("DXT_OVERFLOW", "spill")], false);
}

#[test]
fn a_reader_finds_all_while_segments_are_folded() {
    watched(2, &[("DXT_BUFFER_MAX", "16K"), ("DXT_OVERFLOW", "fold")], true);
    // Segments are first packed, then folded once the space is used up.
    watched(2, &[("DXT_BUFFER_MAX", "256K")], true);
}

#[test]
fn a_reader_finds_all_while_calls_are_counted() {
    watched(2, &[("DXT_ENABLE", "counters")], true);
}

/// Runs a program that ends by a signal in the way `way`, with exit code `code`, and asserts that all completed calls can be recovered.
fn recovered_after(way: &str, code: i32) {
    let scratch = Scratch::new();
    let outcome = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg(way).arg("5000").run();
    assert_eq!(outcome.code, code);
    assert_eq!((Traces::read(&scratch.traces()).files.len(), spools(&scratch).len()), (0, 1));
    assert_eq!(recover(&scratch), 0);
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    assert!(log.len() > 5000);
    assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
    assert!(traces.processes[0].info.ended_by.contains("recovered"));
}

#[test]
fn abort() {
    recovered_after("abort", 128 + 6);
}

#[test]
fn sigkill() {
    recovered_after("kill", 128 + 9);
}

#[test]
fn what_a_process_has_given_up_since_it_began_takes_no_call_away() {
    if !is_root() {
        return skip_here("needs root");
    }
    let mut skipped = Vec::new();
    for way in ["nothing", "user", "root", "proc", "mounts"] {
        for overflow in ["compact", "spill", "fold"] {
            let scratch = Scratch::new();
            std::fs::create_dir(scratch.spools()).expect("a directory");
            let anybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
            std::fs::set_permissions(scratch.spools(), anybody).expect("our own directory");
            let launch = Launch::new(&scratch, workload("sheds")).arg(scratch.data()).args([way, "1000", "99000"]);
            let outcome = launch.env("DXT_OVERFLOW", overflow).env("DXT_BUFFER_MAX", "256K").run();
            if outcome.code == 77 {
                skipped.push(way);
                continue;
            }
            assert_eq!(outcome.code, 128 + 9, "{way}, {overflow}: {outcome:?}");
            recover(&scratch);
            let writes = Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data());
            assert_eq!(writes, (100_000, 100_000), "{way}, {overflow}");
        }
    }
    if !skipped.is_empty() {
        skip_here(&format!("may not be done here: {skipped:?}"));
    }
}

#[test]
fn an_end_leaves_no_spool() {
    for way in ["return", "_exit", "quick_exit", "sigterm", "thread_exit"] {
        let scratch = Scratch::new();
        Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg(way).arg("100").run();
        assert_eq!(spools(&scratch), Vec::<std::path::PathBuf>::new(), "{way}");
        assert_eq!(Traces::read(&scratch.traces()).files.len(), 1);
    }
}

#[test]
fn a_trace_that_cannot_be_written_can_be_recovered() {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg("return").arg("300");
    let outcome = launch.env("DXT_OUTPUT_DIR", "/proc/no/such/place").run();
    assert_eq!(outcome.code, 7);
    assert!(outcome.stderr.contains("failed to write the trace") && outcome.stderr.contains("recover"), "{outcome:?}");
    recover(&scratch);
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
}

#[test]
fn without_a_spool_all_is_as_before() {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("exits")).arg(scratch.data()).arg("exit").arg("300");
    assert_eq!(launch.env("DXT_SPOOL", "off").run().code, 7);
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
    assert!(!scratch.spools().exists());
}

/// Runs a program that executes another program in the way `way`, and asserts that the calls of both are recorded: those of the first
/// program in a trace, or in the spool that it left. Returns the number of spools left.
fn becomes(way: &str) -> usize {
    let scratch = Scratch::new();
    let program = workload("becomes");
    let outcome = Launch::new(&scratch, program).arg(scratch.data()).arg(way).run();
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "", ""), "{way}");
    let left = spools(&scratch).len();
    assert_eq!(recover(&scratch), 0);
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    assert_same(Order::File, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
    left
}

#[test]
fn a_program_that_becomes_another_has_a_trace_of_each() {
    for way in ["execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "threads"] {
        assert_eq!(becomes(way), 0, "{way}");
    }
}

#[test]
fn one_that_becomes_a_program_that_is_not_traced_leaves_nothing() {
    for change in ["export DXT_ENABLE=off", "export DXT_ENABLE=0", "unset DXT_ENABLE"] {
        let scratch = Scratch::new();
        let file = scratch.data().join("x");
        let script = format!("echo x >'{0}'; {change}; exec cat '{0}'", file.display());
        let outcome = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).run();
        assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "x\n", ""), "{change}");
        assert_eq!(Traces::read(&scratch.traces()).files.len(), 1, "{change}");
        let left: Vec<_> = std::fs::read_dir(scratch.spools())
            .map(|all| all.flatten().map(|one| one.path()).collect())
            .unwrap_or_default();
        assert_eq!(left, Vec::<std::path::PathBuf>::new(), "{change}");
    }
}

#[test]
fn one_that_does_so_past_the_c_library_leaves_its_spool() {
    for way in ["execveat", "syscall"] {
        assert_eq!(becomes(way), 1, "{way}");
    }
}

#[test]
fn children_made_past_the_handlers_of_fork_record_for_themselves() {
    for way in ["clone", "fork"] {
        assert_eq!(becomes(way), 0, "{way}");
    }
}
