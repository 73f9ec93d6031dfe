//! Fuzz target: parses any bytes as a `lustre.lov` attribute.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace_format::layout::parse_lustre;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(layout) = parse_lustre(bytes) {
        for offset in [0, 1, 1 << 20, u64::MAX] {
            let _ = layout.locate(offset);
        }
    }
});
