//! Tests of calls on standard output that wait for their reader.

use crate::harness::{Launch, Scratch, Traces, workload};
use std::path::Path;

/// Prints 30 lines of 64 KiB, as much as a pipe holds, to a reader that pauses for 50 ms after each. The reader is not traced.
const SLOW_READER: &str = r#""$1" 30 65536 "$2" | env -u LD_PRELOAD sh -c '
    while [ "$(dd bs=65536 count=1 2>/dev/null | wc -c)" -gt 0 ]; do sleep 0.05; done'"#;

/// Returns the number of writes on record on standard output, by layer, and their bytes.
fn waits(way: &str, script: &str) -> [(u64, u64); 2] {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).arg("sh").arg(workload("prints")).arg(way);
    let outcome = launch.run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let traces = Traces::read(&scratch.traces());
    let on_output = traces.segments.iter().filter(|seg| seg.op.path == "<stdout>");
    on_output.for_each(|seg| assert!(seg.end_ns - seg.start_ns >= 1_000_000, "{seg:?}"));
    ["POSIX", "STDIO"].map(|layer| traces.totals(&[layer], "write", Path::new("<stdout>")))
}

#[test]
fn calls_that_wait_for_a_reader_are_on_record() {
    for way in ["write", "dprintf", "flush"] {
        let [posix, stdio] = waits(way, SLOW_READER);
        let (calls, bytes) = if way == "flush" { stdio } else { posix };
        // The first line fits into the pipe; a call that the reader happens to make room for is short.
        assert!((20..30).contains(&calls), "{way}: {calls}");
        assert_eq!(bytes, calls * 65536, "{way}");
        assert_eq!(if way == "flush" { posix } else { stdio }, (0, 0), "{way}");
    }
}

#[test]
fn calls_on_a_device_without_reader_are_not() {
    for way in ["write", "dprintf", "flush"] {
        assert_eq!(waits(way, r#""$1" 30 65536 "$2" >/dev/null"#), [(0, 0); 2], "{way}");
    }
}
