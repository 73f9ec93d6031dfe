//! Signatures: what the program's reads and writes do, as loop nests from which they can be made again, exactly. After IOSIG (Byna, Chen, Sun, Thakur &
//! Gropp, SC 2008), whose notation they can be written in. `docs/signatures.md` explains them.
//!
//! * `pass`: each process's, thread's, file's and interface's accesses, given to a recogniser; [`engine`]: the recogniser, and all about nests.
//! * `places`: which signature a call is of; `order`: where calls may overlap, that of their starts; `views`: what a file view makes of it.
//! * `promoted`: accesses that are a pattern without a loop of their process: across ranks, across files, under a view.
//! * `verify`: the proof: the trace read again and held against the signatures.
//! * `result`: the lines of one process; `together`: of all, where `alike` finds who may do the same, also by names with a random part (`random_names`); `axes`, `names`, `words`: what is said; `listed`: how much of it JSON has; `view`: how they look.
//! * [`figures`]: the paper's three figures; `files`: what is written to files of their own, figures and protocol buffers (`protobuf`).
//! * [`advice`]: what they are good for in this run, by [`uses`], which know of no trace.

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
