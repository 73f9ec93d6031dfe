//! Tests of the traces of simulated jobs: traces are complete, in the tracer's form, and move the same bytes as the fault-free twin, unless
//! the fault concerns bytes.

use dxt_synth::faults::{Choice, Truth, write};
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::meta::{Process, stream_flags};
use trace_format::op::{Layer, OpClass};
use trace_format::read::{Decoder, Trace};

/// Fields of one call in a trace that the tests compare.
struct Call {
    rank: i32,
    thread: u32,
    layer: Layer,
    class: OpClass,
    nested: bool,
    offset: i64,
    length: u64,
    start: u64,
    end: u64,
}

fn calls(path: &Path) -> Vec<Call> {
    let bytes = std::fs::read(path).expect("the log");
    let trace = Trace::open(bytes.as_slice()).expect("a trace");
    assert!(trace.complete && trace.problems.is_empty(), "{}", path.display());
    let ops: BTreeMap<u16, (Layer, OpClass)> = trace.job.ops.iter().map(|op| (op.code, (op.layer, op.class))).collect();
    let (mut out, mut decoder) = (Vec::new(), Decoder::default());
    for region in &trace.regions {
        let region = trace.region(region);
        let process: Process = region.process.expect("its tables");
        let streams: BTreeMap<u32, _> = process.streams.iter().map(|stream| (stream.id, stream)).collect();
        for block in &region.blocks {
            let columns = decoder.block(trace.source(), block).expect("a block");
            for i in 0..columns.len() {
                let stream = streams[&(columns.stream[i] as u32)];
                let (layer, class) = ops[&stream.op];
                out.push(Call {
                    rank: process.info.rank,
                    thread: block.head.thread,
                    layer,
                    class,
                    nested: stream.flags & stream_flags::NESTED != 0,
                    offset: columns.offset[i] as i64,
                    length: columns.length[i],
                    start: columns.start[i],
                    end: columns.end[i],
                });
                assert!(columns.end[i] <= process.info.end_ns);
            }
        }
    }
    out
}

fn written(only: &str) -> (tempfile::TempDir, Vec<Truth>) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let truths = write(folder.path(), &Choice { only: Some(only.into()), ..Choice::default() }).expect("logs");
    assert!(!truths.is_empty(), "{only}");
    (folder, truths)
}

#[test]
fn logs_are_whole_and_a_thread_makes_one_call_at_a_time() {
    for only in
        ["slow-rank", "sieved", "collective", "threads", "file-locks", "streams", "hot-block-of-128", "healthy-writes"]
    {
        let (folder, truths) = written(only);
        for truth in truths {
            let mut last: BTreeMap<(i32, u32, bool), u64> = BTreeMap::new();
            for call in calls(&folder.path().join(&truth.log)) {
                let before = last.insert((call.rank, call.thread, call.nested), call.end).unwrap_or(0);
                assert!(before <= call.start && call.start < call.end, "{}: two calls at once", truth.name);
                assert!(call.layer == Layer::Mpi || call.offset >= -1);
            }
        }
    }
}

#[test]
fn barriers_are_on_record_where_the_manifest_says_so() {
    let (folder, truths) = written("slow-");
    assert!(truths.iter().any(|truth| truth.barriers) && truths.iter().any(|truth| !truth.barriers));
    for truth in truths {
        let calls = calls(&folder.path().join(&truth.log));
        let barriers: Vec<&Call> = calls.iter().filter(|call| call.layer == Layer::Mpi).collect();
        assert_eq!(!barriers.is_empty(), truth.barriers, "{}", truth.name);
        assert!(barriers.iter().all(|call| (call.class, call.offset, call.length) == (OpClass::Communication, 0, 0)));
        // All ranks leave a barrier together, and no rank leaves before the last has arrived.
        let mut by_rank: BTreeMap<i32, Vec<&Call>> = BTreeMap::new();
        barriers.into_iter().for_each(|call| by_rank.entry(call.rank).or_default().push(call));
        for nth in 0..by_rank.values().map(Vec::len).max().unwrap_or(0) {
            let these: Vec<&Call> = by_rank.values().map(|calls| calls[nth]).collect();
            let last = these.iter().map(|call| call.start).max();
            assert!(these.iter().all(|call| call.end == these[0].end && Some(call.end) > last), "{}", truth.name);
        }
    }
}

#[test]
fn a_slow_machine_moves_the_same_bytes_as_a_healthy_one() {
    let bytes = |only: &str| {
        let (folder, truths) = written(only);
        let of = |truth: &Truth| calls(&folder.path().join(&truth.log)).iter().map(|call| call.length).sum::<u64>();
        truths.iter().map(of).collect::<Vec<u64>>()
    };
    // 32 ranks, ten phases of 64 MiB per rank.
    for only in ["slow-rank-shared", "slow-ost-own-files", "few-stripes", "healthy-even-32-ranks", "tail-reads"] {
        assert_eq!(bytes(only)[0], 32 * 10 * (64 << 20), "{only}");
    }
    assert_eq!(bytes("reading-again")[0], 4 * 32 * 10 * (64 << 20));
    assert_eq!(bytes("random-reads-own-files")[0], 16 * 10 * (4 << 20));
}

#[test]
fn the_manifest_reads_back() {
    let (folder, truths) = written("two-");
    let text = std::fs::read(folder.path().join("manifest.json")).expect("a manifest");
    let read: Vec<Truth> = serde_json::from_slice(&text).expect("a manifest");
    assert_eq!(read.len(), truths.len());
    assert!(read.iter().all(|truth| truth.faults.iter().all(|fault| !fault.right.is_empty() && fault.truth_ns > 0)));
}
