//! Whose calls they are, and what they do: what the ids of a spool mean, looked up once for each process and stream.

use super::mounts::Mounts;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use trace_format::meta::stream_flags;
use trace_format::op::{Layer, OpClass};
use trace_format::spool::{Head, Names};

/// Longest name of a job, node or operation; and of a file, in bytes, as long as a path can be.
const MOST_NAME: usize = 128;
const MOST_PATH: usize = 4096;

/// What files are called whose paths are not known.
pub const OTHER_FILES: &str = "<other files>";

/// A text, or its beginning if it is longer than what it should be could be.
pub(super) fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// A process that is watched, as far as it has told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Key of its job: processes with the same one belong together.
    pub job: String,
    /// Number of the job: see [`job_number`].
    pub job_id: u64,
    /// Node.
    pub node: String,
    /// Rank, or -1.
    pub rank: i32,
    /// Process id.
    pub pid: u32,
    /// User id.
    pub uid: u32,
    /// Path of its program.
    pub exe: String,
    /// When it started, in clock ticks since boot: tells it from a later one of the same number.
    pub started: u64,
    /// Which spool of the process it is.
    pub spool: u64,
    /// Its time zero, wall clock, in ns since 1970-01-01 UTC.
    pub epoch_unix_ns: i64,
    /// When its job started, the same.
    pub job_start_unix_ns: i64,
}

impl Process {
    /// What a spool says of its owner; `name` is the spool's file.
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

    /// Its name for people: `rank 3`, or `pid 77` outside of MPI.
    #[must_use]
    pub fn label(&self) -> String {
        if self.rank >= 0 { format!("rank {}", self.rank) } else { format!("pid {}", self.pid) }
    }
}

/// Number of a job: its key, if that is one (`DXT_JOB_ID=12`), or that of its scheduler; else, as the tracer's keys have it
/// (`host.PID.TIME`), the process id of what started its ranks, which they share. `None` if there is none.
fn job_number(key: &str, scheduler: &str) -> Option<u64> {
    let starter = || key.rsplit('.').nth(1)?.parse().ok();
    key.parse().ok().or_else(|| scheduler_number(scheduler)).or_else(starter).filter(|number| *number > 0)
}

/// The number in what a tracer noted of the scheduler, `SLURM_JOB_ID=12.0` or LoadLeveler's `LOADL_STEP_ID=host.12.0`.
fn scheduler_number(scheduler: &str) -> Option<u64> {
    let value = scheduler.rsplit('=').next().unwrap_or_default();
    let digits: String = value.chars().take_while(char::is_ascii_digit).collect();
    let mut behind = value.rsplit('.');
    let steps = (behind.next().and_then(|step| step.parse::<u64>().ok()), behind.next());
    match steps {
        // Behind the name of a node, which may begin with a digit.
        (Some(_), Some(number)) if scheduler.starts_with("LOAD") => number.parse().ok(),
        _ => digits.parse().ok(),
    }
}

/// What a stream's calls do, and to which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Interface.
    pub layer: Layer,
    /// Kind of work.
    pub class: OpClass,
    /// Operation.
    pub op: String,
    /// Path of the file; of MPI's collective calls, none.
    pub file: Arc<str>,
    /// Number of the file in its process.
    pub file_number: u32,
    /// The data set inside the file that they are about, if they are about one; empty if it has no path.
    pub data_set: Option<Arc<str>>,
    /// Darshan's record id of the path, as `export --to darshan` makes it, or of the data set ([`Self::record`]).
    pub record_id: u64,
    /// Mount point and type of its file system.
    pub file_system: Arc<str>,
    /// The error that the calls failed with; 0 for those that succeeded.
    pub errno: u16,
    /// Made inside a call of MPI-IO: what the program called is another segment.
    pub nested: bool,
}

impl Target {
    /// What the stream `id` stands for; `None` if the journal does not say.
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

    /// What Darshan calls its record: the file, or the file and the data set.
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
