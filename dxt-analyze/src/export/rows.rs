//! Output of `export --to csv` and `--to json`: segments as rows. A few blocks at a time are decoded and formatted in parallel, and written in order.

use super::calls::{self, COLUMNS, Call, Storage};
use super::{Job, place};
use crate::progress::Bar;
use crate::scan::{Block, Lost, Progress, Reader, segments_of};
use crate::text::printable::printable;
use crate::topics::sites::numbered::Numbered;
use anyhow::{Context, Result};
use rayon::prelude::*;
use std::fmt::Write as _;
use std::io::Write;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// CSV with a header line; storage targets are separated by blanks.
    Csv,
    Json,
}

pub(crate) fn write(job: &Job<'_>, form: Form, out: &mut dyn Write) -> Result<Lost> {
    place::file(&job.args.output, job.args.force, out, |out| all(job, form, out))
}

fn all(job: &Job<'_>, form: Form, out: &mut dyn Write) -> Result<Lost> {
    let run = job.run;
    let bar = Bar::new(run.segments(), "writing");
    let sites = Numbered::of(run, &job.symbols);
    let mut lost = Lost::default();
    if form == Form::Csv {
        writeln!(out, "{}", COLUMNS.join(","))?;
    }
    let at_a_time = rayon::current_num_threads() * 2;
    for blocks in calls::blocks(run).chunks(at_a_time.max(1)) {
        let texts: Vec<Result<(Vec<u8>, Lost)>> = blocks
            .par_iter()
            .map_init(Default::default, |(reader, storage): &mut (Reader, Storage), &(process, block)| {
                let mut lost = Lost::default();
                let text = match reader.block(run, process, block, &mut lost) {
                    Some(block) => text(job, &sites, &block, storage, form)?,
                    None => Vec::new(),
                };
                Ok((text, lost))
            })
            .collect();
        for (text, &(process, block)) in texts.into_iter().zip(blocks) {
            let (text, less) = text?;
            lost.merge(less);
            out.write_all(&text).context("failed to write segments")?;
            bar.advance(segments_of(run, process, block));
        }
    }
    Ok(lost.sorted())
}

fn text(job: &Job<'_>, sites: &Numbered, block: &Block<'_>, storage: &mut Storage, form: Form) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(block.streams.len() * 256);
    match form {
        Form::Json => calls::each(job, sites, block, storage, |call| {
            serde_json::to_writer(&mut out, call)?;
            out.push(b'\n');
            anyhow::Ok(())
        })?,
        Form::Csv => {
            let mut writer = csv::Writer::from_writer(out);
            let mut text = String::new();
            calls::each(job, sites, block, storage, |call| record(&mut writer, &mut text, call))?;
            out = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
        }
    }
    Ok(out)
}

fn record(writer: &mut csv::Writer<Vec<u8>>, text: &mut String, call: &Call<'_>) -> Result<()> {
    call.fields(|field| {
        text.clear();
        // Writing to a string cannot fail.
        let _ = write!(text, "{field}");
        writer.write_field(printable(text).as_bytes())
    })?;
    writer.write_record(None::<&[u8]>)?;
    Ok(())
}
