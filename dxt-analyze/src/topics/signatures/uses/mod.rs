//! Applications of signatures: computations on the accesses that a pattern predicts. They know no trace and open no file.
//!
//! - `prefetch`: simulation of prefetching, by plain read-ahead and by the pattern; `extents` is its cache.
//! - `layout`: the three layouts of the IOSIG paper with its cost model.
//! - `stripes`: best stripe size of a pattern, by simulation.
//! - `fio`: accesses as input of fio.
//! - `proto`: signatures as protocol buffers (`signatures.proto`); `wire` encodes them.

pub mod extents;
pub mod fio;
pub mod layout;
pub mod prefetch;
pub mod proto;
pub mod stripes;
pub mod wire;
