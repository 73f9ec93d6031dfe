//! Header of a spool (a process's recordings): owner process, clocks, and counts of events that were not recorded.

use super::parts::{i64_at, u32_at, u64_at};
use super::{HEADER_BYTES, MAGIC, MOST_NOTES, OLDEST_VERSION, VERSION, cut, folded, header};
use crate::columns::TickScale;
use crate::error::{Error, Result};
use crate::meta::{Note, Process};
use crate::read::Source;

/// Simultaneous readings of two clocks, from which the rate of one is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Reading of the clock with which the spool's times were read, in ticks.
    pub ticks: u64,
    /// Reading of CLOCK_MONOTONIC, in ns.
    pub monotonic_ns: u64,
}

/// Trace that the process was writing when its spool (a process's recordings) was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Path of the trace. If a file with that path existed already, the trace has a number before its extension.
    pub path: Vec<u8>,
    pid: u32,
    epoch_unix_ns: i64,
    end_ns: u64,
    /// Epoch of rank 0 if the trace is one file for all ranks, in ns since 1970-01-01 UTC.
    job_epoch: Option<i64>,
}

impl Cut {
    /// True if `trace`, read from a file that may be the trace described here, is complete and contains the process: either a region of the
    /// process itself, or the reduced record of the process's job (a region that stands for several ranks, recognized by its epoch), which
    /// may hold all files of the process. A trace of all ranks gets its final name only when it contains the regions of all ranks.
    pub fn is_in<S: Source>(&self, trace: &crate::read::Trace<S>) -> bool {
        let tells = |process: Process| {
            let info = process.info;
            let of_job = process.reduction.ranks > 0 && self.job_epoch == Some(info.epoch_unix_ns);
            of_job || (info.pid, info.epoch_unix_ns, info.end_ns) == (self.pid, self.epoch_unix_ns, self.end_ns)
        };
        trace.complete && trace.regions.iter().any(|region| trace.region(region).process.is_some_and(tells))
    }
}

/// Header of a spool (a process's recordings), as of the time of reading.
#[derive(Clone, Debug)]
pub struct Head(Vec<u8>);

impl Head {
    /// Reads the header; returns `None` if the owner process has not completed the creation of the spool.
    ///
    /// # Errors
    /// Returns [`Error::Malformed`] if `source` is not a spool or has a version unknown to this reader, [`Error::Truncated`] if the header
    /// is cut short, and [`Error::Io`] if reading fails.
    pub fn read<S: Source + ?Sized>(source: &S) -> Result<Option<Self>> {
        let what = "a spool";
        let size = size(source)?;
        if size == 0 {
            return Ok(None);
        }
        if size < HEADER_BYTES as u64 {
            return Err(Error::Truncated { what, offset: 0, needed: HEADER_BYTES as u64, available: size });
        }
        let mut bytes = vec![0; HEADER_BYTES];
        fill(source, 0, &mut bytes)?;
        if u64_at(&bytes, header::MAGIC) == 0 {
            return Ok(None);
        }
        if u64_at(&bytes, header::MAGIC) != MAGIC {
            return Err(Error::Malformed { what, offset: 0, why: "the magic number is missing".into() });
        }
        let version = u32_at(&bytes, header::VERSION);
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            let known = format!("this reader knows {OLDEST_VERSION} to {VERSION}");
            let why =
                format!("version {version} is unknown, {known}: use the dxt-analyze of the same release as the tracer");
            return Err(Error::Malformed { what, offset: header::VERSION as u64, why });
        }
        Ok(Some(Self(bytes)))
    }

    /// Reads the existing part of the header of a spool (a process's recordings) whose creation was never completed.
    pub(super) fn unfinished<S: Source + ?Sized>(source: &S) -> Result<Self> {
        let mut bytes = vec![0; HEADER_BYTES];
        if size(source)? >= HEADER_BYTES as u64 {
            fill(source, 0, &mut bytes)?;
        }
        Ok(Self(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// True if the spool has version 4, whose counters do not record additions in progress.
    pub(super) fn is_of_version_4(&self) -> bool {
        u32_at(&self.0, header::VERSION) == OLDEST_VERSION
    }

    /// Returns the size in the spool of the counters of one stream (operation on a file), in bytes.
    pub(super) fn entry_bytes(&self) -> usize {
        if self.is_of_version_4() { folded::BYTES_4 } else { folded::BYTES }
    }

    /// Returns the process id of the spool's owner.
    #[must_use]
    pub fn pid(&self) -> u32 {
        u32_at(&self.0, header::PID)
    }

    /// Returns the start time of the owner process, in clock ticks since boot (proc(5), stat, field 22); 0 if unknown.
    #[must_use]
    pub fn started(&self) -> u64 {
        u64_at(&self.0, header::STARTED)
    }

    /// Returns the wall-clock time of the owner process's epoch (time zero), in ns since 1970-01-01 UTC.
    #[must_use]
    pub fn epoch_unix_ns(&self) -> i64 {
        i64_at(&self.0, header::EPOCH_UNIX)
    }

    /// Returns the boot id of the machine on which the spool was created.
    #[must_use]
    pub fn boot_id(&self) -> [u8; 16] {
        let mut id = [0; 16];
        id.copy_from_slice(&self.0[header::BOOT_ID..header::BOOT_ID + 16]);
        id
    }

    /// True if ticks come from the processor's counter, false if ticks are nanoseconds of CLOCK_MONOTONIC.
    #[must_use]
    pub fn uses_counter(&self) -> bool {
        u32_at(&self.0, header::COUNTER) != 0
    }

    /// Returns (device, inode) (stat(2)) of the spill file, to which the process moves compressed segments; `None` without a spill file, or
    /// if the tracer is older than this field.
    #[must_use]
    pub fn spill(&self) -> Option<(u64, u64)> {
        let file = (u64_at(&self.0, header::SPILL_DEVICE), u64_at(&self.0, header::SPILL_INODE));
        (file.1 != 0).then_some(file)
    }

    /// Returns the trace that was being written when the process ended, if any and if its name was known.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        let length = u32_at(&self.0, header::CUT_PATH_BYTES) as usize;
        let under_way = u32_at(&self.0, header::CUT) == cut::UNDER_WAY;
        let path = self.0.get(header::CUT_PATH..header::CUT_PATH + length)?;
        let cut = Cut {
            path: path.to_vec(),
            pid: self.pid(),
            epoch_unix_ns: i64_at(&self.0, header::EPOCH_UNIX),
            end_ns: u64_at(&self.0, header::CUT_END),
            job_epoch: Some(i64_at(&self.0, header::CUT_JOB_EPOCH)).filter(|epoch| *epoch != 0),
        };
        (under_way && length > 0).then_some(cut)
    }

    /// Returns the conversion from ticks to ns. The clock rate is measured from the process's start to `now`, a reading of the same boot,
    /// or without `now` to the latest recorded comparison of the clocks.
    #[must_use]
    pub fn scale(&self, now: Option<Clock>) -> TickScale {
        let base = u64_at(&self.0, header::BASE_TICKS);
        if !self.uses_counter() {
            return TickScale { base, ..TickScale::IDENTITY };
        }
        let latest = self.latest();
        let at = now.filter(|now| now.ticks > latest.ticks.max(base)).unwrap_or(latest);
        let begun = u64_at(&self.0, header::BASE_MONOTONIC);
        let (ticks, ns) = (at.ticks.saturating_sub(base), at.monotonic_ns.saturating_sub(begun));
        if ticks == 0 || ns == 0 {
            return TickScale { base, ..TickScale::IDENTITY };
        }
        TickScale::measured(base, ticks, ns)
    }

    /// Returns the readings of both clocks when the process last compared them.
    pub(super) fn latest(&self) -> Clock {
        Clock { ticks: u64_at(&self.0, header::LATEST_TICKS), monotonic_ns: u64_at(&self.0, header::LATEST_MONOTONIC) }
    }

    /// Returns the events that were not recorded, with their counts; `texts` are the events' descriptions from the journal.
    pub(super) fn notes(&self, texts: &[String]) -> Vec<Note> {
        let count = (u32_at(&self.0, header::NOTE_COUNT) as usize).min(MOST_NOTES);
        let of = |(i, what): (usize, &String)| {
            // A count is briefly negative if an event is subtracted again before it is added.
            let count = u64_at(&self.0, header::NOTES + i * 8).cast_signed().max(0).cast_unsigned();
            (count > 0).then(|| Note { what: what.clone(), count })
        };
        texts.iter().take(count).enumerate().filter_map(of).collect()
    }
}

fn size<S: Source + ?Sized>(source: &S) -> Result<u64> {
    source.size().map_err(|source| Error::Io { offset: 0, length: 0, source })
}

fn fill<S: Source + ?Sized>(source: &S, offset: u64, into: &mut [u8]) -> Result<()> {
    let length = into.len() as u64;
    source.read_exact_at(offset, into).map_err(|source| Error::Io { offset, length, source })
}
