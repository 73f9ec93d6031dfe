//! Output in the format of `darshan-dxt-parser --show-incomplete`, with times in UTC.

use super::dxt_rows::Rows;
use super::preamble::preamble;
use super::{Advice, BUFFER_BYTES, banner, incomplete, place};
use crate::dxt::{Api, Dxt};
use crate::limits;
use crate::log::Log;
use crate::lustre::{Component, LustreRecord};
use crate::module::Module;
use rustc_hash::{FxHashMap, FxHashSet};
use std::io::{self, Read, Seek, Write};

/// Version of Darshan whose output layout is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DxtLayout {
    /// Layout of releases 3.4.6, 3.4.7 and 3.5.0.
    Release3_5,
    /// Layout of Darshan's main branch after 3.5.0, which adds the number of threads and the thread of each segment.
    Main,
}

/// Writes the output of `darshan-dxt-parser --show-incomplete` with `TZ=UTC`.
///
/// Logs that this crate can read but the tool cannot are printed in the tool's layout too: logs with thread ids in the layout of 3.5.0,
/// which omits the ids, and logs with segments of 96 bytes. As in the tool's output, the command line is empty if the log has no mounts.
///
/// # Errors
/// Returns only errors of `out`. Damage in the log ends the module's records and is reported in [`Log::problems`].
pub fn dxt_parser<R: Read + Seek>(log: &mut Log<R>, out: &mut dyn Write, layout: DxtLayout) -> io::Result<()> {
    preamble(log, out)?;
    let length = |module| log.header().module(module).map_or(0, |entry| entry.region.length);
    let modules = [(Module::DxtPosix, Api::Posix), (Module::DxtMpiIo, Api::MpiIo)];
    if modules.iter().all(|&(module, _)| length(module) == 0) {
        return out.write_all(b"\n# no DXT module data available for this Darshan log.\n");
    }
    let advice = if layout == DxtLayout::Main { Advice::Main } else { Advice::Release };
    let partial = |log: &Log<R>, module| log.header().module(module).is_some_and(|entry| entry.partial);
    if length(Module::Lustre) > 0 && partial(log, Module::Lustre) {
        incomplete(out, Module::Lustre, advice)?;
    }
    let stripes = stripes(log);
    for (module, api) in modules {
        if log.header().module(module).is_none_or(|entry| entry.region.length == 0) {
            continue;
        }
        banner(out, module, 51)?;
        if partial(log, module) {
            incomplete(out, module, advice)?;
        }
        records(log, out, api, layout, &stripes)?;
    }
    Ok(())
}

/// Memory per stripe layout in addition to its components, in bytes.
const RECORD_BYTES: u64 = 2 * size_of::<LustreRecord>() as u64;

/// Returns the stripe layouts by record id. If several ranks report the layout of a file, the last in the log is used.
fn stripes<R: Read + Seek>(log: &mut Log<R>) -> FxHashMap<u64, LustreRecord> {
    let mut stripes = FxHashMap::default();
    let mut kept = 0;
    for record in log.lustre().into_iter().flatten() {
        kept += RECORD_BYTES + 8 * record.stripes + (size_of::<Component>() as u64) * record.components.len() as u64;
        if kept > limits::JOINED_BYTES {
            break;
        }
        stripes.insert(record.id, record);
    }
    stripes
}

/// Returns the number of distinct threads in the segments of each DXT record. Called only for logs with thread ids.
fn threads<R: Read + Seek>(mut dxt: Dxt<'_, R>) -> Vec<u32> {
    let (mut counts, mut distinct) = (Vec::new(), FxHashSet::default());
    while dxt.next_record().is_some() {
        distinct.clear();
        while let Some(piece) = dxt.next_piece() {
            let room = limits::THREADS.saturating_sub(distinct.len());
            distinct.extend(piece.segments.iter().filter_map(|segment| segment.thread).take(room));
        }
        counts.push(u32::try_from(distinct.len()).unwrap_or(u32::MAX).max(1));
    }
    counts
}

fn records<R: Read + Seek>(
    log: &mut Log<R>,
    out: &mut dyn Write,
    api: Api,
    layout: DxtLayout,
    stripes: &FxHashMap<u64, LustreRecord>,
) -> io::Result<()> {
    let info = log.info();
    let problems = log.problems().len();
    let counts = match log.dxt(api) {
        Some(dxt) if layout == DxtLayout::Main && dxt.kind().has_threads() => threads(dxt),
        _ => Vec::new(),
    };
    log.forget_problems_from(problems);
    let mut counts = counts.into_iter();
    let Some(mut dxt) = log.dxt(api) else { return Ok(()) };
    let mut text = Vec::with_capacity(2 * BUFFER_BYTES);
    while let Some(record) = dxt.next_record() {
        let stripes = stripes.get(&record.id).filter(|_| api == Api::Posix);
        let rows = Rows { api, layout, rank: record.rank, stripes };
        rows.head(&mut text, &record, place(&info, record.id), counts.next().unwrap_or(1));
        flush(&mut text, out)?;
        while let Some(piece) = dxt.next_piece() {
            for (number, segment) in (piece.first..).zip(piece.segments) {
                rows.row(&mut text, piece.operation, number, segment);
                flush(&mut text, out)?;
            }
        }
    }
    out.write_all(&text)
}

/// Writes `text` to `out` and clears it if it has reached the size of the buffer.
fn flush(text: &mut Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    if text.len() >= BUFFER_BYTES {
        out.write_all(text)?;
        text.clear();
    }
    Ok(())
}
