//! Keys and day directories of the jobs in an incremental corpus, and the choice of both for a newly read job.

use super::sources::{Entry, Source};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::PathBuf;

/// Identity by which a later run recognizes a job, if both runs read at least one common file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// Job of traces: user id of the owner, and key in the traces. Different jobs can share both, since `DXT_JOB_ID` is arbitrary.
    Traces(u32, String),
    /// Job of a Darshan log: path of the log.
    Log(PathBuf),
}

impl Identity {
    fn of(key: Option<&str>, sources: &[Source]) -> Self {
        let first = sources.first();
        match key {
            Some(key) => Self::Traces(first.map_or(0, |one| one.owner), key.to_owned()),
            None => Self::Log(first.map(|one| one.path.clone()).unwrap_or_default()),
        }
    }
}

/// Job that is already in the corpus: key, day directory, and source files.
#[derive(Debug)]
struct KnownJob {
    job: String,
    day: String,
    sources: Vec<Source>,
}

#[derive(Debug, Default)]
pub(super) struct Places {
    jobs: FxHashMap<Identity, Vec<KnownJob>>,
    /// Job keys that rows in the corpus's tables already use.
    taken: FxHashSet<String>,
    new: usize,
}

impl Places {
    /// Adds a job that is already in the corpus, in the directory `day`.
    pub(super) fn add(&mut self, entry: Entry, day: String) {
        let identity = Identity::of(entry.key.as_deref(), &entry.sources);
        self.taken.insert(entry.job.clone());
        let place = KnownJob { job: entry.job, day, sources: entry.sources };
        self.jobs.entry(identity).or_default().push(place);
    }

    pub(super) fn count(&self) -> usize {
        self.jobs.values().map(Vec::len).sum()
    }

    /// Returns the number of new jobs for which [`Self::of`] chose a key and a day.
    pub(super) fn new_jobs(&self) -> usize {
        self.new
    }

    /// Returns the key and day directory of a job read from `sources`: the existing ones if the job was read from one of these files
    /// before, else new ones.
    pub(super) fn of(
        &mut self,
        key: Option<&str>,
        sources: &[Source],
        wanted: &str,
        start_ns: i64,
    ) -> (String, String) {
        let there = self.jobs.entry(Identity::of(key, sources)).or_default();
        let is_left = |place: &&KnownJob| place.sources.iter().any(|old| sources.iter().any(|now| now.is(old)));
        if let Some(found) = there.iter().find(is_left) {
            return (found.job.clone(), found.day.clone());
        }
        let numbered = (2_u64..).map(|number| format!("{wanted}~{number}"));
        let free = std::iter::once(wanted.to_owned()).chain(numbered).find(|job| !self.taken.contains(job));
        let job = free.unwrap_or_else(|| wanted.to_owned());
        let start = jiff::Timestamp::from_nanosecond(i128::from(start_ns)).unwrap_or_default();
        let day = format!("day={}", start.strftime("%Y-%m-%d"));
        there.push(KnownJob { job: job.clone(), day: day.clone(), sources: sources.to_vec() });
        self.taken.insert(job.clone());
        self.new += 1;
        (job, day)
    }
}
