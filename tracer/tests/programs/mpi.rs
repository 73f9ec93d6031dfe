//! Tests of one library file preloaded under MPICH, under Open MPI and without MPI: recorded operations must be equal.

use crate::harness::{
    Compiler, Launch, Op, Order, Outcome, Scratch, Traces, assert_same, python, read_log, read_ranks, recover, skip,
    workload, workload_source, workload_with,
};
use std::collections::BTreeSet;
use std::path::Path;

const BOTH: [Compiler; 2] = [Compiler::Mpich, Compiler::OpenMpi];

fn program<'a>(scratch: &'a Scratch, mpi: Compiler, ranks: u32, variant: &str) -> Launch<'a> {
    let program = workload_with("mpiio", mpi, &["-O1"]);
    Launch::new(scratch, program).arg(scratch.data()).arg(variant).ranks(mpi, ranks)
}

/// Checks a complete MPI run: each rank is in the traces, no call is missing, and operations match the program's log. Returns log and traces.
fn whole_job(scratch: &Scratch, ranks: u32) -> (Vec<Op>, Traces) {
    let (log, traces) = (read_log(scratch), Traces::read(&scratch.traces()));
    let by_pid = read_ranks(scratch);
    assert_eq!(by_pid.len() as u32, ranks);
    for (pid, rank) in by_pid {
        assert_eq!(traces.process(pid).info.rank, rank);
    }
    assert_eq!(traces.missing(), 0);
    assert_same(Order::File, &log, &traces.own_ops(&["MPIIO"], &scratch.data()));
    (log, traces)
}

/// Returns the operations as text, without process and directory, which differ from run to run.
fn comparable(ops: &[Op], data: &Path) -> Vec<String> {
    let mut lines: Vec<String> = ops
        .iter()
        .map(|op| {
            let file = Path::new(&op.path).strip_prefix(data).expect("a file of the test");
            // In an ordered call, the rank that knows the offset depends on the MPI implementation.
            let offset = if op.mode == "ordered" { 0 } else { op.offset };
            format!("{} {} {} {offset} {} {}", op.layer, op.name, op.mode, op.length, file.display())
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn both_tell_exactly_what_the_program_did_and_the_same() {
    for ranks in [1, 2, 4] {
        let mut reported = Vec::new();
        for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
            let scratch = Scratch::new();
            let outcome = program(&scratch, mpi, ranks, "all").run();
            assert_eq!(outcome.code, 0, "{outcome:?}");
            let (_, traces) = whole_job(&scratch, ranks);
            assert_eq!(traces.files.len(), 1, "{mpi:?}: the ranks write one file together: {:?}", traces.files);
            let family = if mpi == Compiler::Mpich { "MPICH" } else { "Open MPI" };
            let job = traces.jobs[0].info.mpi.as_ref().expect("the trace names the MPI");
            assert_eq!((job.family.as_str(), job.ranks), (family, ranks));
            assert!(job.version.contains(family), "{}", job.version);
            nesting(&traces, &scratch.data());
            reported.push(comparable(&traces.own_ops(&["MPIIO"], &scratch.data()), &scratch.data()));
        }
        assert!(reported.windows(2).all(|pair| pair[0] == pair[1]), "MPICH and Open MPI tell different things");
    }
}

/// Asserts that POSIX calls made by MPI-IO lie inside an MPI-IO call of the same thread, and are marked as nested. (MPI_Init also makes
/// calls, on other files.)
fn nesting(traces: &Traces, data: &Path) {
    let here = |path: &str| Path::new(path).starts_with(data);
    let nested: Vec<_> = traces.segments.iter().filter(|seg| seg.nested && here(&seg.op.path)).collect();
    assert!(nested.iter().any(|seg| seg.op.layer == "POSIX" && seg.op.name == "write"), "no nested POSIX writes");
    for seg in nested {
        assert!(seg.op.layer != "MPIIO", "{seg:?}");
        let inside = traces.segments.iter().any(|outer| {
            outer.op.layer == "MPIIO"
                && (outer.op.pid, outer.op.tid) == (seg.op.pid, seg.op.tid)
                && outer.start_ns <= seg.start_ns
                && seg.end_ns <= outer.end_ns
        });
        assert!(inside, "{seg:?} lies in no MPI-IO call");
    }
}

/// Fortran bindings of MPI call the C functions, their PMPI_ names, or neither; each call must count once.
#[test]
fn fortran_calls_count_once_through_every_binding() {
    for mpi in [Compiler::MpichFortran, Compiler::OpenMpiFortran].into_iter().filter(|mpi| mpi.available()) {
        for binding in ["-DUSE_MPIF_H", "-DUSE_MPI", "-DUSE_F08"] {
            let scratch = Scratch::new();
            let program = workload_with("fortran", mpi, &["-O1", binding]);
            let outcome = Launch::new(&scratch, program).arg(scratch.data()).ranks(mpi, 2).run();
            assert_eq!(outcome.code, 0, "{mpi:?} {binding}: {outcome:?}");
            whole_job(&scratch, 2);
        }
    }
}

#[test]
fn without_a_launcher() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let program = workload_with("mpiio", mpi, &["-O1"]);
        let launch = Launch::new(&scratch, program).arg(scratch.data()).arg("all");
        let launch = launch.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let outcome = launch.run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        whole_job(&scratch, 1);
    }
}

#[test]
fn a_program_without_mpi_under_mpirun() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, "/bin/sh").arg("-c");
        let script =
            format!("mkdir {0}/$$; exec {1} {0}/$$", scratch.data().display(), workload("posix_all").display());
        let outcome = launch.arg(script).ranks(mpi, 2).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let traces = Traces::read(&scratch.traces());
        // mkdir(1) is a separate process with one call. The shell makes calls of its own before it executes the program.
        let ended = traces.processes.iter().filter(|process| process.info.ended_by != "exec");
        assert_eq!(ended.count(), 4);
        let log = read_log(&scratch);
        let mut reported = traces.own_ops(&["POSIX"], Path::new("/"));
        reported.retain(|op| log.iter().any(|did| (did.pid, &did.path) == (op.pid, &op.path)));
        assert_same(Order::Thread, &log, &reported);
    }
}

#[test]
fn a_file_per_process_is_one_job() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let outcome = program(&scratch, mpi, 3, "all").env("DXT_FLUSH", "process").run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let (_, traces) = whole_job(&scratch, 3);
        assert_eq!(traces.files.len(), 3);
        let keys: BTreeSet<&str> = traces.jobs.iter().map(|job| job.info.key.as_str()).collect();
        assert_eq!(keys.len(), 1, "{keys:?}");
    }
}

#[test]
fn what_the_buffers_cannot_hold_is_counted_by_every_rank() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let outcome = program(&scratch, mpi, 3, "many").env("DXT_BUFFER_MAX", "16K").env("DXT_OVERFLOW", "fold").run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
        assert_eq!(traces.processes.len(), 3);
        assert!(traces.processes.iter().all(|process| process.info.missing > 0));
        for name in ["open", "close", "read", "write", "sync", "set_view"] {
            let of_name = log.iter().filter(|op| op.name == name);
            let did = of_name.fold((0, 0), |sum, op| (sum.0 + 1, sum.1 + op.length));
            assert_eq!(traces.totals(&["MPIIO"], name, &scratch.data()), did, "{name}");
        }
    }
}

#[test]
fn several_threads_of_a_rank() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let outcome = program(&scratch, mpi, 2, "threads").run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let (log, _) = whole_job(&scratch, 2);
        assert!(log.iter().map(|op| op.tid).collect::<BTreeSet<_>>().len() >= 2);
    }
}

/// Runs a program variant on `ranks` ranks with and without the tracer, and asserts that both end the same way. How a launcher reacts to a
/// rank that leaves without MPI_Finalize is a race, so the traced run must end in one of the ways observed untraced.
fn ends_as_untraced(scratch: &Scratch, mpi: Compiler, ranks: u32, variant: &str) -> Outcome {
    const TRIES: usize = 20;
    let log = scratch.root().join("untraced");
    let untraced = || {
        let ended = program(scratch, mpi, ranks, variant).untraced().env("OPLOG", &log).run();
        scratch.clear_data();
        ended
    };
    let first = untraced();
    let traced = program(scratch, mpi, ranks, variant).run();
    if traced.code != first.code {
        // Runs only after the traces were read, since the untraced runs clear the data.
        let like = (0..TRIES)
            .any(|_| program(scratch, mpi, ranks, variant).untraced().env("OPLOG", &log).run().code == traced.code);
        assert!(like, "{first:?}\n{traced:?}");
    }
    traced
}

#[test]
fn an_output_directory_that_cannot_be_written_harms_nobody() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for dir in ["/proc/nowhere", "/etc/passwd/x"] {
            let scratch = Scratch::new();
            let outcome = program(&scratch, mpi, 2, "all").env("DXT_OUTPUT_DIR", dir).run();
            assert_eq!(outcome.code, 0, "{outcome:?}");
            assert_eq!(outcome.stdout, "");
            assert!(Traces::read(&scratch.traces()).files.is_empty());
        }
    }
}

#[test]
fn abort_of_one_rank() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        for ranks in [1, 3] {
            let scratch = Scratch::new();
            let outcome = ends_as_untraced(&scratch, mpi, ranks, "abort");
            assert_eq!(outcome.code, 3, "{outcome:?}");
            // The aborting rank has its trace; other ranks may be killed before they can write one.
            let traces = Traces::read_finished(&scratch.traces());
            let aborting = read_ranks(&scratch).into_iter().find(|(_, rank)| *rank == 1 || ranks == 1);
            let (pid, _) = aborting.expect("a rank aborts");
            traces.process(pid);
            exact_for_those_present(&scratch, &traces);
            every_rank_is_there(&scratch, ranks);
        }
    }
}

/// Asserts that traces and recovered spools together contain all calls of every rank, up to the last line of the rank's log.
fn every_rank_is_there(scratch: &Scratch, ranks: u32) {
    for unfinished in Traces::read_finished(&scratch.traces()).unfinished {
        std::fs::remove_file(unfinished).expect("failed to remove an unfinished trace");
    }
    assert_eq!(recover(scratch), 0);
    let traces = Traces::read(&scratch.traces());
    let reported: BTreeSet<i32> = traces.processes.iter().map(|process| process.info.rank).collect();
    assert_eq!(reported, (0..ranks as i32).collect(), "{:?}", traces.processes);
    assert_same(Order::File, &read_log(scratch), &traces.own_ops(&["MPIIO"], &scratch.data()));
}

#[test]
fn a_rank_that_is_killed_while_the_others_wait_for_it() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let outcome = ends_as_untraced(&scratch, mpi, 3, "straggler");
        assert_ne!(outcome.code, 0, "{outcome:?}");
        every_rank_is_there(&scratch, 3);
    }
}

#[test]
fn finalize_twice() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        ends_as_untraced(&scratch, mpi, 2, "twice");
        every_rank_is_there(&scratch, 2);
    }
}

#[test]
fn a_child_that_is_forked_between_init_and_finalize() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let outcome = ends_as_untraced(&scratch, mpi, 2, "forked");
        assert_eq!(outcome.code, 0, "{outcome:?}");
        whole_job(&scratch, 2);
    }
}

/// Asserts that the trace of each process that has one contains exactly the MPI-IO calls which that process logged.
fn exact_for_those_present(scratch: &Scratch, traces: &Traces) {
    let present: BTreeSet<u32> = traces.processes.iter().map(|process| process.info.pid).collect();
    let log: Vec<Op> = read_log(scratch).into_iter().filter(|op| present.contains(&op.pid)).collect();
    assert!(!log.is_empty());
    assert_same(Order::File, &log, &traces.own_ops(&["MPIIO"], &scratch.data()));
}

#[test]
fn an_end_without_finalize() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        ends_as_untraced(&scratch, mpi, 1, "nofinalize");
        let traces = Traces::read_finished(&scratch.traces());
        assert_eq!(traces.processes.len(), 1);
        exact_for_those_present(&scratch, &traces);
        // With several ranks, the launcher kills the others once the first one ends. Every rank that ended by itself has its trace.
        let scratch = Scratch::new();
        program(&scratch, mpi, 3, "nofinalize").run();
        let traces = Traces::read_finished(&scratch.traces());
        assert!(!traces.processes.is_empty());
        exact_for_those_present(&scratch, &traces);
    }
}

#[test]
fn a_program_that_does_no_io_is_left_alone() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let outcome = ends_as_untraced(&scratch, mpi, 2, "nothing");
        assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "", ""));
        let traces = Traces::read(&scratch.traces());
        assert!(traces.own_ops(&["POSIX", "STDIO", "MPIIO"], &scratch.data()).is_empty());
    }
}

#[test]
fn ranks_are_aligned_in_time() {
    for mpi in BOTH.into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        assert_eq!(program(&scratch, mpi, 4, "all").run().code, 0);
        let traces = Traces::read(&scratch.traces());
        // One machine has one clock: the calls of all ranks in a collective operation must overlap.
        let absolute = |pid: u32, ns: u64| traces.process(pid).info.epoch_unix_ns + ns as i64;
        let file = scratch.data().join("collective").display().to_string();
        let barrier = |seg: &&crate::harness::Seg| seg.op.path == file && seg.op.name == "sync" && !seg.nested;
        let spans: Vec<(i64, i64)> = traces
            .segments
            .iter()
            .filter(barrier)
            .map(|seg| (absolute(seg.op.pid, seg.start_ns), absolute(seg.op.pid, seg.end_ns)))
            .collect();
        assert_eq!(spans.len(), 4);
        for process in &traces.processes {
            assert!(process.info.sync_ns.is_some(), "{:?}", process.info);
        }
        let (last_start, first_end) =
            (spans.iter().map(|span| span.0).max().unwrap(), spans.iter().map(|span| span.1).min().unwrap());
        assert!(last_start - first_end < 50_000_000, "{spans:?}");
    }
}

#[test]
fn parallel_hdf5_from_python() {
    let Some(interpreter) = python() else { return skip("python3 is not installed") };
    if !Compiler::OpenMpi.available() {
        return;
    }
    let scratch = Scratch::new();
    let file = scratch.data().join("shared.h5");
    let run = |launch: Launch<'_>| {
        let launch = launch.arg(workload_source("h5py_shared.py")).arg(&file).arg("2").arg("32").arg("64");
        launch.ranks(Compiler::OpenMpi, 4).run()
    };
    let untraced = run(Launch::new(&scratch, &interpreter).untraced());
    if untraced.stderr.contains("ModuleNotFoundError") || untraced.stderr.contains("without MPI") {
        return skip("mpi4py or h5py with MPI is not installed");
    }
    assert_eq!(untraced.code, 0, "{untraced:?}");
    let size = std::fs::metadata(&file).unwrap().len();
    scratch.clear_data();
    let traced = run(Launch::new(&scratch, &interpreter));
    assert_eq!((traced.code, traced.stdout), (0, untraced.stdout), "{}", traced.stderr);
    let traces = Traces::read(&scratch.traces());
    assert_eq!((traces.files.len(), traces.processes.len(), traces.missing()), (1, 4, 0));
    let ops = traces.own_ops(&["MPIIO"], &scratch.data());
    let ranks: BTreeSet<u32> = ops.iter().map(|op| op.pid).collect();
    assert_eq!(ranks.len(), 4, "every rank did MPI-IO on the shared file");
    let sum = |name: &str, mode: &str| {
        ops.iter().filter(|op| op.name == name && op.mode == mode).map(|op| op.length).sum::<u64>()
    };
    // Fields are written collectively, particles and records independently.
    let fields = 2 * 4 * 32 * 64 * 8;
    assert!(sum("write", "collective") >= fields && sum("read", "collective") >= fields);
    assert!(sum("write", "") >= 2 * (4 * 1000 + 317 * 6) * 12);
    // Bytes requested from HDF5 are known exactly.
    let asked = traces.own_ops(&["HDF5"], &scratch.data());
    let asked = |name: &str, mode: &str| {
        asked.iter().filter(|op| op.name == name && op.mode == mode).map(|op| op.length).sum::<u64>()
    };
    let (particles, records) = (2 * (4 * 1000 + 317 * 6) * 12, 2 * 4 * 40);
    assert_eq!([asked("write", "collective"), asked("write", "")], [fields, particles + records]);
    assert_eq!([asked("read", "collective"), asked("read", "")], [fields, particles + records]);
    // Nested POSIX writes of MPI-IO cover the file.
    let end = traces.segments.iter().filter(|seg| seg.nested && seg.op.name == "write");
    let end = end.map(|seg| seg.op.offset as u64 + seg.op.length).max().unwrap_or(0);
    assert!(end <= size && end >= fields, "{end} of {size}");
}
