//! Tests of recorded MPI-IO file views: a view in the trace gives the file offsets that the MPI library gives the program, under each MPI.

use crate::harness::{Compiler, Launch, Scratch, Traces, log_lines, workload_with};
use std::collections::BTreeMap;
use trace_format::meta::ViewDef;

/// File view as logged by the program.
struct Seen {
    regular: bool,
    etype_bytes: u64,
    displacement: i64,
    size: u64,
    extent: i64,
    /// File offset of each etype that the view selects, in bytes.
    bytes: Vec<i64>,
}

fn seen(scratch: &Scratch) -> BTreeMap<u32, Vec<Seen>> {
    let mut out = BTreeMap::<u32, Vec<Seen>>::new();
    for line in log_lines(scratch).iter().filter_map(|line| line.strip_prefix("VIEW ")) {
        let words: Vec<i64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        let [pid, regular, etype_bytes, displacement, size, extent, ..] = words[..] else { panic!("{line}") };
        let (etype_bytes, size) = (etype_bytes.unsigned_abs(), size.unsigned_abs());
        let view = Seen { regular: regular == 1, etype_bytes, displacement, size, extent, bytes: words[6..].to_vec() };
        out.entry(pid as u32).or_default().push(view);
    }
    out
}

/// Returns the offsets of all bytes of one filetype, relative to the filetype's origin.
fn of_filetype(view: &ViewDef) -> Vec<i64> {
    let block = view.first..view.first + view.block.cast_signed();
    view.dimensions.iter().fold(block.collect(), |inner: Vec<i64>, dimension| {
        let copy = |k: u64| inner.iter().map(move |byte| byte + (k * dimension.stride).cast_signed());
        (0..dimension.count).flat_map(copy).collect()
    })
}

/// Returns the file offset of each of the first `etypes` etypes, computed from the view in the trace and its displacement in bytes.
fn reported(view: &ViewDef, displacement: i64, etypes: usize) -> Vec<i64> {
    let filetype = of_filetype(view);
    assert_eq!(filetype.len() as u64, view.size);
    let begin = |etype: usize| {
        let byte = etype * view.etype_bytes as usize;
        let (number, within) = (byte / filetype.len(), byte % filetype.len());
        displacement + number as i64 * view.extent + filetype[within]
    };
    (0..etypes).map(begin).collect()
}

/// Runs the test program `program`, compiled with `options`, on `ranks` ranks, and compares the views in the trace with the views that the
/// program logged.
fn compare(mpi: Compiler, program: &'static str, options: &[&'static str], ranks: u32) {
    let scratch = Scratch::new();
    let outcome =
        Launch::new(&scratch, workload_with(program, mpi, options)).arg(scratch.data()).ranks(mpi, ranks).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let (seen, traces) = (seen(&scratch), Traces::read(&scratch.traces()));
    let known: Vec<_> = traces.processes.iter().map(|process| (&process.info, &process.paths)).collect();
    assert_eq!((seen.len(), known.len()), (ranks as usize, ranks as usize), "{mpi:?} {known:?} {outcome:?}");
    for process in &traces.processes {
        let views = &process.block.views;
        let expected = &seen[&process.info.pid];
        assert!(views.iter().all(|view| process.paths[view.file as usize].ends_with("/views")));
        assert!(views.iter().any(|view| view.calls > 1) && views.len() < expected.len(), "{views:?}");
        let each = views.iter().flat_map(|view| (0..view.calls).map(move |_| view));
        assert_eq!(each.clone().count(), expected.len(), "{mpi:?}");
        for (number, (view, expected)) in each.zip(expected).enumerate() {
            let what = format!("{mpi:?} {options:?}, {ranks} ranks, view {number}: {view:?}");
            let sizes = (view.etype_bytes, view.size, view.extent);
            assert_eq!(sizes, (expected.etype_bytes, expected.size, expected.extent), "{what}");
            assert_eq!(view.block > 0, expected.regular, "{what}");
            if view.block > 0 {
                assert_eq!(reported(view, expected.displacement, expected.bytes.len()), expected.bytes, "{what}");
            }
        }
    }
}

#[test]
fn views_are_those_that_the_library_goes_by() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        for ranks in [1, 3] {
            compare(mpi, "mpiio_views", &["-O1"], ranks);
        }
    }
}

#[test]
fn views_from_fortran_are_too() {
    for mpi in [Compiler::MpichFortran, Compiler::OpenMpiFortran].into_iter().filter(|mpi| mpi.available()) {
        for binding in ["-DUSE_MPIF_H", "-DUSE_MPI", "-DUSE_F08"] {
            compare(mpi, "mpiio_views_fortran", &["-O1", binding], 2);
        }
    }
}

#[test]
fn counters_have_no_views() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let launch = Launch::new(&scratch, workload_with("mpiio_views", mpi, &["-O1"])).arg(scratch.data());
        let outcome = launch.ranks(mpi, 2).env("DXT_ENABLE", "counters").run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let traces = Traces::read(&scratch.traces());
        assert!(traces.processes.iter().all(|process| process.block.views.is_empty()), "{mpi:?}");
    }
}
