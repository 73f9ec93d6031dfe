//! Tests of published cases that a real program can reproduce.

use crate::harness::{Compiler, Launch, Scratch, workload_with};
use crate::programs::analyze;
use serde_json::Value;

const RANKS: u32 = 4;
const PIECES: u64 = 25_600;

/// Runs the S3D-like program with an MPI-IO hint; returns the result of `layers` for MPI-IO and POSIX.
fn s3d(hint: &str) -> Value {
    let scratch = Scratch::new();
    let file = scratch.data().join("checkpoint");
    let launch = Launch::new(&scratch, workload_with("s3d", Compiler::Mpich, &["-O1"]));
    let outcome = launch.arg(&file).arg(PIECES.to_string()).arg(hint).ranks(Compiler::Mpich, RANKS).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    analyze(&scratch, "layers", &["--layer", "mpiio", "--layer", "posix"], 0)
}

/// Carns et al., "24/7 Characterization of Petascale I/O Workloads", 2009, on S3D: without data sieving, a checkpoint is 102,401 small
/// writes; with data sieving, writes are fewer and larger, but there are as many reads, and more bytes.
#[test]
fn s3d_with_and_without_data_sieving() {
    if !Compiler::Mpich.available() {
        return;
    }
    let (without, with) = (s3d("romio_ds_write=disable"), s3d("romio_ds_write=enable"));
    let inside = |found: &Value| found["job"]["mpiio"]["inside"].clone();
    let of = |found: &Value, kind: &str, what: &str| inside(found)[kind][what].as_u64().expect("a number");
    let asked = 100 + u64::from(RANKS) * PIECES * 100;
    assert_eq!((of(&without, "writes", "calls"), of(&without, "reads", "calls")), (102_401, 0));
    assert_eq!(of(&without, "writes", "bytes"), asked);
    assert_eq!(without["files"][0]["write_amplification"], 1.0);
    assert!(of(&with, "writes", "calls") < 200, "{}", inside(&with));
    // Each block is read before it is written; at the end of the file, one read returns nothing. The header is only written.
    assert!(of(&with, "reads", "calls") + 1 >= of(&with, "writes", "calls"), "{}", inside(&with));
    assert!(of(&with, "writes", "bytes") > 3 * asked && of(&with, "locks", "calls") > 0, "{}", inside(&with));
    let codes = |found: &Value| found["findings"].to_string();
    assert!(codes(&with).contains("DXT-L002") && !codes(&without).contains("DXT-L002"));
}
