//! Reader of one watched spool (file with recorded calls), whose file stays open so that it can be read after it is unlinked.

use super::about::{Process, Target, cut};
use super::event::{Event, Key};
use super::interval::{Group, Open};
use super::mounts::Mounts;
use super::records::{DataSets, Records};
use super::tally::{Files, Tally};
use super::watch::{Found, Share};
use anyhow::Result;
use dxt_base::spools::files::{self, Bytes, Identity, Owned, is_spill_of, own_user};
use dxt_base::spools::{clock, owner};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use trace_format::counters::Counters;
use trace_format::meta::Note;
use trace_format::op::{Layer, OpClass};
use trace_format::segment::NO_OFFSET;
use trace_format::spool::follow::{Follower, Seen, Shown};
use trace_format::spool::journal::DataSetStream;
use trace_format::spool::{Head, spill_name};

/// Maximum number of call records (segments) read per poll of one spool.
const MOST: usize = 1 << 16;
/// Maximum number of files of one process whose paths are remembered; beyond it, files without a known stream (calls of one operation on
/// the file) are dropped.
const MOST_PATHS: usize = 1 << 16;
/// Maximum number of streams (calls of one operation on one file) whose operation and file are remembered, per process.
const MOST_STREAMS: usize = 1 << 15;
/// Maximum total length, in bytes, of the paths of files and data sets remembered for call streams.
const MOST_NAMES: usize = 4 << 20;
/// Estimated memory per file or HDF5 data set in [`Records`], in bytes.
const RECORD_BYTES: usize = 300;
/// Minimum of the estimated memory for a spool's reader, in bytes.
const LEAST_BYTES: usize = 4096;
/// Time after which a file whose spool header is still incomplete is abandoned.
const MOST_UNFINISHED: Duration = Duration::from_secs(60);
/// Maximum length, in characters, of a text with which a tracer describes calls or events that it did not record.
const MOST_WORDS: usize = 200;

/// Reading progress in one spool (file with recorded calls), saved so that a later agent can resume there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    shown: Shown,
    /// Counter values that the sums already include, by call stream (one operation on one file).
    counted: BTreeMap<u32, Counters>,
    /// Totals over the process's calls so far, by file and I/O interface.
    records: Records,
    /// Totals over the process's calls so far, by HDF5 data set.
    #[serde(default)]
    data_sets: DataSets,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Runs,
    /// The process has ended, or its trace was written. The spool (file with recorded calls) is polled once more, since other threads may
    /// still withdraw their last calls.
    Ending,
    Ended,
}

/// Properties of a call stream, which is all calls of one operation on one file by a process.
struct Known {
    target: Arc<Target>,
    group: usize,
    data_set: Option<DataSetStream>,
    /// True if the calls are I/O that the program itself makes: neither MPI collective calls nor inside MPI-IO.
    is_io: bool,
}

/// Inputs and outputs of one poll of a spool (file with recorded calls).
pub struct Wanted<'a> {
    /// Sums of the intervals that are not complete yet; new calls are added to them.
    pub open: &'a mut Open,
    /// List to which events are appended; `None` if no destination wants events of single calls.
    pub events: Option<&'a mut Vec<Event>>,
    /// Sampling period: one of `sample` calls becomes an event, besides all opens and closes.
    pub sample: u32,
    /// Number of consecutive ranks whose calls are summed together.
    pub group_ranks: u32,
    /// True to deliver MPI collective calls besides I/O calls.
    pub with_mpi: bool,
    /// Table of mounted file systems, for the lookup of a path's file system.
    pub mounts: &'a Mounts,
    /// Current time, in ns since 1970-01-01 UTC.
    pub now_unix_ns: i64,
    /// Sums over calls by file, of all processes; new calls are added to them.
    pub files: &'a mut Files,
    /// Wanted process ids and jobs; an empty list means all.
    pub only: (&'a [u32], &'a [String]),
}

/// Watched spool (file in which the tracer stores a process's calls), with the state of its reader.
pub struct Held {
    path: PathBuf,
    file: Bytes,
    owner: u32,
    identity: Identity,
    since: Instant,
    /// Reservations of file descriptors, within this process's limit, for the spool and its spill (file with compressed calls).
    shares: Vec<Share>,
    spill: Option<Bytes>,
    follower: Follower,
    process: Arc<Process>,
    streams: BTreeMap<u32, Known>,
    name_bytes: usize,
    counted: BTreeMap<u32, Counters>,
    records: Records,
    data_sets: DataSets,
    life: Life,
    to_sample: u32,
    seen: Vec<Seen>,
    /// Totals over the process's calls: [since the agent started, since the latest interval ended].
    pub tallies: [Tally; 2],
    /// Data that the tracer did not record, as noted in the spool's header.
    pub left_out: Vec<Note>,
    /// Generation of the group numbers in `streams` (the groups in which calls are summed): they are invalid once [`Open::forgotten`]
    /// returns another value.
    groups_of: u64,
    /// Number of files whose paths were dropped to save memory.
    pub forgotten: u64,
    /// Polling round of the agent in which this spool was last read.
    pub round: u64,
}

impl Held {
    /// Creates the reader of a newly found spool (file with recorded calls). `kept` is an earlier agent's reading progress, or the default
    /// for a new spool.
    #[must_use]
    pub fn new(found: Found, kept: Kept) -> Self {
        let Owned { file, owner } = found.file;
        Self {
            identity: file.metadata().map_or((0, 0), |about| files::identity(&about)),
            since: Instant::now(),
            shares: found.share.into_iter().collect(),
            path: found.path,
            file: Bytes(file),
            owner,
            spill: None,
            follower: Follower::new(kept.shown),
            process: Arc::default(),
            streams: BTreeMap::new(),
            name_bytes: 0,
            counted: kept.counted,
            records: kept.records,
            data_sets: kept.data_sets,
            life: Life::Runs,
            to_sample: 0,
            seen: Vec::new(),
            tallies: [Tally::default(); 2],
            left_out: Vec::new(),
            groups_of: 0,
            forgotten: 0,
            round: 0,
        }
    }

    /// Replaces the reading progress by that of an earlier agent.
    #[must_use]
    pub fn with(self, kept: Kept) -> Self {
        let Kept { shown, counted, records, data_sets } = kept;
        Self { follower: Follower::new(shown), counted, records, data_sets, ..self }
    }

    /// Gives up the spool as unreadable; it then counts as ended.
    pub fn give_up(&mut self) {
        self.life = Life::Ended;
    }

    /// Returns the device and inode numbers of the spool file.
    pub(super) const fn identity(&self) -> Identity {
        self.identity
    }

    /// Returns the user id of the spool file's owner, the only user who can have written to it.
    #[must_use]
    pub const fn owner(&self) -> u32 {
        self.owner
    }

    /// Returns the estimated memory used for this spool, in bytes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let of_calls = (self.records.len() + self.data_sets.len()) * RECORD_BYTES;
        let of_streams = self.streams.len() * (size_of::<Known>() + size_of::<Target>());
        LEAST_BYTES + self.follower.weight() + of_calls + of_streams + self.name_bytes
    }

    /// Drops the paths and totals of files for which no call stream (operation on the file) is known.
    pub fn forget_paths(&mut self) {
        let used: BTreeSet<u32> = self.streams.values().map(|known| known.target.file_number).collect();
        self.forgotten += self.follower.forget_paths(&used);
        self.records.forget(&used);
    }

    /// Returns the spool's key in a saved state: device, inode (may be reused) and file name (names the process).
    #[must_use]
    pub fn key(&self) -> String {
        let (device, inode) = self.identity();
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("{device}:{inode}:{name}")
    }

    /// Returns the path at which the spool was found.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the properties of the process that writes the spool, as reported by the spool so far.
    #[must_use]
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// True if the spool (file with recorded calls) will receive no more data.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.life == Life::Ended
    }

    /// True if the process is gone but its spool (file with recorded calls) remains: it was killed before the agent saw the spool.
    #[must_use]
    pub fn is_left_behind(&self) -> bool {
        let head = Head::read(&self.file);
        // A spool that is being created has no owner process yet.
        matches!(&head, Ok(Some(head)) if !owner::is_of_this_boot(head) || !owner::is_running(head))
    }

    /// Returns the reading progress for the agent's state file.
    #[must_use]
    pub fn kept(&self) -> Kept {
        Kept {
            shown: self.follower.shown().clone(),
            counted: self.counted.clone(),
            records: self.records.clone(),
            data_sets: self.data_sets.clone(),
        }
    }

    /// Returns the low-level reader of the spool, which also counts gaps in the data.
    #[must_use]
    pub const fn follower(&self) -> &Follower {
        &self.follower
    }

    /// Reads the spool's new data. Returns true if unread data remains.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not a spool.
    pub fn look(&mut self, wanted: &mut Wanted<'_>) -> Result<bool> {
        let Some(head) = Head::read(&self.file)? else {
            // The creator of an incomplete header is unknown, so a file whose header stays incomplete is abandoned.
            let unlinked = self.file.0.metadata().is_ok_and(|about| about.nlink() == 0);
            if unlinked || self.since.elapsed() > MOST_UNFINISHED {
                self.life = Life::Ended;
            }
            return Ok(false);
        };
        let last = self.life == Life::Ending;
        let here = owner::is_of_this_boot(&head);
        let now = clock::now(&head).filter(|_| here);
        let look = self.follower.look(&self.file, self.spill.as_ref(), now, last, MOST)?;
        self.left_out = self.follower.notes(&head);
        for note in &mut self.left_out {
            note.what = cut(&note.what, MOST_WORDS);
        }
        if self.follower.paths() > MOST_PATHS {
            self.forget_paths();
        }
        if wanted.open.forgotten() != std::mem::replace(&mut self.groups_of, wanted.open.forgotten()) {
            self.forget_streams();
        }
        self.describe(&head);
        if !self.is_wanted(wanted.only) {
            self.life = Life::Ended;
            return Ok(false);
        }
        self.seen = look.segments;
        // A spool interleaves threads and buffers; the code below needs calls in order of their return.
        self.seen.sort_by_key(|seen| seen.segment.end);
        for seen in std::mem::take(&mut self.seen) {
            self.take(&seen, wanted);
        }
        self.take_counted(wanted);
        if look.more {
            return Ok(true);
        }
        let unlinked = self.file.0.metadata().is_ok_and(|about| about.nlink() == 0);
        self.life = match self.life {
            Life::Runs if unlinked || !here || !owner::is_running(&head) => Life::Ending,
            Life::Runs => Life::Runs,
            Life::Ending | Life::Ended => Life::Ended,
        };
        Ok(false)
    }

    fn is_wanted(&self, (pids, jobs): (&[u32], &[String])) -> bool {
        let of_job = |job: &String| *job == self.process.job || *job == self.process.job_id.to_string();
        (pids.is_empty() || pids.contains(&self.process.pid)) && (jobs.is_empty() || jobs.iter().any(of_job))
    }

    /// Accepts `spill` if it is this spool's spill (file to which the process moves compressed calls).
    ///
    /// # Errors
    /// Returns `spill` if it belongs to another spool, or if this spool already has a spill.
    pub fn offer(&mut self, spill: Found) -> Result<(), Found> {
        let name = self.path.file_name().and_then(|name| name.to_str()).and_then(spill_name);
        let is_its = name.is_some_and(|name| self.path.with_file_name(name) == spill.path);
        let head = || Head::read(&self.file).ok().flatten();
        let is_own = |about: &std::fs::Metadata| is_spill_of(about, self.owner, head);
        if !is_its || self.spill.is_some() || !spill.file.file.metadata().is_ok_and(|about| is_own(&about)) {
            return Err(spill);
        }
        self.spill = Some(Bytes(spill.file.file));
        self.shares.extend(spill.share);
        Ok(())
    }

    /// Updates the process's description from the spool header, since the process may have reported more, above all its rank.
    fn describe(&mut self, head: &Head) {
        let process = Process::of(head, self.follower.names(), &self.path);
        if *self.process != process {
            self.process = Arc::new(process);
            self.forget_streams();
        }
    }

    fn forget_streams(&mut self) {
        self.streams.clear();
        self.name_bytes = 0;
    }

    /// Returns the properties of call stream `stream`, decoded on first use; `None` if its calls are not wanted.
    fn known(&mut self, stream: u32, wanted: &mut Wanted<'_>) -> Option<&Known> {
        if !self.streams.contains_key(&stream) {
            let target = Target::of(stream, self.follower.names(), wanted.mounts)?;
            let group = Group::of(&self.process, &target, wanted.group_ranks);
            let group = wanted.open.number(group, self.owner, self.owner != own_user());
            let is_io = target.layer.is_io() && !target.nested;
            let data_set = self.follower.names().data_set_streams.get(&stream).copied();
            // Drops all known streams; streams still in use are added again on their next call.
            if self.streams.len() >= MOST_STREAMS || self.name_bytes > MOST_NAMES {
                self.forget_streams();
            }
            self.name_bytes += target.file.len() + target.data_set.as_ref().map_or(0, |set| set.len());
            self.streams.insert(stream, Known { target: Arc::new(target), group, data_set, is_io });
        }
        let known = self.streams.get(&stream)?;
        (wanted.with_mpi || known.target.layer != Layer::Mpi).then_some(known)
    }

    fn take(&mut self, seen: &Seen, wanted: &mut Wanted<'_>) {
        let segment = &seen.segment;
        let Some(known) = self.known(segment.stream().0, wanted) else { return };
        let (target, group, data_set, is_io) = (known.target.clone(), known.group, known.data_set, known.is_io);
        let unix_ns = |ns: u64| self.process.epoch_unix_ns.saturating_add_unsigned(ns);
        let (start_unix_ns, end_unix_ns) = (unix_ns(segment.start), unix_ns(segment.end));
        // Clamped to the current time, which no call can exceed: an interval in the future would never end and so stay in memory.
        let returned = end_unix_ns.min(wanted.now_unix_ns);
        if seen.is_counted {
            wanted.open.at(returned, group).know_counted(segment);
        } else {
            wanted.open.at(returned, group).add(segment);
            if is_io {
                let call = Tally::of(segment.length(), segment.end.saturating_sub(segment.start));
                self.tallies.iter_mut().for_each(|tally| tally.merge(&call));
                wanted.files.add(&target.file, &call);
            }
        }
        let Some(events) = wanted.events.as_deref_mut() else { return };
        let so_far = match data_set {
            Some(stream) => {
                let shape = self.follower.shape(stream.data_set, segment.end);
                self.data_sets.add(stream, shape, &target, segment)
            }
            None => self.records.add(&target, segment),
        };
        // Opens and closes are never sampled: they are few, and the only calls for which the connector's format has file names.
        let stands_for = if matches!(target.class, OpClass::Open | OpClass::Close) {
            1
        } else {
            self.to_sample += 1;
            if self.to_sample < wanted.sample {
                return;
            }
            std::mem::take(&mut self.to_sample)
        };
        events.push(Event {
            process: self.process.clone(),
            target,
            key: Key { thread: seen.thread, sequence: seen.sequence, slot: seen.slot },
            offset: segment.offset.max(NO_OFFSET),
            length: segment.length(),
            start_unix_ns,
            end_unix_ns,
            so_far,
            stands_for,
        });
    }

    /// Adds the growth of the counters of folded calls (counted without a record per call) to the current interval, since counters have no
    /// timestamps.
    fn take_counted(&mut self, wanted: &mut Wanted<'_>) {
        let new: Vec<(u32, Counters)> = self
            .follower
            .counted()
            .iter()
            .filter(|(stream, now)| self.counted.get(stream).is_none_or(|before| before.segments < now.segments))
            .map(|(stream, now)| (*stream, now.clone()))
            .collect();
        for (stream, now) in new {
            let before = self.counted.remove(&stream).unwrap_or_default();
            if let Some(known) = self.known(stream, wanted) {
                let (group, is_io, file) = (known.group, known.is_io, known.target.file.clone());
                wanted.open.at(wanted.now_unix_ns, group).add_counted(&before, &now);
                if is_io {
                    let more = Tally {
                        calls: now.segments.saturating_sub(before.segments),
                        bytes: now.bytes.saturating_sub(before.bytes),
                        time_ns: now.duration.saturating_sub(before.duration),
                        longest_ns: 0,
                    };
                    self.tallies.iter_mut().for_each(|tally| tally.merge(&more));
                    wanted.files.add(&file, &more);
                }
            }
            self.counted.insert(stream, now);
        }
    }
}
