//! Job region of a written log: numbers, metadata, command line and mounts.

use super::error::{Error, Result, check};
use crate::bytes::Text;
use crate::job::{Job, METADATA_BYTES};
use crate::mounts::Mount;

/// Maximum length of command line and mount table together, in bytes, excluding the final NUL.
const TEXT_BYTES: usize = 3015;
/// Suffix with which Darshan's runtime marks a truncated command line.
const CUT: &[u8] = b"<TRUNCATED>";

/// Encodes the job region; returns its bytes and the number of mounts omitted for lack of space.
pub(super) fn encode(job: &Job, mounts: &[Mount]) -> Result<(Vec<u8>, usize)> {
    let numbers = [job.uid, job.start_sec, job.start_nsec, job.end_sec, job.end_nsec, job.nprocs, job.jobid];
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let metadata_at = bytes.len();
    bytes.extend_from_slice(&metadata(job)?);
    bytes.resize(metadata_at + METADATA_BYTES, 0);
    let (text, left_out) = text(&job.exe, mounts)?;
    bytes.extend_from_slice(&text);
    bytes.push(0);
    Ok((bytes, left_out))
}

fn metadata(job: &Job) -> Result<Vec<u8>> {
    if job.metadata("lib_ver").is_none() {
        return Err(Error::NoLibraryVersion);
    }
    let mut lines = Vec::new();
    for (key, value) in &job.metadata {
        plain("a metadata key", key, b"\n\0=")?;
        plain("a metadata value", value, b"\n\0")?;
        for part in [key.as_bytes(), b"=", value.as_bytes(), b"\n"] {
            lines.extend_from_slice(part);
        }
    }
    check("the metadata", lines.len() as u64, METADATA_BYTES as u64 - 1)?;
    Ok(lines)
}

/// Encodes command line and mount table. As in the Darshan runtime, a long command line is truncated and mounts that do not fit are
/// omitted, but at least one mount is included.
fn text(exe: &Text, mounts: &[Mount]) -> Result<(Vec<u8>, usize)> {
    let mut lines = Vec::new();
    for mount in mounts {
        plain("a mount point", &mount.point, b" \t\n\r\x0b\x0c\0")?;
        plain("a file system type", &mount.fs_type, b" \t\n\r\x0b\x0c\0")?;
        lines.push([b"\n", mount.fs_type.as_bytes(), b"\t", mount.point.as_bytes()].concat());
    }
    let shortest = lines.iter().map(Vec::len).min().ok_or(Error::NoMount)?;
    check("a mount", shortest as u64, (TEXT_BYTES - CUT.len()) as u64)?;
    let mut text = command(exe.as_bytes(), TEXT_BYTES - shortest);
    let before = lines.len();
    lines.retain(|line| {
        let fits = text.len() + line.len() <= TEXT_BYTES;
        if fits {
            text.extend_from_slice(line);
        }
        fits
    });
    Ok((text, before - lines.len()))
}

/// Returns the command line truncated to `room` bytes. Bytes that would end the command line in the format are replaced by blanks.
fn command(exe: &[u8], room: usize) -> Vec<u8> {
    let blank = |&byte: &u8| if matches!(byte, b'\n' | 0) { b' ' } else { byte };
    let mut text: Vec<u8> = exe.iter().take(room + 1).map(blank).collect();
    if text.len() > room {
        text.truncate(room - CUT.len());
        text.extend_from_slice(CUT);
    }
    text
}

/// Fails if `text` is empty or contains one of the bytes in `bad`.
pub(super) fn plain(what: &'static str, text: &Text, bad: &[u8]) -> Result<()> {
    let error = |why| Err(Error::BadText { what, text: text.to_string(), why });
    if text.as_bytes().is_empty() {
        return error("the text is empty");
    }
    if text.as_bytes().iter().any(|byte| bad.contains(byte)) {
        return error("the text contains a byte that ends texts in a log");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(point: &str) -> Mount {
        Mount { point: point.into(), fs_type: "ext4".into() }
    }

    #[test]
    fn a_long_command_is_cut_and_leaves_room_for_a_mount() {
        let long = Text::from("x".repeat(5000).as_str());
        let (cut, left_out) = text(&long, &[mount("/a/long/one"), mount("/")]).expect("it fits");
        assert_eq!((cut.len(), left_out), (TEXT_BYTES, 1));
        assert!(cut.ends_with(b"<TRUNCATED>\next4\t/"));
        let (whole, left_out) = text(&Text::from("./app\n-x"), &[mount("/")]).expect("it fits");
        assert_eq!((whole.as_slice(), left_out), (&b"./app -x\next4\t/"[..], 0));
    }

    #[test]
    fn what_the_tools_cannot_do_without_is_asked_for() {
        let mut job = Job::default();
        assert!(matches!(encode(&job, &[mount("/")]), Err(Error::NoLibraryVersion)));
        job.metadata.push(("lib_ver".into(), "3.5.0".into()));
        assert!(matches!(encode(&job, &[]), Err(Error::NoMount)));
        assert!(matches!(encode(&job, &[mount("/a b")]), Err(Error::BadText { .. })));
        assert!(encode(&job, &[mount("/")]).is_ok());
        job.metadata.push(("key".into(), "x".repeat(1024).as_str().into()));
        assert!(matches!(encode(&job, &[mount("/")]), Err(Error::TooLong { length: 1043, limit: 1023, .. })));
    }
}
