//! Detects the type of files that are neither trace nor log, and gives advice. Users may name spools (files of unfinished traces),
//! archives, or pointer files (Git LFS) that stand for data which a clone did not fetch.

use std::io::Read as _;
use std::path::Path;

/// Bytes read from the beginning of a file: enough for the magic of a tar archive.
const HEAD_BYTES: u64 = 512;

/// Known file types: magic bytes, description, advice.
const KINDS: [(&[u8], &str, &str); 20] = [
    (
        b"version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS to data that was not fetched",
        "run `git lfs pull`",
    ),
    (b"/annex/objects/", "a pointer of git-annex to data that was not fetched", "run `git annex get`"),
    (
        &trace_format::spool::MAGIC.to_le_bytes(),
        "a spool of a process that was killed or still runs",
        "run `dxt-analyze recover` on it",
    ),
    (b"\x1f\x8b", "compressed by gzip", "unpack it (`gunzip`) and name what is inside"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it (`unzstd`) and name what is inside"),
    (b"\xfd7zXZ\0", "compressed by xz", "unpack it (`unxz`) and name what is inside"),
    (b"BZh", "compressed by bzip2", "unpack it (`bunzip2`) and name what is inside"),
    (b"PK\x03\x04", "a zip archive", "unpack it and name a trace"),
    (b"PAR1", "a Parquet file", "name the trace that it was made of"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "name the trace of the program that used it"),
    (b"CDF", "a NetCDF file", "name the trace of the program that used it"),
    (b"\x7fELF", "a program or library", "trace it with `dxt-run` first"),
    (b"#!", "a script", "trace it with `dxt-run` first"),
    (b"SQLite format 3\0", "an SQLite database", "name a trace or a Darshan log"),
    (b"\x89PNG", "a picture", "name a trace or a Darshan log"),
    (b"%PDF", "a PDF document", "name a trace or a Darshan log"),
    (b"<!DOCTYPE", "an HTML page, as `report` writes", "name the trace that it was made of"),
    (b"<!doctype", "an HTML page, as `report` writes", "name the trace that it was made of"),
    (b"<html", "an HTML page", "name the trace that it was made of"),
    (b"{", "JSON", "name the trace that it was made of"),
];

/// Describes the type of the file at `path` in a sentence with advice; `None` if the file can no longer be read.
pub(super) fn looks_like(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    let mut file = crate::input::open(path).ok()?;
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let (what, help) = kind(&head);
    Some(format!("it is {what}: {help}"))
}

/// Describes the file at `path` as [`looks_like`] does; `None` for an unknown type, because the original error says more about a damaged trace.
pub(super) fn is_like(path: &Path) -> Option<String> {
    looks_like(path).filter(|what| !what.contains(UNKNOWN))
}

const UNKNOWN: &str = "a file of unknown type";

fn kind(head: &[u8]) -> (&'static str, &'static str) {
    const OTHER: &str = "name a trace (*.dxt) or a Darshan log";
    if head.is_empty() {
        return ("empty", "the program that wrote it may have been stopped, or its disk was full");
    }
    if let Some((_, what, help)) = KINDS.iter().find(|(first, ..)| head.starts_with(first)) {
        return (what, help);
    }
    // Position of the magic of a tar archive: POSIX pax(1).
    if head.get(257..262) == Some(b"ustar") {
        return ("a tar archive", "unpack it and name a trace");
    }
    if head.iter().all(|&byte| byte == 0) {
        return ("all zeros", "its data never reached the disk, or its copy was not finished");
    }
    let is_text =
        |bytes: &[u8]| bytes.iter().all(|&byte| byte >= b' ' || matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c | 0x1b));
    // The last UTF-8 character may be cut off.
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
    };
    if valid && is_text(head) {
        return if head.starts_with(b"# darshan log version") {
            ("text that darshan-parser printed", "name the log itself")
        } else {
            ("text", OTHER)
        };
    }
    (UNKNOWN, OTHER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_distinguished() {
        let mut tar = vec![b'x'; 300];
        tar[257..262].copy_from_slice(b"ustar");
        let files: [(&[u8], &str); 10] = [
            (b"", "empty"),
            (b"hello\n", "text"),
            ("gr\u{fc}n".as_bytes(), "text"),
            (b"gr\xc3", "text"),
            (b"\x1f\x8b\x08", "compressed by gzip"),
            (b"version https://git-lfs.github.com/spec/v1\noid", "a pointer of Git LFS to data that was not fetched"),
            (&tar, "a tar archive"),
            (&[0; 64], "all zeros"),
            (b"\x01\x02\xff", "a file of unknown type"),
            (b"# darshan log version: 3.41\n", "text that darshan-parser printed"),
        ];
        for (head, expected) in files {
            assert_eq!(kind(head).0, expected, "{head:?}");
        }
    }
}
