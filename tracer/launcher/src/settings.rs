//! Environment variables for the traced command, from options, environment and configuration file.

use crate::conf::Conf;
use crate::options::Options;
use crate::texts::{has, os, say, variable};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Environment variables for the traced command with their values, in the order in which they are passed on.
#[derive(Default)]
pub(crate) struct Settings(pub(crate) Vec<(String, OsString)>);

/// Environment variables of schedulers with the job number; the first variable that is set counts.
const JOB_NUMBERS: [&str; 11] = [
    "SLURM_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "FLUX_JOB_ID",
    "COBALT_JOBID",
    "PJM_JOBID",
    "OAR_JOB_ID",
    "OAR_JOBID",
    "LOADL_STEP_ID",
    "LOAD_STEP_ID",
    "JOB_ID",
];

/// Variables by which a site excludes processes or jobs. Ignored for a program that the user traces explicitly.
const OF_SITES: [&str; 5] = ["DXT_PROCESSES", "DXT_SAMPLE", "DXT_MIN_RUN_TIME", "DXT_MIN_IO", "DXT_MIN_CALLS"];

impl Settings {
    pub(crate) fn add(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.0.push((name.to_owned(), value.as_ref().to_owned()));
    }

    /// Adds a variable that identifies the directory created for this run. Replaces a value inherited from another run.
    pub(crate) fn add_made(&mut self, name: &str, directory: &Path) {
        self.0.retain(|(known, _)| known != name);
        if let Some(made) = crate::place::made(directory) {
            self.add(name, made);
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// Returns the settings that result from the options and from the path of the configuration file.
    pub(crate) fn of_options(options: &Options, conf: &Conf) -> Self {
        let mut settings = Self::default();
        let given = [("DXT_BUFFER_MAX", &options.buffer_max), ("DXT_FLUSH", &options.flush)];
        for (name, value) in given {
            if let Some(value) = value {
                settings.add(name, value);
            }
        }
        if options.verbose {
            settings.add("DXT_VERBOSE", "1");
        }
        if let Some(path) = &conf.path {
            settings.add("DXT_CONFIG", path);
        }
        if is_live(options) {
            settings.add("DXT_LIVE", "1");
        }
        settings
    }

    /// Adds all DXT_... and DARSHAN_... variables of the environment that are not among the settings yet, so that they reach every node.
    /// Also sets to empty those variables by which a site excludes processes or jobs ([`OF_SITES`]) if only the configuration file sets
    /// them.
    pub(crate) fn add_environment(&mut self, conf: &Conf) {
        let mut of_environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        of_environment.sort();
        for (name, value) in of_environment {
            let name = name.to_string_lossy();
            let is_ours = name.starts_with("DXT_") || name.starts_with("DARSHAN_");
            if is_ours && !value.is_empty() && self.get(&name).is_none() {
                self.add(&name, value);
            }
        }
        for name in OF_SITES {
            if variable(name).is_none() && conf.get(name).is_some() {
                self.add(name, "");
            }
        }
    }

    /// Puts the tracer first in LD_PRELOAD, since a library before the tracer would hide calls from it. Removes other copies of the tracer.
    pub(crate) fn add_preload(&mut self, library: &Path) {
        let mut all = library.as_os_str().to_owned();
        let before = variable("LD_PRELOAD").unwrap_or_default();
        for other in before.as_bytes().split(|byte| b": \t\n".contains(byte)).filter(|other| !other.is_empty()) {
            let place = Path::new(OsStr::from_bytes(other));
            if place.canonicalize().is_ok_and(|place| place == library) {
                continue;
            }
            if is_tracer(place) {
                say!(
                    "LD_PRELOAD names another tracer, {}, which is removed: {} is used instead",
                    place.display(),
                    library.display()
                );
                continue;
            }
            all.push(":");
            all.push(OsStr::from_bytes(other));
        }
        self.add("LD_PRELOAD", all);
        // A program with AddressSanitizer's shared library ends at once if another library was loaded before that library.
        let options = variable("ASAN_OPTIONS").map_or_else(Vec::new, OsString::into_vec);
        if !has(&options, ASAN_ORDER) {
            let colon: &[u8] = if options.is_empty() { b"" } else { b":" };
            self.add("ASAN_OPTIONS", os([&options, colon, ASAN_ORDER, b"0"].concat()));
        }
    }
}

const ASAN_ORDER: &[u8] = b"verify_asan_link_order=";

/// Symbols that identify a tracer library, regardless of its file name. Version 0.2.0 has only the second symbol.
const SYMBOLS: [&[u8]; 2] = [b"\0dxt_tracer_version\0", b"\0dxt_tracer_is_preloaded\0"];

/// True if the file is a tracer library, judged by its name or its symbols.
fn is_tracer(place: &Path) -> bool {
    let named = place.file_name().is_some_and(|name| has(name.as_bytes(), b"dxt_tracer"));
    named || std::fs::read(place).is_ok_and(|bytes| SYMBOLS.iter().any(|symbol| has(&bytes, symbol)))
}

/// True if an agent monitors the run (--live, --live-to).
pub(crate) fn is_live(options: &Options) -> bool {
    options.live || !options.live_to.is_empty()
}

/// Returns the job name (DXT_JOB_ID) of this run, and the job number that replaces `%j`.
pub(crate) fn job(conf: &Conf) -> (OsString, OsString) {
    let named = conf.set("DXT_JOB_ID");
    let number = named.clone().or_else(|| JOB_NUMBERS.iter().find_map(|name| variable(name)));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let job = named.unwrap_or_else(|| format!("{node}.{}.{now}", std::process::id()).into());
    let number = number.unwrap_or_else(|| job.clone());
    (job, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracers_are_known_by_name_and_by_contents() {
        for (name, known) in [("/x/libdxt_tracer.so", true), ("libdxt_tracer.so.0.2.0", true), ("libm.so.6", false)] {
            assert_eq!(is_tracer(Path::new(name)), known, "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        for (text, known) in [(&b"dxt_tracer"[..], false), (b"\x7fELF\0dxt_tracer_version\0", true)] {
            let file = folder.path().join("libother.so");
            std::fs::write(&file, text).unwrap();
            assert_eq!(is_tracer(&file), known);
        }
    }
}
