//! What the ids in segments mean: files by path, streams by (file, operation, flags). Both are given once, when first
//! seen, and never go away; looking one up takes no lock. Works in signal handlers: nothing here allocates.

mod file;
mod paths;
mod stream;

pub(crate) use file::{File, Identity, files, find_or_add, prepare, read_layout};
pub(crate) use paths::{Verdict, judge};
pub(crate) use stream::{by_id as stream_by_id, forget_counts, id_of as stream_of, streams};
