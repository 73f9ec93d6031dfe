//! Tests of DXT_SMALL_IO_TRIGGER and DXT_UNALIGNED_IO_TRIGGER: files with small or unaligned I/O keep their segments, and calls on all
//! other files are counted, whether segments are still in the buffer, packed, or already folded into counters.

use crate::filters::{kept_and_counted_are_all, noted};
use crate::harness::{Compiler, Launch, Op, Scratch, Traces, workload, workload_with};
use std::collections::BTreeSet;
use std::path::Path;

const ROUNDS: u32 = 300;
const LAYERS: [&str; 3] = ["POSIX", "STDIO", "MPIIO"];

pub(crate) fn kinds(scratch: &Scratch, rounds: u32) -> Launch<'_> {
    Launch::new(scratch, workload("kinds")).arg(scratch.data()).arg(rounds.to_string())
}

/// Returns the names of files that have a segment, without the rank in the extension.
pub(crate) fn kept(traces: &Traces, dir: &Path) -> BTreeSet<String> {
    let files = traces.segments.iter().map(|seg| Path::new(&seg.op.path)).filter(|path| path.starts_with(dir));
    files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}

#[test]
fn files_with_enough_small_or_unaligned_accesses_are_kept() {
    for (variables, expected) in [
        (&[("DXT_SMALL_IO_TRIGGER", "0.8")][..], "small stream"),
        (&[("DXT_SMALL_IO_TRIGGER", ".5")], "half small stream"),
        (&[("DXT_SMALL_IO_TRIGGER", "0.500001")], "small stream"),
        (&[("DXT_SMALL_IO_TRIGGER", "0")], "beside half large small stream"),
        (&[("DXT_SMALL_IO_TRIGGER", "0.5"), ("DXT_SMALL_IO_SIZE", "100")], "half"),
        (&[("DXT_SMALL_IO_TRIGGER", "1"), ("DXT_SMALL_IO_SIZE", "1M")], "beside half large small stream"),
        (&[("DXT_UNALIGNED_IO_TRIGGER", "0.9")], "beside small stream"),
        (&[("DXT_UNALIGNED_IO_TRIGGER", "1")], "beside"),
        (&[("DXT_UNALIGNED_IO_TRIGGER", "1"), ("DXT_SMALL_IO_TRIGGER", "1")], "beside small stream"),
        (&[("DXT_SMALL_IO_SIZE", "1M")], "beside half large named small stream"),
    ] {
        let scratch = Scratch::new();
        let launch = variables.iter().fold(kinds(&scratch, ROUNDS), |launch, (name, value)| launch.env(name, value));
        let (log, traces) = launch.traced();
        let expected: BTreeSet<String> = expected.split(' ').map(str::to_owned).collect();
        assert_eq!(kept(&traces, &scratch.data()), expected, "{variables:?}");
        kept_and_counted_are_all(&log, &traces, &LAYERS, &scratch.data());
        let own: Vec<&Op> = log.iter().filter(|op| expected.contains(stem(op))).collect();
        assert_eq!(traces.own_ops(&LAYERS, &scratch.data()).len(), own.len(), "{variables:?}");
        assert_eq!(noted(&traces, "a trigger"), 6 - expected.len() as u64, "{variables:?}");
    }
}

fn stem(op: &Op) -> &str {
    Path::new(&op.path).file_stem().and_then(|stem| stem.to_str()).expect("a name")
}

#[test]
fn packed_and_folded_segments_are_judged_too() {
    for (buffer, overflow) in
        [("16M", "compact"), ("256K", "compact"), ("16K", "compact"), ("64K", "fold"), ("64K", "spill")]
    {
        let scratch = Scratch::new();
        let launch = kinds(&scratch, 8000).env("DXT_SMALL_IO_TRIGGER", "0.5").env("DXT_BUFFER_MAX", buffer);
        let (log, traces) = launch.env("DXT_OVERFLOW", overflow).traced();
        let expected: BTreeSet<String> = ["half", "small", "stream"].map(str::to_owned).into();
        assert_eq!(kept(&traces, &scratch.data()), expected, "{buffer} {overflow}");
        kept_and_counted_are_all(&log, &traces, &LAYERS, &scratch.data());
        // In kept files, only calls that did not fit in the buffer are counted.
        let counted = traces.processes[0].missing.iter().filter(|missing| expected.contains(stem(&missing.op)));
        let is_whole = buffer == "16M" || buffer == "256K" || overflow == "spill";
        assert_eq!(counted.count() == 0, is_whole, "{buffer} {overflow}");
        // Remaining segments of a packed block are unchanged and in order.
        let of_small = |op: &&Op| stem(op) == "small" && op.name == "write";
        let reported = traces.own_ops(&["POSIX"], &scratch.data());
        let reported: Vec<&Op> = reported.iter().filter(of_small).collect();
        let did: Vec<&Op> = log.iter().filter(of_small).collect();
        assert!(!reported.is_empty() && reported[..50] == did[..50], "{buffer} {overflow}");
        if is_whole {
            assert_eq!(reported, did);
        }
        assert!(traces.segments.windows(2).all(|pair| pair[0].start_ns <= pair[1].start_ns), "{buffer} {overflow}");
    }
}

#[test]
fn with_a_least_size_too() {
    let scratch = Scratch::new();
    let launch = kinds(&scratch, 4000).env("DXT_SMALL_IO_TRIGGER", "0.5").env("DXT_MIN_SIZE", "50");
    let (log, traces) = launch.env("DXT_BUFFER_MAX", "64K").traced();
    kept_and_counted_are_all(&log, &traces, &LAYERS, &scratch.data());
    assert!(kept(&traces, &scratch.data()).contains("half"));
    let short = traces.segments.iter().filter(|seg| seg.op.name == "write" && seg.op.length < 50);
    assert_eq!(short.count(), 0);
}

#[test]
fn every_rank_judges_its_own_files() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let program = workload_with("kinds", mpi, &["-O1", "-DWITH_MPI"]);
        let launch = Launch::new(&scratch, program).arg(scratch.data()).arg("3000").ranks(mpi, 2);
        let (log, traces) = launch.env("DXT_UNALIGNED_IO_TRIGGER", "1").env("DXT_BUFFER_MAX", "128K").traced();
        assert_eq!(kept(&traces, &scratch.data()), ["beside".to_owned()].into(), "{mpi:?}");
        assert_eq!(traces.files.len(), 1);
        kept_and_counted_are_all(&log, &traces, &LAYERS, &scratch.data());
        let scratch = Scratch::new();
        let program = workload_with("kinds", mpi, &["-O1", "-DWITH_MPI"]);
        let launch = Launch::new(&scratch, program).arg(scratch.data()).arg("100").ranks(mpi, 2);
        let (log, traces) = launch.env("DXT_SMALL_IO_TRIGGER", "1").traced();
        let expected: BTreeSet<String> = ["mpi", "small", "stream"].map(str::to_owned).into();
        assert_eq!(kept(&traces, &scratch.data()), expected, "{mpi:?}");
        kept_and_counted_are_all(&log, &traces, &LAYERS, &scratch.data());
    }
}
