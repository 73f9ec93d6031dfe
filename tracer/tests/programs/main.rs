//! Real programs under the preloaded library: what the trace says must be exactly what the program did, and the program
//! must not notice. The programs are in testdata/workloads; each logs its own operations.

mod config;
mod confined;
mod counters;
mod counters_mpi;
mod coverage;
mod ends;
mod exits;
mod failed;
mod filters;
mod fork;
mod harness;
mod hdf5;
mod hostile;
mod instructions;
mod jumps;
mod launcher;
mod mpi;
mod mpi_details;
mod mpi_forms;
mod names;
mod offsets;
mod other;
mod posix;
mod ranks;
mod reach;
mod real;
mod scarce;
mod spool;
mod stacking;
mod stacks;
mod stdio;
mod threads;
mod triggers;
mod unharmed;
mod uring;
