//! Applies settings advised by `dxt-analyze advise` (--hints). Settings that the user made in the environment or by launcher options take precedence.

use crate::settings::Settings;
use crate::texts::{os, say};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Prefixes of environment variables that advice may set.
const PREFIXES: [&str; 4] = ["MPICH_", "I_MPI_", "HDF5_", "DXT_"];

/// Adds the settings advised in `directory` to `settings`, except Open MPI's parameters (`OMPI_MCA_...`), which it returns: Open MPI's
/// launcher passes them to its ranks by itself, and its option --mca overrides them.
pub(crate) fn add(
    settings: &mut Settings,
    directory: &Path,
    command: &[OsString],
) -> Result<Vec<(String, OsString)>, String> {
    let none =
        || format!("there is no directory {0}; create it with dxt-analyze advise -o {0} TRACE", directory.display());
    let directory = directory.canonicalize().ok().filter(|place| place.is_dir()).ok_or_else(none)?;
    let mut found = false;
    let mut launched = Vec::new();
    let hints = directory.join("romio_hints");
    if hints.is_file() {
        found = true;
        if is_free("ROMIO_HINTS", settings, command, &directory) {
            settings.add("ROMIO_HINTS", hints);
        }
    }
    let conf = directory.join("ompi_mca.conf");
    for (name, value) in lines(&conf) {
        let (name, value) = (name.trim(), os(value.trim_ascii().to_vec()));
        if name.is_empty() || name.bytes().any(|byte| !byte.is_ascii_alphanumeric() && byte != b'_') {
            say!("{}: {name} is not a valid parameter name", conf.display());
            continue;
        }
        found = true;
        let name = format!("OMPI_MCA_{name}");
        if is_free(&name, settings, command, &directory) {
            launched.push((name, value));
        }
    }
    let environment = directory.join("environment");
    for (name, value) in lines(&environment) {
        let is_name = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        if !is_name || !PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            say!("{}: {name} is not a variable that advice may set", environment.display());
            continue;
        }
        found = true;
        if is_free(&name, settings, command, &directory) {
            settings.add(&name, os(value));
        }
    }
    if !found {
        say!("no settings found in {}", directory.display());
    }
    Ok(launched)
}

/// True if the variable `name` is not set yet (environment, `settings`, or a word of `command`). Otherwise reports that the advice in
/// `directory` is ignored.
fn is_free(name: &str, settings: &Settings, command: &[OsString], directory: &Path) -> bool {
    let sets = |word: &OsString| {
        word.as_bytes().strip_prefix(name.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'=')
    };
    let is_set = settings.get(name).is_some() || command.iter().any(sets) || std::env::var_os(name).is_some();
    if is_set {
        say!("{name} is already set; its value in {} is ignored", directory.display());
    }
    !is_set
}

/// Returns (name, value) of each line of a file of advised settings, without comments.
fn lines(file: &Path) -> Vec<(String, Vec<u8>)> {
    let text = if file.is_file() { std::fs::read(file).unwrap_or_default() } else { Vec::new() };
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines = lines.filter(|line| !matches!(line.trim_ascii().first(), None | Some(b'#')));
    lines
        .map(|line| {
            let at = line.iter().position(|byte| *byte == b'=').unwrap_or(line.len());
            let name = OsStr::from_bytes(&line[..at]).to_string_lossy().into_owned();
            (name, line.get(at + 1..).unwrap_or_default().to_vec())
        })
        .collect()
}
