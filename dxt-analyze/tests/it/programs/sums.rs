//! Tests of `summary`: its sums equal those logged by the programs.

use crate::harness::{Compiler, Launch, Scratch, read_log, skip, workload_with};
use crate::programs::analyze;

#[test]
fn calls_and_bytes_of_an_mpi_program() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi] {
        if !mpi.available() {
            skip(&format!("{mpi:?} is not installed"));
            continue;
        }
        let scratch = Scratch::new();
        let program = workload_with("mpiio", mpi, &["-O1"]);
        let outcome = Launch::new(&scratch, program).arg(scratch.data()).arg("all").ranks(mpi, 3).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let summary = analyze(&scratch, "summary", &["--layer", "mpiio"], 0);
        let log: Vec<_> = read_log(&scratch).into_iter().filter(|op| op.layer == "MPIIO").collect();
        let sum = |name: &str| log.iter().filter(|op| op.name == name).map(|op| op.length).sum::<u64>();
        assert_eq!(summary["bytes_written"].as_u64(), Some(sum("write")), "{mpi:?}");
        assert_eq!(summary["bytes_read"].as_u64(), Some(sum("read")), "{mpi:?}");
        assert_eq!(summary["segments"].as_u64(), Some(log.len() as u64), "{mpi:?}");
        assert_eq!(summary["ranks"].as_u64(), Some(3));
    }
}
