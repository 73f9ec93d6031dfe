//! Job region: user, command line, times, number of processes, metadata, and the mount table.

use crate::bytes::{Endian, Text, until_nul};
use crate::header::Version;
use crate::mounts::{Mount, Mounts};

pub(crate) const METADATA_BYTES: usize = 1024;

/// Job description in a log: user, command line, times, number of processes, metadata.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Job {
    /// User id of the job's owner.
    pub uid: i64,
    /// Start time of the job, in seconds since 1970-01-01 UTC.
    pub start_sec: i64,
    /// Nanosecond part of the job's start time; 0 before format 3.41.
    pub start_nsec: i64,
    /// End time of the job, in seconds since 1970-01-01 UTC.
    pub end_sec: i64,
    /// Nanosecond part of the job's end time; 0 before format 3.41.
    pub end_nsec: i64,
    /// Number of processes of the job.
    pub nprocs: i64,
    /// Job id of the scheduler; a process id without a scheduler.
    pub jobid: i64,
    /// Run time in seconds, computed as by Darshan: before format 3.41, the difference of times in whole seconds plus one second.
    pub run_time: f64,
    /// Command line; ends in `<TRUNCATED>` if too long for the log.
    pub exe: Text,
    /// Metadata as (key, value), in the order of the log.
    pub metadata: Vec<(Text, Text)>,
}

impl Job {
    /// Returns the metadata value of `key`, such as `lib_ver`, the release of the Darshan runtime that wrote the log.
    #[must_use]
    pub fn metadata(&self, key: &str) -> Option<&Text> {
        self.metadata.iter().find(|(name, _)| name.as_bytes() == key.as_bytes()).map(|(_, value)| value)
    }

    /// Returns the number of bytes before the text that ends the job region.
    pub(crate) fn fixed_bytes(version: Version) -> usize {
        METADATA_BYTES + 8 * fields(version)
    }

    /// Decodes a job region of at least [`Self::fixed_bytes`] bytes; returns the job and the mount table.
    pub(crate) fn decode(bytes: &[u8], version: Version, endian: Endian) -> (Self, Mounts) {
        let field = |index: usize| endian.i64(bytes.get(index * 8..).unwrap_or_default());
        let metadata_at = 8 * fields(version);
        let metadata = bytes.get(metadata_at..metadata_at + METADATA_BYTES).unwrap_or_default();
        let text = until_nul(bytes.get(metadata_at + METADATA_BYTES..).unwrap_or_default());
        let (exe, mounts) = text_lines(text);
        let mut job = Self { uid: field(0), exe, metadata: metadata_lines(metadata), ..Self::default() };
        let seconds;
        if version >= Version::V3_41 {
            (job.start_sec, job.start_nsec, job.end_sec, job.end_nsec) = (field(1), field(2), field(3), field(4));
            (job.nprocs, job.jobid) = (field(5), field(6));
            let at = |sec: i64, nsec: i64| sec as f64 + nsec as f64 / 1e9;
            seconds = at(job.end_sec, job.end_nsec) - at(job.start_sec, job.start_nsec);
        } else {
            (job.start_sec, job.end_sec, job.nprocs, job.jobid) = (field(1), field(2), field(3), field(4));
            seconds = job.end_sec.wrapping_sub(job.start_sec).wrapping_add(1) as f64;
        }
        job.run_time = seconds;
        (job, mounts)
    }
}

/// Returns the number of integers at the start of the job region. Before format 3.41, start and end had no nanosecond part.
fn fields(version: Version) -> usize {
    if version >= Version::V3_41 { 7 } else { 5 }
}

/// Parses metadata lines of the form `key=value`; values may contain `=`.
fn metadata_lines(bytes: &[u8]) -> Vec<(Text, Text)> {
    let mut lines = Vec::new();
    for line in until_nul(bytes).split(|&byte| byte == b'\n') {
        if let Some(equals) = line.iter().position(|&byte| byte == b'=') {
            lines.push((line[..equals].into(), line[equals + 1..].into()));
        }
    }
    lines
}

/// Parses the command line and the lines after it, each of which has a file system type and a mount point.
fn text_lines(text: &[u8]) -> (Text, Mounts) {
    let mut lines = text.split(|&byte| byte == b'\n');
    let exe = lines.next().unwrap_or_default().into();
    let mut mounts = Vec::new();
    for line in lines {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        if let (Some(fs_type), Some(point)) = (words.next(), words.next()) {
            mounts.push(Mount { point: point.into(), fs_type: fs_type.into() });
        }
    }
    (exe, Mounts::new(mounts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_split_at_the_first_equals_sign() {
        let lines = metadata_lines(b"lib_ver=3.5.0\nh=romio_no_indep_rw=true;cb_nodes=4\nnothing\n\0left=over\n");
        assert_eq!(
            lines,
            [("lib_ver".into(), "3.5.0".into()), ("h".into(), "romio_no_indep_rw=true;cb_nodes=4".into())]
        );
    }

    #[test]
    fn the_first_line_is_the_command_and_the_others_are_mounts() {
        let (exe, mounts) = text_lines(b"./app -n 4\next4\t/\nlustre\t/scratch\nnonsense");
        assert_eq!(exe.to_str(), "./app -n 4");
        let points: Vec<_> = mounts.iter().map(|mount| mount.point.to_str().into_owned()).collect();
        assert_eq!(points, ["/scratch", "/"]);
    }

    #[test]
    fn an_absurd_clock_is_no_panic() {
        let bytes = [0x80; 1100];
        let (job, _) = Job::decode(&bytes, Version::V3_21, Endian::Little);
        assert!(job.run_time.is_finite());
    }
}
