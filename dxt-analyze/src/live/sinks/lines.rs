//! Events as lines of a file, in the connector's form: JSON objects, or CSV. An agent that goes on cuts the file to where the
//! one before it had come, so that no line is there twice.

use super::{Sink, connector};
use crate::live::event::Event;
use anyhow::{Context, Result};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An object a line, with the connector's names.
    Json,
    /// The connector's 25 columns.
    Csv,
    /// Everything that is known, in names of our own.
    Full,
}

/// A file, or standard output.
pub(crate) struct Lines {
    form: Form,
    path: Option<PathBuf>,
    file: Option<File>,
    /// Bytes of whole lines in it.
    length: u64,
    others: u64,
    text: Vec<u8>,
}

impl Lines {
    pub(crate) fn new(form: Form, path: Option<PathBuf>) -> Self {
        Self { form, path, file: None, length: 0, others: 0, text: Vec::new() }
    }

    fn write(&mut self) -> Result<()> {
        let Some(file) = &mut self.file else {
            let mut out = std::io::stdout().lock();
            return out.write_all(&self.text).and_then(|()| out.flush()).context("failed to write to standard output");
        };
        let written = file.write_all(&self.text).context("failed to write");
        if written.is_ok() {
            self.length += self.text.len() as u64;
        } else {
            // No part of a line stays.
            let _ = file.set_len(self.length);
            let _ = file.seek(SeekFrom::Start(self.length));
        }
        written
    }
}

impl Sink for Lines {
    fn begin(&mut self, position: Option<u64>) -> Result<()> {
        if let Some(path) = &self.path {
            let failed = || format!("failed to open {}", path.display());
            let mut options = OpenOptions::new();
            options.write(true);
            // Nothing that was there is written over but what an agent of the same state had put there.
            let mut file = match position {
                Some(_) => options.create(true).truncate(false),
                None => options.create_new(true),
            }
            .open(path)
            .with_context(failed)?;
            self.length = position.unwrap_or(0).min(file.metadata().with_context(failed)?.len());
            file.set_len(self.length).with_context(failed)?;
            file.seek(SeekFrom::Start(self.length)).with_context(failed)?;
            self.file = Some(file);
        }
        if self.form == Form::Csv && self.length == 0 {
            self.text = (connector::COLUMNS.join(",") + "\n").into_bytes();
            self.write()?;
        }
        Ok(())
    }

    fn events(&mut self, events: &[Event]) -> Result<()> {
        self.text.clear();
        for event in events {
            match self.form {
                Form::Full => super::full::line(event, &mut self.text)?,
                Form::Json => match connector::message(event) {
                    Some(message) => {
                        serde_json::to_writer(&mut self.text, &message)?;
                        self.text.push(b'\n');
                    }
                    None => self.others += 1,
                },
                Form::Csv => match connector::message(event) {
                    Some(message) => row(&message, &mut self.text)?,
                    None => self.others += 1,
                },
            }
        }
        self.write()
    }

    fn settle(&mut self) -> Result<Option<u64>> {
        if let Some(file) = &self.file {
            file.sync_data().context("failed to make it durable")?;
        }
        Ok(self.file.is_some().then_some(self.length))
    }

    fn other_operations(&self) -> u64 {
        self.others
    }
}

/// A message as the connector's CSV has it: a line of an object and its segment.
fn row(message: &connector::Message<'_>, out: &mut Vec<u8>) -> Result<()> {
    let [seg] = &message.seg;
    let mut writer = csv::WriterBuilder::new().from_writer(out);
    let numbers = |values: &[i64]| -> Vec<String> { values.iter().map(i64::to_string).collect() };
    let mut fields = vec![
        message.uid.to_string(),
        message.exe.to_owned(),
        message.job_id.to_string(),
        message.rank.to_string(),
        message.producer_name.to_owned(),
        message.file.to_owned(),
        message.record_id.to_string(),
        message.module.to_owned(),
        message.kind.to_owned(),
    ];
    fields.extend(numbers(&[message.max_byte, message.switches, message.flushes]));
    fields.extend([message.cnt.to_string(), message.op.to_owned()]);
    fields.extend(numbers(&[seg.pt_sel, seg.irreg_hslab, seg.reg_hslab, seg.ndims, seg.npoints, seg.off, seg.len]));
    fields.extend([&seg.start, &seg.dur, &seg.total, &seg.timestamp].map(|number| number.get().to_owned()));
    writer.write_record(fields)?;
    writer.flush()?;
    Ok(())
}
