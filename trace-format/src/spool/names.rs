//! The journal, put in order: what the ids of a spool mean.

use super::journal::{kind, read as journal};
use crate::error::Result;
use crate::meta::{CommunicatorDef, FileDef, Job, LayoutDef, Process, StreamDef, ThreadDef};
use crate::op::OpDef;
use std::collections::BTreeMap;

/// What a journal tells.
#[derive(Debug, Default)]
pub struct Names {
    /// The job block.
    pub job: Job,
    /// The process block: its description only.
    pub process: Process,
    /// Threads by index.
    pub threads: BTreeMap<u32, ThreadDef>,
    /// Files by number.
    pub files: BTreeMap<u32, FileDef>,
    /// Streams by id; their files are numbers of [`Self::files`].
    pub streams: BTreeMap<u32, StreamDef>,
    /// Layouts, as they were told.
    pub layouts: Vec<LayoutDef>,
    /// MPI's communicators by number.
    pub communicators: BTreeMap<u32, CommunicatorDef>,
    /// Texts of what may not be recorded.
    pub notes: Vec<String>,
}

impl Names {
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut all = Self::default();
        for (record, payload) in journal::records(bytes) {
            all.add(record, payload)?;
        }
        Ok(all)
    }

    /// The operation with this code.
    #[must_use]
    pub fn op(&self, code: u16) -> Option<&OpDef> {
        self.job.ops.iter().find(|op| op.code == code)
    }

    /// Fewest bytes of a read or write that stays a segment (`DXT_MIN_SIZE`); 0 if all do.
    #[must_use]
    pub fn least(&self) -> u64 {
        let set = self.job.settings.iter().find(|(name, _)| name == "DXT_MIN_SIZE");
        set.map_or(0, |(_, value)| bytes_of(value))
    }

    /// Adds what a record tells; the last one of a thing counts.
    fn add(&mut self, record: u32, payload: &[u8]) -> Result<()> {
        match record {
            kind::JOB => self.job = Job::decode(payload, 0)?,
            kind::PROCESS => self.process = Process::decode(payload, 0)?,
            kind::THREAD => {
                let def = journal::thread(payload);
                self.threads.insert(def.index, def);
            }
            kind::FILE => {
                let (number, def) = journal::file(payload);
                self.files.insert(number, def);
            }
            kind::STREAM => {
                let def = journal::stream(payload);
                self.streams.insert(def.id, def);
            }
            kind::LAYOUT => self.layouts.push(journal::layout(payload)),
            kind::COMMUNICATOR => {
                let def = journal::communicator(payload);
                self.communicators.insert(def.number, def);
            }
            kind::NOTES => self.notes = String::from_utf8_lossy(payload).lines().map(str::to_owned).collect(),
            _ => {}
        }
        Ok(())
    }

    /// Adds what stands in `bytes`, which begin at a record; returns how many of them need not be read again: those before the first
    /// record that somebody is still writing.
    ///
    /// # Errors
    /// [`crate::Error::Malformed`] if what the process said of itself makes no sense.
    pub(super) fn add_all(&mut self, bytes: &[u8]) -> Result<usize> {
        let (mut records, mut whole, mut at) = (journal::records(bytes), true, 0);
        while let Some((record, payload)) = records.next() {
            let end = bytes.len() - records.left();
            whole &= at + journal::length(payload) == end;
            at = if whole { end } else { at };
            self.add(record, payload)?;
        }
        Ok(at)
    }
}

/// A size as the tracer's settings have it: bytes, or with `K`, `M`, `G`, `T`.
fn bytes_of(text: &str) -> u64 {
    let (digits, unit) = text.trim().split_at(text.trim().trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let shift = match unit.trim().as_bytes().first().map(u8::to_ascii_uppercase) {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        Some(b'T') => 40,
        _ => 0,
    };
    digits.parse::<u64>().map_or(0, |number| number.saturating_mul(1 << shift))
}
