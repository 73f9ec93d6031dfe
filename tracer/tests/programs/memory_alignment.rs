//! Tests of counts of unaligned memory buffers: exact for all reads and writes, whether or not their segments are kept.

use crate::harness::{Launch, Scratch, Traces, recover, spools, workload};
use trace_format::meta::{MemoryDef, stream_flags};

const COUNT: u64 = 20_000;

fn run(settings: &[(&str, &str)]) -> (Traces, Vec<MemoryDef>) {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("memory")).arg(scratch.data().join("file")).arg(COUNT.to_string());
    let launch = launch.env("DXT_INCLUDE", scratch.data());
    let outcome = settings.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    let memory = traces.processes.iter().map(|process| process.block.memory.clone()).collect();
    (traces, memory)
}

/// Returns [calls with known alignment, unaligned calls], summed over each of two tables of a trace: the table by stream, and the table by
/// layer, direction and size.
fn sums(memory: &[MemoryDef]) -> [[u64; 2]; 2] {
    let streams = memory.iter().flat_map(|memory| &memory.streams);
    let costs = memory.iter().flat_map(|memory| &memory.costs);
    [
        streams.fold([0; 2], |sum, used| [sum[0] + used.known, sum[1] + used.unaligned]),
        costs.fold([0; 2], |sum, cost| [sum[0] + cost.aligned + cost.unaligned, sum[1] + cost.unaligned]),
    ]
}

#[test]
fn every_call_is_counted_whatever_becomes_of_its_segment() {
    // Two processes: the vectored call and the child's call are not aligned to 8 bytes.
    let (all, off_8) = (2 * COUNT + 3, COUNT / 4 + 2);
    for settings in [
        &[][..],
        &[("DXT_BUFFER_MAX", "16K")],
        &[("DXT_BUFFER_MAX", "16K"), ("DXT_OVERFLOW", "fold")],
        &[("DXT_BUFFER_MAX", "16K"), ("DXT_OVERFLOW", "spill")],
        &[("DXT_MIN_SIZE", "1000")],
        &[("DXT_SMALL_IO_TRIGGER", "1")],
        &[("DXT_JOB_BYTES", "1000")],
        &[("DXT_SPOOL", "off")],
    ] {
        let (_, memory) = run(settings);
        assert!(memory.iter().all(|memory| memory.alignment == 8), "{settings:?}");
        assert_eq!(sums(&memory), [[all, off_8]; 2], "{settings:?}");
        assert!(memory.iter().flat_map(|memory| &memory.costs).all(|cost| {
            (cost.aligned == 0) == (cost.aligned_ns == 0) && (cost.unaligned == 0) == (cost.unaligned_ns == 0)
        }));
    }
    let (_, memory) = run(&[("DXT_MEM_ALIGN", "4K")]);
    assert!(memory.iter().all(|memory| memory.alignment == 4096));
    assert_eq!(sums(&memory), [[all, off_8 + COUNT / 2]; 2]);
    // With Darshan's variable, in counters mode, the profiles have the counts.
    let (traces, memory) = run(&[("DXT_ENABLE", "counters"), ("DARSHAN_MEMALIGN", "512")]);
    assert!(memory.iter().all(|memory| memory.alignment == 512 && memory.streams.is_empty()));
    let profiles = traces.processes.iter().flat_map(|process| process.profiles.values());
    let counted = profiles.fold([0; 2], |sum, one| [sum[0] + one.memory_known, sum[1] + one.memory_unaligned]);
    assert_eq!(counted, [all, off_8]);
}

#[test]
fn of_streams_and_failed_calls_nothing_is_known() {
    let (traces, memory) = run(&[]);
    for (process, memory) in traces.processes.iter().zip(memory) {
        for used in &memory.streams {
            let stream = process.block.streams.iter().find(|stream| stream.id == used.stream).expect("a stream");
            let op = traces.jobs[0].ops.iter().find(|op| op.code == stream.op).expect("an operation");
            assert_eq!((op.layer.name(), stream.flags & stream_flags::FAILED), ("POSIX", 0));
        }
    }
}

#[test]
fn a_process_that_is_killed_has_its_times() {
    let scratch = Scratch::new();
    let program = workload("memory");
    let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg("\"$@\" wait & sleep 1; kill -9 $!; wait $!").arg("sh");
    let launch = launch.arg(program).arg(scratch.data().join("file")).arg("100");
    assert_eq!(launch.env("DXT_INCLUDE", scratch.data()).run().code % 128, 9);
    assert_eq!(spools(&scratch).len(), 1);
    recover(&scratch);
    let traces = Traces::read(&scratch.traces());
    let data = traces.segments.iter().filter(|segment| ["read", "write"].contains(&segment.op.name.as_str()));
    let posix: Vec<_> = data.filter(|segment| segment.op.layer == "POSIX").collect();
    assert_eq!(posix.len(), 202);
    // Times are below 2^62 ns.
    assert!(posix.iter().all(|segment| segment.end_ns < 240_000_000_000), "{posix:?}");
}
