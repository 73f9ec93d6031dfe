//! Tests of MPI libraries that damage the common trace file while writing it: aggregators that write back other ranks' old bytes (data
//! sieving), and a test library that corrupts the file on purpose. The trace must be complete in all cases.

use crate::calls_of_a_flush::reported_once;
use crate::harness::{Compiler, Launch, Outcome, Scratch, Traces, workload_with};

const RANKS: u32 = 4;

/// Returns the launch of an MPI program whose ranks share files, with a library preloaded after the tracer that corrupts what MPI writes.
fn program<'a>(scratch: &'a Scratch, mpi: Compiler) -> Launch<'a> {
    let shim = workload_with("spoiling", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    let program = workload_with("counters_mpi", mpi, &["-O1"]);
    let launch = Launch::new(scratch, "/bin/sh").arg("-c").arg("LD_PRELOAD=$LD_PRELOAD:$0 exec \"$@\"").arg(shim);
    let launch = launch.arg(program).arg(scratch.data()).arg("shared").ranks(mpi, RANKS);
    launch.env("DXT_INCLUDE", scratch.data()).env("DXT_VERBOSE", "1")
}

/// Asserts that the common trace of all ranks is complete (`what`: text of the failure message). Returns true if any rank had to write its
/// part again.
fn whole(scratch: &Scratch, outcome: &Outcome, what: &str) -> bool {
    assert_eq!(outcome.code, 0, "{what}: {outcome:?}");
    let traces = Traces::read(&scratch.traces());
    assert_eq!(traces.files.len(), 1, "{what}: {outcome:?}");
    assert_eq!(traces.processes.len() as u32, RANKS, "{what}");
    reported_once(&traces, &scratch.data(), RANKS.into());
    outcome.stderr.contains("missing bytes again")
}

#[test]
fn whatever_mpi_leaves_in_the_file_the_trace_is_whole() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        for how in ["zero", "noise", "cut", "empty", "nothing", "longer"] {
            let scratch = Scratch::new();
            let outcome = program(&scratch, mpi).env("SPOIL", how).run();
            let repaired = whole(&scratch, &outcome, &format!("{mpi:?} {how}"));
            // In the case `longer`, only data after the parts is cut off or overwritten, so no part was damaged.
            assert_eq!(repaired, how != "longer", "{mpi:?} {how}: {outcome:?}");
        }
    }
}

/// Settings of Open MPI's OMPIO that change which bytes an aggregator reads and writes back.
const OMPIO: [&[(&str, &str)]; 5] = [
    &[],
    &[("fbtl_posix_max_gap_size", "1000000000")],
    &[("io_ompio_bytes_per_agg", "256"), ("fbtl_posix_max_gap_size", "1000000000")],
    &[("fcoll", "dynamic_gen2"), ("fbtl_posix_max_gap_size", "1000000000")],
    &[("fcoll", "two_phase")],
];

#[test]
fn aggregators_that_sieve_lose_nothing_under_ompio() {
    if !Compiler::OpenMpi.available() {
        return;
    }
    for aggregators in ["1", "2", "3", "4"] {
        for settings in OMPIO {
            let scratch = Scratch::new();
            let launch = program(&scratch, Compiler::OpenMpi).env("SIEVE_US", "30000").env("OMPI_MCA_io", "ompio");
            let launch = launch.env("OMPI_MCA_io_ompio_num_aggregators", aggregators);
            let launch =
                settings.iter().fold(launch, |launch, (name, value)| launch.env(&format!("OMPI_MCA_{name}"), value));
            whole(&scratch, &launch.run(), &format!("{aggregators} aggregators, {settings:?}"));
        }
    }
}

/// Hints for MPICH's ROMIO, in the format of its hints file.
const ROMIO: [&str; 5] = [
    "",
    "romio_cb_write enable\nromio_ds_write enable\n",
    "romio_cb_write disable\nromio_ds_write enable\nind_wr_buffer_size 4096\n",
    "romio_cb_write enable\nromio_ds_write disable\ncb_buffer_size 4096\ncb_config_list *:*\ncb_nodes 4\n",
    "romio_cb_write enable\nromio_ds_write enable\ncb_buffer_size 512\ncb_config_list *:*\ncb_nodes 3\n",
];

#[test]
fn aggregators_that_sieve_lose_nothing_under_romio() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        for hints in ROMIO {
            let scratch = Scratch::new();
            let file = scratch.root().join("hints");
            std::fs::write(&file, hints).expect("failed to write the hints");
            let launch = program(&scratch, mpi).env("SIEVE_US", "30000").env("ROMIO_HINTS", &file);
            whole(&scratch, &launch.env("OMPI_MCA_io", "^ompio").run(), &format!("{mpi:?}, {hints:?}"));
        }
    }
}
