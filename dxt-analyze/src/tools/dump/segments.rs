//! Output of `dump`: every segment, by rank and pid, then by thread, then in the order of recording. Blocks are decoded and formatted a few
//! at a time, in parallel, and written in order.
//!
//! - `nested`: 1 for calls made inside an MPI-IO call. Calls inside an HDF5 call have `in_hdf5`; the text format adds 2 to `nested` instead.
//! - Data set: appended to the file name in the text format.
//! - `errno`: error of a failed call, else 0.
//! - `site`: number of the call site, as in the exports; missing if unknown. `place`: its function and line; in the text format, lines of
//!   the header have the places of all numbers.
//! - `segment`: running number of a segment within its process, file and layer, from 0, in output order, as in darshan-dxt-parser.

use super::args::{Args, DumpFormat};
use crate::exit::Exit;
use crate::model::{FileId, Process, Run, Stream, StreamIx};
use crate::progress::Bar;
use crate::progress::say;
use crate::scan::{Lost, Progress, resolve};
use crate::shared::completeness::Completeness;
use crate::symbols::Symbols;
use crate::text::paths::shown;
use crate::text::printable::printable;
use crate::topics::sites::numbered::Numbered;
use anyhow::{Context, Result};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use trace_format::read::{BlockRef, Columns, Decoder};

/// Loads the job and writes every segment to `out`.
///
/// # Errors
/// Fails if nothing can be loaded or `out` cannot be written.
pub fn dump(args: &Args, out: &mut dyn Write) -> Result<Exit> {
    if matches!(args.format, DumpFormat::DxtParser | DumpFormat::DxtParserThreads | DumpFormat::DarshanParser) {
        return super::darshan_text::print(args, out);
    }
    let run = crate::session::open(&args.inputs)?;
    let lost = dump_run(&run, args.format, args.absolute, &args.debug.dirs, out)?;
    let missing = Completeness::of(&run, &lost);
    for line in missing.scope_lines().into_iter().chain(missing.sentences()) {
        say!("dxt-analyze: {line}");
    }
    Ok(if missing.complete { Exit::Fine } else { Exit::Incomplete })
}

/// Writes every segment of `run`; returns the segments that could not be read. With `absolute`, times are ns since 1970-01-01 UTC.
/// `debug_dirs`: directories with debug information.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn dump_run(
    run: &Run,
    format: DumpFormat,
    absolute: bool,
    debug_dirs: &[PathBuf],
    out: &mut dyn Write,
) -> Result<Lost> {
    let sites = &Numbered::of(run, &Symbols::of(run, debug_dirs));
    let base = if absolute { u64::try_from(run.start_unix_ns).unwrap_or(0) } else { 0 };
    let bar = Bar::new(run.segments(), "writing");
    let mut lost = Lost::default();
    header(run, sites, format, out)?;
    let at_a_time = rayon::current_num_threads() * 2;
    for process in &run.processes {
        let Some(input) = run.inputs.get(process.input as usize) else { continue };
        let mut numbers: FxHashMap<(FileId, u8), u64> = FxHashMap::default();
        for blocks in process.blocks.chunks(at_a_time.max(1)) {
            let decoded: Vec<(&BlockRef, trace_format::Result<Decoded>)> = blocks
                .par_iter()
                .map_init(Decoder::default, |decoder, block| {
                    let decoded =
                        decoder.block(input.trace.source(), block).map(|columns| Decoded::new(run, process, columns));
                    (block, decoded)
                })
                .collect();
            let mut ready = Vec::with_capacity(decoded.len());
            for (block, decoded) in decoded {
                match decoded {
                    Ok(decoded) => {
                        lost.without_stream += decoded.unknown;
                        ready.push((block, decoded.numbered(run, process, &mut numbers)));
                    }
                    Err(error) => {
                        lost.segments += u64::from(block.head.segments);
                        lost.blocks += 1;
                        let file = shown(&input.path);
                        lost.problems.push(crate::model::Problem {
                            file,
                            offset: block.offset,
                            what: error.to_string(),
                        });
                    }
                }
            }
            let texts: Vec<Result<Vec<u8>>> = ready
                .par_iter()
                .map(|(block, decoded)| {
                    let tid = process.tid(block.head.thread);
                    let names = Names { run, process, sites, tid, shift: process.shift_ns.saturating_add(base) };
                    decoded.format(&names, format)
                })
                .collect();
            for ((block, _), text) in ready.iter().zip(texts) {
                out.write_all(&text?).context("failed to write segments")?;
                bar.advance(u64::from(block.head.segments));
            }
        }
    }
    super::counters::dump(run, format, base, out)?;
    Ok(lost)
}

fn header(run: &Run, sites: &Numbered, format: DumpFormat, out: &mut dyn Write) -> Result<()> {
    match format {
        DumpFormat::Json | DumpFormat::DxtParser | DumpFormat::DxtParserThreads | DumpFormat::DarshanParser => {}
        DumpFormat::Csv => {
            let mut writer = csv::Writer::from_writer(out);
            writer.write_record(COLUMNS.iter().map(|(heading, _)| heading))?;
            writer.flush()?;
        }
        DumpFormat::Text => {
            writeln!(
                out,
                "# job {}, program {}",
                printable(&run.info.key),
                printable(&String::from_utf8_lossy(&run.info.exe))
            )?;
            if let Some(line) = crate::model::filters::line(&run.filters) {
                writeln!(out, "# filters: {line}")?;
            }
            writeln!(out, "# start {} ns since 1970; times in ns since then", run.start_unix_ns)?;
            for (number, place) in sites.places() {
                writeln!(out, "# site {number}: {}", printable(place))?;
            }
            writeln!(
                out,
                "# {:>5} {:<12} {:>7} {:>7} {:<7} {:<14} {:<11} {:>6} {:>5} {:>8} {:>15} {:>12} {:>16} {:>16} {:>6}  file",
                "rank",
                "node",
                "pid",
                "thread",
                "layer",
                "op",
                "mode",
                "nested",
                "errno",
                "segment",
                "offset",
                "length",
                "start_ns",
                "end_ns",
                "site"
            )?;
        }
    }
    Ok(())
}

/// Decoded segments of a block, with their streams and running numbers.
struct Decoded {
    columns: Columns,
    streams: Vec<StreamIx>,
    numbers: Vec<u64>,
    unknown: u64,
}

/// Run and process whose tables supply the names in an output row.
struct Names<'a> {
    run: &'a Run,
    process: &'a Process,
    sites: &'a Numbered,
    tid: u32,
    shift: u64,
}

impl Names<'_> {
    /// Returns the path of the HDF5 data set that the calls of a stream (one operation on one file) access; empty if there is none.
    fn data_set(&self, stream: &Stream) -> &str {
        let set = stream.data_set.and_then(|number| self.run.data_sets.get(number as usize));
        set.map_or("", |set| set.path.as_str())
    }
}

#[derive(Serialize)]
struct JsonRow<'a> {
    rank: i32,
    node: &'a str,
    pid: u32,
    thread: u32,
    layer: &'a str,
    op: &'a str,
    mode: &'a str,
    nested: bool,
    failed: bool,
    errno: u16,
    file: &'a str,
    segment: u64,
    offset: i64,
    length: u64,
    start_ns: u64,
    end_ns: u64,
    in_hdf5: bool,
    data_set: &'a str,
    site: Option<u32>,
    place: Option<&'a str>,
}

impl Decoded {
    fn new(run: &Run, process: &Process, columns: &Columns) -> Self {
        let mut streams = Vec::new();
        let unknown = resolve(run, process, columns, &mut streams);
        Self { columns: columns.clone(), streams, numbers: Vec::new(), unknown }
    }

    /// Numbers the segments within their process, file and layer, continuing after the previous block.
    fn numbered(mut self, run: &Run, process: &Process, numbers: &mut FxHashMap<(FileId, u8), u64>) -> Self {
        self.numbers.reserve(self.streams.len());
        for &index in &self.streams {
            let stream = process.stream(index.any());
            let key = stream.map_or((FileId::NONE, u8::MAX), |stream| (stream.file, layer_number(run, stream)));
            let next = numbers.entry(key).or_default();
            self.numbers.push(*next);
            *next += 1;
        }
        self
    }

    fn rows<'a>(&'a self, names: &'a Names<'a>) -> impl Iterator<Item = JsonRow<'a>> {
        let columns = &self.columns;
        self.streams.iter().enumerate().filter_map(move |(i, &stream)| {
            let stream = names.process.stream(stream.any())?;
            let op = names.run.op(stream);
            let site = columns.stream.get(i).and_then(|id| names.process.site(*id));
            Some(JsonRow {
                rank: names.process.rank,
                node: names.run.node(names.process),
                pid: names.process.pid,
                thread: names.tid,
                layer: op.layer_name(),
                op: &op.name,
                mode: op.mode.name(),
                nested: stream.nested,
                failed: stream.failed,
                errno: stream.errno,
                file: names.run.file(stream.file).map_or("?", |file| file.name.as_str()),
                segment: *self.numbers.get(i)?,
                offset: *columns.offset.get(i)?,
                length: *columns.length.get(i)?,
                start_ns: columns.start.get(i)?.saturating_add(names.shift),
                end_ns: columns.end.get(i)?.saturating_add(names.shift),
                in_hdf5: stream.in_hdf5,
                data_set: names.data_set(stream),
                site,
                place: site.and_then(|site| names.sites.place(site)),
            })
        })
    }

    fn format(&self, names: &Names<'_>, format: DumpFormat) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(self.streams.len() * 128);
        match format {
            DumpFormat::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                let mut digits = String::new();
                for row in self.rows(names) {
                    csv_row(&mut writer, &mut digits, &row)?;
                }
                out = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
            }
            DumpFormat::Json => {
                for row in self.rows(names) {
                    serde_json::to_writer(&mut out, &row)?;
                    out.push(b'\n');
                }
            }
            _ => {
                for row in self.rows(names) {
                    let nested = u8::from(row.nested);
                    writeln!(
                        out,
                        "{:>7} {:<12} {:>7} {:>7} {:<7} {:<14} {:<11} {:>6} {:>5} {:>8} {:>15} {:>12} {:>16} {:>16} {:>6}  {}{}{}",
                        row.rank,
                        printable(row.node),
                        row.pid,
                        row.thread,
                        row.layer,
                        row.op,
                        if row.mode.is_empty() { "-" } else { row.mode },
                        if row.in_hdf5 { nested + 2 } else { nested },
                        row.errno,
                        row.segment,
                        row.offset,
                        row.length,
                        row.start_ns,
                        row.end_ns,
                        row.site.map_or_else(|| "-".to_owned(), |site| site.to_string()),
                        printable(row.file),
                        if row.data_set.is_empty() { "" } else { ":" },
                        printable(row.data_set)
                    )?;
                }
            }
        }
        Ok(out)
    }
}

enum Field<'a> {
    Number(i128),
    Text(&'a str),
    None,
}

type OfRow = for<'a> fn(&'a JsonRow<'a>) -> Field<'a>;

/// CSV columns: heading, and function that returns the column's field of a row.
const COLUMNS: [(&str, OfRow); 20] = [
    ("rank", |row| Field::Number(row.rank.into())),
    ("node", |row| Field::Text(row.node)),
    ("pid", |row| Field::Number(row.pid.into())),
    ("thread", |row| Field::Number(row.thread.into())),
    ("layer", |row| Field::Text(row.layer)),
    ("op", |row| Field::Text(row.op)),
    ("nested", |row| Field::Number(row.nested.into())),
    ("file", |row| Field::Text(row.file)),
    ("segment", |row| Field::Number(row.segment.into())),
    ("offset", |row| Field::Number(row.offset.into())),
    ("length", |row| Field::Number(row.length.into())),
    ("start_ns", |row| Field::Number(row.start_ns.into())),
    ("end_ns", |row| Field::Number(row.end_ns.into())),
    ("in_hdf5", |row| Field::Number(row.in_hdf5.into())),
    ("data_set", |row| Field::Text(row.data_set)),
    ("mode", |row| Field::Text(row.mode)),
    ("failed", |row| Field::Number(row.failed.into())),
    ("errno", |row| Field::Number(row.errno.into())),
    ("site", |row| row.site.map_or(Field::None, |site| Field::Number(site.into()))),
    ("place", |row| row.place.map_or(Field::None, Field::Text)),
];

fn csv_row(writer: &mut csv::Writer<Vec<u8>>, digits: &mut String, row: &JsonRow<'_>) -> Result<()> {
    for (_, field) in COLUMNS {
        match field(row) {
            Field::None => writer.write_field("")?,
            Field::Text(text) => writer.write_field(printable(text).as_bytes())?,
            Field::Number(number) => {
                use std::fmt::Write as _;
                digits.clear();
                // Writing to a string cannot fail.
                let _ = write!(digits, "{number}");
                writer.write_field(&*digits)?;
            }
        }
    }
    writer.write_record(None::<&[u8]>)?;
    Ok(())
}

fn layer_number(run: &Run, stream: &Stream) -> u8 {
    run.op(stream).layer.map_or(u8::MAX, |layer| layer as u8)
}
