//! Fuzz target: decodes any bytes as a job block and as a process block. Decoded blocks must survive a round trip; encodings are compared
//! instead of values, because floats may be NaN.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace_format::meta::{Job, Process};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(job) = Job::decode(bytes, 0) {
        let written = job.encode();
        assert_eq!(Job::decode(&written, 0).expect("what was encoded").encode(), written);
    }
    if let Ok(process) = Process::decode(bytes, 0) {
        let written = process.encode();
        assert_eq!(Process::decode(&written, 0).expect("what was encoded").encode(), written);
    }
});
