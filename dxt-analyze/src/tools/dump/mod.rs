//! Command `dump`: writes every segment, and counters of operations without segments; for Darshan logs also in the formats of Darshan's own tools.

mod args;
mod counters;
mod darshan_text;
mod segments;

pub use args::{Args, DumpFormat};
pub use segments::{dump, dump_run};
