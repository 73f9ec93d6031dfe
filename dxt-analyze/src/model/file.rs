//! Files of a job: stripe layout and its source, file system, alignment.

use super::run::Run;
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

/// Returns the index in `mounts` (path, type) of the file system that holds the file named `name`: the longest path that contains it. `None`
/// if mounts are unknown.
fn mount_at(mounts: &[(String, String)], name: &str) -> Option<usize> {
    let holds = |mount: &str| match name.strip_prefix(mount) {
        Some(rest) => mount.ends_with('/') || rest.is_empty() || rest.starts_with('/'),
        None => false,
    };
    let all = mounts.iter().enumerate().filter(|(_, (path, _))| holds(path));
    all.max_by_key(|(_, (path, _))| path.len()).map(|(at, _)| at)
}

/// Returns the number of the file system that holds `file`, from 1 on; `mounts`: path and type of each. Without mounts, 1 is memory and 0 all
/// else.
#[must_use]
pub(crate) fn mount_number(mounts: &[(String, String)], file: &File) -> u16 {
    match mount_at(mounts, &file.name) {
        Some(at) => u16::try_from(at + 1).unwrap_or(u16::MAX),
        None => u16::from(file.name.starts_with("/dev/shm/")),
    }
}

impl Run {
    /// Returns mount point and type of the file system that holds `file`; `None` if mounts are unknown.
    #[must_use]
    pub fn mount_of(&self, file: &File) -> Option<&(String, String)> {
        self.mounts.get(mount_at(&self.mounts, &file.name)?)
    }

    /// Returns mount point and type of the file system that holds `file`; if mounts are unknown, the first directory of the file's path.
    #[must_use]
    pub fn place_of(&self, file: &File) -> String {
        match self.mount_of(file) {
            Some((path, kind)) => format!("{path} ({kind})"),
            None if file.name.starts_with('/') => {
                let end = file.name.get(1..).and_then(|rest| rest.find('/')).map_or(file.name.len(), |at| at + 1);
                file.name.get(..end).unwrap_or("/").to_owned()
            }
            None => "elsewhere".into(),
        }
    }
}

impl File {
    /// Returns the alignment of file offsets, in bytes, that access profiles use: the stripe size of a known layout, else the preferred I/O
    /// size; 0 if both are unknown.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        let own = self.layout.as_ref().filter(|layout| !layout.is_guess());
        let components = own.into_iter().flat_map(|layout| &layout.layout.components);
        let stripe = components.filter(|component| component.active && !component.on_metadata).map(|c| c.stripe_size);
        stripe.into_iter().next().unwrap_or(u64::from(self.block_size))
    }
}

impl FileLayout {
    /// Returns true if the layout is a guess based on the file's preferred I/O size.
    #[must_use]
    pub fn is_guess(&self) -> bool {
        self.origin == LayoutOrigin::Guess
    }
}
