//! Import of rows of the LDMS-Darshan connector (CSV or JSON lines, one call per row): as LDMS stores them, or as `live --to csv` and `--to
//! connector` write them. Every command accepts such a file in place of a trace: each job is first converted to a trace in an unnamed
//! temporary file. `docs/interop.md` documents the mapping.
//!
//! [`convert`] reads the file twice: for the jobs and the names of their files, then for the calls. Memory is bounded for any content (`budget`).

mod columns;
mod data_sets;
mod fields;
mod jobs;
mod lines;
mod names;
mod numbers;
mod process;
mod provenance;
mod row;
mod rows;

use crate::exit::UsageError;
use crate::import::budget::Budget;
use crate::import::written::Written;
use crate::input;
use crate::limits::{LOG_FRAMES, LOG_PROCESSES, LOG_SEGMENTS, of_log};
use crate::model::converted::Converted;
use crate::text::paths::shown;
use anyhow::{Context, Result};
use jobs::Survey;
use names::Named;
use process::Gathered;
use rows::{Damaged, Rows};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use trace_format::write::{Encoder, preamble};

/// Bytes at the start of a file that suffice to recognize its format.
pub const HEAD_BYTES: usize = rows::HEAD_BYTES;

/// Returns true if the file at `path` is named `*.csv`, or if its first bytes `head` (up to [`HEAD_BYTES`]) are in the connector's format.
#[must_use]
pub fn is_rows(path: &Path, head: &[u8]) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) || rows::is_known(head)
}

/// Returns true if the file at `path` has rows of the connector, as [`is_rows`] determines.
#[must_use]
pub fn is_file(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = input::open_trace(path).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    read.is_ok() && is_rows(path, &head)
}

/// One job of an imported file, converted to a trace.
#[derive(Debug)]
pub struct Made {
    /// Converted trace of the job, in an unnamed temporary file.
    pub file: File,
    /// Key that identifies the job in the trace.
    pub key: String,
    /// Remarks on the conversion to a trace, and problems in it.
    pub converted: Converted,
}

/// Converts each job in the file at `path` to a trace, in the order of their first rows.
///
/// # Errors
/// Fails if the file cannot be read, if it has no valid row, or if there is no disk space for the traces.
pub fn convert(path: &Path) -> Result<Vec<Made>> {
    let failed = || format!("failed to read {}", shown(path));
    let file = input::open_trace(path).with_context(failed)?;
    let length = file.metadata().with_context(failed)?.len();
    let survey = Survey::of(path, length)?;
    if survey.jobs.is_empty() {
        let why = match &survey.damaged {
            Some((Damaged { line, why, .. }, _)) => format!("no row can be read; the first one, in line {line}: {why}"),
            None => "it has no row below the line with the names of the columns".into(),
        };
        return Err(UsageError(format!("failed to read {}: {why}", shown(path))).into());
    }
    let mut gathering = Gathering::new(&survey, input::data_bytes(&file).with_context(failed)?)?;
    let mut rows = Rows::open(path, length)?;
    while let Some(row) = rows.next()? {
        if let Ok(row) = row {
            gathering.add(&row)?;
        }
    }
    gathering.finish(path)
}

/// Processes under construction, by rank and node.
type Processes = FxHashMap<(i32, Box<[u8]>), Gathered>;

/// State of the second pass over the rows, which collects the calls of each process.
struct Gathering<'a> {
    survey: &'a Survey,
    processes: Vec<Processes>,
    /// Number of calls on files whose name no row contains, by job index.
    unknown: Vec<u64>,
    /// Number of calls, over all processes, that are not encoded yet.
    held: usize,
    tables: Budget,
    frames: Budget,
    /// Number of calls dropped for lack of memory.
    lost: u64,
    encoder: Encoder,
}

impl<'a> Gathering<'a> {
    fn new(survey: &'a Survey, length: u64) -> Result<Self> {
        Ok(Self {
            survey,
            processes: survey.jobs.iter().map(|_| FxHashMap::default()).collect(),
            unknown: vec![0; survey.jobs.len()],
            held: 0,
            tables: Budget::new("processes and their files", of_log(LOG_PROCESSES, length)),
            frames: Budget::new("calls", of_log(LOG_FRAMES, length)),
            lost: 0,
            encoder: Encoder::new()?,
        })
    }

    fn add(&mut self, row: &row::Row<'_>) -> Result<()> {
        let Some(number) = self.survey.job(row) else { return Ok(()) };
        let (Some(job), Some(processes)) = (self.survey.jobs.get(number), self.processes.get_mut(number)) else {
            return Ok(());
        };
        let file = self.survey.names.of(number, row);
        if let (Named::Unknown(_), Some(unknown)) = (&file, self.unknown.get_mut(number)) {
            *unknown += 1;
        }
        if self.frames.is_spent() {
            self.lost += 1;
            return Ok(());
        }
        let who = (row.rank, row.node.into());
        let process = match processes.entry(who) {
            std::collections::hash_map::Entry::Occupied(known) => Some(known.into_mut()),
            std::collections::hash_map::Entry::Vacant(new) => {
                Gathered::new(job, row, &mut self.tables).map(|process| new.insert(process))
            }
        };
        if !process.is_some_and(|process| process.add(row, &file, &mut self.tables)) {
            self.lost += 1;
            return Ok(());
        }
        self.held += 1;
        if self.held >= LOG_SEGMENTS { self.pack() } else { Ok(()) }
    }

    /// Encodes the pending calls of all processes, to free memory.
    fn pack(&mut self) -> Result<()> {
        self.held = 0;
        for process in self.processes.iter_mut().flat_map(FxHashMap::values_mut) {
            let bytes = process.pack(&mut self.encoder, &mut self.tables)?;
            self.frames.take(bytes);
        }
        Ok(())
    }

    fn finish(mut self, path: &Path) -> Result<Vec<Made>> {
        let failed = || {
            format!(
                "failed to write a temporary file in {} for the contents of {}",
                std::env::temp_dir().display(),
                shown(path)
            )
        };
        self.pack()?;
        let survey = self.survey;
        let mut problems = provenance::problems(path, survey);
        problems.extend([&self.tables, &self.frames].into_iter().filter_map(|budget| budget.problem(path)));
        let mut out = Vec::with_capacity(survey.jobs.len());
        for ((job, processes), unknown) in
            survey.jobs.iter().zip(std::mem::take(&mut self.processes)).zip(&self.unknown)
        {
            let mut processes: Vec<Gathered> = processes.into_values().collect();
            processes.sort_by(|a, b| a.place().cmp(&b.place()));
            let file = tempfile::tempfile().with_context(failed)?;
            let mut writer = BufWriter::with_capacity(1 << 18, &file);
            let count = processes.len() as u32;
            let head = preamble(&mut self.encoder, &provenance::block(job, survey.form), count)?;
            writer.write_all(&head).with_context(failed)?;
            let mut written = Written::behind(&head);
            for (number, process) in processes.into_iter().enumerate() {
                written.add(process.region(number as u32, &mut self.encoder)?, &mut writer).with_context(failed)?;
            }
            written.finish(&mut writer).with_context(failed)?;
            drop(writer);
            let remarks = provenance::remarks(path, job, survey.form, *unknown);
            out.push(Made {
                file,
                key: provenance::key(job),
                converted: Converted { problems: problems.clone(), remarks },
            });
        }
        Ok(out)
    }
}
