//! Tests of signal handlers that write, and that leave the tracer's code by longjmp(3): the tracer's state stays consistent, and no call is lost.

use crate::harness::{Compiler, Launch, Scratch, Traces, workload, workload_with};

/// Numbers printed by the program: calls begun and returned, by the program and by its signal handler, and jumps out of the handler.
struct Said {
    begun: u64,
    returned: u64,
    handled: (u64, u64),
    jumped: u64,
}

/// Runs the test program `jumps` with `calls` calls. `way`: what its signal handler does; `mode`: DXT_ENABLE; `buffer`: DXT_BUFFER_MAX.
/// Returns its numbers and traces.
fn run(scratch: &Scratch, way: &str, calls: &str, mode: &str, buffer: &str) -> (Said, Traces) {
    let launch = Launch::new(scratch, workload("jumps")).arg(scratch.data()).arg(way).arg(calls);
    let outcome = launch.env("DXT_ENABLE", mode).env("DXT_BUFFER_MAX", buffer).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (5, ""), "{way} {mode} {buffer}: {outcome:?}");
    let numbers: Vec<u64> = outcome.stdout.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let said = Said { begun: numbers[0], returned: numbers[1], handled: (numbers[2], numbers[3]), jumped: numbers[4] };
    (said, Traces::read(&scratch.traces()))
}

fn unrecorded(traces: &Traces) -> u64 {
    let notes = traces.processes.iter().flat_map(|process| &process.notes);
    notes.filter(|note| note.what.contains("signal handlers")).map(|note| note.count).sum()
}

fn check(way: &str, calls: &str) {
    for (mode, buffer) in [("trace", "4M"), ("trace", "128K"), ("counters", "4M")] {
        let scratch = Scratch::new();
        let (said, traces) = run(&scratch, way, calls, mode, buffer);
        let writes = |name: &str| traces.totals(&["POSIX"], "write", &scratch.data().join(name)).0;
        let (main, handled) = (writes("main"), writes("handler") + writes("opened"));
        let about = format!(
            "{way} {mode} {buffer}: {main} of {}..{}, {handled} of {:?}, {} jumps, {} counted",
            said.returned,
            said.begun,
            said.handled,
            said.jumped,
            unrecorded(&traces)
        );
        println!("{about}");
        // An abandoned call may be recorded or not.
        assert!((said.returned..=said.begun).contains(&main), "{about}");
        assert!((said.handled.1..=said.handled.0).contains(&handled), "{about}");
        assert_eq!(unrecorded(&traces), 0, "{about}");
    }
}

#[test]
fn handlers_that_write() {
    check("writes", "200000");
}

#[test]
fn handlers_that_open_and_write() {
    check("opens", "100000");
}

#[test]
fn handlers_that_jump() {
    check("jumps", "200000");
}

#[test]
fn handlers_that_write_and_jump() {
    check("both", "200000");
}

#[test]
fn handlers_that_jump_out_of_a_recursion() {
    check("far", "100000");
}

#[test]
fn handlers_that_jump_out_of_a_failing_exec() {
    check("execs", "150");
}

#[test]
fn handlers_on_a_stack_of_their_own() {
    check("stack", "100000");
}

#[test]
fn calls_on_stacks_of_the_programs() {
    check("coroutines", "2000");
}

#[test]
fn error_handlers_that_jump_out_of_mpi() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi] {
        if !mpi.available() {
            continue;
        }
        let scratch = Scratch::new();
        let program = workload_with("mpiio_jumps", mpi, &["-O1"]);
        let outcome = Launch::new(&scratch, program).ranks(mpi, 2).arg(scratch.data()).arg("50").run();
        assert_eq!(outcome.code, 0, "{mpi:?}: {outcome:?}");
        let traces = Traces::read(&scratch.traces());
        assert_eq!(traces.totals(&["MPIIO"], "write", &scratch.data()).0, 2 * 3 * 50, "{mpi:?}");
        assert_eq!(traces.totals(&["MPIIO"], "sync", &scratch.data()).0, 2 * 3, "{mpi:?}");
        // No nested call is mistaken for the program's own.
        assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()).0, 0, "{mpi:?}");
    }
}
