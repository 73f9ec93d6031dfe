//! Reader of a file's rows, CSV or JSON lines; damaged rows are reported with their line and byte offset.

use super::columns::{COLUMNS, MARK, Places};
use super::fields::Fields;
use super::lines::{Line, Lines, MOST_BYTES};
use super::row::Row;
use crate::exit::UsageError;
use crate::input::{self, Data};
use crate::text::paths::shown;
use anyhow::{Context, Result};
use std::io::{BufReader, Read, Take};
use std::path::Path;

/// Maximum further lines that a row may span: paths with line feeds are rare.
const MORE_LINES: usize = 8;

/// Format of the rows. CSV rows have columns at the positions `places`; JSON rows are objects, one per line, whose values go to the usual columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    places: Places,
    is_json: bool,
}

/// Returns the format of a file that begins with `head`; `None` if the file was not written by the connector.
fn form(head: &[u8]) -> Option<Form> {
    let head = head.strip_prefix(MARK).unwrap_or(head).trim_ascii_start();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if first.starts_with(b"{") {
        let has = |name: &[u8]| first.windows(name.len()).any(|part| part == name);
        return (has(b"\"record_id\"") && has(b"\"module\"")).then(|| Form { places: Places::usual(), is_json: true });
    }
    let mut fields = Fields::default();
    fields.split(first.trim_ascii_end())?;
    Places::of(&fields).map(|places| Form { places, is_json: false })
}

/// Bytes at the start of a file that suffice to recognize its format.
pub(super) const HEAD_BYTES: usize = 4096;

/// Returns true if a file that begins with `head` has the connector's format.
pub(super) fn is_known(head: &[u8]) -> bool {
    form(head).is_some()
}

pub(super) struct Rows {
    lines: Lines<BufReader<Take<Data>>>,
    places: Places,
    is_json: bool,
    /// Number of segments of the current JSON line that were already returned.
    given: usize,
    line: Line,
    fields: Fields,
    path: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Damaged {
    /// Line number of the damaged row's first line.
    pub(super) line: u64,
    /// Byte offset of the damaged row's first line in the file.
    pub(super) offset: u64,
    pub(super) why: String,
}

impl Rows {
    /// Opens the file at `path`, limited to its first `length` bytes; fails if the file is empty or lacks columns.
    pub(super) fn open(path: &Path, length: u64) -> Result<Self> {
        let failed = || format!("failed to read {}", shown(path));
        let mut head = Vec::new();
        input::open(path).with_context(failed)?.take(HEAD_BYTES as u64).read_to_end(&mut head).with_context(failed)?;
        let shown = shown(path);
        let wrong = |why: String| Err(UsageError(format!("failed to read {shown}: {why}")).into());
        if head.trim_ascii().is_empty() {
            return wrong("it is empty".into());
        }
        let Some(form) = form(&head) else {
            return wrong(
                "its first line does not name the columns of the LDMS-Darshan connector (uid,exe,job_id,rank,...): put that line first"
                    .into(),
            );
        };
        let Form { places, is_json } = form;
        let missing = places.missing();
        if !missing.is_empty() {
            return wrong(format!("it has no column {}: write it again with all columns", missing.join(", ")));
        }
        let file = Data::new(input::open(path).with_context(failed)?).take(length);
        let lines = Lines::new(BufReader::with_capacity(1 << 18, file));
        let (line, fields) = (Line::default(), Fields::default());
        Ok(Self { lines, places, is_json, given: 0, line, fields, path: shown.to_string() })
    }

    pub(super) const fn form(&self) -> &'static str {
        if self.is_json { "JSON lines" } else { "CSV" }
    }

    /// Returns the next row, or a damaged row's place and problem; `None` at the end of the file. Header lines are skipped anywhere, since
    /// files may be concatenated.
    pub(super) fn next(&mut self) -> Result<Option<Result<Row<'_>, Damaged>>> {
        let found = if self.is_json { self.next_json()? } else { self.next_csv()? };
        let damaged = |why| Damaged { line: self.line.number, offset: self.line.offset, why };
        Ok(found.map(|found| found.and_then(|()| Row::of(&self.fields, &self.places)).map_err(damaged)))
    }

    fn take(&mut self) -> Result<Option<Line>> {
        let taken = self.lines.take().with_context(|| format!("failed to read {}", self.path))?;
        Ok(taken.map(|mut line| {
            if line.number == 1 && line.text.starts_with(MARK) {
                line.text.drain(..MARK.len());
            }
            line
        }))
    }

    fn next_csv(&mut self) -> Result<Option<Result<(), String>>> {
        while let Some(line) = self.take()? {
            if line.text.trim_ascii().is_empty() {
                continue;
            }
            self.line = line;
            if self.line.is_cut {
                return Ok(Some(Err(format!("it is longer than {} KiB", MOST_BYTES >> 10))));
            }
            if self.fields.split(&self.line.text).is_none() && !self.join()? {
                return Ok(Some(Err("a quotation in it is not closed".into())));
            }
            let is_head =
                Places::of(&self.fields).is_some_and(|_| self.places.get(&self.fields, "len").is_some_and(is_name));
            if !is_head {
                return Ok(Some(Ok(())));
            }
        }
        Ok(None)
    }

    /// Appends further lines to a row until all quotes are closed. If the result is not a valid row, puts the lines back and returns false.
    fn join(&mut self) -> Result<bool> {
        let (mut text, mut more) = (self.line.text.clone(), Vec::new());
        let mut joined = false;
        while let Some(line) = (more.len() < MORE_LINES).then(|| self.take()).transpose()?.flatten() {
            text.push(b'\n');
            text.extend_from_slice(&line.text);
            let fits = !line.is_cut && text.len() <= MOST_BYTES;
            more.push(line);
            if !fits {
                break;
            }
            if self.fields.split(&text).is_some() {
                joined = Row::of(&self.fields, &self.places).is_ok();
                break;
            }
        }
        if !joined {
            self.lines.give_back(more);
        }
        Ok(joined)
    }

    fn next_json(&mut self) -> Result<Option<Result<(), String>>> {
        loop {
            if self.given > 0 && self.fields.take_json(&self.line.text, self.given, &COLUMNS).unwrap_or(false) {
                self.given += 1;
                return Ok(Some(Ok(())));
            }
            self.given = 0;
            let Some(line) = self.take()? else { return Ok(None) };
            self.line = line;
            if self.line.text.trim_ascii().is_empty() {
                continue;
            }
            return Ok(Some(match self.fields.take_json(&self.line.text, 0, &COLUMNS) {
                Ok(true) => {
                    self.given = 1;
                    Ok(())
                }
                Ok(false) => Err("it has no segment".into()),
                Err(_) if self.line.is_cut => Err(format!("it is longer than {} KiB", MOST_BYTES >> 10)),
                Err(error) => Err(format!("it is not JSON in the connector's format ({error})")),
            }));
        }
    }
}

/// Returns true if `value`, found in column `len`, is a column name instead of a number.
fn is_name(value: &[u8]) -> bool {
    value.ends_with(b"len")
}
