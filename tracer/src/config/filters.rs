//! Reads the variables that configure filters: which files, ranks, programs and layers to record.

use super::source::Environment;
use super::trigger_file::TriggerFile;
use super::values::{BadValue, bad, size};
use crate::filters::{Apps, Filters, Layers, Pattern, Ranks, Share};
use std::ffi::CStr;

/// Maximum of size thresholds, in bytes: 1 TiB, above the maximum transfer size of a segment.
const LARGEST_SIZE: usize = 1 << 40;

/// Reads the filter variables.
///
/// # Errors
/// Returns the first variable that has an invalid value.
pub(super) fn read(environment: &impl Environment) -> Result<Filters, BadValue> {
    let mut filters = Filters::default();
    let mut described = Vec::new();
    let mut take = |variable: &'static CStr, expected: &'static str, parse: &mut dyn FnMut(&[u8]) -> Option<()>| {
        let Some(value) = environment.get(variable).filter(|value| !value.is_empty()) else { return Ok(()) };
        let name = variable.to_str().unwrap_or_default();
        parse(value).ok_or_else(|| bad(name, value, expected))?;
        described.push((name, String::from_utf8_lossy(value).into_owned()));
        Ok(())
    };
    // With DXT_ENABLE_IO_TRACE, Darshan traces all files regardless of triggers.
    let all = environment.get(c"DXT_ENABLE_IO_TRACE").is_some_and(|value| !matches!(value, b"" | b"0"));
    let mut trigger_file = TriggerFile::default();
    if !all {
        take(
            c"DXT_TRIGGER_CONF_PATH",
            "a file with lines such as FILE .h5$, RANK [1-2] or SMALL_IO .5",
            &mut |path| TriggerFile::read(path).map(|found| trigger_file = found),
        )?;
    }
    filters.triggers = trigger_file.triggers;
    let patterns = "path patterns, separated by commas or colons, such as /scratch,*.h5";
    let paths = &mut filters.paths;
    take(c"DXT_INCLUDE", patterns, &mut |value| Pattern::list(value).map(|list| paths.include = list))?;
    take(c"DXT_EXCLUDE", patterns, &mut |value| Pattern::list(value).map(|list| paths.exclude = list))?;
    take(c"DARSHAN_EXCLUDE_DIRS", "absolute directories, separated by commas, or none", &mut |value| {
        paths.exclude_directories(value)
    })?;
    take(c"DXT_RANKS", "ranks and ranges of ranks, such as 0:3,12", &mut |value| {
        Ranks::parse(value).map(|ranks| filters.ranks = Some(ranks))
    })?;
    take(c"DXT_APPS", "names of programs, such as lmp*,!lmp_test", &mut |value| {
        Apps::parse(value).map(|apps| filters.apps = apps)
    })?;
    take(c"DXT_LAYERS", "one or more of posix,stdio,mpiio,hdf5,mpi, separated by commas", &mut |value| {
        Layers::parse(value).map(|layers| filters.layers = layers)
    })?;
    take(c"DXT_MIN_SIZE", "a size of at most 1T, such as 4096 or 64K", &mut |value| {
        let bytes = size(value).filter(|&bytes| bytes <= LARGEST_SIZE)?;
        filters.min_size = bytes as u64;
        Some(())
    })?;
    let triggers = &mut filters.triggers;
    let share = "a share from 0 to 1, such as 0.2";
    take(c"DXT_SMALL_IO_TRIGGER", share, &mut |value| Share::parse(value).map(|share| triggers.small = Some(share)))?;
    take(c"DXT_UNALIGNED_IO_TRIGGER", share, &mut |value| {
        Share::parse(value).map(|share| triggers.unaligned = Some(share))
    })?;
    take(c"DXT_SMALL_IO_SIZE", "a size of at most 1T, such as 4096 or 64K", &mut |value| {
        let bytes = size(value).filter(|&bytes| bytes <= LARGEST_SIZE)?;
        triggers.small_bytes = bytes as u64;
        Some(())
    })?;
    // Without its trigger, DXT_SMALL_IO_SIZE has no effect.
    described.retain(|(name, _)| *name != "DXT_SMALL_IO_SIZE" || filters.triggers.small.is_some());
    if let Some((name, value)) = described.iter_mut().find(|(name, _)| *name == "DXT_TRIGGER_CONF_PATH") {
        let path = std::mem::replace(value, trigger_file.lines.join("; "));
        let reported = |(line, why)| format!("{name}: {path} line {line} is ignored: {why}");
        filters.left_out = trigger_file.wrong.into_iter().map(reported).collect();
    }
    filters.described = described;
    Ok(filters)
}
