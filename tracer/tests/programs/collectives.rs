//! Tests of recorded MPI collective calls: the trace matches the program's own log for every communicator, and collective calls leave
//! enough room for I/O calls.

use crate::harness::{
    Compiler, Launch, Order, Scratch, Traces, assert_same, have, library, log_lines, read_failures, read_log, recover,
    skip, workload_with,
};
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::meta::CommunicatorDef;

const BOTH: [Compiler; 2] = [Compiler::Mpich, Compiler::OpenMpi];
/// Name in traces that stands for the file of MPI calls, which have no file.
const MPI: &str = "<MPI>";
/// Maximum difference between wall clock times in the program's log and in the trace, in ns.
const CLOCKS_APART: i64 = 2_000_000;

fn available() -> impl Iterator<Item = Compiler> {
    BOTH.into_iter().filter(|mpi| mpi.available())
}

fn program<'a>(scratch: &'a Scratch, mpi: Compiler, ranks: u32, way: &str) -> Launch<'a> {
    let program = workload_with("collectives", mpi, &["-O1", "-pthread"]);
    // Files that the MPI library creates in /dev/shm are irrelevant here.
    Launch::new(scratch, program).arg(scratch.data()).arg(way).ranks(mpi, ranks).env("DXT_INCLUDE", scratch.data())
}

/// Returns the numbers in each log line that begins with `word`.
fn numbers(scratch: &Scratch, word: &str) -> Vec<Vec<i64>> {
    let lines = log_lines(scratch);
    let lines = lines.iter().filter_map(|line| line.strip_prefix(word));
    lines.map(|line| line.split_whitespace().map(|number| number.parse().expect("a number")).collect()).collect()
}

/// Returns the number of MPI calls recorded as segments, and the number of MPI calls that are only counted.
fn totals(traces: &Traces) -> (usize, u64) {
    let missing = traces.processes.iter().flat_map(|process| &process.missing);
    let missing = missing.filter(|missing| missing.op.layer == "MPI").map(|missing| missing.counters.segments).sum();
    (traces.own_ops(&["MPI"], Path::new(MPI)).len(), missing)
}

/// Asserts that the program's log and the trace agree on calls, their order, communicators and times.
fn same(scratch: &Scratch, traces: &Traces) {
    let log = read_log(scratch);
    assert_same(Order::Thread, &log, &traces.own_ops(&["MPI"], Path::new(MPI)));
    assert_same(Order::Thread, &read_failures(scratch), &traces.failed_ops(Path::new(MPI)));
    let mut said: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for line in numbers(scratch, "TIMES ") {
        said.entry(line[0] as u32).or_default().push((line[1], line[2]));
    }
    for (pid, said) in said {
        let epoch = traces.process(pid).info.epoch_unix_ns;
        let mine = traces.segments.iter().filter(|seg| seg.op.pid == pid && seg.op.layer == "MPI");
        let times: Vec<(i64, i64)> = mine.map(|seg| (epoch + seg.start_ns as i64, epoch + seg.end_ns as i64)).collect();
        assert_eq!(said.len(), times.len());
        for ((before, after), (start, end)) in said.into_iter().zip(times) {
            assert!(before - CLOCKS_APART <= start && start <= end && end <= after + CLOCKS_APART);
        }
    }
    communicators(scratch, traces);
}

/// Asserts that each process records its communicators, and that all members of a communicator record equal descriptions of it.
fn communicators(scratch: &Scratch, traces: &Traces) {
    for process in traces.processes.iter().filter(|process| process.info.pid != 0) {
        let reported = &process.block.communicators;
        let said: Vec<Vec<i64>> =
            numbers(scratch, "COMM ").into_iter().filter(|line| line[0] == i64::from(process.info.pid)).collect();
        let mut said: Vec<Vec<i64>> = said.iter().map(|line| line[1..].to_vec()).collect();
        said.sort();
        let row = |def: &CommunicatorDef| {
            let (number, size) = (i64::from(def.number), i64::from(def.size));
            vec![number, size, i64::from(def.rank), i64::from(def.first), i64::from(def.remote_size)]
        };
        assert_eq!(reported.iter().map(row).collect::<Vec<_>>(), said, "rank {}", process.info.rank);
        assert!(reported.iter().all(|def| def.members != 0), "{reported:?}");
    }
}

#[test]
fn the_trace_says_what_the_program_did_on_which_communicator() {
    for mpi in available() {
        for ranks in [1, 2, 3, 5] {
            let scratch = Scratch::new();
            let (log, traces) = program(&scratch, mpi, ranks, "all").traced();
            assert!(log.len() > 90 && traces.missing() == 0);
            same(&scratch, &traces);
            // The members of MPI_COMM_WORLD equal those of its duplicate, and differ from those of a half.
            let world = |def: &&CommunicatorDef| def.number == 0;
            let all = traces.processes[0].block.communicators.clone();
            let whole = all.iter().find(world).expect("the world").members;
            for def in all.iter().filter(|def| def.remote_size == 0) {
                assert_eq!(def.members == whole, def.size == ranks, "{mpi:?} {ranks}: {all:?}");
            }
        }
    }
}

#[test]
fn counters_say_how_many_there_were() {
    for mpi in available() {
        for mode in ["counters", "trace"] {
            let scratch = Scratch::new();
            let launch = program(&scratch, mpi, 2, "all").env("DXT_ENABLE", mode).env("DXT_MPI_BUFFER_MAX", "0");
            // Calls still in a thread's scratch at program end are recorded.
            let (log, traces) = launch.env("DXT_OVERFLOW", "fold").traced();
            let failed = read_failures(&scratch).len();
            let (on_record, counted) = totals(&traces);
            let failures = traces.failures.iter().filter(|seg| seg.op.layer == "MPI").count();
            assert_eq!((on_record + failures) as u64 + counted, (log.len() + failed) as u64, "{mpi:?} {mode}");
            assert!(counted > 100, "{mpi:?} {mode}: {counted}");
        }
    }
}

/// Collective calls are not recorded if made by MPI-IO, communicator or window functions, by nonblocking operations, or by the tracer's flush.
#[test]
fn what_libraries_do_among_themselves_is_not_the_programs() {
    for mpi in available() {
        // Open MPI uses OMPIO for I/O unless ROMIO is requested.
        for io in ["ompio", "^ompio"] {
            let scratch = Scratch::new();
            let (log, traces) = program(&scratch, mpi, 3, "others").env("OMPI_MCA_io", io).traced();
            assert_eq!(log.len(), 3);
            same(&scratch, &traces);
            assert!(traces.segments.iter().any(|seg| seg.op.layer == "MPIIO"), "{mpi:?} {io}");
        }
    }
}

#[test]
fn very_many_take_no_room_from_io() {
    for mpi in available() {
        for (buffer, overflow) in [("64K", "fold"), ("64K", "compact"), ("4M", "compact")] {
            let run = |count: &str| {
                let scratch = Scratch::new();
                let launch = program(&scratch, mpi, 2, "loop").arg(count).env("DXT_BUFFER_MAX", buffer);
                let (_, traces) = launch.env("DXT_OVERFLOW", overflow).traced();
                let writes: Vec<_> = traces.own_ops(&["POSIX"], &scratch.data());
                let sync_points = totals(&traces);
                (writes.len(), traces.totals(&["POSIX"], "write", &scratch.data()).0, sync_points)
            };
            let count = 20_000;
            let ((kept, all, none), (kept_too, all_too, (on_record, counted))) = (run("0"), run(&count.to_string()));
            assert_eq!((all, all_too, none), (40_000, 40_000, (0, 0)), "{mpi:?} {buffer} {overflow}");
            if overflow == "fold" || buffer == "4M" {
                assert_eq!(kept, kept_too, "{mpi:?} {buffer} {overflow}");
            } else {
                // The packed size of a block depends on its times.
                assert!(kept_too > kept / 2, "{mpi:?}: {kept_too} of {kept}");
            }
            assert_eq!(on_record as u64 + counted, 2 * count, "{mpi:?} {buffer} {overflow}");
            // Two ranks with room for 8,192 calls each, minus chunk headers, plus calls gained by packing.
            assert!(on_record >= 2 * 8000, "{mpi:?} {buffer} {overflow}: {on_record}");
        }
    }
}

/// If there are too many calls to keep, all ranks keep the same calls of each operation and communicator: the k-th kept call of one rank is
/// the k-th kept call of all.
#[test]
fn of_very_many_all_ranks_keep_the_same() {
    for mpi in available() {
        let scratch = Scratch::new();
        let (_, traces) = program(&scratch, mpi, 2, "loop").arg("50000").traced();
        assert_eq!(totals(&traces).0 as u64 + totals(&traces).1, 100_000, "{mpi:?}");
        let of_rank = |pid: u32| {
            let process = traces.process(pid);
            let mine = traces.segments.iter().filter(move |seg| seg.op.pid == pid && seg.op.layer == "MPI");
            mine.map(|seg| process.info.epoch_unix_ns + seg.start_ns as i64).collect::<Vec<_>>()
        };
        let pids = traces.processes.iter().map(|process| process.info.pid).filter(|pid| *pid != 0);
        let starts: Vec<Vec<i64>> = pids.map(of_rank).collect();
        // Kept: all of the first 16,384 calls, half of the next 16,384, a quarter of the rest.
        let kept = 16_384 + 8_192 + (50_000 - 32_768) / 4;
        assert!(starts.len() == 2 && starts.iter().all(|starts| starts.len() == kept), "{mpi:?}");
        // No rank starts the next barrier before all ranks have started this one.
        let latest = |k: usize| starts.iter().map(|starts| starts[k]).max().unwrap();
        let earliest = |k: usize| starts.iter().map(|starts| starts[k]).min().unwrap();
        assert!((1..kept).all(|k| latest(k - 1) < earliest(k) + CLOCKS_APART), "{mpi:?}");
        for process in traces.processes.iter().filter(|process| process.info.pid != 0) {
            let tids: std::collections::BTreeSet<u32> = process.block.threads.iter().map(|thread| thread.tid).collect();
            assert_eq!(tids.len(), 1, "{:?}", process.block.threads);
        }
    }
}

#[test]
fn of_very_many_all_ranks_keep_the_same_where_one_fails() {
    for mpi in available() {
        let scratch = Scratch::new();
        let (_, traces) = program(&scratch, mpi, 2, "fails").arg("20000").traced();
        let of_rank = |rank: i32| {
            let is_of = |pid: u32| traces.process(pid).info.rank == rank;
            let kept = |segments: &[crate::harness::Seg]| {
                segments.iter().filter(|seg| seg.op.name == "bcast" && is_of(seg.op.pid)).count()
            };
            (kept(&traces.segments), kept(&traces.failures))
        };
        let kept = 16_384 + (20_000 - 16_384) / 2;
        assert_eq!([of_rank(0), of_rank(1)], [(kept, 0), (kept - 1, 1)], "{mpi:?}");
    }
}

#[test]
fn layers_leave_them_out_and_in() {
    for mpi in available() {
        let scratch = Scratch::new();
        let (_, traces) = program(&scratch, mpi, 2, "others").env("DXT_LAYERS", "posix,stdio,mpiio,hdf5").traced();
        assert_eq!(totals(&traces), (0, 0));
        assert!(traces.processes.iter().all(|process| process.block.communicators.is_empty()));
        let noted = traces.processes.iter().flat_map(|process| &process.notes);
        let noted = noted.filter(|note| note.what.contains("DXT_LAYERS")).map(|note| note.count).sum::<u64>();
        assert_eq!(noted, 2);
        let scratch = Scratch::new();
        let (log, traces) = program(&scratch, mpi, 2, "others").env("DXT_LAYERS", "mpi").traced();
        assert_eq!((totals(&traces), traces.segments.len()), ((log.len(), 0), log.len()));
    }
}

#[test]
fn filters_of_files_leave_them_alone() {
    for mpi in available() {
        for (name, value) in [("DXT_MIN_SIZE", "1M"), ("DXT_SMALL_IO_TRIGGER", "1"), ("DXT_EXCLUDE", "/")] {
            let scratch = Scratch::new();
            let (log, traces) = program(&scratch, mpi, 2, "all").env(name, value).traced();
            assert_eq!(totals(&traces), (log.len(), 0), "{mpi:?} {name}");
        }
    }
}

#[test]
fn threads_have_each_their_own() {
    for mpi in available() {
        let scratch = Scratch::new();
        let (_, traces) = program(&scratch, mpi, 2, "threads").traced();
        assert_eq!(totals(&traces), (2 * 4 * 500, 0));
        let mut by_thread: BTreeMap<(u32, u32), Vec<i64>> = BTreeMap::new();
        for op in traces.own_ops(&["MPI"], Path::new(MPI)) {
            by_thread.entry((op.pid, op.tid)).or_default().push(op.offset);
        }
        assert_eq!(by_thread.len(), 8);
        for ((pid, tid), numbers) in by_thread {
            assert!(numbers.len() == 500 && numbers[0] > 0 && numbers.iter().all(|number| *number == numbers[0]));
            // The thread's I/O has the same thread id.
            let writes = traces.own_ops(&["POSIX"], &scratch.data().join("threads"));
            assert_eq!(
                writes.iter().filter(|op| (op.pid, op.tid, op.name.as_str()) == (pid, tid, "write")).count(),
                500
            );
        }
    }
}

/// I/O inside a user-defined reduction operation counts as I/O of the program.
#[test]
fn a_reduction_may_do_io() {
    for mpi in available() {
        let scratch = Scratch::new();
        let (log, traces) = program(&scratch, mpi, 3, "op").traced();
        assert_same(Order::Thread, &log, &traces.own_ops(&["MPI"], Path::new(MPI)));
        let bytes = std::fs::metadata(scratch.data().join("reduced")).expect("the file").len();
        assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()), (bytes, bytes), "{mpi:?}");
    }
}

/// Creates more communicators, one after another, than there are communicator IDs.
#[test]
fn thousands_of_communicators_have_numbers() {
    for mpi in available() {
        let scratch = Scratch::new();
        let (_, traces) = program(&scratch, mpi, 2, "churn").arg("6000").traced();
        assert_eq!(totals(&traces), (12_000, 0));
        for process in &traces.processes {
            assert!(process.block.communicators.len() == 4096, "{}", process.block.communicators.len());
            assert!(process.notes.iter().all(|note| !note.what.contains("communicators")), "{:?}", process.notes);
        }
        assert!(traces.segments.iter().filter(|seg| seg.op.layer == "MPI").all(|seg| seg.op.offset > 0));
    }
}

#[test]
fn a_killed_process_leaves_them_in_its_spool() {
    for mpi in available() {
        for count in [7, 70_000] {
            let scratch = Scratch::new();
            let launch = program(&scratch, mpi, 1, "kill").arg(count.to_string());
            let outcome = launch.run();
            assert_ne!(outcome.code, 0, "{outcome:?}");
            assert_eq!(recover(&scratch), 0);
            let traces = Traces::read(&scratch.traces());
            let (on_record, counted) = totals(&traces);
            assert_eq!(on_record as u64 + counted, count, "{mpi:?}");
            // If the process is killed at any time, calls that wait to be counted are counted.
            assert_eq!(on_record, if count == 7 { 7 } else { 2 * (16_384 + 8_192 + (35_000 - 32_768) / 4) }, "{mpi:?}");
            communicators(&scratch, &traces);
            if count == 7 {
                assert_same(Order::Thread, &read_log(&scratch), &traces.own_ops(&["MPI"], Path::new(MPI)));
            }
        }
    }
}

/// Output, data and return values equal those without the tracer. The program itself checks every call.
#[test]
fn the_program_does_not_notice() {
    for mpi in available() {
        for way in ["all", "others"] {
            let run = |traced: bool| {
                let scratch = Scratch::new();
                let launch = program(&scratch, mpi, 3, way);
                let outcome = if traced { launch.env("DXT_VERBOSE", "0") } else { launch.untraced() }.run();
                let comms = numbers(&scratch, "COMM ").len();
                (outcome.code, outcome.stdout, outcome.stderr, read_log(&scratch).len(), comms)
            };
            assert_eq!(run(true), run(false), "{mpi:?} {way}");
        }
    }
}

/// Fortran bindings of MPI call the C functions; each call must count once.
#[test]
fn fortran_calls_count_once_through_every_binding() {
    let mut any = false;
    for mpi in [Compiler::MpichFortran, Compiler::OpenMpiFortran].into_iter().filter(|mpi| mpi.available()) {
        for binding in ["-DUSE_MPIF_H", "-DUSE_MPI", "-DUSE_F08"] {
            any = true;
            let scratch = Scratch::new();
            let program = workload_with("collectives_fortran", mpi, &["-O1", binding]);
            let (log, traces) = Launch::new(&scratch, program).ranks(mpi, 2).traced();
            assert_eq!(log.len(), 2 * 21, "{mpi:?} {binding}");
            assert_same(Order::Thread, &log, &traces.own_ops(&["MPI"], Path::new(MPI)));
        }
    }
    if !any {
        skip("no Fortran compiler of an MPI is installed");
    }
}

/// Returns the instructions executed per barrier in one process, including those of all functions called. Derived from two runs with
/// `counts` barriers. `mode`: DXT_ENABLE; `traced`: false for runs without the tracer.
fn instructions_per_barrier(mode: &str, traced: bool, counts: [u32; 2]) -> f64 {
    let instructions = counts.map(|calls| {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, "valgrind")
            .arg("--tool=callgrind")
            .arg(format!("--callgrind-out-file={}", scratch.root().join("out").display()))
            .arg("--toggle-collect=calls")
            .arg(workload_with("collectives", Compiler::Mpich, &["-O1", "-pthread"]))
            .arg(scratch.data())
            .args(["self", &calls.to_string()])
            .env("DXT_ENABLE", mode)
            .env("DXT_MPI_BUFFER_MAX", "64M");
        let outcome = if traced { launch } else { launch.untraced() }.run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let line = outcome.stderr.lines().find_map(|line| line.split_once("Collected : ")).expect("a count");
        line.1.trim().parse::<f64>().expect("a number")
    });
    (instructions[1] - instructions[0]) / f64::from(counts[1] - counts[0])
}

/// Limits the cost of a collective call, as `instructions.rs` does for other calls.
#[test]
fn a_collective_call_costs_few_instructions() {
    if !have("valgrind") || !Compiler::Mpich.available() {
        return skip("valgrind or MPICH is not installed");
    }
    let optimized = library().parent().is_some_and(|dir| dir.ends_with("release"));
    let untraced = instructions_per_barrier("trace", false, [4_000, 12_000]);
    // Measured: 179 and 329 instructions. 292 for calls beyond the first 16,384, more than half of which are only counted.
    let (few, many) = ([4_000, 12_000], [20_000, 40_000]);
    for (mode, counts, most) in [("trace", few, 195.0), ("trace", many, 330.0), ("counters", many, 355.0)] {
        let added = instructions_per_barrier(mode, true, counts) - untraced;
        println!("instructions per barrier, {mode}: {untraced:.1} untraced, {added:.1} added");
        let most = if optimized { most } else { most * 6.0 };
        assert!((5.0..most).contains(&added), "{mode}: {added:.1} instructions added, at most {most} are allowed");
    }
}
