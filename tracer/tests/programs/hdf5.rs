//! Tests of HDF5 programs: the trace records calls on files and data sets, selections, and the nested calls of lower layers. The program's
//! HDF5 error stack, identifiers and output are unchanged.

use crate::harness::{
    Compiler, Launch, Op, Order, Scratch, Traces, assert_same, log_lines, python, read_log, read_ranks, recover, skip,
    workload_hdf5, workload_source,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trace_format::meta::{ChunkDef, Selection};

/// Accesses to each data set, by process, path, operation and mode: calls per selection type, number of elements, element size, and extent
/// at the end.
type Selected = BTreeMap<(u32, String, String, String), ([u64; Selection::COUNT], u64, u64, String)>;

/// Returns the accesses and selections that the programs logged.
fn selected(scratch: &Scratch) -> Selected {
    let mut all = Selected::new();
    for line in log_lines(scratch) {
        let Some(line) = line.strip_prefix("SELECTED ") else { continue };
        let words: Vec<&str> = line.splitn(8, ' ').collect();
        let number = |at: usize| words[at].parse::<u64>().expect("a number");
        let mode = words[2].trim_start_matches('-');
        let key = (number(0) as u32, words[7].to_owned(), words[1].to_owned(), mode.to_owned());
        let entry = all.entry(key).or_default();
        entry.0[number(3) as usize] += 1;
        entry.1 += number(4);
        (entry.2, entry.3) = (number(5), words[6].trim_start_matches('-').to_owned());
    }
    all
}

/// Returns the accesses and selections that the traces contain for the data sets of one file.
fn reported(traces: &Traces, file: &Path) -> Selected {
    let mut all = Selected::new();
    let mut kinds = BTreeSet::new();
    for process in &traces.processes {
        for set in process.block.data_sets.iter().filter(|set| Path::new(&process.paths[set.file as usize]) == file) {
            for access in &set.accesses {
                let stream = process.block.streams.iter().find(|stream| stream.id == access.stream);
                let stream = stream.expect("a data set's stream is described");
                assert_eq!((stream.file, stream.flags, stream.errno), (set.file, 0, 0));
                let op = traces.jobs[0].ops.iter().find(|op| op.code == stream.op).expect("a known operation");
                if !op.class.is_data() {
                    assert_eq!((access.selections, access.elements), ([0; Selection::COUNT], 0));
                    continue;
                }
                let path = String::from_utf8_lossy(&set.path).into_owned();
                let extent: Vec<String> = set.extent.iter().map(u64::to_string).collect();
                let key = (process.info.pid, path, op.name.clone(), op.mode.name().to_owned());
                // Each kind of selection has a stream of its own for each place in the program.
                let selected: Vec<usize> = (0..Selection::COUNT).filter(|kind| access.selections[*kind] > 0).collect();
                assert_eq!(selected.len(), 1, "{key:?} {access:?}");
                let sites = &process.block.sites.streams;
                let site = sites.iter().find(|site| site.stream == access.stream).map(|site| site.frame);
                assert!(kinds.insert((key.clone(), selected[0], site)), "{key:?} is there twice");
                let sum = all.entry(key).or_default();
                sum.0[selected[0]] += access.selections[selected[0]];
                sum.1 += access.elements;
                (sum.2, sum.3) = (set.element_bytes.into(), extent.join("x"));
            }
        }
    }
    all
}

#[test]
fn everything_that_the_program_did_to_files_and_data_sets() {
    let Some(program) = workload_hdf5("hdf5_all", Compiler::Cc, "serial", &[]) else { return };
    let scratch = Scratch::new();
    let untraced = Launch::new(&scratch, &program).arg(scratch.data()).untraced();
    let untraced = untraced.env("OPLOG", scratch.root().join("untraced")).run();
    scratch.clear_data();
    let outcome = Launch::new(&scratch, &program).arg(scratch.data()).run();
    assert_eq!((outcome.code, &outcome.stdout, &outcome.stderr), (0, &untraced.stdout, &untraced.stderr));
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    assert_same(Order::Thread, &log, &traces.own_ops(&["HDF5"], &scratch.data()));
    let mut all = reported(&traces, &scratch.data().join("all.h5"));
    let others = reported(&traces, &scratch.data().join("other.h5"));
    assert_eq!(others.len(), 1, "one data set was written in the other file");
    // Both files have a data set of the same path, and the log does not distinguish the files.
    for ((pid, path, name, mode), (selections, elements, bytes, extent)) in others {
        assert_eq!((path.as_str(), name.as_str(), bytes, extent.as_str()), ("/set", "write", 1, "8x6"));
        let mine = all.get_mut(&(pid, path, name, mode)).expect("the same data set of the other file");
        (0..Selection::COUNT).for_each(|kind| mine.0[kind] += selections[kind]);
        mine.1 += elements;
        mine.2 = bytes;
    }
    assert_eq!(all, selected(&scratch));
    inside(&traces, &scratch.data());
}

/// Asserts that a call is marked as made inside HDF5 exactly if an HDF5 call of the same thread encloses it.
fn inside(traces: &Traces, data: &Path) {
    let below: Vec<_> = traces.segments.iter().filter(|seg| Path::new(&seg.op.path).starts_with(data)).collect();
    let spans: Vec<_> = below.iter().filter(|seg| seg.op.layer == "HDF5").collect();
    assert!(below.iter().any(|seg| seg.in_hdf5 && seg.op.layer == "POSIX" && seg.op.name == "write"));
    for seg in &below {
        let lies_inside = spans.iter().any(|outer| {
            seg.op.layer != "HDF5"
                && (outer.op.pid, outer.op.tid) == (seg.op.pid, seg.op.tid)
                && outer.start_ns <= seg.start_ns
                && seg.end_ns <= outer.end_ns
        });
        assert_eq!(seg.in_hdf5, lies_inside, "{seg:?}");
        assert!(!(seg.nested && seg.op.layer == "MPIIO"), "{seg:?}");
    }
}

#[test]
fn both_parallel_builds_tell_exactly_what_the_program_did() {
    for (mpi, hdf5) in [(Compiler::Mpich, "mpich"), (Compiler::OpenMpi, "openmpi")] {
        if !mpi.available() {
            continue;
        }
        let Some(program) = workload_hdf5("hdf5_parallel", mpi, hdf5, &[]) else { continue };
        for ranks in [1, 3] {
            let scratch = Scratch::new();
            let outcome = Launch::new(&scratch, &program).arg(scratch.data()).ranks(mpi, ranks).run();
            assert_eq!(outcome.code, 0, "{outcome:?}");
            let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
            assert_eq!((read_ranks(&scratch).len() as u32, traces.files.len()), (ranks, 1));
            assert_same(Order::Thread, &log, &traces.own_ops(&["HDF5"], &scratch.data()));
            assert_eq!(reported(&traces, &scratch.data().join("parallel.h5")), selected(&scratch));
            inside(&traces, &scratch.data());
            let below =
                |layer: &'static str| traces.segments.iter().filter(move |seg| seg.op.layer == layer && seg.in_hdf5);
            // Three layers: POSIX calls are nested in MPI-IO calls, and MPI-IO calls are not nested in each other.
            assert!(below("MPIIO").any(|seg| seg.op.mode == "collective") && below("MPIIO").all(|seg| !seg.nested));
            assert!(below("POSIX").filter(|seg| seg.op.name == "write").all(|seg| seg.nested));
        }
    }
}

/// In counters mode, the totals of a file shared by all ranks become one record, which does not distinguish data sets.
#[test]
fn counters_of_all_data_sets_are_in_the_common_record() {
    for (mpi, hdf5) in [(Compiler::Mpich, "mpich"), (Compiler::OpenMpi, "openmpi")] {
        if !mpi.available() {
            continue;
        }
        let Some(program) = workload_hdf5("hdf5_parallel", mpi, hdf5, &[]) else { continue };
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, &program).arg(scratch.data()).ranks(mpi, 3).env("DXT_ENABLE", "counters");
        let (log, traces) = launch.traced();
        for name in ["create", "create_dataset", "write", "read", "sync", "close_dataset", "close"] {
            let did = log.iter().filter(|op| op.name == name).fold((0, 0), |sum, op| (sum.0 + 1, sum.1 + op.length));
            assert_eq!(traces.totals(&["HDF5"], name, &scratch.data()), did, "{name}");
        }
        // OMPIO reports only hints that the program has set.
        let hints = traces.processes.iter().any(|process| !process.block.hints.is_empty());
        assert_eq!(hints, mpi == Compiler::Mpich);
    }
}

/// If a filter excludes the HDF5 layer, calls made by HDF5 count as calls of the program.
#[test]
fn a_filter_that_leaves_hdf5_out() {
    let Some(program) = workload_hdf5("hdf5_all", Compiler::Cc, "serial", &[]) else { return };
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, &program).arg(scratch.data()).env("DXT_LAYERS", "posix,stdio,mpiio");
    let (_, traces) = launch.traced();
    assert!(traces.own_ops(&["POSIX"], &scratch.data()).iter().any(|op| op.name == "write"));
    assert!(traces.segments.iter().all(|seg| seg.op.layer == "POSIX" && !seg.in_hdf5), "HDF5 is on record");
    assert!(traces.processes.iter().all(|process| process.block.data_sets.is_empty()));
}

/// Two builds of HDF5 in one process are distinguished: a plugin's calls reach the plugin's own build.
#[test]
fn several_copies_in_one_process_are_distinguished() {
    let Some(program) = workload_hdf5("hdf5_copies", Compiler::Cc, "serial", &["-DMAIN", "-ldl"]) else { return };
    let mut tried = BTreeSet::new();
    for (mpi, hdf5) in [(Compiler::Mpich, "mpich"), (Compiler::OpenMpi, "openmpi")] {
        if !mpi.available() {
            continue;
        }
        let Some(plugin) = workload_hdf5("hdf5_copies", mpi, hdf5, &["-shared", "-fPIC"]) else { continue };
        for way in ["local", "global"] {
            let scratch = Scratch::new();
            let launch = Launch::new(&scratch, &program).arg(scratch.data()).arg(&plugin).arg(way);
            let (log, traces) = launch.traced();
            assert_same(Order::File, &log, &traces.own_ops(&["HDF5"], &scratch.data()));
            tried.insert(hdf5);
        }
    }
    assert!(!tried.is_empty() || !Compiler::Mpich.available(), "no plugin was tried");
}

/// h5py loads HDF5 outside of the global symbol scope, and closes data sets in other ways than C programs.
#[test]
fn h5py_that_loads_its_own_hdf5() {
    let Some(interpreter) = python() else { return skip("python3 is not installed") };
    let scratch = Scratch::new();
    let file = scratch.data().join("all.h5");
    let launch = Launch::new(&scratch, interpreter).arg(workload_source("h5py_all.py")).arg(&file);
    let outcome = launch.run();
    if outcome.stderr.contains("ModuleNotFoundError") {
        return skip("h5py is not installed");
    }
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    let mut ops = traces.own_ops(&["HDF5"], &scratch.data());
    let of_name = |ops: &[Op], name: &str| ops.iter().filter(|op| op.name == name).count();
    assert_eq!((of_name(&ops, "create"), of_name(&ops, "open")), (1, 1));
    assert_eq!((of_name(&ops, "create_dataset"), of_name(&ops, "close")), (3, 2));
    assert_eq!(of_name(&ops, "close_dataset"), 3 + of_name(&ops, "open_dataset"));
    ops.retain(|op| matches!(op.name.as_str(), "read" | "write"));
    assert_same(Order::Thread, &log, &ops);
    assert_eq!(reported(&traces, &file), selected(&scratch));
    let chunks = traces.processes.iter().flat_map(|process| {
        let path = |chunk: &ChunkDef| &process.block.data_sets[chunk.data_set as usize].path;
        process
            .block
            .chunks
            .iter()
            .map(move |chunk| (path(chunk).as_slice(), chunk.shape.as_slice(), chunk.cache_bytes))
    });
    // The program opens its file with h5py's default cache of 1 MiB.
    assert_eq!(chunks.collect::<Vec<_>>(), [(&b"/packed"[..], &[10][..], 1 << 20)]);
}

/// Under a limit on address space, the spool's journal has room for some 200,000 records. Data set sizes must take no room needed for file names.
#[test]
fn sizes_of_data_sets_take_no_room_from_names() {
    let Some(program) = workload_hdf5("hdf5_grows", Compiler::Cc, "serial", &[]) else { return };
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg("ulimit -v 524288; exec \"$@\"").arg("sh").arg(program);
    let outcome = launch.arg(scratch.data()).arg("250000").run();
    assert_eq!(outcome.code, 137, "{outcome:?}");
    recover(&scratch);
    let traces = Traces::read(&scratch.traces());
    let written = |at: u32| traces.totals(&["POSIX"], "write", &scratch.data().join(format!("after{at}")));
    assert!((0..20).all(|at| written(at) == (1, 1)), "{:?}", written(0));
    let notes: Vec<_> = traces.processes.iter().flat_map(|process| &process.notes).collect();
    assert!(
        notes.iter().any(|note| note.what.contains("found no room in the spool") && note.count > 100_000),
        "{notes:?}"
    );
}
