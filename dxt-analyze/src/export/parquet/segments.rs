//! The table of segments. It is cut into parts by the number of segments alone; each part is written by one thread, a few parts at
//! a time, a row group of each in memory.

use crate::columnar::{self};
use crate::export::Job;
use crate::export::calls::{self, Storage, kind_name, mode_name, times, unix};
use crate::model::Run;
use crate::progress::Bar;
use crate::scan::{Block, Lost, MEETS, Progress, Reader, any_stream, segments_of};
use crate::text::signed::signed;
use anyhow::{Context, Result};
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampNanosecondArray, UInt32Array,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::file::properties::WriterProperties;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Parts that are written at a time: each holds a row group.
const WRITERS: usize = 8;
/// Segments of a part: so many that there are some 64 parts, between these.
const PART_SEGMENTS: (u64, u64) = (columnar::ROW_GROUP as u64, 1 << 24);
/// Rows that are handed over at a time; fewer if they touch many targets.
const BATCH_ROWS: usize = 1 << 16;
const BATCH_TARGETS: usize = 1 << 20;

/// Writes `part-0000.parquet` and so on into `folder`.
pub(crate) fn write(job: &Job<'_>, folder: &Path) -> Result<Lost> {
    let run = job.run;
    let blocks = calls::blocks(run);
    let parts = parts(run, &blocks);
    let names = Names::new(run);
    let bar = Bar::new(run.segments(), "segments");
    let next = AtomicUsize::new(0);
    let workers = rayon::current_num_threads().min(WRITERS).min(parts.len()).max(1);
    let lost: Result<Vec<Lost>> = (0..workers)
        .into_par_iter()
        .with_max_len(1)
        .map(|_| {
            let mut lost = Lost::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(blocks) = parts.get(number) else { return Ok(lost) };
                let path = folder.join(format!("part-{number:04}.parquet"));
                part(job, &names, blocks, &path, &bar, &mut lost)
                    .with_context(|| format!("part {} of {}", number + 1, parts.len()))?;
            }
        })
        .collect();
    let mut all = Lost::default();
    lost?.into_iter().for_each(|lost| all.merge(lost));
    Ok(all.sorted())
}

/// Neighbouring blocks that go into one file; at least one file, so that there is a table.
fn parts<'a>(run: &Run, blocks: &'a [(u32, u32)]) -> Vec<&'a [(u32, u32)]> {
    let most = (run.segments() / 64).clamp(PART_SEGMENTS.0, PART_SEGMENTS.1);
    let (mut out, mut first, mut sum) = (Vec::new(), 0, 0);
    for (at, &(process, block)) in blocks.iter().enumerate() {
        let more = segments_of(run, process, block);
        if sum > 0 && sum + more > most {
            out.extend(blocks.get(first..at));
            (first, sum) = (at, 0);
        }
        sum += more;
    }
    out.extend(blocks.get(first..));
    out
}

fn part(job: &Job<'_>, names: &Names, blocks: &[(u32, u32)], path: &Path, bar: &Bar, lost: &mut Lost) -> Result<()> {
    let schema = schema();
    let mut writer = columnar::writer(path, Arc::clone(&schema), properties())?;
    let (mut reader, mut storage, mut rows) = <(Reader, Storage, Rows)>::default();
    for &(process, block) in blocks {
        if let Some(block) = reader.block(job.run, process, block, lost) {
            for from in (0..block.streams.len()).step_by(BATCH_ROWS) {
                let mut at = from;
                while at < block.streams.len().min(from + BATCH_ROWS) {
                    at = rows.take(job, &block, &mut storage, at, block.streams.len().min(from + BATCH_ROWS));
                    if !rows.stream.is_empty() {
                        writer.write(&rows.batch(job, names, &block, &schema)?)?;
                    }
                }
            }
        }
        bar.advance(segments_of(job.run, process, block));
    }
    columnar::finish(writer)
}

/// Numbers of some rows of one block.
#[derive(Default)]
struct Rows {
    /// Index of the stream in the process's table.
    stream: Vec<u32>,
    offset: Vec<Option<i64>>,
    length: Vec<i64>,
    start: Vec<i64>,
    end: Vec<i64>,
    start_unix: Vec<i64>,
    end_unix: Vec<i64>,
    stripe: Vec<Option<i64>>,
    osts: ListBuilder<Int32Builder>,
}

impl Rows {
    /// Takes rows `from..until` of `block`, or fewer; returns where it ended.
    fn take(&mut self, job: &Job<'_>, block: &Block<'_>, storage: &mut Storage, from: usize, until: usize) -> usize {
        let mut targets = 0;
        for (at, row) in block.rows().enumerate().take(until).skip(from) {
            let Some(stream) = block.process.streams.get(any_stream(row.stream)) else { continue };
            let (start, end) = times(block.process, &row);
            self.stream.push(row.stream & !MEETS);
            self.offset.push((row.offset >= 0).then_some(row.offset));
            self.length.push(signed(row.length));
            self.start.push(signed(start));
            self.end.push(signed(end));
            self.start_unix.push(unix(job.run, start));
            self.end_unix.push(unix(job.run, end));
            self.stripe.push(storage.locate(job, stream, &row));
            self.osts.values().append_slice(&storage.osts);
            self.osts.append(true);
            targets += storage.osts.len();
            if targets >= BATCH_TARGETS {
                return at + 1;
            }
        }
        until
    }

    /// The rows as a batch; there are none left then.
    fn batch(&mut self, job: &Job<'_>, names: &Names, block: &Block<'_>, schema: &Arc<Schema>) -> Result<RecordBatch> {
        let (run, process) = (job.run, block.process);
        let rows = std::mem::take(&mut self.stream);
        let streams: Vec<_> = rows.iter().filter_map(|&index| process.streams.get(index as usize)).collect();
        let count = streams.len();
        let flags = |flag: fn(&crate::model::Stream) -> bool| -> ArrayRef {
            Arc::new(streams.iter().map(|stream| Some(flag(stream))).collect::<BooleanArray>())
        };
        let take = |values: &mut Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(std::mem::take(values))) };
        let optional =
            |values: &mut Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(std::mem::take(values))) };
        let moments = |values: &mut Vec<i64>| -> ArrayRef {
            Arc::new(TimestampNanosecondArray::from(std::mem::take(values)).with_timezone("UTC"))
        };
        let ops: Int32Array = streams.iter().map(|stream| Some(i32::from(stream.op))).collect();
        let file = |file: u32| (file as usize).min(run.files.len()) as i32;
        let files = streams.iter().map(|stream| Some(file(stream.file))).collect();
        let sets =
            streams.iter().map(|stream| stream.data_set.map(|set| (set as usize).min(run.data_sets.len()) as i32));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from_value(process.rank, count)),
            names.nodes.of(Int32Array::from_value((process.node as usize).min(run.nodes.len()) as i32, count))?,
            Arc::new(UInt32Array::from_value(process.pid, count)),
            Arc::new(UInt32Array::from_value(process.tid(block.thread), count)),
            names.files.of(files)?,
            names.data_sets.of(sets.collect())?,
            names.layers.of(ops.clone())?,
            names.ops.of(ops.clone())?,
            names.modes.of(ops.clone())?,
            names.kinds.of(ops)?,
            flags(|stream| stream.nested),
            flags(|stream| stream.in_hdf5),
            flags(|stream| stream.failed),
            Arc::new(streams.iter().map(|stream| Some(i32::from(stream.errno))).collect::<Int32Array>()),
            optional(&mut self.offset),
            take(&mut self.length),
            take(&mut self.start),
            take(&mut self.end),
            moments(&mut self.start_unix),
            moments(&mut self.end_unix),
            optional(&mut self.stripe),
            Arc::new(self.osts.finish()),
        ];
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }
}

/// Texts of one column, by number.
struct Texts(Arc<StringArray>);

impl Texts {
    /// With `?` behind them, for a number that there is not.
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        Self(Arc::new(StringArray::from_iter_values(texts.chain(["?"]))))
    }

    fn of(&self, keys: Int32Array) -> Result<ArrayRef> {
        let values: ArrayRef = Arc::<StringArray>::clone(&self.0);
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values)?))
    }
}

/// Everything that segments name.
struct Names {
    nodes: Texts,
    files: Texts,
    data_sets: Texts,
    layers: Texts,
    ops: Texts,
    modes: Texts,
    kinds: Texts,
}

impl Names {
    fn new(run: &Run) -> Self {
        Self {
            nodes: Texts::new(run.nodes.iter().map(String::as_str)),
            files: Texts::new(run.files.iter().map(|file| file.name.as_str())),
            data_sets: Texts::new(run.data_sets.iter().map(|set| set.path.as_str())),
            layers: Texts::new(run.ops.iter().map(|op| op.layer_name())),
            ops: Texts::new(run.ops.iter().map(|op| op.name.as_str())),
            modes: Texts::new(run.ops.iter().map(|op| mode_name(op.mode.name()))),
            kinds: Texts::new(run.ops.iter().map(|op| kind_name(op.class))),
        }
    }
}

fn properties() -> WriterProperties {
    let growing = ["offset", "start_ns", "end_ns", "start_unix_ns", "end_unix_ns", "stripe"];
    columnar::with_differences(columnar::properties(), &growing)
}

/// The columns; the job's key is in the name of the directory.
fn schema() -> Arc<Schema> {
    let text = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let moment = || DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let field = |name: &str, kind| Field::new(name, kind, false);
    let optional = |name: &str, kind| Field::new(name, kind, true);
    Arc::new(Schema::new(vec![
        field("rank", DataType::Int32),
        field("node", text()),
        field("pid", DataType::UInt32),
        field("thread", DataType::UInt32),
        field("file", text()),
        optional("data_set", text()),
        field("layer", text()),
        field("op", text()),
        field("mode", text()),
        field("kind", text()),
        field("nested", DataType::Boolean),
        field("in_hdf5", DataType::Boolean),
        field("failed", DataType::Boolean),
        field("errno", DataType::Int32),
        optional("offset", DataType::Int64),
        field("length", DataType::Int64),
        field("start_ns", DataType::Int64),
        field("end_ns", DataType::Int64),
        field("start_unix_ns", moment()),
        field("end_unix_ns", moment()),
        optional("stripe", DataType::Int64),
        field("osts", DataType::List(Arc::new(Field::new("item", DataType::Int32, true)))),
    ]))
}
