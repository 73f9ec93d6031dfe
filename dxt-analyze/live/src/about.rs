//! Process, operation and file of calls, decoded from the ids in a spool (file with recorded calls) once per process and stream.

use super::mounts::Mounts;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use trace_format::meta::stream_flags;
use trace_format::op::{Layer, OpClass};
use trace_format::spool::{Head, Names};

/// Maximum length of the name of a job, node or operation, in characters; longer names are cut.
const MOST_NAME: usize = 128;
/// Maximum length of a path, in characters, as `PATH_MAX`; longer paths are cut.
const MOST_PATH: usize = 4096;

/// Path shown for files whose paths are unknown.
pub const OTHER_FILES: &str = "<other files>";

/// Returns the first `most` characters of a text, or the whole text if shorter.
pub(super) fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// Watched process, with the properties that its spool (file with recorded calls) has reported so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Key of the job, which all its processes have in common.
    pub job: String,
    /// Number of the job, from its key or its scheduler ([`job_number`]); if there is neither, the pid of this process.
    pub job_id: u64,
    /// Host name of the node that runs the process.
    pub node: String,
    /// MPI rank of the process; -1 without MPI.
    pub rank: i32,
    /// Process id of the watched process.
    pub pid: u32,
    /// Id of the user that runs the process.
    pub uid: u32,
    /// Path of the process's executable.
    pub exe: String,
    /// Start of the process, in clock ticks since boot; distinguishes processes that reuse a pid.
    pub started: u64,
    /// Number of the spool (file with recorded calls) among the spools of its process.
    pub spool: u64,
    /// Zero point of times in the spool's call records (segments), in ns since 1970-01-01 UTC.
    pub epoch_unix_ns: i64,
    /// Start of the job, in ns since 1970-01-01 UTC.
    pub job_start_unix_ns: i64,
}

impl Process {
    /// Describes the process that owns a spool. `name` is the path of the spool file.
    #[must_use]
    pub fn of(head: &Head, names: &Names, name: &Path) -> Self {
        let (job, info) = (&names.job.info, &names.process.info);
        let stem = name.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let number = stem.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
        let exe = if info.exe.is_empty() { &job.exe } else { &info.exe };
        Self {
            job: cut(&job.key, MOST_NAME),
            job_id: job_number(&job.key, &job.scheduler).unwrap_or_else(|| head.pid().into()),
            node: cut(&info.node, MOST_NAME),
            rank: info.rank,
            pid: head.pid(),
            uid: job.uid,
            exe: cut(&String::from_utf8_lossy(exe), MOST_PATH),
            started: head.started(),
            spool: number.unwrap_or(0),
            epoch_unix_ns: head.epoch_unix_ns(),
            job_start_unix_ns: job.start_unix_ns,
        }
    }

    /// Returns the process's display name: `rank 3`, or `pid 77` without MPI.
    #[must_use]
    pub fn label(&self) -> String {
        if self.rank >= 0 { format!("rank {}", self.rank) } else { format!("pid {}", self.pid) }
    }
}

/// Returns the number of a job, > 0: `key` if it is a number (`DXT_JOB_ID=12`), else the scheduler's number, else the pid of the ranks'
/// common parent, from the tracer's key `host.PID.TIME`. `None` if there is none.
fn job_number(key: &str, scheduler: &str) -> Option<u64> {
    let starter = || key.rsplit('.').nth(1)?.parse().ok();
    key.parse().ok().or_else(|| scheduler_number(scheduler)).or_else(starter).filter(|number| *number > 0)
}

/// Returns the job number in a scheduler's environment variable, as recorded by the tracer: `SLURM_JOB_ID=12.0`, or LoadLeveler's
/// `LOADL_STEP_ID=host.12.0`.
fn scheduler_number(scheduler: &str) -> Option<u64> {
    let value = scheduler.rsplit('=').next().unwrap_or_default();
    let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
    let mut behind = value.rsplit('.');
    let steps = (behind.next().and_then(|step| step.parse::<u64>().ok()), behind.next());
    match steps {
        // LoadLeveler: the number follows the node name, which may begin with a digit.
        (Some(_), Some(number)) if scheduler.starts_with("LOAD") => number.parse().ok(),
        _ => digits.parse().ok(),
    }
}

/// Operation and file of calls, shared by all calls of one operation on one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// I/O interface of the calls, e.g. POSIX or MPI-IO.
    pub layer: Layer,
    /// Class of the operation: read, write, open, close, ...
    pub class: OpClass,
    /// Name of the operation, e.g. `pwrite`.
    pub op: String,
    /// Path of the file; empty for MPI collective calls.
    pub file: Arc<str>,
    /// Number of the file among the files of its process.
    pub file_number: u32,
    /// Path of the HDF5 data set that the calls access, empty if unknown; `None` if they access no data set.
    pub data_set: Option<Arc<str>>,
    /// Darshan's record id: the hash of the name [`Self::record`], as in `export --to darshan`.
    pub record_id: u64,
    /// Mount point and type of the file system that contains the file.
    pub file_system: Arc<str>,
    /// `errno` of the calls if they failed; 0 for successful calls.
    pub errno: u16,
    /// True if the calls were made inside MPI-IO calls, which are recorded as well.
    pub nested: bool,
}

impl Target {
    /// Describes the operation and file of call stream `id`; `None` if the spool (file with recorded calls) does not describe the stream.
    #[must_use]
    pub fn of(id: u32, names: &Names, mounts: &Mounts) -> Option<Self> {
        let stream = names.streams.get(&id)?;
        let op = names.op(stream.op)?;
        let known = names.files.get(&stream.file);
        let path = known.and_then(|file| file.path.as_deref()).unwrap_or_default();
        let file: Arc<str> = match known {
            Some(file) if file.path.is_none() => OTHER_FILES.into(),
            _ => cut(&String::from_utf8_lossy(path), MOST_PATH).into(),
        };
        let set = names.data_set_streams.get(&id).and_then(|stream| names.data_sets.get(&stream.data_set));
        let record_id = match set {
            Some(set) => darshan_log::record_id(&[path, b":", &set.path].concat()),
            None => darshan_log::record_id(path),
        };
        Some(Self {
            layer: op.layer,
            class: op.class,
            op: cut(&op.name, MOST_NAME),
            file_number: stream.file,
            data_set: set.map(|set| cut(&String::from_utf8_lossy(&set.path), MOST_PATH).into()),
            record_id,
            file_system: mounts.of(&file),
            file,
            errno: if stream.flags & stream_flags::FAILED == 0 { 0 } else { stream.errno.max(1) },
            nested: stream.flags & stream_flags::NESTED != 0,
        })
    }

    /// Returns the name of the calls' Darshan record: `FILE` or `FILE:DATA_SET`.
    #[must_use]
    pub fn record(&self) -> Cow<'_, str> {
        match &self.data_set {
            Some(set) => format!("{}:{set}", self.file).into(),
            None => (&*self.file).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_numbers() {
        for (text, number) in [
            ("SLURM_JOB_ID=4711.0", 4711),
            ("PBS_JOBID=77.server", 77),
            ("LSB_JOBID=78", 78),
            ("JOB_ID=5", 5),
            ("LOADL_STEP_ID=n1.123.0", 123),
            ("LOADL_STEP_ID=3n.cluster.de.123.4", 123),
            ("LOAD_STEP_ID=123", 123),
            ("LOAD_STEP_ID=123.2", 123),
            ("FLUX_JOB_ID=\u{192}2abc", 0),
            ("", 0),
        ] {
            assert_eq!(job_number("", text).unwrap_or(0), number, "{text}");
            assert_eq!(job_number("12", text), Some(12), "what the user gives comes first");
        }
        assert_eq!(job_number("my-run", "PBS_JOBID=77.server"), Some(77));
        assert_eq!(job_number("node.with.dots.4321.998877", ""), Some(4321));
        assert_eq!(job_number("node.pmix.namespace", ""), None);
    }
}
