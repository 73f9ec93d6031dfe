//! Rows in the format of `darshan-parser`: one row per counter of each record.

use super::number::fixed;
use super::preamble::preamble;
use super::{Advice, BUFFER_BYTES, banner, incomplete, place};
use crate::counters::{CounterRecord, float_names, int_names};
use crate::heatmap::HeatmapRecord;
use crate::log::{Info, Log};
use crate::lustre::{Component, LustreRecord};
use crate::module::Module;
use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Read, Seek, Write};

/// Modules whose records are printed, in the order of their indices in a log.
const MODULES: [Module; 12] = [
    Module::Posix,
    Module::MpiIo,
    Module::H5F,
    Module::H5D,
    Module::PnetcdfFile,
    Module::PnetcdfVar,
    Module::BgQ,
    Module::Lustre,
    Module::Stdio,
    Module::Heatmap,
    Module::Dfs,
    Module::Daos,
];

/// Writes the output of `darshan-parser --show-incomplete` with `TZ=UTC`, without the tool's explanations of columns and counters.
///
/// Rows are identical to the tool's rows, with two exceptions. Modules that this crate cannot read are omitted. Some floating-point
/// counters of old POSIX records, which Darshan's 3.5.0 tools lose, are printed:
///
/// * Versions 2 and 3: `POSIX_F_VARIANCE_RANK_TIME` and `POSIX_F_VARIANCE_RANK_BYTES`, which the tools print as 0.
/// * Versions 1 to 3 in big-endian logs: `POSIX_F_META_TIME`, `POSIX_F_MAX_READ_TIME` and `POSIX_F_MAX_WRITE_TIME`, whose bytes the tools
///   leave unswapped.
///
/// # Errors
/// Returns only errors of `out`. Damage in the log ends the module's records and is reported in [`Log::problems`].
pub fn darshan_parser<R: Read + Seek>(log: &mut Log<R>, out: &mut dyn Write) -> io::Result<()> {
    preamble(log, out)?;
    let info = log.info();
    for module in MODULES {
        let Some(entry) = info.header.module(module) else { continue };
        banner(out, module, 55)?;
        if entry.partial {
            incomplete(out, module, Advice::Release)?;
        }
        let columns = "<module>\t<rank>\t<record id>\t<counter>\t<value>\t<file name>\t<mount pt>\t<fs type>";
        writeln!(out, "\n#{columns}")?;
        let mut rows = Rows { out, text: Vec::new(), module, front: String::new(), place: Default::default() };
        match module {
            Module::Lustre => {
                for record in log.lustre().into_iter().flatten() {
                    rows.begin(&info, record.id, record.rank);
                    lustre(&mut rows, &record)?;
                }
            }
            Module::Heatmap => {
                for record in log.heatmaps().into_iter().flatten() {
                    rows.begin(&info, record.id, record.rank);
                    heatmap(&mut rows, &record)?;
                }
            }
            _ => {
                for record in log.counters(module).into_iter().flatten() {
                    rows.begin(&info, record.id, record.rank);
                    rows.on_daos(&record);
                    counters(&mut rows, &record)?;
                }
            }
        }
        rows.flush()?;
    }
    Ok(())
}

/// Writer of the output rows of one module, with a buffer.
struct Rows<'a> {
    out: &'a mut dyn Write,
    text: Vec<u8>,
    module: Module,
    /// First columns of each row: module, rank and record id.
    front: String,
    /// Last columns of each row: file name, mount point and file system type.
    place: [Cow<'a, [u8]>; 3],
}

impl<'a> Rows<'a> {
    fn begin(&mut self, info: &'a Info, id: u64, rank: i64) {
        self.front = format!("{}\t{rank}\t{id}\t", self.module.name());
        self.place = place(info, id).map(Cow::Borrowed);
    }

    /// Sets the last columns for a record of DAOS: pool and container instead of the mount point and, for an object, the object id instead
    /// of the name.
    fn on_daos(&mut self, record: &CounterRecord) {
        let Some(daos) = record.daos else { return };
        let [name, mount, kind] = &mut self.place;
        (*mount, *kind) = (daos.pool_and_container().into_bytes().into(), b"N/A".into());
        if let Some((high, low)) = daos.object {
            *name = format!("{high}.{low}").into_bytes().into();
        }
    }

    fn row(&mut self, name: impl Display, value: impl Display) -> io::Result<()> {
        write!(self.text, "{}{name}\t{value}", self.front)?;
        self.end()
    }

    fn float(&mut self, name: impl Display, value: f64) -> io::Result<()> {
        write!(self.text, "{}{name}\t", self.front)?;
        fixed(&mut self.text, value, 0, 6);
        self.end()
    }

    fn bytes(&mut self, name: impl Display, value: &[u8]) -> io::Result<()> {
        write!(self.text, "{}{name}\t", self.front)?;
        self.text.extend_from_slice(value);
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        for part in &self.place {
            self.text.push(b'\t');
            self.text.extend_from_slice(part);
        }
        self.text.push(b'\n');
        if self.text.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }
}

fn counters(rows: &mut Rows<'_>, record: &CounterRecord) -> io::Result<()> {
    let module = rows.module;
    for (name, &value) in int_names(module).iter().zip(&record.ints) {
        match *name {
            // `POSIX_RENAMED_FROM` is a record id, and ids are unsigned.
            "POSIX_RENAMED_FROM" => rows.row(name, value.cast_unsigned())?,
            _ => rows.row(name, value)?,
        }
    }
    for (name, &value) in float_names(module).iter().zip(&record.floats) {
        rows.float(name, value)?;
    }
    match record.file_id {
        Some(id) => rows.row(format_args!("{module}_FILE_REC_ID"), id),
        None => Ok(()),
    }
}

fn heatmap(rows: &mut Rows<'_>, record: &HeatmapRecord) -> io::Result<()> {
    rows.float("HEATMAP_F_BIN_WIDTH_SECONDS", record.bin_width_seconds)?;
    for (operation, bins) in [("READ", &record.read_bytes), ("WRITE", &record.write_bytes)] {
        for (bin, bytes) in bins.iter().enumerate() {
            rows.row(format_args!("HEATMAP_{operation}_BIN_{bin}"), bytes)?;
        }
    }
    Ok(())
}

fn lustre(rows: &mut Rows<'_>, record: &LustreRecord) -> io::Result<()> {
    rows.row("LUSTRE_NUM_COMPONENTS", record.components.len())?;
    rows.row("LUSTRE_NUM_STRIPES", record.stripes)?;
    for (number, component) in (1..).zip(&record.components) {
        let prefix = format!("LUSTRE_COMP{number}");
        rows.row(format_args!("{prefix}_STRIPE_SIZE"), component.stripe_size)?;
        rows.row(format_args!("{prefix}_STRIPE_COUNT"), component.stripe_count)?;
        rows.row(format_args!("{prefix}_STRIPE_PATTERN"), pattern(component))?;
        rows.row(format_args!("{prefix}_FLAGS"), flags(component))?;
        rows.row(format_args!("{prefix}_EXT_START"), component.extent_start)?;
        rows.row(format_args!("{prefix}_EXT_END"), component.extent_end)?;
        rows.row(format_args!("{prefix}_MIRROR_ID"), component.mirror_id)?;
        let pool = component.pool.as_bytes();
        rows.bytes(format_args!("{prefix}_POOL_NAME"), if pool.is_empty() { b"N/A" } else { pool })?;
        for (index, ost) in component.osts.iter().enumerate() {
            rows.row(format_args!("{prefix}_OST_ID_{index}"), ost)?;
        }
    }
    Ok(())
}

fn pattern(component: &Component) -> &'static str {
    match component.pattern {
        0 => "raid0",
        2 => "mdt",
        4 => "raid0,overstriped",
        8 => "foreign",
        _ => "N/A",
    }
}

/// Names of Lustre's component flags in the notation of `lfs`, lowest bit first.
const FLAGS: [&str; 12] = [
    "stale",
    "prefrd",
    "prefwr",
    "offline",
    "init",
    "nosync",
    "extension",
    "parity",
    "compress",
    "partial",
    "nocompr",
    "neg",
];

fn flags(component: &Component) -> String {
    if component.flags == -1 {
        return "N/A".into();
    }
    let set = |&(bit, _): &(usize, &&str)| component.flags >> bit & 1 == 1;
    let names: Vec<_> = FLAGS.iter().enumerate().filter(set).map(|(_, &name)| name).collect();
    if names.is_empty() { "0".into() } else { names.join(",") }
}
