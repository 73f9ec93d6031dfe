//! Parquet table of segments, divided into several files (parts) that depend only on the number of segments. Each part is written by one
//! thread. A few parts are written at a time, with one row group of each in memory.

use super::batches::{Batches, schema};
use crate::columnar;
use crate::export::{Job, calls};
use crate::model::{ProcessId, Run};
use crate::progress::Bar;
use crate::scan::{Lost, Progress, Reader, segments_of};
use anyhow::{Context, Result};
use parquet::file::properties::WriterProperties;
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum files of the table written at the same time: each keeps one row group in memory.
const WRITERS: usize = 8;
/// Lower and upper bound of the number of segments per file of the table; between these bounds, a file has 1/64 of all segments.
const PART_SEGMENTS: (u64, u64) = (columnar::ROW_GROUP as u64, 1 << 24);
/// Writes the files `part-0000.parquet` and so on into `folder`. Returns the segments and blocks that could not be read.
pub(crate) fn write(job: &Job<'_>, folder: &Path) -> Result<Lost> {
    let run = job.run;
    let blocks = calls::blocks(run);
    let parts = parts(run, &blocks);
    let batches = Batches::new(run, &job.layouts, &job.symbols, schema(None)?);
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
                part(run, &batches, blocks, &path, &bar, &mut lost)
                    .with_context(|| format!("part {} of {}", number + 1, parts.len()))?;
            }
        })
        .collect();
    let mut all = Lost::default();
    lost?.into_iter().for_each(|lost| all.merge(lost));
    Ok(all.sorted())
}

/// Groups adjacent segment blocks; each group becomes one file. Returns at least one group, so that the table exists.
fn parts<'a>(run: &Run, blocks: &'a [(ProcessId, u32)]) -> Vec<&'a [(ProcessId, u32)]> {
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

fn part(
    run: &Run,
    batches: &Batches<'_>,
    blocks: &[(ProcessId, u32)],
    path: &Path,
    bar: &Bar,
    lost: &mut Lost,
) -> Result<()> {
    let mut writer = columnar::writer(path, schema(None)?, properties())?;
    let (mut reader, mut rows) = (Reader::default(), batches.rows()?);
    let mut write = |batch| Ok(writer.write(&batch)?);
    for &(process, block) in blocks {
        if let Some(block) = reader.block(run, process, block, lost) {
            rows.add(&block, &mut write)?;
        }
        bar.advance(segments_of(run, process, block));
    }
    rows.finish(&mut write)?;
    columnar::finish(writer)
}

fn properties() -> WriterProperties {
    let growing = ["offset", "start_ns", "end_ns", "start_unix_ns", "end_unix_ns", "stripe"];
    columnar::with_differences(columnar::properties(), &growing)
}
