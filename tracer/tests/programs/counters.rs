//! Tests of counters mode: its numbers equal those of a full trace, in memory that does not grow with the number of calls.

use crate::harness::{Launch, MissingOps, Op, Scratch, Seg, Traces, read_failures, read_log, workload};
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::counters::{Counters, Previous};
use trace_format::profile::{Access, Last, Profile};

/// Key of a stream of calls in one process: layer, operation, mode, true if nested, path, error number.
type Key = (String, String, String, bool, String, u16);

fn program<'a>(scratch: &'a Scratch, data: &Path, way: &str, count: u32) -> Launch<'a> {
    let launch = Launch::new(scratch, workload("counters")).env("DXT_ENABLE", "counters");
    launch.arg(data).arg(way).arg(count.to_string())
}

/// Runs the program; returns the first two numbers that it prints.
fn printed(launch: Launch<'_>) -> [u64; 2] {
    let outcome = launch.run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    let mut numbers = outcome.stdout.split_whitespace().map(|number| number.parse().expect("a number"));
    [numbers.next().expect("a number"), numbers.next().expect("a number")]
}

/// Returns the counters without times, which vary between runs.
fn timeless(counters: &Counters) -> Counters {
    Counters { duration: 0, max_duration: 0, first_start: 0, last_end: 0, ..counters.clone() }
}

fn counted(traces: &Traces) -> BTreeMap<Key, Counters> {
    let of = |missing: &MissingOps| {
        let op = missing.op.clone();
        ((op.layer, op.name, op.mode, missing.nested, op.path, op.errno), timeless(&missing.counters))
    };
    traces.processes.iter().flat_map(|process| &process.missing).map(of).collect()
}

/// Computes, from the segments of a full trace, the counters that counters mode must give.
fn folded(traces: &Traces) -> BTreeMap<Key, Counters> {
    let mut sums: BTreeMap<Key, (Counters, Previous)> = BTreeMap::new();
    for seg in traces.segments.iter().chain(&traces.failures) {
        let op = seg.op.clone();
        let key = (op.layer, op.name, op.mode, seg.nested, op.path, op.errno);
        let (counters, previous) = sums.entry(key).or_default();
        counters.fold(previous, op.offset, op.length, seg.start_ns, seg.end_ns);
    }
    sums.into_iter().map(|(key, (counters, _))| (key, timeless(&counters))).collect()
}

/// Computes access profiles from the segments of a full trace. `alignment`: preferred I/O size of the files, in bytes.
fn profiled(traces: &Traces, alignment: u64) -> BTreeMap<(String, String), Profile> {
    let mut profiles: BTreeMap<(String, String), (Profile, Last)> = BTreeMap::new();
    let moves = |seg: &&Seg| ["read", "write"].contains(&seg.op.name.as_str());
    for seg in traces.segments.iter().filter(moves) {
        let (profile, last) = profiles.entry((seg.op.layer.clone(), seg.op.path.clone())).or_default();
        let access = Access {
            writes: seg.op.name == "write",
            offset: seg.op.offset,
            length: seg.op.length,
            start: 0,
            end: 0,
            memory_unaligned: None,
        };
        profile.fold(last, access, alignment);
    }
    profiles.into_iter().map(|(key, (profile, _))| (key, profile)).collect()
}

#[test]
fn counters_are_what_the_full_trace_says() {
    let (scratch, full) = (Scratch::new(), Scratch::new());
    // Both runs use one data directory, so that the paths are equal.
    let [known, unaligned] = printed(program(&scratch, &scratch.data(), "pattern", 0));
    assert_eq!(printed(program(&full, &scratch.data(), "pattern", 0).env("DXT_ENABLE", "trace")), [known, unaligned]);
    let (counters, trace) = (Traces::read(&scratch.traces()), Traces::read(&full.traces()));
    assert_eq!((counters.segments.len(), trace.missing()), (0, 0));
    assert_eq!(counters.missing() as usize, trace.segments.len() + trace.failures.len());
    assert_eq!(counted(&counters), folded(&trace));

    use std::os::unix::fs::MetadataExt;
    let alignment = scratch.data().join("one").metadata().expect("the file is there").blksize();
    let process = &counters.processes[0];
    assert_eq!((process.reduced.0, process.reduced.1.len()), (0, 0), "one process is no reduction");
    assert_eq!(process.profiles.values().map(|profile| profile.memory_known).sum::<u64>(), known);
    assert_eq!(process.profiles.values().map(|profile| profile.memory_unaligned).sum::<u64>(), unaligned);
    let bare = |profile: &Profile| Profile {
        memory_known: 0,
        memory_unaligned: 0,
        slowest_read: Default::default(),
        slowest_write: Default::default(),
        ..*profile
    };
    let got: BTreeMap<_, _> = process.profiles.iter().map(|(key, profile)| (key.clone(), bare(profile))).collect();
    let expected = profiled(&trace, alignment);
    let expected: BTreeMap<_, _> = expected.iter().map(|(key, profile)| (key.clone(), bare(profile))).collect();
    assert_eq!(got, expected);
    // Calculated by hand: 500 writes of 100 to 104 bytes 4096 apart, the last without a successor, and 50 reads of 50 bytes 40960 apart.
    let one = &process.profiles[&("POSIX".to_owned(), scratch.data().join("one").display().to_string())];
    assert_eq!((one.accesses, one.switches, one.file_unaligned), (550, 99, 0));
    let sizes: Vec<(i64, u64)> = one.sizes.top().iter().map(|common| (common.value, common.count)).collect();
    assert_eq!(sizes, [(100, 100), (101, 100), (102, 100), (103, 100)]);
    let strides: Vec<(i64, u64)> = one.strides.top().iter().map(|common| (common.value, common.count)).collect();
    assert_eq!(strides, [(3993, 100), (3994, 100), (3995, 100), (3996, 100)]);
    assert!(one.slowest_write.duration > 0 && one.slowest_read.bytes == 50);
    let info = &process.info;
    assert!(one.slowest_write.start < info.end_ns && one.slowest_write.duration < info.end_ns);
}

/// Number of calls, bytes, lowest offset and highest end, by process, layer, operation, mode, path and error number.
type Extents = BTreeMap<(u32, String, String, String, String, u16), (u64, u64, i64, i64)>;

/// Computes the extents from the operations that the program logged.
fn extents(log: &[Op]) -> Extents {
    let mut sums = Extents::new();
    for op in log {
        let key = (op.pid, op.layer.clone(), op.name.clone(), op.mode.clone(), op.path.clone(), op.errno);
        let sum = sums.entry(key).or_insert((0, 0, i64::MAX, 0));
        (sum.0, sum.1) = (sum.0 + 1, sum.1 + op.length);
        if op.offset >= 0 {
            (sum.2, sum.3) = (sum.2.min(op.offset), sum.3.max(op.offset + op.length as i64));
        }
    }
    sums
}

#[test]
fn every_call_of_every_program_is_counted() {
    let alone = ["posix_all", "failed", "metadata", "maps_locks", "copies", "aio", "threads"];
    for (name, layers) in
        alone.map(|name| (name, &["POSIX"][..])).into_iter().chain([("stdio", &["POSIX", "STDIO"][..])])
    {
        let scratch = Scratch::new();
        let outcome = Launch::new(&scratch, workload(name)).arg(scratch.data()).env("DXT_ENABLE", "counters").run();
        assert_eq!(outcome.code, 0, "{name}: {outcome:?}");
        let traces = Traces::read(&scratch.traces());
        let mut reported = Extents::new();
        let wanted = |missing: &&MissingOps| {
            let inside = layers.len() == 1 || Path::new(&missing.op.path).starts_with(scratch.data());
            inside && !missing.nested && !missing.op.keeps() && layers.contains(&missing.op.layer.as_str())
        };
        for missing in traces.processes.iter().flat_map(|process| &process.missing).filter(wanted) {
            let (op, c) = (missing.op.clone(), &missing.counters);
            let key = (op.pid, op.layer, op.name, op.mode, op.path, op.errno);
            // Calls on a file opened in a special mode have streams of their own.
            let sum = reported.entry(key).or_insert((0, 0, i64::MAX, i64::MIN));
            *sum = (sum.0 + c.segments, sum.1 + c.bytes, sum.2.min(c.min_offset), sum.3.max(c.max_end_offset));
        }
        let failures = read_failures(&scratch);
        // Some programs do not log their failed calls.
        reported.retain(|key, _| key.5 == 0 || !failures.is_empty());
        let did = extents(&[read_log(&scratch), failures].concat());
        assert!(did.len() > 3, "{name}: {}", did.len());
        let differ: Vec<_> = did.iter().filter(|(key, sum)| reported.get(key) != Some(sum)).collect();
        assert!(differ.is_empty(), "{name}: the program did {differ:?}");
        let more: Vec<_> = reported.iter().filter(|(key, _)| !did.contains_key(key)).collect();
        assert!(more.is_empty(), "{name}: the program did not do {more:?}");
    }
}

#[test]
fn a_million_files_take_a_few_mebibytes() {
    // The files are in memory, not on disk. A debug library is too slow for as many files.
    let data = tempdir_in_memory();
    let count =
        if cfg!(debug_assertions) && std::env::var_os("DXT_TRACER_LIB").is_none() { 100_000 } else { 1_000_000 };
    let scratch = Scratch::new();
    let [bytes, with] = printed(program(&scratch, &data.0, "many", count));
    let [_, without] = printed(program(&Scratch::new(), &data.0, "many", 1000).untraced());
    let traces = Traces::read(&scratch.traces());
    let files = u64::from(count);
    for (name, operations, length) in
        [("open", files + 1, 0), ("write", files, bytes), ("close", files, 0), ("unlink", files, 0)]
    {
        let all = |dir: &Path| traces.totals(&["POSIX"], name, dir);
        let (own, others) = (all(&data.0), all(Path::new("<other files>")));
        assert_eq!((own.0 + others.0, own.1 + others.1), (operations, length), "{name}");
        assert!(others.0 > operations / 2, "{name}");
    }
    let process = &traces.processes[0];
    assert_eq!(process.profiles.values().map(|profile| profile.accesses).sum::<u64>(), files);
    let note = |what: &str| process.notes.iter().find(|note| note.what.contains(what)).map_or(0, |note| note.count);
    assert!(note("beyond DXT_COUNTERS_FILES") >= 2 * (files - 1024), "{:?}", process.notes);
    let different = note("different files") as f64 / (files - 1023) as f64;
    assert!((0.95..1.05).contains(&different), "{different}");
    println!("most memory: {without} KiB untraced, {with} KiB with counters");
    // Includes pages of the spool, which belong to the kernel's page cache.
    assert!(with - without < 10 << 10, "{} KiB more", with - without);
    let size = traces.files[0].metadata().expect("the trace is there").len();
    assert!(size < 1 << 18, "the trace takes {size} bytes");
}

#[test]
fn threads_that_come_and_go_take_no_more_memory() {
    let grown = |count| {
        let scratch = Scratch::new();
        let [bytes, kib] = printed(program(&scratch, &scratch.data(), "threads", count));
        let traces = Traces::read(&scratch.traces());
        assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()), (bytes, bytes));
        assert_eq!(bytes, u64::from(count) * 10);
        kib
    };
    let (few, many) = (grown(100), grown(5000));
    println!("most memory: {few} KiB with 100 threads, {many} KiB with 5000");
    assert!(many < few + 512, "{few} KiB with 100 threads, {many} KiB with 5000");
}

#[test]
fn what_waits_in_the_chunks_of_living_threads_and_of_a_child_is_counted() {
    let scratch = Scratch::new();
    let [bytes, _] = printed(program(&scratch, &scratch.data(), "alive", 100));
    let traces = Traces::read(&scratch.traces());
    assert_eq!(traces.processes.len(), 2, "the parent's and the child's");
    let mut writes: Vec<(u64, u64)> = traces
        .processes
        .iter()
        .flat_map(|process| &process.missing)
        .filter(|missing| missing.op.name == "write")
        .map(|missing| (missing.counters.segments, missing.counters.bytes))
        .collect();
    writes.sort_unstable();
    assert_eq!(writes, [(1, 3), (bytes, bytes)]);
}

/// Directory on a file system in memory; removed on drop.
struct InMemory(std::path::PathBuf);

fn tempdir_in_memory() -> InMemory {
    let dir = Path::new("/dev/shm").join(format!("dxt-counters-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("failed to make a directory in /dev/shm");
    InMemory(dir)
}

impl Drop for InMemory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
