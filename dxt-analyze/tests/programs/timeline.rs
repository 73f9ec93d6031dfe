//! `timeline` has the bytes that the programs themselves logged.

use crate::analyze;
use crate::harness::{Compiler, Launch, Scratch, read_log, skip, workload_with};

#[test]
fn bins_and_phases_hold_all_bytes_of_an_mpi_program() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi] {
        if !mpi.available() {
            skip(&format!("{mpi:?} is not installed"));
            continue;
        }
        let scratch = Scratch::new();
        let program = workload_with("mpiio", mpi, &["-O1"]);
        let outcome = Launch::new(&scratch, program).arg(scratch.data()).arg("all").ranks(mpi, 3).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let found = analyze(&scratch, "timeline", &["--layer", "mpiio"], 0);
        let log: Vec<_> = read_log(&scratch).into_iter().filter(|op| op.layer == "MPIIO").collect();
        for (name, key) in [("write", "bytes_written"), ("read", "bytes_read")] {
            let logged: u64 = log.iter().filter(|op| op.name == name).map(|op| op.length).sum();
            for list in ["bins", "phases"] {
                let rows = found[list].as_array().expect("a list");
                let sum: u64 = rows.iter().filter_map(|row| row[key].as_u64()).sum();
                assert_eq!(sum, logged, "{mpi:?} {list} {key}");
            }
        }
    }
}
