//! Events as lines of a file, in the connector's form: JSON objects, or CSV. An agent that goes on cuts the file to where the
//! one before it had come, so that no line is there twice.

use super::file::Output;
use super::{Sink, connector};
use crate::live::event::Event;
use crate::text::printable::printable;
use anyhow::Result;
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

/// What the first line of CSV begins with.
const COLUMNS_BEGIN: &str = "uid,exe,";

/// Lines.
pub(crate) struct Lines {
    form: Form,
    output: Output,
    has_head: bool,
    others: u64,
    text: Vec<u8>,
}

impl Lines {
    pub(crate) fn new(form: Form, path: Option<PathBuf>) -> Self {
        let head = match form {
            Form::Json => "{\"schema\":",
            Form::Csv => COLUMNS_BEGIN,
            Form::Full => super::full::BEGIN,
        };
        Self { form, output: Output::new(path, head), has_head: false, others: 0, text: Vec::new() }
    }
}

impl Sink for Lines {
    fn begin(&mut self, position: Option<u64>) -> Result<()> {
        self.output.begin(position)
    }

    fn events(&mut self, events: &[Event]) -> Result<()> {
        self.text.clear();
        if self.form == Form::Csv && !std::mem::replace(&mut self.has_head, true) && self.output.is_empty() {
            self.text.extend_from_slice(connector::COLUMNS.join(",").as_bytes());
            self.text.push(b'\n');
        }
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
        self.output.write(&self.text)
    }

    fn settle(&mut self) -> Result<Option<u64>> {
        self.output.settle()
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
        printable(message.exe).into_owned(),
        message.job_id.to_string(),
        message.rank.to_string(),
        printable(message.producer_name).into_owned(),
        printable(&message.file).into_owned(),
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
