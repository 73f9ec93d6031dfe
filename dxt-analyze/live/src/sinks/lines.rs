//! Events as lines of a file, JSON or CSV. A resumed agent truncates the file to the earlier agent's position, so that no line occurs twice.

use super::file::Output;
use super::{Sink, connector};
use crate::event::Event;
use anyhow::Result;
use dxt_base::text::printable::printable;
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// JSON objects in the format of the LDMS-Darshan connector.
    Json,
    /// CSV with the 26 columns of the LDMS-Darshan connector's paper.
    Csv,
    /// JSON objects with all fields, under this project's own field names.
    Full,
}

/// First bytes of the CSV header, by which files of this destination are recognized.
const COLUMNS_BEGIN: &str = "#module,uid,";

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
            self.text.extend_from_slice(connector::header().as_bytes());
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

/// Appends a message as LDMS stores it: one CSV row with the message's own fields and those of its `seg` list (the call), in the column
/// order of the connector's paper.
fn row(message: &connector::Message<'_>, out: &mut Vec<u8>) -> Result<()> {
    let [seg] = &message.seg;
    let mut writer = csv::WriterBuilder::new().from_writer(out);
    writer.write_record([
        message.module,
        &message.uid.to_string(),
        &printable(message.producer_name),
        &message.switches.to_string(),
        &printable(&message.file),
        &message.rank.to_string(),
        &message.flushes.to_string(),
        &message.record_id.to_string(),
        &printable(message.exe),
        &message.max_byte.to_string(),
        message.kind,
        &message.job_id.to_string(),
        message.op,
        &message.cnt.to_string(),
        &seg.off.to_string(),
        &seg.pt_sel.to_string(),
        seg.dur.get(),
        &seg.len.to_string(),
        &seg.ndims.to_string(),
        &seg.reg_hslab.to_string(),
        &seg.irreg_hslab.to_string(),
        &printable(seg.data_set),
        &seg.npoints.to_string(),
        seg.timestamp.get(),
        seg.total.get(),
        seg.start.get(),
    ])?;
    writer.flush()?;
    Ok(())
}
