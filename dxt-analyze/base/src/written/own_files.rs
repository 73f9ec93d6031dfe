//! Recognition of files that an earlier run of this program wrote for the same purpose. Converted and recovered traces are recognized by the
//! origin recorded in them, because a trace written by the tracer must never be replaced.

use crate::input::{self, Bytes};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use trace_format::read::Trace;
use trace_format::spool::ENDED_BY;

/// Text in the head of a report page by which such pages are recognized.
const GENERATOR: &str = r#"<meta name="generator" content="dxt-analyze"#;
/// Prefix of the tracer's name in traces that were converted from Darshan logs.
const CONVERTED: &str = "Darshan log ";
/// Prefix of the writer's name in the footer of this program's Parquet files.
const CREATED_BY: &[u8] = b"dxt-analyze ";
/// Text in the first lines of files that `advise` writes.
pub const ADVICE: &str = "Written by dxt-analyze advise, which replaces it; README.txt says what each line is for.";
/// Number of bytes searched at the start of a page and at the end of a Parquet file.
const LOOKED_AT: usize = 4096;

/// Type of existing files, written by an earlier run of this program, that may be replaced without `--force`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    /// HTML page written by the command `report`.
    Page,
    /// Trace written by the command `convert`.
    Conversion,
    /// Trace written by the command `recover`.
    Recovery,
    /// File written by the command `advise`.
    Advice,
    /// Output for which no existing file is replaced, not even an empty one.
    Never,
}

impl Ours {
    /// True if the regular file `path` was written by this program for this purpose; false if the file cannot be read.
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

    /// True if `path` is a file that this program wrote for this purpose, and not a link.
    pub fn stands_at(self, path: &Path) -> bool {
        std::fs::symlink_metadata(path).is_ok_and(|about| about.is_file()) && self.recognises(path)
    }

    /// Returns the reason why an existing file is not replaced, as the end of a sentence.
    pub(super) fn otherwise(self) -> &'static str {
        match self {
            Self::Page => " and is not a page of `dxt-analyze report`",
            Self::Conversion => " and is not a trace made by `dxt-analyze convert`",
            Self::Recovery => " and is not a trace made by `dxt-analyze recover`",
            Self::Advice => " and was not written by `dxt-analyze advise`",
            Self::Never => "",
        }
    }
}

/// True if `path` is a directory that contains only Parquet files written by this program.
pub fn is_partition(path: &Path) -> bool {
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
