//! Applications of signatures: computations on the accesses that a pattern predicts. They do not depend on traces, and open no files.
//!
//! - `prefetch`: simulation of sequential read-ahead and of prefetching by the pattern; `extents`: its cache.
//! - `layout`: the three data layouts of the IOSIG paper, with its cost model.
//! - `stripes`: best stripe size of a pattern, by simulation.
//! - `fio`: conversion of accesses to input for fio.
//! - `proto`: signatures as protocol buffers (`signatures.proto`).

pub mod extents;
pub mod fio;
pub mod layout;
pub mod prefetch;
pub mod proto;
pub mod stripes;
