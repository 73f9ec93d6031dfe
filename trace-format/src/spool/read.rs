//! What a process had recorded, from its spool: whether it was killed, or is still running.

use super::journal::{kind, read as journal};
use super::parts::{i64_at, u32_at, u64_at};
use super::{HEADER_BYTES, MAGIC, MOST_NOTES, VERSION, cut, folded, header};
use crate::columns::TickScale;
use crate::counters::{Counters, SIZE_BINS};
use crate::error::{Error, Result};
use crate::meta::{
    ClockSource, CommunicatorDef, FileDef, Job, LayoutDef, Missing, Note, Process, StreamDef, ThreadDef,
};
use crate::read::Source;
use std::collections::{BTreeMap, BTreeSet};

mod segments;
mod snapshot;

use segments::{Gone, Pieces};
use snapshot::Snapshot;

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
}

impl Cut {
    /// Whether the process's part is in `trace`, which was read from a file that may be it.
    pub fn is_in<S: Source>(&self, trace: &crate::read::Trace<S>) -> bool {
        let own = |process: Process| {
            let info = process.info;
            (info.pid, info.epoch_unix_ns, info.end_ns) == (self.pid, self.epoch_unix_ns, self.end_ns)
        };
        trace.complete && trace.regions.iter().any(|region| trace.region(region).process.is_some_and(own))
    }
}

/// The bytes of a spool.
#[derive(Debug)]
pub struct Spool {
    header: Vec<u8>,
    parts: Snapshot,
}

/// What a spool holds that is in no trace yet.
#[derive(Debug)]
pub struct Recovered {
    /// The job block as the process would have written it.
    pub job: Job,
    /// The process block; what follows from the segments is set when the region is encoded.
    pub process: Process,
    /// Calls that are on record as segments and may be in the counters too: it was killed while it counted them.
    pub uncertain: u64,
    threads: Vec<(u32, Pieces)>,
    scale: TickScale,
}

impl Spool {
    /// Reads a spool, as much of it as is used. Its owner may be running: then all is there that it had recorded before, and no
    /// part of a thing.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is none, [`Error::Version`] if another version's tracer made it, [`Error::Io`].
    pub fn read<S: Source + ?Sized>(source: &S) -> Result<Self> {
        let io = |offset: u64, length: u64| move |source| Error::Io { offset, length, source };
        let size = source.size().map_err(io(0, 0))?;
        let what = "a spool";
        // Its owner was killed while it made it, before it had recorded anything.
        let unfinished = |header| Self { header, parts: Snapshot::default() };
        if size == 0 {
            return Ok(unfinished(vec![0; HEADER_BYTES]));
        }
        if size < HEADER_BYTES as u64 {
            return Err(Error::Truncated { what, offset: 0, needed: HEADER_BYTES as u64, available: size });
        }
        let mut head = vec![0; HEADER_BYTES];
        source.read_exact_at(0, &mut head).map_err(io(0, HEADER_BYTES as u64))?;
        if u64_at(&head, header::MAGIC) == 0 {
            return Ok(unfinished(head));
        }
        if u64_at(&head, header::MAGIC) != MAGIC {
            return Err(Error::Malformed { what, offset: 0, why: "it does not begin like one".into() });
        }
        let version = u32_at(&head, header::VERSION);
        if version != VERSION {
            let why =
                format!("it is of version {version}, this reader knows {VERSION}: use the dxt-analyze of that tracer");
            return Err(Error::Malformed { what, offset: header::VERSION as u64, why });
        }
        let parts = Snapshot::of(source)?;
        Ok(Self { header: head, parts })
    }

    /// Process id of its owner.
    #[must_use]
    pub fn pid(&self) -> u32 {
        u32_at(&self.header, header::PID)
    }

    /// When its owner started, in clock ticks since boot (proc(5), stat, field 22); 0 if it could not tell.
    #[must_use]
    pub fn started(&self) -> u64 {
        u64_at(&self.header, header::STARTED)
    }

    /// Boot id of the machine it was made on.
    #[must_use]
    pub fn boot_id(&self) -> [u8; 16] {
        let mut id = [0; 16];
        id.copy_from_slice(&self.header[header::BOOT_ID..header::BOOT_ID + 16]);
        id
    }

    /// Whether its ticks are those of the processor's counter.
    #[must_use]
    pub fn uses_counter(&self) -> bool {
        u32_at(&self.header, header::COUNTER) != 0
    }

    /// The trace that was being written when the process ended, if one was and its name was known.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        let length = u32_at(&self.header, header::CUT_PATH_BYTES) as usize;
        let under_way = u32_at(&self.header, header::CUT) == cut::UNDER_WAY;
        let path = self.header.get(header::CUT_PATH..header::CUT_PATH + length)?;
        let cut = Cut {
            path: path.to_vec(),
            pid: self.pid(),
            epoch_unix_ns: i64_at(&self.header, header::EPOCH_UNIX),
            end_ns: u64_at(&self.header, header::CUT_END),
        };
        (under_way && length > 0).then_some(cut)
    }

    /// From ticks to ns: by comparing clocks now with clocks at the process's start. `now` must be of the same boot.
    fn scale(&self, now: Option<Clock>) -> TickScale {
        let base = u64_at(&self.header, header::BASE_TICKS);
        if !self.uses_counter() {
            return TickScale { base, ..TickScale::IDENTITY };
        }
        let latest = Clock {
            ticks: u64_at(&self.header, header::LATEST_TICKS),
            monotonic_ns: u64_at(&self.header, header::LATEST_MONOTONIC),
        };
        let at = now.filter(|now| now.ticks > latest.ticks.max(base)).unwrap_or(latest);
        let begun = u64_at(&self.header, header::BASE_MONOTONIC);
        let (ticks, ns) = (at.ticks.saturating_sub(base), at.monotonic_ns.saturating_sub(begun));
        if ticks == 0 || ns == 0 {
            return TickScale { base, ..TickScale::IDENTITY };
        }
        TickScale::measured(base, ticks, ns)
    }

    /// Puts together what is in no trace yet. `spill`: the bytes of the file of packed blocks beside the spool, if there is
    /// one; `now`: both clocks now, if this is the machine and the boot of the spool; `in_trace`: whether the trace that was
    /// being written ([`Self::cut`]) is there, and whole.
    ///
    /// # Errors
    /// [`Error::Malformed`] if what the process said of itself makes no sense.
    pub fn recover(&self, spill: &[u8], now: Option<Clock>, in_trace: bool) -> Result<Recovered> {
        let scale = self.scale(now);
        let in_trace = in_trace || u32_at(&self.header, header::CUT) == cut::DONE;
        let gone = if in_trace { Gone::WrittenAndTaken } else { Gone::Written };
        let spilled = if in_trace { header::SPILL_TAKEN } else { header::SPILL_WRITTEN };
        let spilled = usize::try_from(u64_at(&self.header, spilled)).unwrap_or(usize::MAX);
        let spill = spill.get(spilled..).unwrap_or_default();
        let mut pieces =
            Pieces::of_chunks(&[&self.parts.arena, &self.parts.meetings], &self.parts.landing, spill, gone);
        let uncertain = segments::of_scratches(&self.parts.scratches, gone, &mut pieces) + self.parts.folded_meanwhile;
        let mut journal = Journal::read(&self.parts.journal)?;
        let counters = self.folded(&scale, in_trace);
        let mut used: BTreeSet<u32> = counters.iter().map(|missing| missing.stream).collect();
        let (mut threads, mut latest) = (Vec::new(), 0);
        for (thread, pieces) in pieces {
            latest = latest.max(pieces.note_streams(&scale, &mut used));
            threads.push((thread, pieces));
        }
        let mut process = std::mem::take(&mut journal.process);
        let recorded: BTreeSet<u32> = threads.iter().map(|(index, _)| *index).collect();
        process.threads = journal.threads.into_values().filter(|def| recorded.contains(&def.index)).collect();
        process.missing = counters;
        process.communicators = journal.communicators.into_values().collect();
        process.notes = self.notes(&journal.notes);
        describe(&mut process, journal.files, journal.streams, journal.layouts, &used);
        self.date(&mut process, &scale, latest);
        Ok(Recovered { job: journal.job, process, uncertain, threads, scale })
    }

    /// Fills in the times of the process's description.
    fn date(&self, process: &mut Process, scale: &TickScale, latest_ns: u64) {
        let info = &mut process.info;
        info.epoch_unix_ns = i64_at(&self.header, header::EPOCH_UNIX);
        info.clock = if self.uses_counter() { ClockSource::Counter } else { ClockSource::Monotonic };
        info.clock_hz = match scale.mult {
            0 => 0,
            mult => ((1_000_000_000_u128 << 52) / u128::from(mult)) as u64,
        };
        let sync = u64_at(&self.header, header::SYNC_TICKS);
        info.sync_ns = (sync != 0).then(|| scale.nanoseconds(sync));
        info.end_ns = process.missing.iter().map(|missing| missing.counters.last_end).fold(latest_ns, u64::max);
        info.ended_by = ENDED_BY.to_owned();
    }

    fn folded(&self, scale: &TickScale, in_trace: bool) -> Vec<Missing> {
        let passed = |ticks: u64| scale.nanoseconds(scale.base.saturating_add(ticks));
        let under_way = u32_at(&self.header, header::CUT) != 0;
        let entry = |bytes: &[u8]| {
            let stream = u32::try_from(u64_at(bytes, folded::STREAM).checked_sub(1)?).ok()?;
            // What is written was taken before, so where both are in a trace the larger one is what is.
            let gone = |i: usize| {
                let taken = if in_trace { u64_at(bytes, folded::TAKEN + i * 8) } else { 0 };
                u64_at(bytes, folded::WRITTEN + i * 8).max(taken)
            };
            let [segments, total, duration, consecutive, sequential] =
                std::array::from_fn(|i| u64_at(bytes, folded::SUMS + i * 8).saturating_sub(gone(i)));
            let sizes = std::array::from_fn::<_, SIZE_BINS, _>(|i| {
                u64_at(bytes, folded::SIZES + i * 8).saturating_sub(gone(5 + i))
            });
            // The extremes of what was taken count if it does.
            let taken = |i: usize| u64_at(bytes, folded::TAKEN_EXTREMES + i * 8);
            let empty = Counters::default();
            let [max_duration, first_start, last_end, min_offset, max_end_offset] = if under_way && !in_trace {
                [taken(0), taken(1), taken(2), taken(3), taken(4)]
            } else {
                [
                    empty.max_duration,
                    empty.first_start,
                    empty.last_end,
                    empty.min_offset as u64,
                    empty.max_end_offset as u64,
                ]
            };
            let first_start = u64_at(bytes, folded::FIRST_START).min(first_start);
            let last_end = u64_at(bytes, folded::LAST_END).max(last_end);
            let counters = Counters {
                segments,
                bytes: total,
                duration: passed(duration),
                max_duration: passed(u64_at(bytes, folded::MAX_DURATION).max(max_duration)),
                first_start: scale.nanoseconds(first_start.min(last_end)),
                last_end: scale.nanoseconds(last_end),
                min_offset: i64_at(bytes, folded::MIN_OFFSET).min(min_offset as i64),
                max_end_offset: i64_at(bytes, folded::MAX_END_OFFSET).max(max_end_offset as i64),
                consecutive,
                sequential,
                sizes,
            };
            (segments > 0).then_some(Missing { stream, counters })
        };
        self.parts.folded.chunks_exact(folded::BYTES).filter_map(entry).collect()
    }

    fn notes(&self, texts: &[String]) -> Vec<Note> {
        let count = (u32_at(&self.header, header::NOTE_COUNT) as usize).min(MOST_NOTES);
        let of = |(i, what): (usize, &String)| {
            let count = u64_at(&self.header, header::NOTES + i * 8);
            (count > 0).then(|| Note { what: what.clone(), count })
        };
        texts.iter().take(count).enumerate().filter_map(of).collect()
    }
}

/// What the trace says of how the process ended.
pub const ENDED_BY: &str = "no end that it noticed (recovered from its spool)";

/// The journal, put in order.
#[derive(Default)]
struct Journal {
    job: Job,
    process: Process,
    threads: BTreeMap<u32, ThreadDef>,
    files: BTreeMap<u32, FileDef>,
    streams: BTreeMap<u32, StreamDef>,
    layouts: Vec<LayoutDef>,
    communicators: BTreeMap<u32, CommunicatorDef>,
    notes: Vec<String>,
}

impl Journal {
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut all = Self::default();
        for (record, payload) in journal::records(bytes) {
            match record {
                kind::JOB => all.job = Job::decode(payload, 0)?,
                kind::PROCESS => all.process = Process::decode(payload, 0)?,
                kind::THREAD => {
                    let def = journal::thread(payload);
                    all.threads.insert(def.index, def);
                }
                kind::FILE => {
                    let (number, def) = journal::file(payload);
                    all.files.insert(number, def);
                }
                kind::STREAM => {
                    let def = journal::stream(payload);
                    all.streams.insert(def.id, def);
                }
                kind::LAYOUT => all.layouts.push(journal::layout(payload)),
                kind::COMMUNICATOR => {
                    let def = journal::communicator(payload);
                    all.communicators.insert(def.number, def);
                }
                kind::NOTES => all.notes = String::from_utf8_lossy(payload).lines().map(str::to_owned).collect(),
                _ => {}
            }
        }
        Ok(all)
    }
}

/// Fills in the streams that are used, and their files and layouts, with the files numbered anew.
fn describe(
    process: &mut Process,
    mut files: BTreeMap<u32, FileDef>,
    streams: BTreeMap<u32, StreamDef>,
    layouts: Vec<LayoutDef>,
    used: &BTreeSet<u32>,
) {
    let mut number_of: BTreeMap<u32, u32> = BTreeMap::new();
    for stream in streams.into_values().filter(|stream| used.contains(&stream.id)) {
        let number = *number_of.entry(stream.file).or_insert_with(|| {
            process.files.push(files.remove(&stream.file).unwrap_or_default());
            process.files.len() as u32 - 1
        });
        process.streams.push(StreamDef { file: number, ..stream });
    }
    // A journal may say a thing twice; the last one counts.
    let mut told: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut last: Vec<LayoutDef> = Vec::new();
    for layout in layouts.into_iter().rev() {
        let Some(&file) = number_of.get(&layout.file) else { continue };
        if told.insert((file, layout.moment.into())) {
            last.push(LayoutDef { file, ..layout });
        }
    }
    process.layouts.retain(|known| !told.contains(&(known.file, known.moment.into())));
    process.layouts.extend(last.into_iter().rev());
}

impl Recovered {
    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.process.streams.is_empty()
    }

    /// Encodes it as region `number` of a trace file.
    ///
    /// # Errors
    /// As [`crate::write::Encoder::region`].
    pub fn region(&mut self, encoder: &mut crate::write::Encoder, number: u32) -> Result<crate::write::Region> {
        let threads: Vec<_> = self.threads.iter().map(|(thread, pieces)| pieces.of_thread(*thread)).collect();
        encoder.region(number, &mut self.process, &threads, &self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::{LayoutMoment, LayoutSource};

    /// In the order in which the last of each was told; files that no stream is about have none.
    #[test]
    fn the_last_layout_of_a_file_and_moment_counts() {
        let layout = |file, moment, byte| LayoutDef { file, moment, source: LayoutSource::Lustre, bytes: vec![byte] };
        let (open, close) = (LayoutMoment::Open, LayoutMoment::Close);
        let told = vec![
            layout(7, open, 1),
            layout(8, open, 2),
            layout(7, close, 3),
            layout(7, open, 4),
            layout(9, open, 5),
            layout(7, open, 6),
        ];
        let stream = |id, file| (id, StreamDef { id, file, op: 0, flags: 0, errno: 0 });
        let streams = BTreeMap::from([stream(0, 7), stream(1, 8), stream(2, 9)]);
        let mut process = Process::default();
        describe(&mut process, BTreeMap::new(), streams, told, &BTreeSet::from([0, 1]));
        let kept: Vec<_> = process.layouts.iter().map(|def| (def.file, def.moment, def.bytes[0])).collect();
        assert_eq!(kept, [(1, open, 2), (0, close, 3), (0, open, 6)]);
    }
}
