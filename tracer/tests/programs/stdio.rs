//! C streams.

use crate::harness::{Compiler, Launch, Order, Scratch, assert_same, workload_with};

#[test]
fn every_call_is_recorded_as_it_was_made() {
    for flags in [["-O1", "-g0"], ["-O2", "-D_FORTIFY_SOURCE=2"], ["-O1", "-D_FILE_OFFSET_BITS=64"]] {
        let scratch = Scratch::new();
        let program = workload_with("stdio", Compiler::Cc, &flags);
        let (log, traces) = Launch::new(&scratch, program).arg(scratch.data()).traced();
        assert!(log.len() > 60, "{}", log.len());
        assert_same(Order::Thread, &log, &traces.own_ops(&["STDIO", "POSIX"], &scratch.data()));
    }
}
