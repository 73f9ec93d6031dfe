//! `dump`: every segment, and the counters of what has none; of Darshan logs also in the forms of Darshan's own tools.

mod args;
mod counters;
mod darshan_text;
mod segments;

pub use args::{Args, DumpFormat};
pub use segments::{dump, dump_run};
