//! Tests of programs linked with the tracer by the flags of `dxt-run --link-flags` (docs/static.md): traces must equal those with preloading.

use crate::harness::{
    Compiler, Launch, Op, Order, Outcome, Scratch, Traces, assert_same, have, is_root, library, read_log, read_ranks,
    recover, skip, skip_here, static_library, workload_source, workload_with,
};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Linker flags for the type of executable. Only the last type uses a dynamic linker.
const WAYS: [&str; 3] = ["-static", "-static-pie", "-pie"];

fn dxt_run(scratch: &Scratch) -> Launch<'_> {
    static_library();
    Launch::new(scratch, crate::harness::dxt_run()).untraced().arg("--lib").arg(library())
}

/// Returns the flags that `dxt-run --link-flags` prints for a program with the given libraries.
fn flags(scratch: &Scratch, libraries: &[&str]) -> Vec<String> {
    let launch = dxt_run(scratch).arg("--link-flags");
    let outcome = libraries.iter().fold(launch, |launch, word| launch.arg(word)).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    outcome.stdout.split_whitespace().map(str::to_owned).collect()
}

/// Compiles the test program `source` with the tracer and `libraries` linked in; returns the program's path. If there is no static C
/// library, prints a message and returns `None`. `way`: one of [`WAYS`]; `more`: further compiler arguments.
fn linked(
    scratch: &Scratch,
    source: &str,
    way: &str,
    compiler: Compiler,
    libraries: &[&str],
    more: &[&str],
) -> Option<PathBuf> {
    if !have("nm") {
        skip("nm is not installed");
        return None;
    }
    let program = scratch.root().join(Path::new(source).with_extension(""));
    let output = Command::new(compiler.program())
        .args(["-O1", "-pthread", way, "-o"])
        .args([&program, &workload_source(source)])
        .args(flags(scratch, libraries))
        .args(more)
        .output()
        .expect("failed to run the compiler");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("cannot find -lc") {
        skip("no static C library");
        return None;
    }
    if said.contains("cannot find -l") {
        skip_here("MPI has an archive, and something that it needs has none");
        return None;
    }
    // Warnings about name services stem from debug builds of Rust's library and from MPI's own libraries; release builds have none.
    let other = |line: &&str| !line.contains("Using '") && !line.contains("in function");
    assert!(output.status.success() && said.lines().filter(other).count() == 0, "{source} {way}: {said}");
    Some(program)
}

/// Runs a linked program with the data directory as first argument and without preloading. Returns the program's log and its traces.
fn run(scratch: &Scratch, program: &Path, arguments: &[&str]) -> (Vec<Op>, Traces) {
    let launch = Launch::new(scratch, program).untraced().arg(scratch.data());
    arguments.iter().fold(launch, |launch, argument| launch.arg(argument)).traced()
}

/// Returns all recorded calls that the program made itself, without nested calls.
fn of_program(traces: &Traces) -> Vec<Op> {
    traces.segments.iter().filter(|seg| !seg.nested).map(|seg| seg.op.clone()).collect()
}

fn same(source: &str, arguments: &[&str], order: Order, processes: usize) {
    same_in(&WAYS, source, arguments, order, processes);
}

fn same_in(ways: &[&str], source: &str, arguments: &[&str], order: Order, processes: usize) {
    for way in ways {
        let scratch = Scratch::new();
        let Some(program) = linked(&scratch, source, way, Compiler::Cc, &[], &[]) else { return };
        let (log, traces) = run(&scratch, &program, arguments);
        assert!(log.len() > 20, "{way}: {}", log.len());
        let pids: BTreeSet<u32> = log.iter().map(|op| op.pid).collect();
        let here =
            |op: &Op| pids.contains(&op.pid) && (processes == 1 || Path::new(&op.path).starts_with(scratch.data()));
        assert_same(order, &log, &of_program(&traces).into_iter().filter(here).collect::<Vec<_>>());
        assert_eq!((traces.missing(), traces.processes.len()), (0, processes), "{way}");
    }
}

#[test]
fn posix_calls() {
    same("posix_all.c", &[], Order::Thread, 1);
}

#[test]
fn streams() {
    same("stdio.c", &[], Order::Thread, 1);
}

#[test]
fn threads() {
    same("threads.c", &["4", "500"], Order::File, 1);
}

/// A static program with the tracer forks and executes itself: all processes must be recorded, and no trace may note that an executed
/// static program cannot be traced.
#[test]
fn processes() {
    same("fork.c", &[], Order::File, 8);
}

#[test]
fn memory_maps_and_locks() {
    same("maps_locks.c", &[], Order::Thread, 1);
}

#[test]
fn copies_and_system_calls() {
    for (source, order) in [("copies.c", Order::File), ("system_calls.c", Order::Thread)] {
        same_in(&["-static"], source, &[], order, 1);
    }
}

/// Calls that functions of the static C library make internally must not be recorded a second time.
#[test]
fn characters_lines_and_formats() {
    let scratch = Scratch::new();
    let Some(program) = linked(&scratch, "stdio_all.c", "-static", Compiler::Cc, &[], &[]) else { return };
    let (log, traces) = run(&scratch, &program, &[]);
    let reported: Vec<Op> = of_program(&traces).into_iter().filter(|op| op.pid == log[0].pid).collect();
    assert!(log.len() > 20_000, "{}", log.len());
    assert_same(Order::Thread, &log, &reported);
}

/// A static program must be traced correctly in all ways to end.
#[test]
fn ends() {
    let scratch = Scratch::new();
    let Some(program) = linked(&scratch, "exits.c", "-static", Compiler::Cc, &[], &[]) else { return };
    for (way, by) in [
        ("return", "exit"),
        ("exit", "exit"),
        ("_exit", "_exit"),
        ("quick_exit", "quick_exit"),
        ("pthread_exit", "exit"),
        ("abort", ""),
        ("sigterm", "SIGTERM"),
    ] {
        let scratch = Scratch::new();
        let launch = || Launch::new(&scratch, &program).untraced().arg(scratch.data()).args([way, "500"]);
        let plain = launch().env("DXT_ENABLE", "0").env("OPLOG", scratch.root().join("plain")).run();
        scratch.clear_data();
        let outcome = launch().run();
        assert_eq!((outcome.code, &outcome.stdout), (plain.code, &plain.stdout), "{way}");
        if by.is_empty() {
            // A deadly signal leaves a spool, as with preloading.
            recover(&scratch);
        }
        let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
        assert!(log.len() > 500 && traces.processes.len() == 1, "{way}: {}", log.len());
        assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX", "STDIO"], &scratch.data()));
        if !by.is_empty() {
            assert_eq!(traces.processes[0].info.ended_by, by, "{way}");
        }
    }
}

/// Calls of C++ streams must be recorded: libstdc++, which makes them, is linked into the program.
#[test]
fn streams_of_cpp() {
    if !have("c++") {
        return skip("c++ is not installed");
    }
    let scratch = Scratch::new();
    let Some(program) = linked(&scratch, "fstreams.cpp", "-static", Compiler::Cxx, &[], &[]) else { return };
    let outcome = Launch::new(&scratch, &program).untraced().arg(scratch.data()).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let expected: u64 = outcome.stdout.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum();
    let traces = Traces::read(&scratch.traces());
    let moved = |name: &str| traces.totals(&["STDIO", "POSIX"], name, &scratch.data()).1;
    assert!(expected > 0 && (moved("write"), moved("read")) == (expected, expected), "{expected}");
}

/// If the program uses shared libraries, the trace must note that their calls are missing.
#[test]
fn shared_libraries_are_counted() {
    if !have("c++") {
        return skip("c++ is not installed");
    }
    let scratch = Scratch::new();
    let more = ["-Wl,--no-as-needed", "-lstdc++"];
    let Some(program) = linked(&scratch, "posix_all.c", "-pie", Compiler::Cc, &[], &more) else { return };
    let (log, traces) = run(&scratch, &program, &[]);
    assert_same(Order::Thread, &log, &of_program(&traces));
    let notes = &traces.processes[0].notes;
    let unseen = notes.iter().find(|note| note.what.starts_with("shared libraries")).map(|note| note.count);
    assert_eq!(unseen, Some(1), "{notes:?}");
}

/// MPICH of Debian as a static library, with the libraries on which it depends. Only libudev is omitted: hwloc needs nothing essential of it.
#[test]
fn mpi_in_an_archive() {
    if !Compiler::Mpich.available() {
        return;
    }
    let scratch = Scratch::new();
    let udev = scratch.root().join("udev.c");
    let functions = [
        "udev_new",
        "udev_unref",
        "udev_device_unref",
        "udev_device_new_from_subsystem_sysname",
        "udev_device_get_property_value",
    ];
    let text: String =
        functions.iter().map(|name| format!("void *{name}(void);\nvoid *{name}(void) {{ return 0; }}\n")).collect();
    std::fs::write(&udev, text).expect("failed to write a file");
    let libraries = "-lmpich -Wl,--whole-archive -lucp -luct -lucs -Wl,--no-whole-archive -lucm -lhwloc -lltdl -lnuma -lm -ldl -lrt";
    let udev = udev.display().to_string();
    let more: Vec<&str> = std::iter::once(udev.as_str()).chain(libraries.split(' ')).collect();
    let archive = Command::new("cc").arg("-print-file-name=libmpich.a").output().expect("failed to run cc");
    if !archive.stdout.starts_with(b"/") {
        return skip_here("MPICH has no archive");
    }
    let wrapper = Compiler::Mpich.program();
    let Some(program) = linked(&scratch, "mpiio.c", "-static", Compiler::Mpich, &[wrapper], &more) else { return };
    for ranks in [1, 3] {
        let scratch = Scratch::new();
        let launch =
            Launch::new(&scratch, &program).untraced().arg(scratch.data()).arg("all").ranks(Compiler::Mpich, ranks);
        // If these archives use TCP between ranks of one node, one program of twenty hangs in MPI_Finalize, with or without the tracer.
        let outcome = launch.env("UCX_TLS", "posix,self").run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
        assert_eq!((traces.files.len(), traces.missing()), (1, 0), "the ranks write one file together");
        for (pid, rank) in read_ranks(&scratch) {
            assert_eq!(traces.process(pid).info.rank, rank);
        }
        assert_same(Order::File, &log, &traces.own_ops(&["MPIIO"], &scratch.data()));
        assert!(traces.segments.iter().any(|seg| seg.nested && seg.op.layer == "POSIX" && seg.op.name == "write"));
        let mpi = traces.jobs[0].info.mpi.as_ref().expect("the trace names the MPI");
        assert_eq!((mpi.family.as_str(), mpi.ranks), ("MPICH", ranks));
    }
}

#[test]
fn one_that_is_linked_in_makes_way_for_one_that_is_preloaded() {
    let scratch = Scratch::new();
    let Some(program) = linked(&scratch, "posix_all.c", "-pie", Compiler::Cc, &[], &[]) else { return };
    let outcome = Launch::new(&scratch, &program).arg(scratch.data()).run();
    let version = env!("CARGO_PKG_VERSION");
    let said = format!(
        "dxt: the tracer libdxt_tracer.so of version {version} records this process; the tracer of version {version}, linked into the program, does not\n"
    );
    assert_eq!((outcome.code, outcome.stderr), (0, said));
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    assert_eq!(traces.processes.len(), 1);
    assert_same(Order::Thread, &log, &of_program(&traces));
}

/// A program with elevated privileges records nothing, since the user who starts it must not choose its output path.
#[test]
fn a_program_with_more_rights_records_nothing() {
    if !is_root() {
        return skip_here("not root");
    }
    let scratch = Scratch::new();
    // A parent directory may be closed, for example if root has cloned the project into its home directory.
    let closed = |folder: &&Path| std::fs::metadata(folder).is_ok_and(|of| of.permissions().mode() & 0o001 == 0);
    if let Some(closed) = scratch.root().ancestors().skip(1).find(closed) {
        return skip_here(&format!("{} is closed to the user that the program runs as", closed.display()));
    }
    let Some(program) = linked(&scratch, "stdio.c", "-static", Compiler::Cc, &[], &[]) else { return };
    std::os::unix::fs::chown(&program, Some(65534), None).expect("failed to give a program away");
    let rights = |mode| std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).expect("chmod");
    rights(0o4755);
    for dir in [scratch.data(), scratch.traces(), scratch.root().join("logs")] {
        std::os::unix::fs::chown(&dir, Some(65534), None).expect("failed to give a directory away");
    }
    let outcome = Launch::new(&scratch, &program).untraced().arg(scratch.data()).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert!(Traces::read(&scratch.traces()).files.is_empty());
}

/// The linker must wrap all functions that both the preloaded library intercepts and the C library has.
#[test]
fn the_same_functions_are_wrapped() {
    let scratch = Scratch::new();
    let words = flags(&scratch, &[]);
    let wrapped: BTreeSet<&str> = words[0].split(',').filter_map(|word| word.strip_prefix("--wrap=")).collect();
    let nm = |options: &[&str], file: &Path| {
        let output = Command::new("nm").args(options).arg(file).output().expect("failed to run nm");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let names = |text: &str| -> BTreeSet<String> {
        text.lines().filter_map(|line| Some(line.rsplit_once([' '])?.1.split('@').next()?.to_owned())).collect()
    };
    let exported = nm(&["-D", "--defined-only"], library());
    let exported = names(&exported.lines().filter(|line| line.contains(" T ")).collect::<Vec<_>>().join("\n"));
    let linked = nm(&["-g", "--defined-only"], static_library());
    let linked: BTreeSet<String> =
        names(&linked).iter().filter_map(|name| name.strip_prefix("__wrap_").map(str::to_owned)).collect();
    let only_preloaded: Vec<&String> = exported.difference(&linked).collect();
    // ThreadSanitizer's runtime calls `__tsan_default_suppressions`.
    assert_eq!(only_preloaded, ["_IO_gets", "__gets_chk", "__tsan_default_suppressions", "dlmopen", "dlopen", "gets"]);
    assert_eq!(linked.difference(&exported).count(), 0);
    assert!(wrapped.len() > 250 && wrapped.iter().all(|name| linked.contains(*name)), "{}", wrapped.len());
    for name in ["MPI_Init", "H5Fopen", "io_uring_enter"] {
        assert!(linked.contains(name) && !wrapped.contains(name), "{name}: not of the C library");
    }
}

#[test]
fn libraries_that_are_not_there() {
    let scratch = Scratch::new();
    let standard = scratch.root().join("libmpi_abi.a").display().to_string();
    std::fs::write(&standard, "!<arch>\n").expect("failed to write a file");
    for (word, why) in [
        (
            standard.as_str(),
            format!("an MPI library of the standard ABI cannot be traced in an archive: {standard}").as_str(),
        ),
        ("-lno-such", "failed to find the library of -lno-such"),
        ("no-such.a", "there is no no-such.a"),
        ("no-such-compiler", "no-such-compiler is neither a library nor a compiler"),
        ("false", "false -show does not list its link options"),
    ] {
        let outcome: Outcome = dxt_run(&scratch).args(["--link-flags", word]).run();
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{word}");
        assert_eq!(outcome.stderr, format!("dxt-run: {why}\n"));
    }
}

/// dxt-run must recognize static programs that contain the tracer, and set their environment variables.
#[test]
fn dxt_run_tells_them_apart() {
    let scratch = Scratch::new();
    let Some(program) = linked(&scratch, "posix_all.c", "-static", Compiler::Cc, &[], &[]) else { return };
    let launch =
        || dxt_run(&scratch).without("DXT_OUTPUT_DIR").without("DXT_SPOOL").arg("-o").arg(scratch.traces()).arg("--");
    let outcome = launch().arg(&program).arg(scratch.data()).run();
    assert!(outcome.code == 0 && outcome.stderr.starts_with("dxt-run: wrote "), "{outcome:?}");
    assert_eq!(Traces::read(&scratch.traces()).files.len(), 1);
    let plain = workload_with("posix_all", Compiler::Cc, &["-O1", "-static"]);
    scratch.clear_data();
    let outcome = launch().arg(plain).arg(scratch.data()).run();
    assert!(outcome.code == 0 && outcome.stderr.contains("dxt-run --link-flags"), "{outcome:?}");
}
