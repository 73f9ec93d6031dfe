//! Real programs under the preloaded library: what the trace says must be exactly what the program did, and the program
//! must not notice. The programs are in testdata/workloads; each logs its own operations.

mod calls_of_a_flush;
mod config;
mod counters;
mod counters_mpi;
mod coverage;
mod exits;
mod failed;
mod filters;
mod fork;
mod harness;
mod hdf5;
mod hostile;
mod instructions;
mod launcher;
mod mpi;
mod mpi_details;
mod mpi_forms;
mod other;
mod planted;
mod posix;
mod ranks;
mod real;
mod spool;
mod stacking;
mod stdio;
mod threads;
mod triggers;
mod unharmed;
mod uring;
