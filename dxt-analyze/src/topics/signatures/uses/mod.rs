//! What signatures are good for: pure computations over the accesses that a pattern foresees. They know of no trace and open no file.
//!
//! * `prefetch`: what reading ahead would have saved, by plain read-ahead and by the pattern; `extents` is its cache.
//! * `layout`: the three layouts of the IOSIG paper by its cost model.
//! * `stripes`: which stripe size suits a pattern, by simulation.
//! * `fio`: the accesses as input of fio.
//! * `proto`: signatures as protocol buffers, by `signatures.proto`; `wire` is their bytes.

pub mod extents;
pub mod fio;
pub mod layout;
pub mod prefetch;
pub mod proto;
pub mod stripes;
pub mod wire;
