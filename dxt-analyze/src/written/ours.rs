//! By what a file is recognised that an earlier run wrote for the same purpose. A trace that the tracer recorded is nobody's to
//! replace, so a conversion or a recovery is told from it by what it says of its origin.

use crate::input::{self, Bytes};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use trace_format::read::Trace;
use trace_format::spool::ENDED_BY;

/// What a page says in its head.
pub(crate) const GENERATOR: &str = r#"<meta name="generator" content="dxt-analyze"#;
/// What the name of the tracer begins with in a trace that was a log.
const CONVERTED: &str = "Darshan log ";
/// Who wrote a Parquet file, as its footer says.
const CREATED_BY: &[u8] = b"dxt-analyze ";
/// What the files of `advise` say in their first lines.
pub(crate) const ADVICE: &str =
    "Written by dxt-analyze advise, which replaces it; README.txt says what each line is for.";
/// Bytes of a page in which its generator stands, and of a Parquet file's end in which its writer does.
const LOOKED_AT: usize = 4096;

/// What may be replaced without being asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ours {
    /// A page of `report`.
    Page,
    /// A trace that `convert` made.
    Conversion,
    /// A trace that `recover` made.
    Recovery,
    /// A file of `advise`.
    Advice,
    /// Nothing, not even an empty file.
    Never,
}

impl Ours {
    /// Whether the regular file `path` is one. What cannot be read is none.
    pub(super) fn recognises(self, path: &Path) -> bool {
        match self {
            Self::Page => head(path).is_ok_and(|head| contains(&head, GENERATOR.as_bytes())),
            Self::Conversion => is_trace(path, |trace| trace.job.info.tracer.starts_with(CONVERTED)),
            Self::Recovery => is_trace(path, |trace| {
                let first = trace.regions.first().and_then(|region| trace.region(region).process);
                first.is_some_and(|process| process.info.ended_by == ENDED_BY)
            }),
            Self::Advice => head(path).is_ok_and(|head| contains(&head, ADVICE.as_bytes())),
            Self::Never => false,
        }
    }

    /// Whether one is at `path`, and no link to one.
    pub(crate) fn stands_at(self, path: &Path) -> bool {
        std::fs::symlink_metadata(path).is_ok_and(|about| about.is_file()) && self.recognises(path)
    }

    /// Why a file that exists is not replaced.
    pub(super) fn otherwise(self) -> &'static str {
        match self {
            Self::Page => " and is no page of `dxt-analyze report`",
            Self::Conversion => " and is no trace that `dxt-analyze convert` made",
            Self::Recovery => " and is no trace that `dxt-analyze recover` made",
            Self::Advice => " and was not written by `dxt-analyze advise`",
            Self::Never => "",
        }
    }
}

/// Whether all that is in the directory `path` is Parquet files of this program.
pub(crate) fn is_partition(path: &Path) -> bool {
    let is_real = std::fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    is_real
        && std::fs::read_dir(path).is_ok_and(|mut entries| {
            entries.all(|entry| entry.is_ok_and(|entry| is_table(&entry.path()).unwrap_or(false)))
        })
}

fn is_table(path: &Path) -> std::io::Result<bool> {
    let about = std::fs::symlink_metadata(path)?;
    if !about.is_file() {
        return Ok(false);
    }
    let file = input::open_no_link(path)?;
    let from = about.len().saturating_sub(LOOKED_AT as u64);
    let mut tail = vec![0; usize::try_from(about.len() - from).unwrap_or(LOOKED_AT)];
    file.read_exact_at(&mut tail, from)?;
    Ok(tail.ends_with(b"PAR1") && contains(&tail, CREATED_BY))
}

fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input::open_no_link(path)?.take(LOOKED_AT as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn is_trace(path: &Path, is_ours: impl FnOnce(&Trace<Bytes>) -> bool) -> bool {
    input::open_no_link(path).is_ok_and(|file| Trace::open(Bytes(file)).is_ok_and(|trace| is_ours(&trace)))
}
