//! Where jobs are in a corpus that grows, and where one that is read belongs.

use super::sources::{Entry, Source};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::PathBuf;

/// By what a job is known from one run to the next, if files of it are there in both.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// The user whose traces these are, and their key. Different jobs can have one: anything can be in `DXT_JOB_ID`.
    Traces(u32, String),
    /// A Darshan log.
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

/// A job that the corpus has: its key, the day it is with, and what it was read from.
#[derive(Debug)]
struct KnownJob {
    job: String,
    day: String,
    sources: Vec<Source>,
}

/// Where jobs are in the corpus.
#[derive(Debug, Default)]
pub(super) struct Places {
    jobs: FxHashMap<Identity, Vec<KnownJob>>,
    /// Keys in the tables.
    taken: FxHashSet<String>,
    /// How many have been added.
    new: usize,
}

impl Places {
    /// A job that is in the corpus.
    pub(super) fn add(&mut self, entry: Entry, day: String) {
        let identity = Identity::of(entry.key.as_deref(), &entry.sources);
        self.taken.insert(entry.job.clone());
        let place = KnownJob { job: entry.job, day, sources: entry.sources };
        self.jobs.entry(identity).or_default().push(place);
    }

    /// How many jobs there are.
    pub(super) fn count(&self) -> usize {
        self.jobs.values().map(Vec::len).sum()
    }

    /// How many have been added by [`Self::of`].
    pub(super) fn new_jobs(&self) -> usize {
        self.new
    }

    /// The key in the tables and the day of a job that was read from `sources`: those that it had, if it was read from one of them, or new
    /// ones.
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
