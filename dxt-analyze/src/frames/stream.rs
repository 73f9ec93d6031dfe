//! Segments as a stream of record batches, in the order of every export: by process, by thread, then as recorded. A background thread
//! creates several batches at a time, in parallel, and delivers them in order. The thread pauses while the receiver takes no batches, so
//! memory is bounded for any trace, and ends when the receiver is dropped.

use super::{Opened, pool};
use crate::export::calls;
use crate::export::parquet::batches::{BATCH_ROWS, Batches, PLACE};
use crate::model::{ProcessId, Run};
use crate::scan::{Lost, Reader, segments_of};
use crate::symbols::Symbols;
use anyhow::{Context, Result, anyhow};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Maximum number of threads that create batches. Per thread, two groups of blocks are processed at a time, and the channel holds one finished batch.
const MAKERS: usize = 8;

/// Handling of segment blocks that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The first damaged block of segments ends the stream with an error.
    Fails,
    /// Damaged blocks of segments are skipped, and their segments counted as lost.
    IsLeftOut,
}

/// Next item of a stream of segments.
#[derive(Debug)]
pub enum Next {
    /// Batch of segments as rows; at least one row.
    Batch(RecordBatch),
    /// No batch was ready within the timeout.
    NotYet,
    /// End of the stream: all segments were delivered.
    End,
}

type Sent = Result<Option<RecordBatch>>;

/// Stream of segments (recorded calls), as Arrow record batches.
#[derive(Debug)]
pub struct Segments {
    schema: SchemaRef,
    batches: Receiver<Sent>,
    stopped: Arc<AtomicBool>,
    losses: Losses,
    ended: bool,
    /// Id of the process that runs the background thread.
    process: u32,
}

impl Segments {
    pub(super) fn new(job: Opened, schema: SchemaRef, damage: Damage) -> Result<Self> {
        let workers = pool::within(rayon::current_num_threads)?.min(MAKERS);
        let (sender, batches) = sync_channel(workers);
        let (stopped, losses) = (Arc::new(AtomicBool::new(false)), Losses::default());
        let maker = Maker {
            job,
            schema: Arc::clone(&schema),
            damage,
            at_a_time: workers * 2,
            stopped: Arc::clone(&stopped),
            losses: losses.clone(),
        };
        let work = move || {
            // Sending fails only if the receiver was dropped; the thread then ends.
            let _ = match maker.all(&sender) {
                Ok(()) => sender.send(Ok(None)),
                Err(error) => sender.send(Err(error)),
            };
        };
        thread::Builder::new().name("dxt-segments".into()).spawn(work).context("failed to start a thread")?;
        Ok(Self { schema, batches, stopped, losses, ended: false, process: std::process::id() })
    }

    /// Returns the Arrow schema of the record batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the next item of the stream; waits at most `patience` for it.
    ///
    /// # Errors
    /// Fails if segments cannot be read; the stream ends after that.
    pub fn next_within(&mut self, patience: Duration) -> Result<Next> {
        if self.ended {
            return Ok(Next::End);
        }
        if self.process != std::process::id() {
            self.ended = true;
            return Err(anyhow!(
                "this process is a fork of the one that reads the segments: request the segments again"
            ));
        }
        match self.batches.recv_timeout(patience) {
            Ok(Ok(Some(batch))) => Ok(Next::Batch(batch)),
            Err(RecvTimeoutError::Timeout) => Ok(Next::NotYet),
            Ok(Ok(None)) => {
                self.ended = true;
                Ok(Next::End)
            }
            Ok(Err(error)) => {
                self.ended = true;
                Err(error)
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.ended = true;
                Err(anyhow!("the thread that reads segments ended early"))
            }
        }
    }

    /// Returns a handle to the counts of segments that were skipped under [`Damage::IsLeftOut`]; the handle may outlive the stream.
    #[must_use]
    pub fn losses(&self) -> Losses {
        self.losses.clone()
    }
}

/// Counts of segments that a stream has skipped so far because their blocks cannot be decoded.
#[derive(Clone, Debug, Default)]
pub struct Losses(Arc<Mutex<Lost>>);

impl Losses {
    /// Returns a copy of the counts of skipped segments so far.
    #[must_use]
    pub fn so_far(&self) -> Lost {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, lost: Lost) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.merge(lost);
        // Limits the number of problem descriptions, as a scan does.
        *all = std::mem::take(&mut *all).sorted();
    }
}

impl Drop for Segments {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// State of the background thread that creates the record batches.
struct Maker {
    job: Opened,
    schema: SchemaRef,
    damage: Damage,
    at_a_time: usize,
    stopped: Arc<AtomicBool>,
    losses: Losses,
}

impl Maker {
    fn all(&self, to: &SyncSender<Sent>) -> Result<()> {
        let run = &*self.job.run;
        let unnamed = Symbols::default();
        let symbols = if self.schema.index_of(PLACE).is_ok() { self.job.symbols()? } else { &unnamed };
        let batches = Batches::new(run, &self.job.layouts, symbols, Arc::clone(&self.schema));
        let blocks = calls::blocks(run);
        for pieces in pieces(run, &blocks).chunks(self.at_a_time) {
            let make = |reader: &mut Reader, piece: &&[(ProcessId, u32)]| self.piece(&batches, reader, piece);
            let made = pool::within(|| -> Vec<Result<Vec<RecordBatch>>> {
                pieces.par_iter().with_max_len(1).map_init(Reader::default, make).collect()
            })?;
            for batches in made {
                for batch in batches? {
                    if to.send(Ok(Some(batch))).is_err() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn piece(
        &self,
        batches: &Batches<'_>,
        reader: &mut Reader,
        blocks: &[(ProcessId, u32)],
    ) -> Result<Vec<RecordBatch>> {
        let (mut out, mut lost, mut rows) = (Vec::new(), Lost::default(), batches.rows()?);
        let mut keep = |batch| {
            out.push(batch);
            Ok(())
        };
        for &(process, block) in blocks {
            if self.stopped.load(Ordering::Relaxed) {
                break;
            }
            if let Some(block) = reader.block(&self.job.run, process, block, &mut lost) {
                rows.add(&block, &mut keep)?;
            }
        }
        rows.finish(&mut keep)?;
        match lost.problems.first() {
            Some(problem) if self.damage == Damage::Fails => {
                Err(anyhow!("failed to read segments: {} at byte {}: {}", problem.file, problem.offset, problem.what))
            }
            _ => {
                self.losses.add(lost);
                Ok(out)
            }
        }
    }
}

/// Splits `blocks` into groups of neighbouring blocks that fill one record batch each, regardless of the number of threads.
fn pieces<'a>(run: &Run, blocks: &'a [(ProcessId, u32)]) -> Vec<&'a [(ProcessId, u32)]> {
    let (mut out, mut first, mut sum) = (Vec::new(), 0, 0);
    for (at, &(process, block)) in blocks.iter().enumerate() {
        let more = segments_of(run, process, block);
        if sum > 0 && sum + more > BATCH_ROWS as u64 {
            out.extend(blocks.get(first..at));
            (first, sum) = (at, 0);
        }
        sum += more;
    }
    out.extend(blocks.get(first..));
    out
}
