//! Tests of the limits of tracing: calls before the tracer starts, programs that cannot be traced, libraries that bypass the tracer.

use crate::harness::{
    Compiler, Launch, Scratch, Traces, copy_program, executable, have, library, skip, skip_here, spools,
    workload_source, workload_with,
};
use std::path::{Path, PathBuf};
use std::process::Command;

fn counted(traces: &Traces, what: &str) -> u64 {
    let notes = traces.processes.iter().flat_map(|process| &process.notes);
    notes.filter(|note| note.what.contains(what)).map(|note| note.count).sum()
}

fn early() -> PathBuf {
    workload_with("early", Compiler::Cc, &["-O1", "-shared", "-fPIC"])
}

/// Tests calls made in constructors of a library that is initialized before or after the tracer. (Preloaded libraries are initialized from
/// last to first.)
#[test]
fn constructors_that_write_before_the_tracer_has_started() {
    for tracer_first in [true, false] {
        for mode in ["trace", "counters"] {
            let scratch = Scratch::new();
            let (tracer, early) = (library().display().to_string(), early().display().to_string());
            let both = if tracer_first { format!("{tracer}:{early}") } else { format!("{early}:{tracer}") };
            let launch = Launch::new(&scratch, "/bin/echo").untraced().arg("an argument").env("LD_PRELOAD", both);
            let launch = launch.env("EARLY_DIR", scratch.data()).env("EARLY_CALLS", "500").env("DXT_ENABLE", mode);
            let outcome = launch.run();
            assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
            let traces = Traces::read(&scratch.traces());
            let writes = |layer, name: &str| traces.totals(&[layer], "write", &scratch.data().join(name));
            assert_eq!(writes("POSIX", "early"), (500, 4000), "{tracer_first} {mode}");
            assert_eq!(writes("STDIO", "stream"), (500, 4000), "{tracer_first} {mode}");
            // Program name and arguments are known as usual.
            let info = &traces.jobs[0].info;
            assert_eq!(info.args, [b"/bin/echo".to_vec(), b"an argument".to_vec()], "{tracer_first} {mode}");
        }
    }
}

/// Builds the preloaded library that makes calls at process exit; returns its path.
fn late() -> PathBuf {
    workload_with("late", Compiler::Cc, &["-O1", "-shared", "-fPIC"])
}

/// Tests calls made in destructors that run after the tracer's own: destructors of libraries on which the tracer does not depend.
#[test]
fn destructors_that_write_behind_the_tracers_own() {
    for mode in ["trace", "counters"] {
        for (end, code) in [(Some("6"), 6), (None, 0)] {
            for off in [false, true] {
                let scratch = Scratch::new();
                let both = format!("{}:{}", library().display(), late().display());
                let launch =
                    Launch::new(&scratch, "/bin/true").untraced().env("LD_PRELOAD", both).env("DXT_ENABLE", mode);
                let launch = launch.env("LATE_DIR", scratch.data()).env("LATE_CALLS", "700");
                let launch = if off { launch.env("DXT_SPOOL", "off") } else { launch };
                let outcome = if let Some(end) = end { launch.env("LATE_EXIT", end) } else { launch }.run();
                assert_eq!((outcome.code, outcome.stderr.as_str()), (code, ""), "{mode} {off}: {outcome:?}");
                let traces = Traces::read(&scratch.traces());
                let writes = traces.totals(&["POSIX"], "write", &scratch.data().join("late"));
                assert_eq!((traces.files.len(), writes), (1, (700, 5600)), "{mode} {off}");
                assert!(spools(&scratch).is_empty(), "{mode} {off}");
            }
        }
    }
}

#[test]
fn what_is_left_in_units_of_fortran_is_recorded() {
    if !have("gfortran") {
        return skip("gfortran is not installed");
    }
    let scratch = Scratch::new();
    let (source, program) = (scratch.root().join("unit.f90"), scratch.root().join("unit"));
    let text = "program unit\n character(4000) :: path\n call get_command_argument(1, path)\n \
                open(20, file=trim(path), action='write')\n write(20, '(a)') 'a line'\nend program\n";
    std::fs::write(&source, text).expect("failed to write a source");
    let built = Command::new("gfortran").arg("-o").arg(&program).arg(&source).status().expect("failed to run gfortran");
    assert!(built.success());
    let outcome = Launch::new(&scratch, &program).arg(scratch.data().join("unit.log")).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data().join("unit.log")), (1, 7));
    assert!(spools(&scratch).is_empty());
}

#[test]
fn what_comes_when_the_trace_has_been_written_and_there_is_no_spool() {
    for mode in ["trace", "counters"] {
        for (end, code) in [(Some("6"), 6), (None, 0)] {
            let scratch = Scratch::new();
            let both = format!("{}:{}", late().display(), library().display());
            let launch = Launch::new(&scratch, "/bin/true").untraced().env("LD_PRELOAD", both).env("DXT_ENABLE", mode);
            let launch = launch.env("LATE_DIR", scratch.data()).env("LATE_CALLS", "700").env("DXT_SPOOL", "off");
            let launch = launch.env("LATE_REGISTERS", "1");
            let outcome = if let Some(end) = end { launch.env("LATE_EXIT", end) } else { launch }.run();
            assert_eq!(outcome.code, code, "{mode}: {outcome:?}");
            assert_eq!(outcome.stderr.lines().count(), 1, "{mode}: {outcome:?}");
            assert!(outcome.stderr.contains("there is no spool"), "{mode}: {outcome:?}");
            // If the program ends by a call that can be intercepted, late calls are counted: one open and the writes.
            if end.is_some() {
                assert_eq!(counted(&Traces::read(&scratch.traces()), "after the trace"), 701, "{mode}");
            }
        }
    }
}

#[test]
fn a_constructor_of_a_process_that_is_not_traced() {
    let scratch = Scratch::new();
    let both = format!("{}:{}", library().display(), early().display());
    let launch = Launch::new(&scratch, "/bin/true").untraced().env("LD_PRELOAD", both).env("DXT_ENABLE", "off");
    let outcome = launch.env("EARLY_DIR", scratch.data()).env("EARLY_CALLS", "5").run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert!(Traces::read(&scratch.traces()).files.is_empty());
}

/// Builds a small library at `at`, for a program that searches for libraries in its own directory.
fn small_library(at: &Path) {
    let source = at.join("small.c");
    std::fs::write(&source, "int small(void);\nint small(void) { return 1; }\n").expect("failed to write a source");
    let mut compiler = Command::new("cc");
    let done = compiler.args(["-shared", "-fPIC", "-o"]).arg(at.join("libsmall.so")).arg(&source).status();
    assert!(done.expect("failed to run the compiler").success());
}

#[test]
fn libraries_out_of_reach_are_counted_and_found_where_their_opener_says() {
    let scratch = Scratch::new();
    let program = workload_with("reach", Compiler::Cc, &["-O1", "-Wl,-rpath,$ORIGIN"]);
    let copy = scratch.root().join("reach");
    copy_program(&program, &copy);
    small_library(scratch.root());
    for preload in [false, true] {
        let launch = Launch::new(&scratch, &copy).in_data().args(["opens", "libsmall.so"]);
        let outcome = if preload { launch } else { launch.untraced() }.run();
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    }
    assert_eq!(counted(&Traces::read(&scratch.traces()), "RTLD_DEEPBIND"), 2);
}

#[test]
fn programs_that_cannot_be_traced_are_counted() {
    let scratch = Scratch::new();
    let (source, program) = (scratch.root().join("static.c"), scratch.root().join("static"));
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("failed to write a source");
    let mut compiler = Command::new("cc");
    let done = compiler.args(["-static", "-o"]).arg(&program).arg(&source).status();
    if !done.is_ok_and(|status| status.success()) {
        return skip("no static C library");
    }
    let reach = workload_with("reach", Compiler::Cc, &["-O1", "-Wl,-rpath,$ORIGIN"]);
    let launch = Launch::new(&scratch, reach).in_data().arg("execs").arg(&program).arg("/bin/true");
    let outcome = launch.run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    assert_eq!(counted(&Traces::read(&scratch.traces()), "cannot be traced"), 3);
    // The program is executed by a name searched in PATH, and by a descriptor. Files that are not executable are not found.
    let (scratch, reach) = (Scratch::new(), workload_with("reach", Compiler::Cc, &["-O1", "-Wl,-rpath,$ORIGIN"]));
    let found = program.parent().expect("it lies somewhere").display().to_string();
    std::fs::write(scratch.data().join("static"), "no program").expect("failed to write a file");
    let path = format!("/no/such/directory::{found}:{}", std::env::var("PATH").expect("there is a PATH"));
    let launch = Launch::new(&scratch, reach).in_data().args(["finds", "static", "true"]).env("PATH", path);
    let outcome = launch.run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    assert_eq!(counted(&Traces::read(&scratch.traces()), "cannot be traced"), 5);
    let scratch = Scratch::new();
    let script = format!("echo x > {}/file; {}; true", scratch.data().display(), program.display());
    let outcome = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    assert_eq!(counted(&Traces::read(&scratch.traces()), "cannot be traced"), 1);
}

/// Builds a program for another dynamic linker: musl's if `what` is `musl`, else the 32-bit one. Returns the program's path; `None` if it
/// cannot be built or run here.
fn foreign(scratch: &Scratch, what: &str) -> Option<PathBuf> {
    let (source, program) = (scratch.root().join("foreign.c"), scratch.root().join("foreign"));
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("failed to write a source");
    let mut compiler = Command::new(if what == "musl" { "musl-gcc" } else { "cc" });
    // Debian keeps the 32-bit crt files in a separate directory, and libgcc for 32 bits may be missing.
    let lib32 = ["-m32", "-nostdlib", "/usr/lib32/crt1.o", "/usr/lib32/crti.o", "/usr/lib32/crtn.o"];
    if what != "musl" {
        compiler.args(lib32);
    }
    compiler.arg("-o").arg(&program).arg(&source);
    if what != "musl" {
        compiler.arg("-lc");
    }
    let built = compiler.output().is_ok_and(|output| output.status.success());
    let runs = || Command::new(&program).status().is_ok_and(|status| status.success());
    if built && runs() {
        return Some(program);
    }
    if built {
        skip_here(&format!("{what} does not run here"));
    } else {
        skip(&format!("no compiler for {what}"));
    }
    None
}

#[test]
fn programs_of_other_dynamic_linkers_run_without_the_tracer() {
    let reach = workload_with("reach", Compiler::Cc, &["-O1", "-Wl,-rpath,$ORIGIN"]);
    let said = |outcome: &crate::harness::Outcome, what: &str| {
        assert_eq!(outcome.code, 0, "{what}: {outcome:?}");
        let ours = |line: &str| line.starts_with("dxt: ") && line.ends_with("it runs without the tracer");
        assert!(outcome.stderr.lines().all(ours), "{what}: {outcome:?}");
        outcome.stderr.lines().count()
    };
    for what in ["musl", "32 bits"] {
        for (way, starts) in [("execs", 3), ("finds", 5)] {
            let scratch = Scratch::new();
            let Some(program) = foreign(&scratch, what) else { break };
            let place = program.parent().expect("it lies somewhere").display().to_string();
            let path = format!("{place}:{}", std::env::var("PATH").expect("there is a PATH"));
            let name = if way == "execs" { program.clone() } else { "foreign".into() };
            let outcome = Launch::new(&scratch, &reach).in_data().arg(way).arg(name).env("PATH", path).run();
            assert_eq!(said(&outcome, what), starts, "{what} {way}");
            assert_eq!(counted(&Traces::read(&scratch.traces()), "cannot be traced"), starts as u64, "{what} {way}");
        }
        // Scripts with this program as interpreter are started by a shell and by launchers, also with tracing off.
        let scratch = Scratch::new();
        let Some(program) = foreign(&scratch, what) else { continue };
        let script = scratch.root().join("script");
        executable(&script, &format!("#!{}\n", program.display()));
        for start in ["", "exec ", "env ", "timeout 5 ", "env DXT_ENABLE=off ", "nice "] {
            let line = format!("{start}{}", script.display());
            let outcome = Launch::new(&scratch, "/bin/sh").arg("-c").arg(line).run();
            assert_eq!(said(&outcome, start), 1, "{what} {start}");
        }
        assert!(spools(&scratch).is_empty());
    }
}

/// Builds a program with libraries linked into it. Returns how often the program's trace notes a statically linked [MPI, HDF5, parallel
/// netCDF]; `None` if the program cannot be built.
fn built_in(flags: &[&str]) -> Option<[u64; 3]> {
    let scratch = Scratch::new();
    let program = scratch.root().join("built_in");
    let mut compiler = Command::new("cc");
    compiler.arg("-o").arg(&program).arg(workload_source("built_in.c")).args(flags);
    if !compiler.output().expect("failed to run the compiler").status.success() {
        return None;
    }
    let outcome = Launch::new(&scratch, &program).arg(scratch.data().join("file")).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    Some(
        ["MPI", "HDF5", "parallel netCDF"]
            .map(|name| counted(&traces, &format!("programs with statically linked {name}"))),
    )
}

#[test]
fn libraries_in_the_program_itself_are_noted() {
    assert_eq!(built_in(&[]), Some([1, 0, 1]));
    // Libraries in a stripped program cannot be detected.
    assert_eq!(built_in(&["-s"]), Some([0; 3]));
    let serial = "/usr/lib/x86_64-linux-gnu/hdf5/serial";
    let (include, archive, shared) =
        ("-I/usr/include/hdf5/serial".to_owned(), format!("{serial}/libhdf5.a"), format!("-L{serial}"));
    let libraries = ["-lcrypto", "-lcurl", "-lpthread", "-lsz", "-lz", "-ldl", "-lm"];
    match built_in(&[&["-DHDF5", &include, &archive][..], &libraries].concat()) {
        Some(notes) => assert_eq!(notes, [0, 1, 0]),
        None => skip_here("HDF5 has no archive, or something that it needs has none"),
    }
    if let Some(notes) = built_in(&["-DHDF5", &include, &shared, "-lhdf5"]) {
        assert_eq!(notes, [0; 3], "a shared library's calls are recorded");
    }
}
