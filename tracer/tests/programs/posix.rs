//! Tests of POSIX calls: each is recorded exactly once, with the right operation, offset, length and file.

use crate::harness::{
    Calls, Compiler, Launch, Order, Scratch, Traces, assert_same, have, read_failures, skip, strace, workload,
    workload_with,
};
use std::path::Path;
use std::process::Command;

const VARIANTS: [&[&str]; 4] = [
    &["-O1"],
    &["-O2", "-D_FORTIFY_SOURCE=2"],
    &["-O1", "-D_FILE_OFFSET_BITS=64"],
    &["-O2", "-D_FORTIFY_SOURCE=2", "-D_FILE_OFFSET_BITS=64"],
];

#[test]
fn every_call_is_recorded_as_it_was_made() {
    for flags in VARIANTS {
        let scratch = Scratch::new();
        let program = workload_with("posix_all", Compiler::Cc, flags);
        let (log, traces) = Launch::new(&scratch, program).arg(scratch.data()).traced();
        assert!(log.len() > 150, "{}", log.len());
        assert_same(Order::Thread, &log, &everything(&traces));
        assert_eq!(traces.processes.len(), 1);
        assert_eq!((traces.missing(), traces.processes[0].info.rank), (0, -1));
        // /dev/null and /proc/self/stat were opened but not recorded, as the notes report.
        let notes = &traces.processes[0].notes;
        assert!(notes.iter().map(|note| note.count).sum::<u64>() >= 2, "{notes:?}");
    }
}

/// Runs a test program, and asserts that the trace has exactly the program's calls, including failed ones.
#[track_caller]
fn exactly(name: &'static str, flags: &[&'static str], order: Order) -> Traces {
    let scratch = Scratch::new();
    let program = workload_with(name, Compiler::Cc, flags);
    let (log, traces) = Launch::new(&scratch, program).arg(scratch.data()).traced();
    assert!(log.len() > 20, "{}", log.len());
    assert_same(order, &log, &everything(&traces));
    assert_same(order, &read_failures(&scratch), &traces.failed_ops("/".as_ref()));
    traces
}

#[test]
fn metadata_calls_are_recorded_on_the_file_they_name() {
    for flags in [VARIANTS[0], VARIANTS[3]] {
        exactly("metadata", flags, Order::Thread);
    }
}

#[test]
fn a_walk_over_many_names_is_bounded_and_summed() {
    const MOST: usize = 32_768;
    const NAMES: usize = 40_000;
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("names")).arg(scratch.data()).arg(NAMES.to_string());
    let (log, traces) = launch.env("DXT_BUFFER_MAX", "64M").traced();
    let directory = format!("{}/", scratch.data().display());
    // The program queried each name twice.
    let (others, names): (Vec<_>, Vec<_>) = everything(&traces).into_iter().partition(|op| op.path.ends_with('/'));
    assert_eq!((names.len(), others.len()), (2 * MOST, 2 * (NAMES - MOST)));
    assert!(others.iter().all(|op| op.name == "stat" && op.path == directory), "{:?}", others[0]);
    assert_eq!(log.len(), names.len() + others.len());
    // The first `MOST` names are recorded under themselves, each time.
    let first = |turn: usize| &log[turn * NAMES..turn * NAMES + MOST];
    assert!(names == [first(0), first(1)].concat());
    let counted = traces.processes[0].notes.iter().find(|note| note.what.contains("under their directory"));
    assert_eq!(counted.map(|note| note.count), Some(2 * (NAMES - MOST) as u64));
}

#[test]
fn maps_and_locks_are_recorded_with_their_ranges() {
    for flags in [VARIANTS[0], VARIANTS[3]] {
        exactly("maps_locks", flags, Order::Thread);
    }
}

#[test]
fn copies_inside_the_kernel_have_two_ends() {
    for flags in [VARIANTS[0], VARIANTS[3]] {
        exactly("copies", flags, Order::File);
    }
}

#[test]
fn asynchronous_operations_last_from_submission_to_completion() {
    let traces = exactly("aio", VARIANTS[0], Order::Thread);
    let notes = &traces.processes[0].notes;
    let counted = notes.iter().find(|note| note.what.starts_with("asynchronous")).map(|note| note.count);
    assert_eq!(counted, Some(1), "{notes:?}");
    // Counts each submitting call and each waiting call; lio_listio(3) with LIO_WAIT submits once.
    assert_eq!(traces.kept("submit", "/".as_ref()).len(), 17);
    assert!(!traces.kept("wait", "/".as_ref()).is_empty());
}

#[test]
fn linux_aio_lasts_from_submission_to_its_event() {
    if !Path::new("/usr/include/libaio.h").exists() {
        return skip("libaio is not installed");
    }
    // libaio is used through the library, and by raw system calls.
    for flags in [&["-O1", "-Wl,--no-as-needed", "-laio"][..], &["-O1", "-DRAW", "-Wl,--no-as-needed", "-laio"]] {
        let traces = exactly("libaio", flags, Order::Thread);
        let notes = &traces.processes[0].notes;
        let counted = notes.iter().find(|note| note.what.starts_with("asynchronous")).map(|note| note.count);
        assert_eq!(counted, Some(5), "{notes:?}");
    }
}

#[test]
fn lists_that_make_no_sense_harm_nobody_and_are_no_operations() {
    if !Path::new("/usr/include/libaio.h").exists() {
        return skip("libaio is not installed");
    }
    let program = workload_with("libaio_wrong", Compiler::Cc, &["-O1", "-pthread", "-Wl,--no-as-needed", "-laio"]);
    let scratch = Scratch::new();
    let untraced = Launch::new(&scratch, &program).untraced().arg(scratch.data()).run();
    assert_eq!((untraced.code, untraced.stdout.as_str()), (0, "-22\n-14\n-14\n0\n1\n-22\n1\n"));
    let scratch = Scratch::new();
    let traced = Launch::new(&scratch, &program).arg(scratch.data()).run();
    assert_eq!((traced.code, &traced.stdout), (0, &untraced.stdout), "{traced:?}");
    let traces = Traces::read(&scratch.traces());
    let writes = traces.segments.iter().filter(|segment| segment.op.name == "io_submit_write");
    assert_eq!(writes.map(|segment| segment.op.length).collect::<Vec<_>>(), [100, 100]);
    assert!(traces.failed_ops(&scratch.data()).iter().all(|op| op.name != "io_submit_write"));
}

#[test]
fn of_a_list_what_the_kernel_took_is_on_record() {
    if !Path::new("/usr/include/libaio.h").exists() {
        return skip("libaio is not installed");
    }
    let program = workload_with("libaio_lists", Compiler::Cc, &["-O1", "-pthread", "-Wl,--no-as-needed", "-laio"]);
    let scratch = Scratch::new();
    let untraced = Launch::new(&scratch, &program).untraced().arg(scratch.data()).run();
    assert_eq!((untraced.code, untraced.stdout.as_str()), (0, "1\n2\n1\n1\n28\n"));
    let scratch = Scratch::new();
    let traced = Launch::new(&scratch, &program).arg(scratch.data()).run();
    assert_eq!((traced.code, &traced.stdout), (0, &untraced.stdout), "{traced:?}");
    let traces = Traces::read(&scratch.traces());
    let writes: Vec<_> = traces.segments.iter().filter(|segment| segment.op.name == "io_submit_write").collect();
    assert_eq!(writes.iter().filter(|segment| segment.op.length == 100).count(), 33);
    let notes = &traces.processes[0].notes;
    assert!(!notes.iter().any(|note| note.what.starts_with("asynchronous")), "{notes:?}");
    // The submitting call starts once its operations have been read, which takes many times the clock's resolution.
    let submits = traces.kept("submit", &scratch.data());
    assert_eq!(submits.len(), 5);
    let (start, _) = *submits.iter().max().unwrap();
    let before = writes.iter().filter(|segment| segment.op.length == 100 && segment.start_ns < start).count();
    assert_eq!(before, 33, "{submits:?}");
}

#[test]
fn a_list_is_looked_at_with_few_questions() {
    if !Path::new("/usr/include/libaio.h").exists() || !have("strace") {
        return skip("libaio or strace is not installed");
    }
    let program = workload_with("libaio_lists", Compiler::Cc, &["-O1", "-pthread", "-Wl,--no-as-needed", "-laio"]);
    let asked = |rounds: &str| {
        let scratch = Scratch::new();
        let report = scratch.root().join("strace.out");
        let mut command = Command::new("strace");
        command.args(["-f", "-e", "trace=rt_sigprocmask,process_vm_readv", "-o"]).arg(&report);
        command.arg("-E").arg(format!("LD_PRELOAD={}", crate::harness::library().display()));
        // Each round has threads of its own, whose stacks would be walked.
        command.arg(&program).arg(scratch.data()).arg(rounds).env("DXT_ENABLE", "1").env("DXT_SITES", "off");
        command.env("DXT_OUTPUT_DIR", scratch.traces()).env("DXT_SPOOL", scratch.spools());
        let output = command.output().unwrap();
        let rounds: usize = rounds.parse().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "28\n".repeat(rounds), "{output:?}");
        std::fs::read_to_string(report).unwrap().lines().count()
    };
    let (few, many) = (asked("10"), asked("110"));
    // One system call for the list, one for the blocks, and some whenever a chunk of memory is full.
    assert!(many - few <= 2 * 100 + 40, "{few} {many}");
}

#[test]
fn system_calls_of_the_program_are_recorded_like_functions() {
    exactly("system_calls", VARIANTS[0], Order::Thread);
}

/// Returns all recorded calls, including those outside of the test's directory, where the program makes none.
fn everything(traces: &crate::harness::Traces) -> Vec<crate::harness::Op> {
    traces.segments.iter().filter(|seg| !seg.op.keeps()).map(|seg| seg.op.clone()).collect()
}

#[test]
fn the_builds_call_the_names_they_are_for() {
    if !have("nm") {
        return skip("nm is not installed");
    }
    for (flags, names) in [
        (VARIANTS[1], ["__open_2", "__read_chk", "__pread64_chk"]),
        (VARIANTS[2], ["open64", "pread64", "lseek64"]),
        (VARIANTS[0], ["open", "pwritev64v2", "preadv2"]),
    ] {
        let program = workload_with("posix_all", Compiler::Cc, flags);
        let output = Command::new("nm").args(["-D", "--undefined-only"]).arg(program).output().unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        let symbols: Vec<&str> =
            listed.split_whitespace().map(|word| word.split_once('@').map_or(word, |(name, _)| name)).collect();
        for name in names {
            assert!(symbols.contains(&name), "{flags:?} does not call {name}");
        }
    }
}

#[test]
fn counts_and_bytes_agree_with_strace() {
    let scratch = Scratch::new();
    let (program, data) = (workload("posix_all"), scratch.data());
    // Without UNCHECKED, the program's raw checks would be calls that only strace sees.
    let Some((outcome, kernel)) = strace(&scratch, &["env".as_ref(), "UNCHECKED=1".as_ref(), &program, &data], &data)
    else {
        return;
    };
    assert_eq!(outcome.code, 0, "{outcome:?}");
    scratch.clear_data();
    let (_, traces) = Launch::new(&scratch, program).arg(&data).env("UNCHECKED", "1").traced();
    assert!(kernel.len() > 20, "{kernel:?}");
    assert_eq!(traces.calls(&data), kernel);
}

#[test]
fn a_shell_redirection_is_the_shells_and_its_childs() {
    let scratch = Scratch::new();
    let out = scratch.data().join("out");
    // `dd` inherits the descriptor opened by the shell, so the file must be found from the number alone.
    let script = format!("printf 'some text\\n' > {0}.in; dd bs=5 status=none < {0}.in > {0}; exit 5", out.display());
    let outcome = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (5, ""));
    let traces = crate::harness::Traces::read(&scratch.traces());
    let calls: Calls = traces.calls(&scratch.data());
    let of = |path: &str, name: &str| calls.get(&(path.to_owned(), name.to_owned())).map(|(_, bytes)| *bytes);
    let (to, from) = (out.display().to_string(), format!("{}.in", out.display()));
    assert_eq!(of(&from, "read"), Some(10), "{calls:?}");
    assert_eq!(of(&to, "write"), Some(10), "{calls:?}");
}
