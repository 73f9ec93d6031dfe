//! Output of `dump` after the segments: counters of operations without segments, access profiles, profiles that another tool counted, and
//! statistics over ranks. Each record is one line: in the text format, numbers after the record's type; in JSON, an object with the field
//! `record`.

use super::args::DumpFormat;
use crate::model::{FileId, Process, Run};
use crate::render::Untimed;
use crate::shared::profiles::RankSpread;
use crate::text::printable::printable;
use anyhow::{Context, Result};
use serde::Serialize;
use std::io::Write;
use trace_format::common_values::CommonValues;
use trace_format::counters::Counters;
use trace_format::meta::Order;
use trace_format::op::Layer;
use trace_format::profile::{Profile, Slowest};

#[derive(Serialize)]
struct Who<'a> {
    rank: i32,
    node: &'a str,
    pid: u32,
    /// Number of ranks whose calls the record contains; 0 for a single process.
    ranks: u64,
    file: &'a str,
    layer: &'a str,
}

#[derive(Serialize)]
struct CountersRow<'a> {
    record: &'static str,
    #[serde(flatten)]
    who: Who<'a>,
    op: &'a str,
    mode: &'a str,
    nested: bool,
    failed: bool,
    errno: u16,
    #[serde(flatten)]
    counters: Counters,
}

#[derive(Serialize)]
struct ProfileRow<'a> {
    record: &'static str,
    #[serde(flatten)]
    who: Who<'a>,
    #[serde(flatten)]
    profile: Profile,
}

/// Number of accesses whose preceding access is known, and numbers of consecutive and of sequential accesses among them.
#[derive(Serialize)]
struct OrderRow {
    ordered: u64,
    consecutive: u64,
    sequential: u64,
}

impl From<Order> for OrderRow {
    fn from(order: Order) -> Self {
        Self { ordered: order.known, consecutive: order.consecutive, sequential: order.sequential }
    }
}

#[derive(Serialize)]
struct WholeRow<'a> {
    record: &'static str,
    #[serde(flatten)]
    who: Who<'a>,
    reads: OrderRow,
    writes: OrderRow,
    /// Memory alignment that addresses are compared with, in bytes; 0 if unknown.
    memory_alignment: u64,
    #[serde(flatten)]
    profile: Profile,
}

#[derive(Serialize)]
struct SpreadRow<'a> {
    record: &'static str,
    #[serde(flatten)]
    who: Who<'a>,
    #[serde(flatten)]
    spread: RankSpread,
}

/// Writes the counters of every process; `base` ns are added to all times.
pub(crate) fn dump(run: &Run, format: DumpFormat, base: u64, out: &mut dyn Write) -> Result<()> {
    if format == DumpFormat::Csv {
        return Ok(());
    }
    for process in &run.processes {
        one(run, process, format, base, out).context("failed to write counters")?;
    }
    Ok(())
}

fn one(run: &Run, process: &Process, format: DumpFormat, base: u64, out: &mut dyn Write) -> Result<()> {
    let shift = process.shift_ns.saturating_add(base);
    let untimed = run.untimed();
    let form = (format, untimed);
    let who = |file: FileId, layer: Option<Layer>| Who {
        rank: process.rank,
        node: run.node(process),
        pid: process.pid,
        ranks: if process.reduction.is_none() { 0 } else { run.ranks_of(process, file, layer) },
        file: run.file(file).map_or("?", |file| file.name.as_str()),
        layer: layer.map_or("?", Layer::name),
    };
    for missing in process.missing.iter().chain(&process.met) {
        let stream = process.stream_with_id(missing.stream);
        let Some(stream) = stream else { continue };
        let op = run.op(stream);
        let counters = moved(&missing.counters, shift);
        let row = CountersRow {
            record: "counters",
            who: who(stream.file, op.layer),
            op: &op.name,
            mode: op.mode.name(),
            nested: stream.nested,
            failed: stream.failed,
            errno: stream.errno,
            counters,
        };
        write(out, form, &row, || counters_text(&row, untimed))?;
    }
    for def in &process.profiles {
        let profile = profile_moved(&def.profile, shift);
        let row = ProfileRow { record: "profile", who: who(FileId(def.file), Some(def.layer)), profile };
        write(out, form, &row, || profile_text(row.record, &row.who, "", &row.profile))?;
    }
    for def in &process.whole {
        let row = WholeRow {
            record: "whole",
            who: who(FileId(def.file), Some(def.layer)),
            reads: def.reads.into(),
            writes: def.writes.into(),
            memory_alignment: def.memory_alignment,
            // The profile is not shifted in time, because the starts of the longest calls are unknown.
            profile: def.profile,
        };
        write(out, form, &row, || {
            let order = |order: &OrderRow, what| {
                format!(
                    " {what} ordered {} consecutive {} sequential {}",
                    order.ordered, order.consecutive, order.sequential
                )
            };
            let more = format!(
                "{}{} memory_alignment {}",
                order(&row.reads, "reads"),
                order(&row.writes, "writes"),
                row.memory_alignment
            );
            profile_text(row.record, &row.who, &more, &row.profile)
        })?;
    }
    for def in &process.reduction.spreads {
        let row = SpreadRow {
            record: "spread",
            who: who(FileId(def.file), Some(def.layer)),
            spread: RankSpread::from(&def.spread),
        };
        write(out, form, &row, || spread_text(&row, untimed))?;
    }
    Ok(())
}

fn write<T: Serialize>(
    out: &mut dyn Write,
    (format, untimed): (DumpFormat, bool),
    row: &T,
    text: impl FnOnce() -> String,
) -> Result<()> {
    match format {
        DumpFormat::Json if untimed => {
            serde_json::to_writer(&mut *out, &Untimed(row))?;
            writeln!(out)?;
        }
        DumpFormat::Json => {
            serde_json::to_writer(&mut *out, row)?;
            writeln!(out)?;
        }
        DumpFormat::Text => writeln!(out, "{}", text())?,
        _ => {}
    }
    Ok(())
}

fn moved(counters: &Counters, shift: u64) -> Counters {
    let started = counters.first_start != u64::MAX;
    Counters {
        first_start: if started { counters.first_start.saturating_add(shift) } else { counters.first_start },
        last_end: counters.last_end.saturating_add(shift),
        ..counters.clone()
    }
}

fn head(record: &str, who: &Who<'_>) -> String {
    let ranks = if who.ranks > 0 { format!(" (of {} ranks)", who.ranks) } else { String::new() };
    format!("# {record}: rank {}{ranks} {} pid {} {}", who.rank, printable(who.node), who.pid, who.layer)
}

fn counters_text(row: &CountersRow<'_>, untimed: bool) -> String {
    let c = &row.counters;
    let mut text = format!("{} {}", head(row.record, &row.who), row.op);
    for (shown, word) in [(!row.mode.is_empty(), row.mode), (row.nested, "nested")] {
        if shown {
            text = format!("{text} {word}");
        }
    }
    if row.failed {
        text = format!("{text} errno {}", row.errno);
    }
    let extent = if c.min_offset == i64::MAX {
        String::new()
    } else {
        format!(
            " offsets {}..{} consecutive {} sequential {}",
            c.min_offset, c.max_end_offset, c.consecutive, c.sequential
        )
    };
    let times = match untimed {
        true => "time_ns - max_ns - first_ns - last_ns -".to_owned(),
        false => format!(
            "time_ns {} max_ns {} first_ns {} last_ns {}",
            c.duration, c.max_duration, c.first_start, c.last_end
        ),
    };
    format!(
        "{text} calls {} bytes {} {times}{extent} sizes {:?}  {}",
        c.segments,
        c.bytes,
        c.sizes,
        printable(row.who.file)
    )
}

fn profile_moved(profile: &Profile, shift: u64) -> Profile {
    let slowest = |slowest: Slowest| match slowest == Slowest::default() {
        true => slowest,
        false => Slowest { start: slowest.start.saturating_add(shift), ..slowest },
    };
    Profile { slowest_read: slowest(profile.slowest_read), slowest_write: slowest(profile.slowest_write), ..*profile }
}

/// Formats an access profile as a line; `more` is inserted after the beginning that names the process.
fn profile_text(record: &str, who: &Who<'_>, more: &str, p: &Profile) -> String {
    let common = |values: &CommonValues| {
        let shown = values.top().into_iter().map(|common| match common.over {
            0 => format!("{}x{}", common.value, common.count),
            over => format!("{}x{}..{}", common.value, common.count - over, common.count),
        });
        shown.collect::<Vec<_>>().join(",")
    };
    let slowest = |slowest: Slowest| match slowest == Slowest::default() {
        true => "-".to_owned(),
        false => format!("{} ns, {} bytes, at {}", slowest.duration, slowest.bytes, slowest.start),
    };
    format!(
        "{}{more} accesses {} switches {} alignment {} file_unaligned {} memory_unaligned {} of {} sizes {} strides {} \
         slowest_read {} slowest_write {}  {}",
        head(record, who),
        p.accesses,
        p.switches,
        p.alignment,
        p.file_unaligned,
        p.memory_unaligned,
        p.memory_known,
        common(&p.sizes),
        common(&p.strides),
        slowest(p.slowest_read),
        slowest(p.slowest_write),
        printable(who.file)
    )
}

fn spread_text(row: &SpreadRow<'_>, untimed: bool) -> String {
    let s = &row.spread;
    if untimed {
        // Without call times, the fastest and the slowest rank are unknown and omitted.
        let who = head(row.record, &row.who);
        let (ranks, mean, variance) = (s.ranks, s.bytes_mean, s.bytes_variance);
        let file = printable(row.who.file);
        return format!("{who} used by {ranks} ranks, bytes mean {mean:.0} variance {variance:.0}  {file}");
    }
    format!(
        "{} used by {} ranks, fastest {} ({} ns, {} bytes), slowest {} ({} ns, {} bytes), time mean {:.0} ns variance {:.0}, \
         bytes mean {:.0} variance {:.0}  {}",
        head(row.record, &row.who),
        s.ranks,
        s.fastest.rank,
        s.fastest.time_ns,
        s.fastest.bytes,
        s.slowest.rank,
        s.slowest.time_ns,
        s.slowest.bytes,
        s.time_mean_ns,
        s.time_variance,
        s.bytes_mean,
        s.bytes_variance,
        printable(row.who.file)
    )
}
