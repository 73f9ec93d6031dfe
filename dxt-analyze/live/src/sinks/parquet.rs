//! Events as Parquet, one file per minute or so: `DIR/part-<number>.parquet`. A Parquet file is unreadable until complete, so later events
//! wait as JSON lines in `DIR/pending.jsonl`. A resumed agent truncates these lines to the earlier agent's position. Parquet files are made
//! only of lines that the saved state includes, so no event is stored twice. An agent without a saved state first converts all lines that
//! it finds.

use super::Sink;
use super::file::Output;
use super::full::{self, Line};
use crate::event::Event;
use crate::records::Selected;
use crate::shown;
use anyhow::{Context, Result};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use dxt_base::columnar::{batch, finish, moments, numbers, properties, some_texts, texts, writer};
use dxt_base::input::open_no_link;
use dxt_base::text::units::agree;
use dxt_base::written::rename_to_nothing;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Size of the pending lines (events not yet in a Parquet file), in bytes, at which a Parquet file is completed early.
const MOST_PENDING: u64 = 256 << 20;
const ROWS: usize = 1 << 16;
/// Number of low bits of the saved output position (from which a later agent resumes) that hold the length of the file of pending lines
/// (events not yet in a Parquet file), in bytes. The higher bits hold the number of the next Parquet file.
const PENDING_BITS: u32 = 40;

pub(crate) struct Parquet {
    directory: PathBuf,
    pending: Output,
    number: u64,
    /// True if the saved state includes all pending lines (events not yet in a Parquet file), so that they may go into a Parquet file.
    is_known: bool,
    every: Duration,
    next: Instant,
    text: Vec<u8>,
    /// Number of pending lines (events not yet in a Parquet file) that could not be parsed.
    unreadable: u64,
    said: Vec<String>,
}

impl Parquet {
    pub(crate) fn new(directory: PathBuf, every: Duration) -> Self {
        Self {
            pending: Output::new(Some(directory.join("pending.jsonl")), full::BEGIN),
            directory,
            number: 0,
            is_known: true,
            every,
            next: Instant::now() + every,
            text: Vec::new(),
            unreadable: 0,
            said: Vec::new(),
        }
    }

    fn part(&self) -> PathBuf {
        self.directory.join(format!("part-{:06}.parquet", self.number))
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.next || self.pending.length() > MOST_PENDING
    }

    /// Converts the pending lines (events as JSON) to the next Parquet file.
    fn rotate(&mut self) -> Result<()> {
        self.next = Instant::now() + self.every;
        if self.pending.is_empty() {
            return Ok(());
        }
        // Another agent may have written a file with this number.
        while self.part().symlink_metadata().is_ok() {
            self.number += 1;
        }
        let (from, to) = (self.directory.join("pending.jsonl"), self.part());
        let failed = || format!("failed to make {}", shown::path(&to));
        let partial = self.directory.join("partial.parquet");
        let Converted { rows, unreadable } = convert(&from, &partial).with_context(failed)?;
        if rows > 0 {
            rename_to_nothing(&partial, &to).with_context(failed)?;
            self.number += 1;
        }
        if unreadable > 0 {
            self.unreadable += unreadable;
            let (lines, are) = agree(unreadable, ("line", "is not a call and is"), ("lines", "are not calls and are"));
            self.said.push(format!("{unreadable} {lines} of {} {are} skipped", shown::path(&from)));
        }
        self.pending.cut(0)
    }

    /// Converts the lines that a killed agent without a saved state left behind to a Parquet file.
    fn take_up(&mut self) -> Result<()> {
        self.pending.take_up()?;
        if self.pending.is_empty() {
            return Ok(());
        }
        self.rotate()?;
        self.said.push(
            "calls that a killed `dxt-analyze live` left here are now in a Parquet file; calls of processes that still run \
             occur twice, with the same `id`"
                .into(),
        );
        Ok(())
    }
}

impl Sink for Parquet {
    fn begin(&mut self, position: Option<u64>) -> Result<()> {
        let failed = || format!("failed to make {}", shown::path(&self.directory));
        std::fs::create_dir_all(&self.directory).with_context(failed)?;
        match position {
            Some(position) => {
                self.number = position >> PENDING_BITS;
                self.pending.begin(Some(position & ((1 << PENDING_BITS) - 1)))?;
                // If the file exists, it was made of exactly the pending lines that the saved state includes, so they are done.
                if self.part().exists() {
                    self.number += 1;
                    self.pending.cut(0)?;
                }
                Ok(())
            }
            None => {
                // Continues the numbering after the Parquet files of earlier agents.
                while self.part().exists() {
                    self.number += 1;
                }
                self.take_up()
            }
        }
    }

    fn events(&mut self, events: &[Event]) -> Result<()> {
        if self.is_known && self.is_due() {
            self.rotate()?;
        }
        self.is_known = false;
        self.text.clear();
        for event in events {
            full::line(event, &mut self.text)?;
        }
        self.pending.write(&self.text)
    }

    fn settle(&mut self) -> Result<Option<u64>> {
        // Completes a due Parquet file here too, in case no more events arrive.
        if self.is_known && self.is_due() {
            self.rotate()?;
        }
        Ok(self.pending.settle()?.map(|pending| self.number << PENDING_BITS | pending))
    }

    fn saved(&mut self) {
        self.is_known = true;
    }

    fn messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    fn dropped(&self) -> u64 {
        self.unreadable
    }

    fn finish(&mut self) -> Result<()> {
        // Does not convert events that the saved state lacks, since a resumed agent delivers them again.
        if !self.is_known {
            return Ok(());
        }
        self.rotate()?;
        let pending = self.directory.join("pending.jsonl");
        // Safe, since the state, if there is one, has no pending lines.
        std::fs::remove_file(&pending).with_context(|| format!("failed to remove {}", shown::path(&pending)))
    }
}

struct Converted {
    rows: u64,
    /// Number of lines that cannot be parsed as events, e.g. damaged by a failure of the node.
    unreadable: u64,
}

fn convert(from: &Path, to: &Path) -> Result<Converted> {
    let mut lines = BufReader::with_capacity(1 << 20, open_no_link(from)?).split(b'\n');
    let _ = std::fs::remove_file(to);
    let (mut out, mut done) = (None, Converted { rows: 0, unreadable: 0 });
    loop {
        let texts: Vec<Vec<u8>> = lines.by_ref().take(ROWS).collect::<Result<_, _>>()?;
        if texts.is_empty() {
            break;
        }
        let rows: Vec<Line<'_>> = texts.iter().filter_map(|text| serde_json::from_slice(text).ok()).collect();
        done.rows += rows.len() as u64;
        done.unreadable += (texts.len() - rows.len()) as u64;
        if rows.is_empty() {
            continue;
        }
        let rows = table(&rows)?;
        let out = match &mut out {
            Some(out) => out,
            none => none.insert(writer(to, rows.schema(), properties().build())?),
        };
        out.write(&rows)?;
    }
    out.map_or(Ok(()), finish)?;
    Ok(done)
}

fn table(rows: &[Line<'_>]) -> Result<RecordBatch> {
    let selected = |of: fn(&Selected) -> i64| -> ArrayRef {
        Arc::new(rows.iter().map(|row| row.so_far.selected.as_ref().map(of)).collect::<Int64Array>())
    };
    let signed = |of: fn(&Line<'_>) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(rows.iter().map(of))) };
    batch(vec![
        ("id", texts(rows.iter().map(|row| &row.id))),
        ("job", texts(rows.iter().map(|row| &row.job))),
        ("job_id", numbers(rows.iter().map(|row| row.job_id))),
        ("node", texts(rows.iter().map(|row| &row.node))),
        ("rank", signed(|row| row.rank.into())),
        ("pid", numbers(rows.iter().map(|row| row.pid.into()))),
        ("thread", numbers(rows.iter().map(|row| row.thread.into()))),
        ("uid", numbers(rows.iter().map(|row| row.uid.into()))),
        ("exe", texts(rows.iter().map(|row| &row.exe))),
        ("file", texts(rows.iter().map(|row| &row.file))),
        ("file_system", texts(rows.iter().map(|row| &row.file_system))),
        // Written as text, since the value is an unsigned 64-bit number.
        ("record_id", texts(rows.iter().map(|row| row.record_id.to_string()))),
        ("layer", texts(rows.iter().map(|row| &row.layer))),
        ("op", texts(rows.iter().map(|row| &row.op))),
        ("errno", numbers(rows.iter().map(|row| row.errno.into()))),
        ("nested", numbers(rows.iter().map(|row| row.nested.into()))),
        ("offset", signed(|row| row.offset)),
        ("length", numbers(rows.iter().map(|row| row.length))),
        ("start", moments(rows.iter().map(|row| row.start_unix_ns))),
        ("end", moments(rows.iter().map(|row| row.end_unix_ns))),
        ("start_unix_ns", signed(|row| row.start_unix_ns)),
        ("end_unix_ns", signed(|row| row.end_unix_ns)),
        ("stands_for", numbers(rows.iter().map(|row| row.stands_for.into()))),
        ("job_start_unix_ns", signed(|row| row.job_start_unix_ns)),
        ("started", numbers(rows.iter().map(|row| row.started))),
        ("spool", numbers(rows.iter().map(|row| row.spool))),
        ("epoch_unix_ns", signed(|row| row.epoch_unix_ns)),
        ("sequence", numbers(rows.iter().map(|row| row.sequence.into()))),
        ("slot", numbers(rows.iter().map(|row| row.slot.into()))),
        ("file_number", numbers(rows.iter().map(|row| row.file_number.into()))),
        ("data_set", some_texts(rows.iter().map(|row| row.data_set.as_ref()))),
        ("class", numbers(rows.iter().map(|row| u32::from(row.class).into()))),
        ("so_far_calls", numbers(rows.iter().map(|row| row.so_far.calls))),
        ("so_far_ns", numbers(rows.iter().map(|row| row.so_far.time_ns))),
        ("max_byte", signed(|row| row.so_far.max_byte)),
        ("switches", signed(|row| row.so_far.switches)),
        ("flushes", signed(|row| row.so_far.flushes)),
        ("pt_sel", selected(|selected| selected.points)),
        ("irreg_hslab", selected(|selected| selected.irregular)),
        ("reg_hslab", selected(|selected| selected.regular)),
        ("ndims", selected(|selected| selected.dimensions)),
        ("npoints", selected(|selected| selected.elements)),
    ])
}
