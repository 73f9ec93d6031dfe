//! Command `export`: converts a trace for other programs, to one file or directory per format. Every format contains the segments that the
//! user's selection includes, is written in bounded memory, and has the same bytes regardless of the number of threads. `calls` has the
//! fields of a segment, `place` creates the files. A new format is a variant of [`ExportFormat`] and a line in [`export`].

mod args;
pub(crate) mod calls;
pub mod darshan;
mod dxt_text;
mod fio;
pub(crate) mod jobs;
#[cfg_attr(not(feature = "parquet"), path = "without_parquet.rs")]
pub(crate) mod parquet;
mod perfetto;
mod place;
mod rows;

pub use args::{Args, ExportFormat};

use crate::exit::Exit;
use crate::model::{FileLayout, Run};
use crate::progress::say;
use crate::scan::Lost;
use crate::shared::completeness::Completeness;
use crate::symbols::Symbols;
use anyhow::Result;
use darshan_log::write::DxtVersion;
use std::io::Write;
use std::path::Path;

/// Run to export and the options, for all output formats.
pub(crate) struct Job<'a> {
    run: &'a Run,
    args: &'a Args,
    /// Path of a file of stripe layouts that the user gave with `--layout`, if any.
    stripes: Option<&'a Path>,
    /// Stripe layout of each file, if the trace or the user provides one; guessed layouts are excluded.
    layouts: Vec<Option<FileLayout>>,
    /// Functions and lines of call sites; none for output formats without call sites.
    symbols: Symbols,
}

/// Loads the inputs and writes the export. `out` is standard output.
///
/// # Errors
/// Fails if nothing can be loaded, the layouts are not valid, or the output cannot be written.
pub fn export(args: &Args, out: &mut dyn Write) -> Result<Exit> {
    args.check()?;
    let chosen = dxt_text::Layouts::of(&args.layout, args.to == ExportFormat::DxtParser)?;
    let run = crate::session::open(&args.inputs)?;
    let layouts = crate::layouts::certain(crate::session::layouts(&run, chosen.stripes)?);
    let symbols = if args.to.has_sites() { Symbols::of(&run, &args.debug.dirs) } else { Symbols::default() };
    let job = Job { run: &run, args, stripes: chosen.stripes, layouts, symbols };
    let lost = match args.to {
        ExportFormat::Darshan => place::seekable(&args.output, args.force, |file| {
            darshan::write(&run, &job.layouts, DxtVersion::Plain, file)
        }),
        ExportFormat::DxtParser => dxt_text::write(&job, &chosen, out),
        ExportFormat::Fio => fio::write(&job),
        ExportFormat::Parquet => parquet::write(&job),
        ExportFormat::Csv => rows::write(&job, rows::Form::Csv, out),
        ExportFormat::Json => rows::write(&job, rows::Form::Json, out),
        ExportFormat::Perfetto => perfetto::write(&job, out),
    }?;
    Ok(ending(&run, &lost))
}

/// Reports missing data on standard error; returns the exit code, which says if data is missing.
fn ending(run: &Run, lost: &Lost) -> Exit {
    let missing = Completeness::of(run, lost);
    for line in missing.scope_lines().into_iter().chain(missing.sentences()) {
        say!("dxt-analyze: {line}");
    }
    if missing.complete { Exit::Fine } else { Exit::Incomplete }
}
