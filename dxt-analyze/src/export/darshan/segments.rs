//! DXT records of one rank, one record per file: the file's writes and its reads, each sorted by start.

use super::id;
use super::sums::counted;
use crate::model::{FileId, ProcessId, Run};
use crate::progress::Bar;
use crate::scan::{Lost, Progress, Reader, segments_of};
use anyhow::Result;
use darshan_log::write::DxtWriter;
use darshan_log::{Api, DxtRecord, Segment};
use std::collections::BTreeMap;
use std::io::Write;
use trace_format::op::{Layer, OpClass};

pub(crate) fn write<W: Write>(
    run: &Run,
    rank: i64,
    processes: &[ProcessId],
    api: Api,
    dxt: &mut DxtWriter<'_, W>,
    bar: &Bar,
) -> Result<()> {
    let wanted = if api == Api::Posix { Layer::Posix } else { Layer::Mpiio };
    let mut files: BTreeMap<FileId, [Vec<Segment>; 2]> = BTreeMap::new();
    let mut reader = Reader::default();
    // Unreadable data was already counted by the pass that computed the counters.
    let mut lost = Lost::default();
    let mut node = 0;
    for &number in processes {
        let Some(process) = run.process(number) else { continue };
        node = process.node;
        for block in 0..process.blocks.len() as u32 {
            bar.advance(segments_of(run, number, block));
            let Some(block) = reader.block(run, number, block, &mut lost) else { continue };
            let thread = Some(u64::from(process.tid(block.thread)));
            for row in block.rows() {
                let Some(stream) = process.stream(row.stream) else { continue };
                let Some((layer, class @ (OpClass::Read | OpClass::Write))) = counted(run, stream) else { continue };
                if layer == wanted {
                    let seconds = |time: u64| time.saturating_add(process.shift_ns) as f64 / 1e9;
                    let length = i64::try_from(row.length).unwrap_or(i64::MAX);
                    let (start, end) = (seconds(row.start), seconds(row.end));
                    let segment = Segment { offset: row.offset, length, start, end, thread };
                    files.entry(stream.file).or_default()[usize::from(class == OpClass::Write)].push(segment);
                }
            }
        }
    }
    let hostname = run.nodes.get(node as usize).map_or("", String::as_str);
    for (file, [mut reads, mut writes]) in files {
        let record = DxtRecord {
            id: id(run, file),
            rank,
            hostname: hostname.into(),
            write_count: writes.len() as u64,
            read_count: reads.len() as u64,
        };
        dxt.record(&record)?;
        for list in [&mut writes, &mut reads] {
            list.sort_by(|a, b| a.start.total_cmp(&b.start));
            dxt.segments(list)?;
        }
    }
    Ok(())
}
