//! libdxt_tracer.so: an LD_PRELOAD library that records every I/O call of a process as a 32-byte segment. With `cfg(dxt_static)`:
//! libdxt_static.a, the same code for linking into programs that load no library (`real::linked`).
//!
//! Data flows one way: `hooks` -> `clock`, `handles` -> `record` -> `buffer` -> `flush` -> `trace_format::write`. A hook uses the real
//! function, the re-entrancy guard, the clock, the handle table and `record`; only `flush`, `mpi` and `lifecycle` call MPI. The program
//! must never notice the tracer: no panic, no changed errno, no signal, no output except one-line messages.

#![cfg_attr(dxt_static, expect(non_snake_case, reason = "functions have the names that they wrap"))]

mod abandonable;
mod anonymize;
mod begin;
mod blocking;
mod budget;
mod buffer;
mod built_in;
mod clock;
mod config;
mod cpu_times;
mod describe;
mod directory;
mod end_of_recording;
mod environment;
mod errno;
mod exclusive;
mod exec_watchdog;
mod file_status;
mod filters;
mod flush;
mod gate;
mod handles;
mod hdf5;
mod hooks;
mod job;
mod late_calls;
mod lifecycle;
mod memory;
mod mounts;
mod mpi;
mod notes;
mod ops;
mod own_directories;
mod own_file;
mod process;
mod random;
mod real;
mod record;
mod registry;
#[cfg(not(dxt_static))]
mod sanitizers;
mod say;
mod seccomp;
mod secure;
mod signals;
mod sites;
mod spool;
mod stack;
mod state;
mod sys;
mod threads;
mod tls;
mod without_tls;
