//! The tables beside the segments: files, ranks (a row per process) and findings. Their sums are exact also of operations that have
//! no segment, and count each byte once, at the layer that the program called.

use super::super::Job;
use super::super::calls::{signed, unix};
use super::{layout_of, table};
use crate::analyses::summary::layout_words;
use crate::analyses::totals::StreamTotal;
use crate::load::{Process, Within};
use anyhow::Result;
use arrow_array::builder::{Int32Builder, ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray, UInt32Array,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use trace_format::op::OpClass;

/// Writes the three tables into their folders in `folder`.
pub(super) fn write(job: &Job<'_>, folder: &Path) -> Result<()> {
    let totals = crate::verbs::report::data::totals(job.run);
    let path = |table: &str| folder.join(table).join("part-0000.parquet");
    table(&path("files"), &files(job, &totals)?)?;
    table(&path("ranks"), &ranks(job, &totals)?)?;
    table(&path("findings"), &findings(job)?)
}

/// Sums of a file or a process at the layer that the program called.
#[derive(Clone, Debug, Default)]
struct Sums {
    operations: u64,
    bytes_read: u64,
    bytes_written: u64,
    read_ns: u64,
    write_ns: u64,
    other_ns: u64,
    /// Operations at any layer, and those of them that have no segment.
    all: u64,
    missing: u64,
    processes: BTreeSet<u32>,
}

impl Sums {
    fn add(&mut self, job: &Job<'_>, process: &Process, total: &StreamTotal) {
        let Some(stream) = process.streams.get(total.stream as usize) else { return };
        let sums = &total.all;
        self.all = self.all.saturating_add(sums.segments);
        self.missing = self.missing.saturating_add(total.missing);
        if stream.within() != Within::Nothing {
            return;
        }
        self.processes.insert(total.process);
        self.operations = self.operations.saturating_add(sums.segments);
        let (bytes, time) = match job.run.op(stream).class.filter(|_| !stream.failed) {
            Some(OpClass::Read) => (Some(&mut self.bytes_read), &mut self.read_ns),
            Some(OpClass::Write) => (Some(&mut self.bytes_written), &mut self.write_ns),
            _ => (None, &mut self.other_ns),
        };
        *time = time.saturating_add(sums.duration);
        if let Some(bytes) = bytes {
            *bytes = bytes.saturating_add(sums.bytes);
        }
    }
}

/// Sums by what `place` makes of a total.
fn sums(
    job: &Job<'_>,
    totals: &[StreamTotal],
    count: usize,
    place: impl Fn(&StreamTotal) -> Option<usize>,
) -> Vec<Sums> {
    let mut out = vec![Sums::default(); count];
    for total in totals {
        let process = job.run.processes.get(total.process as usize);
        let sums = place(total).and_then(|place| out.get_mut(place));
        if let (Some(process), Some(sums)) = (process, sums) {
            sums.add(job, process, total);
        }
    }
    out
}

fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.map(signed)))
}

fn texts(values: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn moments(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(TimestampNanosecondArray::from_iter_values(values).with_timezone("UTC"))
}

/// A table whose types do not depend on what is in it, so that those of several jobs are one.
fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))?)
}

/// Columns that both tables of sums have.
fn sum_columns<'a>(sums: impl Iterator<Item = &'a Sums> + Clone) -> [(&'static str, ArrayRef); 6] {
    [
        ("operations", numbers(sums.clone().map(|sums| sums.operations))),
        ("bytes_read", numbers(sums.clone().map(|sums| sums.bytes_read))),
        ("bytes_written", numbers(sums.clone().map(|sums| sums.bytes_written))),
        ("read_ns", numbers(sums.clone().map(|sums| sums.read_ns))),
        ("write_ns", numbers(sums.clone().map(|sums| sums.write_ns))),
        ("other_ns", numbers(sums.map(|sums| sums.other_ns))),
    ]
}

fn files(job: &Job<'_>, totals: &[StreamTotal]) -> Result<RecordBatch> {
    let run = job.run;
    let file_of = |total: &StreamTotal| {
        let process = run.processes.get(total.process as usize)?;
        process.streams.get(total.stream as usize).map(|stream| stream.file as usize)
    };
    let sums = sums(job, totals, run.files.len(), file_of);
    // Files that nothing of what is looked at used are no rows.
    let used: Vec<usize> = sums.iter().enumerate().filter(|(_, sums)| sums.all > 0).map(|(number, _)| number).collect();
    let files = || used.iter().filter_map(|&number| run.files.get(number));
    let layouts = || used.iter().map(|&number| layout_of(job, number));
    let first = |number: usize| layout_of(job, number)?.layout.components.first();
    let mut osts = ListBuilder::new(Int32Builder::new());
    for layout in layouts() {
        let components = layout.into_iter().flat_map(|layout| &layout.layout.components);
        let all: BTreeSet<u32> = components.filter(|part| part.active).flat_map(|part| part.targets.clone()).collect();
        all.into_iter().filter_map(|target| i32::try_from(target).ok()).for_each(|ost| osts.values().append_value(ost));
        osts.append(true);
    }
    let of = || used.iter().filter_map(|&number| sums.get(number));
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("file", texts(files().map(|file| file.name.as_str()))),
        ("place", texts(files().map(|file| run.place_of(file)))),
        ("block_size", numbers(files().map(|file| u64::from(file.block_size)))),
        ("layout", Arc::new(StringArray::from_iter(layouts().map(|layout| layout.map(layout_words))))),
        (
            "stripe_size",
            Arc::new(used.iter().map(|&n| first(n).map(|part| signed(part.stripe_size))).collect::<Int64Array>()),
        ),
        (
            "stripe_count",
            Arc::new(used.iter().map(|&n| first(n).map(|part| i64::from(part.stripe_count))).collect::<Int64Array>()),
        ),
        ("osts", Arc::new(osts.finish())),
        ("processes", numbers(of().map(|sums| sums.processes.len() as u64))),
    ];
    columns.extend(sum_columns(of()));
    batch(columns)
}

fn ranks(job: &Job<'_>, totals: &[StreamTotal]) -> Result<RecordBatch> {
    let run = job.run;
    let sums = sums(job, totals, run.processes.len(), |total| Some(total.process as usize));
    let processes = || run.processes.iter();
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("rank", Arc::new(Int32Array::from_iter_values(processes().map(|process| process.rank)))),
        ("node", texts(processes().map(|process| run.node(process)))),
        ("pid", Arc::new(UInt32Array::from_iter_values(processes().map(|process| process.pid)))),
        ("ppid", Arc::new(UInt32Array::from_iter_values(processes().map(|process| process.ppid)))),
        ("exe", texts(processes().map(|process| process.exe.as_str()))),
        ("start_ns", numbers(processes().map(|process| process.shift_ns))),
        ("end_ns", numbers(processes().map(|process| process.end_ns))),
        ("start_unix_ns", moments(processes().map(|process| unix(run, process.shift_ns)))),
        ("end_unix_ns", moments(processes().map(|process| unix(run, process.end_ns)))),
        ("ended_by", texts(processes().map(|process| process.ended_by.as_str()))),
        ("counters_only", Arc::new(processes().map(|process| Some(process.counters_only)).collect::<BooleanArray>())),
        ("segments", numbers(sums.iter().map(|sums| sums.all.saturating_sub(sums.missing)))),
        ("missing", numbers(sums.iter().map(|sums| sums.missing))),
    ];
    columns.extend(sum_columns(sums.iter()));
    batch(columns)
}

fn findings(job: &Job<'_>) -> Result<RecordBatch> {
    let findings = super::findings(job.run, job.stripes)?;
    let mut evidence = ListBuilder::new(StringBuilder::new());
    for finding in &findings {
        finding.evidence.iter().for_each(|line| evidence.values().append_value(line));
        evidence.append(true);
    }
    let costs = findings.iter().map(|finding| finding.cost_ns.map(signed));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("code", texts(findings.iter().map(|finding| finding.code.name()))),
        ("severity", texts(findings.iter().map(|finding| finding.severity.name()))),
        ("title", texts(findings.iter().map(|finding| finding.title.as_str()))),
        ("evidence", Arc::new(evidence.finish())),
        ("cost_ns", Arc::new(costs.collect::<Int64Array>())),
        ("hint", texts(findings.iter().map(|finding| finding.hint.as_str()))),
    ];
    batch(columns)
}
