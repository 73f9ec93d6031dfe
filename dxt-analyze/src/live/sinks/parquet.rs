//! Events as Parquet, a file for each minute or so: `DIR/part-<number>.parquet`. A Parquet file is whole or it is nothing, so what is
//! not in one yet waits as lines of JSON in `DIR/pending.jsonl`. An agent that goes on cuts those to where the one before it had come; a
//! file is made only of lines that the state knows, so no event is there twice.

use super::Sink;
use super::file::Output;
use super::full::{self, Line};
use crate::columnar::{batch, finish, moments, numbers, properties, texts, writer};
use crate::live::event::Event;
use crate::live::shown;
use anyhow::{Context, Result};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A file is ended after this time, or when so many bytes wait for it.
const EVERY: Duration = Duration::from_secs(60);
const MOST_PENDING: u64 = 256 << 20;
/// Rows that are made at once.
const ROWS: usize = 1 << 16;
/// Bits of a position that say how much is pending; the number of the file stands above.
const PENDING_BITS: u32 = 40;

/// A directory of files.
pub(crate) struct Parquet {
    directory: PathBuf,
    pending: Output,
    number: u64,
    /// The state knows of all that is pending.
    is_known: bool,
    next: Instant,
    text: Vec<u8>,
}

impl Parquet {
    pub(crate) fn new(directory: PathBuf) -> Self {
        let pending = Output::new(Some(directory.join("pending.jsonl")));
        Self { directory, pending, number: 0, is_known: true, next: Instant::now() + EVERY, text: Vec::new() }
    }

    fn part(&self) -> PathBuf {
        self.directory.join(format!("part-{:06}.parquet", self.number))
    }

    /// Makes a file of what is pending.
    fn rotate(&mut self) -> Result<()> {
        self.next = Instant::now() + EVERY;
        if self.pending.is_empty() {
            return Ok(());
        }
        let (from, to) = (self.directory.join("pending.jsonl"), self.part());
        let failed = || format!("failed to make {}", shown::path(&to));
        let partial = self.directory.join("partial.parquet");
        convert(&from, &partial).with_context(failed)?;
        std::fs::rename(&partial, &to).with_context(failed)?;
        self.number += 1;
        self.pending.cut(0)
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
                // It was made of what the state knows, and not of more.
                if self.part().exists() {
                    self.number += 1;
                    self.pending.cut(0)?;
                }
                Ok(())
            }
            None => {
                // Beside those of agents before.
                while self.part().exists() {
                    self.number += 1;
                }
                self.pending.begin(None)
            }
        }
    }

    fn events(&mut self, events: &[Event]) -> Result<()> {
        let is_due = Instant::now() >= self.next || self.pending.length() > MOST_PENDING;
        if is_due && self.is_known {
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
        Ok(self.pending.settle()?.map(|pending| self.number << PENDING_BITS | pending))
    }

    fn saved(&mut self) {
        self.is_known = true;
    }

    fn finish(&mut self) -> Result<()> {
        // What the state does not know is given again, to an agent that goes on.
        if !self.is_known {
            return Ok(());
        }
        self.rotate()?;
        let pending = self.directory.join("pending.jsonl");
        // A state, if there is one, knows that nothing is pending.
        std::fs::remove_file(&pending).with_context(|| format!("failed to remove {}", shown::path(&pending)))
    }
}

/// Lines of JSON as Parquet.
fn convert(from: &Path, to: &Path) -> Result<()> {
    let mut lines = BufReader::with_capacity(1 << 20, File::open(from)?).lines();
    let _ = std::fs::remove_file(to);
    let mut out = None;
    loop {
        let texts: Vec<String> = lines.by_ref().take(ROWS).collect::<Result<_, _>>()?;
        if texts.is_empty() {
            break;
        }
        let rows: Vec<Line<'_>> = texts.iter().map(|text| serde_json::from_str(text)).collect::<Result<_, _>>()?;
        let rows = table(&rows)?;
        let out = match &mut out {
            Some(out) => out,
            none => none.insert(writer(to, rows.schema(), properties().build())?),
        };
        out.write(&rows)?;
    }
    out.map_or(Ok(()), finish)
}

fn table(rows: &[Line<'_>]) -> Result<RecordBatch> {
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
        // As text: it has 64 bits, and no sign.
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
    ])
}
