//! Any bytes as a job block and as a process block; what was understood must survive being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace_format::meta::{Job, Process};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(job) = Job::decode(bytes, 0) {
        assert_eq!(Job::decode(&job.encode(), 0).expect("what was encoded"), job);
    }
    if let Ok(process) = Process::decode(bytes, 0) {
        assert_eq!(Process::decode(&process.encode(), 0).expect("what was encoded"), process);
    }
});
