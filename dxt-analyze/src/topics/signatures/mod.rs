//! I/O signatures: descriptions of a program's reads and writes as nested loops, from which each access can be regenerated exactly.
//!
//! Follows IOSIG (Byna, Chen, Sun, Thakur & Gropp, SC 2008), whose notation is available. User documentation: `docs/signatures.md`.
//!
//! - `pass`: splits the accesses by process, thread, file and interface; the crate `iosig` recognises the loops in each sequence.
//! - `places`: assigns calls to signatures; `order`: sorts overlapping calls by start; `views`: MPI file views.
//! - `cross_process`: patterns of accesses that form no loop within their process: across ranks, across files, or under a file view.
//! - `verify`: reads the trace again and compares it with the signatures.
//! - `result`: rows of single processes; `merged`: rows of all processes, grouped by `comparable` and `random_names`.
//! - `axes`, `names`, `words`: conversion to text; `listed`: length of lists in JSON; `view`: tables.
//! - [`figures`]: the paper's three figures; `files`: output files with figures and protocol buffers (`protobuf`).
//! - [`advice`]: advice on this run; [`uses`]: applications of signatures (prefetching, stripes, ...) that do not depend on traces.

pub mod advice;
mod args;
pub mod axes;
mod codes;
pub mod comparable;
mod cross_process;
pub mod figures;
mod files;
mod in_report;
pub mod listed;
pub mod merged;
pub mod names;
mod order;
pub mod pass;
mod places;
pub mod protobuf;
mod random_names;
pub mod result;
pub mod uses;
pub mod verify;
pub mod view;
mod views;
mod words;

pub use args::{Args, Files, Level, Notation, Options};
pub use codes::CODES;
pub(crate) use in_report::InReport;
pub use view::signatures as run;
