//! A spool's header: whose it is, its clocks, and what was not recorded.

use super::parts::{i64_at, u32_at, u64_at};
use super::{HEADER_BYTES, MAGIC, MOST_NOTES, OLDEST_VERSION, VERSION, cut, folded, header};
use crate::columns::TickScale;
use crate::error::{Error, Result};
use crate::meta::{Note, Process};
use crate::read::Source;

/// Two readings of the clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Ticks of the spool's clock.
    pub ticks: u64,
    /// CLOCK_MONOTONIC, in ns.
    pub monotonic_ns: u64,
}

/// A trace that was being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its path; it may have got a number before its ending, should that name have been taken.
    pub path: Vec<u8>,
    pid: u32,
    epoch_unix_ns: i64,
    end_ns: u64,
    /// Rank 0's epoch, if the trace is one of all ranks.
    job_epoch: Option<i64>,
}

impl Cut {
    /// Whether the process's part is in `trace`, which was read from a file that may be it. A trace of all ranks has its name only
    /// when all their parts are in it; what several ranks counted of one file is in the job's own record.
    pub fn is_in<S: Source>(&self, trace: &crate::read::Trace<S>) -> bool {
        let tells = |process: Process| {
            let info = process.info;
            let of_job = process.reduction.ranks > 0 && self.job_epoch == Some(info.epoch_unix_ns);
            of_job || (info.pid, info.epoch_unix_ns, info.end_ns) == (self.pid, self.epoch_unix_ns, self.end_ns)
        };
        trace.complete && trace.regions.iter().any(|region| trace.region(region).process.is_some_and(tells))
    }
}

/// A spool's header, as it was when it was read.
#[derive(Clone, Debug)]
pub struct Head(Vec<u8>);

impl Head {
    /// Reads it; `None` while its owner has not made the spool whole.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is no spool, or of a version that this reader does not know, [`Error::Truncated`], [`Error::Io`].
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
            return Err(Error::Malformed { what, offset: 0, why: "it does not begin like one".into() });
        }
        let version = u32_at(&bytes, header::VERSION);
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            let known = format!("this reader knows {OLDEST_VERSION} to {VERSION}");
            let why = format!("it is of version {version}, {known}: use the dxt-analyze of that tracer");
            return Err(Error::Malformed { what, offset: header::VERSION as u64, why });
        }
        Ok(Some(Self(bytes)))
    }

    /// As much of it as is there, of a spool that never became whole.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(super) fn unfinished<S: Source + ?Sized>(source: &S) -> Result<Self> {
        let mut bytes = vec![0; HEADER_BYTES];
        if size(source)? >= HEADER_BYTES as u64 {
            fill(source, 0, &mut bytes)?;
        }
        Ok(Self(bytes))
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is of a version before counters said what was about to be added to them.
    pub(super) fn is_of_version_4(&self) -> bool {
        u32_at(&self.0, header::VERSION) == OLDEST_VERSION
    }

    /// Bytes of an entry of its counters.
    pub(super) fn entry_bytes(&self) -> usize {
        if self.is_of_version_4() { folded::BYTES_4 } else { folded::BYTES }
    }

    /// Process id of its owner.
    #[must_use]
    pub fn pid(&self) -> u32 {
        u32_at(&self.0, header::PID)
    }

    /// When its owner started, in clock ticks since boot (proc(5), stat, field 22); 0 if it could not tell.
    #[must_use]
    pub fn started(&self) -> u64 {
        u64_at(&self.0, header::STARTED)
    }

    /// Wall clock at its owner's time zero, in ns since 1970-01-01 UTC.
    #[must_use]
    pub fn epoch_unix_ns(&self) -> i64 {
        i64_at(&self.0, header::EPOCH_UNIX)
    }

    /// Boot id of the machine it was made on.
    #[must_use]
    pub fn boot_id(&self) -> [u8; 16] {
        let mut id = [0; 16];
        id.copy_from_slice(&self.0[header::BOOT_ID..header::BOOT_ID + 16]);
        id
    }

    /// Whether its ticks are those of the processor's counter.
    #[must_use]
    pub fn uses_counter(&self) -> bool {
        u32_at(&self.0, header::COUNTER) != 0
    }

    /// Device and inode (stat(2)) of the spill; `None` if there was none, or the tracer was older than this field.
    #[must_use]
    pub fn spill(&self) -> Option<(u64, u64)> {
        let file = (u64_at(&self.0, header::SPILL_DEVICE), u64_at(&self.0, header::SPILL_INODE));
        (file.1 != 0).then_some(file)
    }

    /// The trace that was being written when the process ended, if one was and its name was known.
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

    /// From ticks to ns: by comparing clocks now with clocks at the process's start. `now` must be of the same boot.
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

    /// The clocks when they were compared last.
    pub(super) fn latest(&self) -> Clock {
        Clock { ticks: u64_at(&self.0, header::LATEST_TICKS), monotonic_ns: u64_at(&self.0, header::LATEST_MONOTONIC) }
    }

    /// What was not recorded, and how often; `texts` are the journal's.
    pub(super) fn notes(&self, texts: &[String]) -> Vec<Note> {
        let count = (u32_at(&self.0, header::NOTE_COUNT) as usize).min(MOST_NOTES);
        let of = |(i, what): (usize, &String)| {
            // What was taken back before it was counted is below 0 for a moment.
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
