//! MPI library of the process, of any implementation: its ABI, its functions, and this process's rank in `MPI_COMM_WORLD`. The tracer is
//! not linked with MPI; symbols are looked up when the program calls MPI_Init.

mod abi;
mod calls;
pub(crate) mod communicators;
mod datatypes;
mod errors;
mod filetypes;
mod sampling;
mod world;

pub(crate) use calls::{Handle, SUCCESS, api, is_linked};
pub(crate) use world::{World, active, ended, has_ended, in_child, job_key, started, sync_ticks, world};
