//! Recovery of recorded calls from the spool of a process that was killed or is still running.

use super::counters::{self, Counts};
use super::head::{Clock, Head};
use super::journal::ThreadSample;
use super::names::Names;
use super::parts::{i64_at, u32_at, u64_at};
use super::scratches::take_back;
use super::{cut, header};
use crate::columns::TickScale;
use crate::counters::{Counters, Previous};
use crate::error::{Error, Result};
use crate::frame::IndexEntry;
use crate::meta::{ClockSource, CpuSample, FileDef, Job, LayoutDef, Missing, Note, Process, StreamDef, ThreadTimes};
use crate::read::Source;
use crate::write::{Encoder, Region, adopt};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

mod segments;
mod snapshot;
mod spilled;

use segments::{Gone, Part, Pieces};
use snapshot::Snapshot;

/// Copy of a spool's header and regions, from which the recordings are recovered.
#[derive(Debug)]
pub struct Spool {
    head: Head,
    parts: Snapshot,
}

/// Recordings of a spool that are not in any trace.
#[derive(Debug)]
pub struct Recovered {
    /// Job block, as the process would have written it.
    pub job: Job,
    /// Process block; counts that follow from the segments are set when the region is encoded.
    pub process: Process,
    /// Number of calls stored as segments that may be in the counters too, because the process was adding them to the counters.
    pub uncertain: u64,
    threads: Vec<(u32, Pieces)>,
    scale: TickScale,
}

impl Spool {
    /// Reads the used bytes of a spool, whose owner may be running: all calls recorded before this function was called are read, and each
    /// segment is read completely or not at all.
    ///
    /// # Errors
    /// Returns [`Error::Malformed`] if `source` is not a spool or has a version unknown to this reader, [`Error::Truncated`] if the header
    /// is cut short, [`Error::Limit`] if a region is too long, and [`Error::Io`] if reading fails.
    pub fn read<S: Source + ?Sized>(source: &S) -> Result<Self> {
        let Some(head) = Head::read(source)? else {
            // The owner was killed while creating the spool, before anything was recorded.
            return Ok(Self { head: Head::unfinished(source)?, parts: Snapshot::default() });
        };
        let parts = Snapshot::of(source)?;
        Ok(Self { head, parts })
    }

    /// Returns the header of the spool (a process's recordings).
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the number of bytes that were in use but are lost, with unknown contents, because the file was truncated.
    #[must_use]
    pub const fn missing_bytes(&self) -> u64 {
        self.parts.missing_bytes
    }

    /// Collects the recordings that are not in any trace.
    ///
    /// `spill` is the spill file beside the spool (compressed segments), or an empty source; it is read block by block, and once more by
    /// [`Recovered::write_region`], with 16 bytes per block in memory. `now` is the current reading of the process's clock and of
    /// CLOCK_MONOTONIC; `None` if the spool is from another machine or boot. `in_trace` is true if the trace that was being written
    /// ([`Head::cut`]) exists and is complete.
    ///
    /// # Errors
    /// Returns [`Error::Malformed`] if the description of the process is invalid, and [`Error::Io`] if reading fails.
    pub fn recover(&self, spill: &dyn Source, now: Option<Clock>, in_trace: bool) -> Result<Recovered> {
        let scale = self.head.scale(now);
        let in_trace = in_trace || u32_at(self.head.bytes(), header::CUT) == cut::DONE;
        let gone = if in_trace { Gone::WrittenAndTaken } else { Gone::Written };
        let spilled = if in_trace { header::SPILL_TAKEN } else { header::SPILL_WRITTEN };
        let spilled = spilled::places(spill, u64_at(self.head.bytes(), spilled), |mark| gone.has(mark))?;
        let mut pieces =
            Pieces::of_chunks(&[&self.parts.arena, &self.parts.sync_points], &self.parts.staging, spilled, gone);
        let is_of_version_4 = self.head.is_of_version_4();
        let uncertain = segments::of_scratches(&self.parts.scratches, is_of_version_4, gone, &mut pieces)
            + self.parts.folded_meanwhile;
        let mut journal = Names::read(&self.parts.journal)?;
        let mut counters = self.folded(&scale, in_trace);
        let waiting = journal.counted_threads.iter().filter_map(|thread| pieces.remove(thread));
        for one in waiting.collect::<Vec<_>>().iter().flat_map(|pieces| pieces.waiting(&scale)) {
            let (counters, previous) = counters.entry(one.stream().0).or_default();
            if journal.has_order(one.stream().0) {
                counters.fold(previous, one.offset, one.length(), one.start, one.end);
            } else {
                counters.fold_alone(one.offset, one.length(), one.start, one.end);
            }
        }
        let mut used: BTreeSet<u32> = counters.keys().copied().collect();
        let (mut threads, mut latest) = (Vec::new(), 0);
        for (thread, mut pieces) in pieces {
            latest = latest.max(pieces.note_streams(spill, &scale, &mut used)?);
            threads.push((thread, pieces));
        }
        let mut process = std::mem::take(&mut journal.process);
        process.sites = journal.sites();
        process.sites.retain(|stream| used.contains(&stream));
        let recorded: BTreeSet<u32> = threads.iter().map(|(index, _)| *index).collect();
        process.threads = journal.threads.into_values().filter(|def| recorded.contains(&def.index)).collect();
        let missing = counters.into_iter().map(|(stream, (counters, _))| Missing { stream, counters });
        process.missing = missing.collect();
        process.communicators = journal.communicators.into_values().collect();
        process.processor.threads = thread_times(journal.cpu_samples, &scale);
        process.notes = self.head.notes(&journal.notes);
        let cut_off = Note { what: CUT_SHORT.to_owned(), count: self.parts.missing_bytes };
        let twice = Note { what: MAY_BE_TWICE.to_owned(), count: uncertain };
        process.notes.extend([cut_off, twice].into_iter().filter(|note| note.count > 0));
        describe(&mut process, journal.files, journal.streams, journal.layouts, &used);
        self.date(&mut process, &scale, latest);
        if journal.job.settings.iter().any(|(name, value)| name == "DXT_TIMING" && value == "off") {
            process.info.end_ns = scale.nanoseconds(self.head.latest().ticks);
            process.missing.iter_mut().for_each(|missing| missing.counters.forget_times());
        }
        Ok(Recovered { job: journal.job, process, uncertain, threads, scale })
    }

    /// Sets the epoch, the clock and the end of recording in the process's description. `latest_ns` is the latest time in the recordings,
    /// in ns since the epoch.
    fn date(&self, process: &mut Process, scale: &TickScale, latest_ns: u64) {
        let info = &mut process.info;
        info.epoch_unix_ns = i64_at(self.head.bytes(), header::EPOCH_UNIX);
        info.clock = if self.head.uses_counter() { ClockSource::Counter } else { ClockSource::Monotonic };
        info.clock_hz = match scale.mult {
            0 => 0,
            mult => ((1_000_000_000_u128 << 52) / u128::from(mult)) as u64,
        };
        let sync = u64_at(self.head.bytes(), header::SYNC_TICKS);
        info.sync_ns = (sync != 0).then(|| scale.nanoseconds(sync));
        info.end_ns = process.missing.iter().map(|missing| missing.counters.last_end).fold(latest_ns, u64::max);
        info.ended_by = ENDED_BY.to_owned();
    }

    /// Returns counters of calls without segments, by stream (operation on a file), with the end offset of each stream's last call.
    /// `in_trace`: true if the process has written a trace; the calls that are in it are left out.
    fn folded(&self, scale: &TickScale, in_trace: bool) -> BTreeMap<u32, (Counters, Previous)> {
        let under_way = u32_at(self.head.bytes(), header::CUT) != 0;
        let counts = if in_trace { Counts::InNoTraceNorTaken } else { Counts::InNoTrace { under_way } };
        let mut entries = self.parts.folded.clone();
        if !self.head.is_of_version_4() {
            take_back(&mut entries, &self.parts.scratches);
        }
        let mut by_stream: BTreeMap<u32, (Counters, Previous)> = BTreeMap::new();
        for (_, bytes) in entries.records(self.head.entry_bytes()) {
            let Some(missing) = counters::of(bytes, scale, counts) else { continue };
            let (sums, previous) = by_stream.entry(missing.stream).or_default();
            sums.merge(&missing.counters);
            *previous = counters::previous(bytes);
        }
        by_stream
    }
}

/// Value of `ended_by` in the trace of a recovered process.
pub const ENDED_BY: &str = "no end that it noticed (recovered from its spool)";

/// Text of the note that states the number of missing bytes of a truncated spool.
pub const CUT_SHORT: &str =
    "bytes of the spool that are missing, with the calls that were in them: its file was cut short";

/// Text of the note that states the number of calls which may have been in the counters already when the spool was read.
pub const MAY_BE_TWICE: &str = "calls that may be counted twice: the process was counting them when its spool was read";

/// Groups samples of the use of the processors by thread and sorts them by time. `samples`: in any order. If some samples of a thread have
/// the time of waiting for a CPU and some lack it, the thread's samples that lack it are dropped.
fn thread_times(mut samples: Vec<ThreadSample>, scale: &TickScale) -> Vec<ThreadTimes> {
    samples.sort_by_key(|sample| (sample.tid, sample.ticks));
    let of_thread = |samples: &[ThreadSample]| {
        let sum = |of: &ThreadSample| CpuSample { time_ns: scale.nanoseconds(of.ticks), ..of.sums };
        let (tid, knows_waits) = (samples.first()?.tid, samples.iter().any(|of| of.knows_waits));
        let usable = samples.iter().filter(|of| of.knows_waits == knows_waits);
        Some(ThreadTimes::of_sums(tid, knows_waits, usable.map(sum))).filter(|times| times.samples.len() > 1)
    };
    samples.chunk_by(|one, next| one.tid == next.tid).filter_map(of_thread).collect()
}

/// Adds the streams (operations on files) in `used`, their files and layouts to the process block, and renumbers the files.
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
    // The journal may define a layout several times; the last record is valid.
    let mut reported: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut last: Vec<LayoutDef> = Vec::new();
    for layout in layouts.into_iter().rev() {
        let Some(&file) = number_of.get(&layout.file) else { continue };
        if reported.insert((file, layout.moment.into())) {
            last.push(LayoutDef { file, ..layout });
        }
    }
    process.layouts.retain(|known| !reported.contains(&(known.file, known.moment.into())));
    process.layouts.extend(last.into_iter().rev());
}

impl Recovered {
    /// True if the spool contains no recordings that are missing from traces.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.process.streams.is_empty()
    }

    /// Writes the recordings to `out` as region `number` of a trace file; returns the region's index entry, whose offset the caller sets.
    /// `spill` must be the spill file (compressed segments) passed to [`Spool::recover`], of which one block at a time is in memory.
    ///
    /// # Errors
    /// Returns the errors of [`Encoder::region`], and [`Error::Io`] if reading from `spill` or writing to `out` fails.
    pub fn write_region(
        &mut self,
        encoder: &mut Encoder,
        number: u32,
        spill: &dyn Source,
        out: &mut dyn Write,
    ) -> Result<IndexEntry> {
        (self.process.info.segments, self.process.info.blocks) = (0, 0);
        let mut parts = Vec::new();
        for (thread, pieces) in &self.threads {
            parts.extend(pieces.encode((number, *thread), encoder, &self.scale, &mut self.process.info)?);
        }
        let mut bytes = Vec::new();
        let blocks = parts.iter().map(Part::bytes).sum();
        let entry = encoder.region_head(number, &mut self.process, blocks, &mut bytes)?;
        put(out, &bytes)?;
        let mut buffer = Vec::new();
        for part in parts {
            match part {
                Part::Bytes(bytes) => put(out, &bytes)?,
                Part::Spilled(places) => {
                    for place in places {
                        let (mult, frame) = place.read(spill, &mut buffer)?;
                        bytes.clear();
                        adopt(frame, number, self.scale.mult, mult, &mut bytes)?;
                        put(out, &bytes)?;
                    }
                }
            }
        }
        Ok(entry)
    }

    /// Encodes the recordings as a region in memory, like [`Self::write_region`].
    ///
    /// # Errors
    /// Returns the errors of [`Self::write_region`].
    pub fn region(&mut self, encoder: &mut Encoder, number: u32, spill: &dyn Source) -> Result<Region> {
        let mut bytes = Vec::new();
        let entry = self.write_region(encoder, number, spill, &mut bytes)?;
        Ok(Region { bytes, entry })
    }
}

fn put(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|source| Error::Io { offset: 0, length: bytes.len() as u64, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::{LayoutMoment, LayoutSource};

    /// Checks that layouts keep the order of their last records, and that layouts of unused files are dropped.
    #[test]
    fn the_last_layout_of_a_file_and_moment_counts() {
        let layout = |file, moment, byte| LayoutDef { file, moment, source: LayoutSource::Lustre, bytes: vec![byte] };
        let (open, close) = (LayoutMoment::Open, LayoutMoment::Close);
        let reported = vec![
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
        describe(&mut process, BTreeMap::new(), streams, reported, &BTreeSet::from([0, 1]));
        let kept: Vec<_> = process.layouts.iter().map(|def| (def.file, def.moment, def.bytes[0])).collect();
        assert_eq!(kept, [(1, open, 2), (0, close, 3), (0, open, 6)]);
    }
}
