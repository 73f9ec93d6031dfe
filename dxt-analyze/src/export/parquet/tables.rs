//! Parquet tables other than the segments: files, ranks (one row per process), findings and call sites. Sums of files and ranks are exact:
//! they include operations without segments, and count each byte once, at the layer that the program called.

use crate::columnar::{Column, batch, finding_columns, moments, numbers, sum_columns, table, texts};
use crate::export::Job;
use crate::export::calls::unix;
use crate::model::{FileLayout, Run};
use crate::shared::sums::{self, Sums};
use crate::shared::totals::StreamTotal;
use crate::text::signed::signed;
use crate::topics::summary::result::layout_words;
use anyhow::Result;
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn write(job: &Job<'_>, folder: &Path) -> Result<()> {
    let totals = crate::topics::timeline::charts::totals(job.run);
    let path = |table: &str| folder.join(table).join("part-0000.parquet");
    table(&path("files"), &files(job.run, &job.layouts, &totals)?)?;
    table(&path("ranks"), &ranks(job.run, &totals)?)?;
    table(&path("sites"), &super::sites::sites(job.run, &job.symbols)?)?;
    table(&path("findings"), &findings(job.run, job.stripes)?)
}

/// Returns the table of files, with a row for each file that was used.
pub(crate) fn files(run: &Run, layouts: &[Option<FileLayout>], totals: &[StreamTotal]) -> Result<RecordBatch> {
    let layout_of = |file: usize| layouts.get(file)?.as_ref();
    let sums = sums::by_file(run, totals);
    // Files without any operation in the user's selection have no row.
    let used: Vec<usize> = sums.iter().enumerate().filter(|(_, sums)| sums.all > 0).map(|(number, _)| number).collect();
    let files = || used.iter().filter_map(|&number| run.files.get(number));
    let layouts = || used.iter().map(|&number| layout_of(number));
    let first = |number: usize| layout_of(number)?.layout.components.first();
    let mut osts = ListBuilder::new(Int32Builder::new());
    for layout in layouts() {
        let components = layout.into_iter().flat_map(|layout| &layout.layout.components);
        let all: BTreeSet<u32> = components.filter(|part| part.active).flat_map(|part| part.targets.clone()).collect();
        all.into_iter().filter_map(|target| i32::try_from(target).ok()).for_each(|ost| osts.values().append_value(ost));
        osts.append(true);
    }
    let of = || used.iter().filter_map(|&number| sums.get(number));
    let mut columns: Vec<Column> = vec![
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
        ("processes", numbers(of().map(Sums::processes))),
    ];
    columns.extend(sum_columns(of().map(|sums| &sums.called)));
    batch(columns)
}

/// Returns the table of ranks, with a row for each process.
pub(crate) fn ranks(run: &Run, totals: &[StreamTotal]) -> Result<RecordBatch> {
    let sums = sums::by_process(run, totals);
    let processes = || run.processes.iter();
    let mut columns: Vec<Column> = vec![
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
    columns.extend(sum_columns(sums.iter().map(|sums| &sums.called)));
    batch(columns)
}

/// Returns the table of findings. `stripes` is a file of stripe layouts given by the user.
pub(crate) fn findings(run: &Run, stripes: Option<&Path>) -> Result<RecordBatch> {
    let findings = super::findings(run, stripes)?;
    batch(finding_columns(&findings.iter().collect::<Vec<_>>()))
}
