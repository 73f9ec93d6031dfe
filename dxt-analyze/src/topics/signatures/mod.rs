//! I/O signatures: the program's reads and writes as loop nests that regenerate them exactly.
//!
//! Follows IOSIG (Byna, Chen, Sun, Thakur & Gropp, SC 2008), whose notation is available. For users: `docs/signatures.md`.
//!
//! - `pass`: splits the accesses by process, thread, file and interface; [`engine`]: recognises loops in each part.
//! - `places`: signature of each call; `order`: sorts overlapping calls by start; `views`: MPI file views.
//! - `promoted`: patterns of accesses without a loop in their process: across ranks, across files, under a view.
//! - `verify`: reads the trace again and compares it with the signatures.
//! - `result`: lines of single processes; `together`: lines of all processes, grouped by `alike` and `random_names`.
//! - `axes`, `names`, `words`: texts; `listed`: length of lists in JSON; `view`: tables.
//! - [`figures`]: the paper's three figures; `files`: files to write, figures and protocol buffers (`protobuf`).
//! - [`advice`]: advice on this run, by [`uses`], which are independent of traces.

pub mod advice;
pub mod alike;
mod args;
pub mod axes;
mod codes;
pub mod engine;
pub mod figures;
mod files;
mod in_report;
pub mod listed;
pub mod names;
mod order;
pub mod pass;
mod places;
mod promoted;
pub mod protobuf;
mod random_names;
pub mod result;
pub mod together;
pub mod uses;
pub mod verify;
pub mod view;
mod views;
mod words;

pub use args::{Args, Files, Level, Notation, Options};
pub use codes::CODES;
pub(crate) use in_report::InReport;
pub use view::signatures as verb;
