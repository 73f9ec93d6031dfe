//! Fuzz target: opens any bytes as a trace file and decodes everything that is readable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace_format::read::{Decoder, Trace};

fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = Trace::open(bytes) else { return };
    let mut decoder = Decoder::default();
    for region in &trace.regions {
        for block in &trace.region(region).blocks {
            if let Ok(columns) = decoder.block(trace.source(), block) {
                assert_eq!(columns.len(), block.head.segments as usize);
            }
        }
    }
});
