//! Tests of dxt-run with programs that a preloaded library could prevent from starting (programs with sanitizers, with other C libraries,
//! or for other processors), and with a second tracer that is already preloaded.

use crate::harness::{
    Compiler, Outcome, Scratch, Traces, analyzer, copy_program, executable, is_root, library, python, skip, skip_here,
};
use crate::launcher::run_in;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program from source `text`; returns its path, or `None` if the compiler or a required library is missing.
fn compiled(scratch: &Scratch, name: &str, text: &str, compiler: &[&str]) -> Option<PathBuf> {
    let (source, program) = (scratch.root().join(format!("{name}.c")), scratch.root().join(name));
    std::fs::write(&source, text).expect("a file");
    let done = Command::new(compiler[0]).args(&compiler[1..]).arg("-o").arg(&program).arg(&source).output().ok()?;
    done.status.success().then_some(program)
}

fn run(scratch: &Scratch, variables: &[(&str, &str)], words: &[&str]) -> Outcome {
    run_in(scratch, variables.iter().copied(), &[], &words.iter().map(Path::new).collect::<Vec<_>>())
}

fn wrote(outcome: &Outcome) -> usize {
    outcome.stderr.matches("dxt-run: wrote ").count()
}

/// C program that writes a file, then ends normally, leaks memory, or uses freed memory, depending on its argument.
const SICK: &str = "#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    FILE *file = fopen(argv[1], \"w\");
    if (argc < 3 || !file || fputs(\"hello\\n\", file) < 0 || fclose(file)) return 9;
    char *volatile memory = NULL;
    for (int i = 0; i < 100 && !strcmp(argv[2], \"leak\"); i++) memory = malloc(100 + i);
    if (memory) return 0;
    memory = malloc(10);
    free(memory);
    return strcmp(argv[2], \"use\") ? 3 : memory[3] & 1;
}
";

#[test]
fn programs_with_sanitizers_end_as_they_do_by_themselves_and_are_traced() {
    if !analyzer().exists() {
        return skip("dxt-analyze is not built beside the tests (cargo build)");
    }
    for compiler in [
        &["gcc", "-w", "-g", "-fsanitize=address"][..],
        &["gcc", "-w", "-g", "-fsanitize=address", "-static-libasan"],
        &["gcc", "-w", "-g", "-fsanitize=leak"],
        &["gcc", "-w", "-g", "-fsanitize=thread"],
        &["gcc", "-w", "-g", "-fsanitize=undefined"],
        &["gcc", "-w", "-g", "-fsanitize=address,undefined"],
        &["clang", "-w", "-g", "-fsanitize=address"],
        &["clang", "-w", "-g", "-fsanitize=address", "-shared-libasan", "-Wl,-rpath,@"],
        &["clang", "-w", "-g", "-fsanitize=thread"],
    ] {
        let scratch = Scratch::new();
        let runtime = Command::new("clang").arg("-print-runtime-dir").output().map(|output| output.stdout);
        let runtime = String::from_utf8(runtime.unwrap_or_default()).expect("a path");
        let flags: Vec<String> = compiler.iter().map(|flag| flag.replace('@', runtime.trim())).collect();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let Some(program) = compiled(&scratch, "sick", SICK, &flags) else {
            skip_here(&format!("nothing is compiled by {compiler:?}"));
            continue;
        };
        let (program, data) = (program.display().to_string(), scratch.data().join("x").display().to_string());
        for end in ["well", "leak", "use"] {
            let alone = Command::new(&program).args([&data, end]).output().expect("the program");
            let outcome = run(&scratch, &[], &[&program, &data, end]);
            // Without a sanitizer, reads of freed memory give arbitrary values.
            let is_checked =
                end != "use" || compiler.iter().any(|flag| flag.contains("address") || flag.contains("thread"));
            if is_checked {
                assert_eq!(Some(outcome.code), alone.status.code(), "{compiler:?} {end}: {outcome:?}");
            }
            let last = |text: &str| text.lines().any(|line| line.contains("SUMMARY: "));
            assert_eq!(
                last(&outcome.stderr),
                last(&String::from_utf8_lossy(&alone.stderr)),
                "{compiler:?} {end}: {outcome:?}"
            );
            // The symbolizer that the report starts may be traced too.
            let traces = outcome.stderr.matches("/sick_").count();
            assert_eq!(traces, 1, "{compiler:?} {end}: {outcome:?}");
        }
    }
}

#[test]
fn sanitized_programs_start_whatever_starts_them() {
    let scratch = Scratch::new();
    let Some(program) = compiled(&scratch, "sick", SICK, &["gcc", "-w", "-fsanitize=address"]) else {
        return skip_here("gcc has no AddressSanitizer");
    };
    let (program, data) = (program.display().to_string(), scratch.data().join("x").display().to_string());
    let script = scratch.root().join("script");
    std::fs::write(&script, format!("#!/bin/sh\n{program} \"$@\"\n")).expect("a script");
    let by = script.display().to_string();
    let mut starts = vec![vec!["env", "A=1", "timeout", "60", &program], vec!["sh", &by], vec!["nice", &program]];
    if Compiler::Mpich.available() {
        starts.push(vec!["mpirun.mpich", "-n", "1", &program]);
    }
    if Compiler::OpenMpi.available() {
        starts.push(vec!["mpirun.openmpi", "-n", "1", &program]);
    }
    for start in starts {
        let outcome = run(&scratch, &[], &[&start[..], &[&data, "well"]].concat());
        assert_eq!(outcome.code, 3, "{start:?}: {outcome:?}");
        assert!(wrote(&outcome) >= 1, "{start:?}: {outcome:?}");
    }
    // Options set by the user are kept.
    let outcome = run(&scratch, &[("ASAN_OPTIONS", "exitcode=99")], &[&program, &data, "use"]);
    assert_eq!(outcome.code, 99, "{outcome:?}");
    let outcome = run(&scratch, &[("ASAN_OPTIONS", "verify_asan_link_order=1")], &[&program, &data, "well"]);
    assert!(outcome.code == 1 && outcome.stderr.contains("does not come first"), "{outcome:?}");
}

const WRITES: &str = "#include <stdio.h>
int main(int argc, char **argv) {
    FILE *file = fopen(argv[argc - 1], \"w\");
    return !file || fputs(\"hello\\n\", file) < 0 || fclose(file) ? 9 : 3;
}
";

#[test]
fn programs_of_other_c_libraries_run_without_the_tracer() {
    let scratch = Scratch::new();
    let data = scratch.data().join("x").display().to_string();
    let mut programs = Vec::new();
    match compiled(&scratch, "musl", WRITES, &["musl-gcc"]) {
        Some(program) => programs.push((program, "another C library")),
        None => skip("musl-gcc is not installed"),
    }
    const SMALL: &str = "void _start(void) { __asm__(\"mov $1, %eax; mov $3, %ebx; int $0x80\"); }\n";
    let flags = ["gcc", "-m32", "-w", "-nostdlib", "-pie", "-Wl,--dynamic-linker=/lib/ld-linux.so.2"];
    match compiled(&scratch, "small", SMALL, &flags).filter(|program| Command::new(program).status().is_ok()) {
        Some(program) => programs.push((program, "a 32-bit program")),
        None => skip_here("no 32-bit program runs here"),
    }
    for (program, why) in programs {
        let place = program.display().to_string();
        let script = scratch.root().join("script");
        executable(&script, &format!("#!{place}\n"));
        let script = script.display().to_string();
        let mut starts =
            vec![vec![&*place], vec!["env", "A=1", "timeout", "60", &place], vec![&*script], vec!["nice", &script]];
        if Compiler::Mpich.available() {
            starts.push(vec!["mpirun.mpich", "-n", "1", &place]);
        }
        for start in starts {
            let outcome = run(&scratch, &[], &[&start[..], &[&data]].concat());
            let lines: Vec<&str> = outcome.stderr.lines().collect();
            assert!(outcome.code == 3 && lines.len() == 1, "{start:?}: {outcome:?}");
            assert!(
                lines[0].contains(" runs without the tracer, ") && lines[0].contains(why),
                "{start:?}: {outcome:?}"
            );
        }
    }
    // A copy of the same C library's linker at another path is no other C library.
    let own = std::fs::read_link("/lib64/ld-linux-x86-64.so.2").map(|to| Path::new("/lib64").join(to));
    let Ok(own) = own else { return skip_here("the dynamic linker is no link here") };
    let copy = scratch.root().join("linker");
    copy_program(own, &copy);
    let flag = format!("-Wl,--dynamic-linker={}", copy.display());
    let program = compiled(&scratch, "copied", WRITES, &["gcc", &flag]).expect("a program");
    let outcome = run(&scratch, &[], &[&program.display().to_string(), &data]);
    assert!(outcome.code == 3 && wrote(&outcome) == 1, "{outcome:?}");
    // Runs the program with its dynamic linker missing.
    std::fs::remove_file(copy).expect("the copy");
    let outcome = run(&scratch, &[], &[&program.display().to_string(), &data]);
    assert!(outcome.code == 127 && outcome.stderr.contains("dynamic linker does not exist"), "{outcome:?}");
}

#[test]
fn of_two_tracers_one_is_taken() {
    let scratch = Scratch::new();
    let copies = ["libdxt_tracer.so", "libdxt_tracer.so.0.1.0", "libio.so"].map(|name| {
        let place = scratch.root().join(name);
        std::fs::copy(library(), &place).expect("a copy");
        place.display().to_string()
    });
    let link = scratch.root().join("link.so");
    std::os::unix::fs::symlink(library(), &link).expect("a link");
    let link = link.display().to_string();
    let data = scratch.data().join("x").display().to_string();
    let show = ["sh", "-c", "echo $LD_PRELOAD; touch $0", &data];
    for (others, count) in [
        (vec![&copies[0]], 1),
        (vec![&copies[1]], 1),
        (vec![&copies[2]], 1),
        (vec![&link], 0),
        (vec![&copies[0], &copies[2]], 2),
    ] {
        let mut preload: Vec<&str> = vec!["libm.so.6"];
        preload.extend(others.iter().map(|other| other.as_str()));
        preload.push("libdl.so.2");
        let outcome = run(&scratch, &[("LD_PRELOAD", &preload.join(":")), ("DXT_SPOOL", "off")], &show);
        assert_eq!(outcome.stdout, format!("{}:libm.so.6:libdl.so.2\n", library().display()), "{outcome:?}");
        assert_eq!(outcome.stderr.matches("another tracer").count(), count, "{preload:?}: {outcome:?}");
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
}

/// A program killed after chroot is recovered in the original directory. If its trace was written inside the new root, dxt-run says that a
/// trace may be elsewhere.
#[test]
fn a_program_that_changes_its_root_is_recovered_or_spoken_of() {
    let Some(python) = python() else { return skip("python3 is not installed") };
    if !is_root() {
        return skip_here("only root changes its root");
    }
    if !analyzer().exists() {
        return skip("dxt-analyze is not built beside the tests (cargo build)");
    }
    for end in ["os.abort()", "os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 15)", "os._exit(3)", "os.chdir('/')"] {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.root().join("inside")).expect("a directory");
        let root = scratch.root().display();
        let script = format!("import os; os.chdir('{root}'); open('file', 'w').write('x'); os.chroot('inside'); {end}");
        let outcome = run(&scratch, &[], &[&python.display().to_string(), "-c", &script]);
        let is_spoken_of = outcome.stderr.contains("wrote its trace where dxt-run cannot see it");
        let is_killed = end.contains("abort") || end.contains(", 9)");
        assert!(wrote(&outcome) >= 1 || is_spoken_of && !is_killed, "{end}: {outcome:?}");
        if wrote(&outcome) >= 1 {
            let traces = Traces::read(&scratch.traces());
            assert!(
                traces.processes.iter().flat_map(|known| &known.paths).any(|path| path.ends_with("/file")),
                "{end}"
            );
        }
    }
}
