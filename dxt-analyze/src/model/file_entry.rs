//! File of a job, with its stripe layout and the source of the layout.

use serde::Serialize;
use trace_format::layout::Layout;

/// Source of a file's stripe layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutOrigin {
    /// Extended attribute `lustre.lov`, recorded in the trace.
    Lustre,
    /// Extended attribute `ceph.file.layout`, recorded in the trace.
    Ceph,
    /// Layout file that the user named by the option `--layout`.
    Given,
    /// No layout is known: the file's preferred I/O size (`st_blksize`) stands in for the stripe size.
    Guess,
}

/// Stripe layout of a file, and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLayout {
    /// Stripe sizes, stripe counts and storage targets of the file.
    pub layout: Layout,
    /// Source of the layout: file system, user or guess.
    pub origin: LayoutOrigin,
}

/// File that the job used.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Hash of the path, as stored in the trace.
    pub hash: u64,
    /// Path, or `file#<hash>` if the path is lost. Invalid UTF-8 is replaced.
    pub name: String,
    /// Preferred I/O size (`st_blksize`) in bytes; 0 if unknown.
    pub block_size: u32,
    /// Stripe layout of the file; `None` if unknown.
    pub layout: Option<FileLayout>,
    /// Reason why the stripe layout stored in the trace could not be used; `None` if it could, or if there is none.
    pub layout_problem: Option<String>,
}
