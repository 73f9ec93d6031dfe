//! Warns before the run about programs that cannot be traced, judged by their executable files.

use crate::elf::{Reach, reach};
use crate::files::program;
use crate::launch::{Kind, is_program};
use crate::texts::{say, variable};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(crate) struct Remarks<'a> {
    library: &'a Path,
    /// Programs of the command that will not be traced; each is reported once.
    pub(crate) untraced: BTreeSet<PathBuf>,
    /// First program of the command that would not start with the library preloaded, and the reason.
    pub(crate) foreign: Option<(PathBuf, String)>,
}

impl<'a> Remarks<'a> {
    /// Inspects all programs that the command `words` is known to start, and warns about those that cannot be traced. `listing`: file that
    /// lists the programs to run, if the launcher reads one.
    pub(crate) fn new(kind: Kind, words: &[OsString], listing: Option<&Path>, library: &'a Path) -> Self {
        let mut remarks = Self { library, untraced: BTreeSet::new(), foreign: None };
        match kind {
            Kind::Program => {
                remarks.remark_on(&words[0]);
            }
            Kind::Wrapper => remarks.remark_on_words(&words[1..]),
            _ => {
                if kind == Kind::Environment {
                    remark_on_environment(&crate::launch::base(&words[0]), &words[1..]);
                }
                words[1..].split(|word| word == ":").for_each(|words| remarks.remark_on_words(words));
                // In files that list programs, each line has options or ranks, followed by a program.
                let text = listing.map(|file| std::fs::read(file).unwrap_or_default()).unwrap_or_default();
                for line in text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().starts_with(b"#")) {
                    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
                    let words: Vec<OsString> = words.map(|word| OsStr::from_bytes(word).to_owned()).collect();
                    remarks.remark_on_words(&words);
                }
            }
        }
        remarks
    }

    /// Inspects `words`, which are options followed by a program. An argument of an option may look like a program, so every word without a
    /// slash is inspected too, up to the first program given by a path.
    fn remark_on_words(&mut self, words: &[OsString]) {
        for word in words {
            let bytes = word.as_bytes();
            if bytes.starts_with(b"-") || bytes.contains(&b'=') {
                continue;
            }
            if bytes.contains(&b'/') {
                if is_program(word) {
                    return self.remark_on(word);
                }
            } else {
                self.remark_on(word);
            }
        }
    }

    fn remark_on(&mut self, word: &OsStr) {
        let Some(program) = program(word).filter(|program| !self.untraced.contains(program)) else { return };
        let place = program.display();
        match reach(&program, self.library) {
            Reach::Reached => return,
            Reach::Static => say!(
                "{place} is linked statically and ignores LD_PRELOAD: it is not traced, unless it is linked with the options that \
                 dxt-run --link-flags prints"
            ),
            Reach::Privileged => {
                say!("{place} is setuid or setgid, for which the loader ignores LD_PRELOAD: it is not traced");
            }
            Reach::Foreign(why) => {
                self.foreign.get_or_insert((program, why));
                return;
            }
        }
        self.untraced.insert(program);
    }
}

/// Warns about options of a launcher that keep variables from the ranks, if the launcher otherwise passes on its environment.
fn remark_on_environment(launcher: &str, words: &[OsString]) {
    let mut export = std::env::var("SLURM_EXPORT_ENV").unwrap_or_else(|_| "ALL".to_owned());
    let mut kept = None;
    for (at, word) in words.iter().enumerate() {
        if is_program(word) {
            break;
        }
        let word = word.to_string_lossy();
        match launcher {
            "srun" if word == "--export" => {
                export = words.get(at + 1).map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            }
            "srun" => export = word.strip_prefix("--export=").map_or(export, str::to_owned),
            "flux" if word.starts_with("--env=-") || word.starts_with("--env-remove=") => {
                kept = Some(word.into_owned());
            }
            _ if launcher.starts_with("mpi")
                && word.starts_with('-')
                && (word.ends_with("envnone") || word.contains("envlist")) =>
            {
                kept = Some(word.into_owned());
            }
            _ => {}
        }
    }
    let hands_on = |name: &str| name == "ALL" || name == "LD_PRELOAD" || name.starts_with("LD_PRELOAD=");
    if launcher == "srun" && !export.split(',').any(hands_on) {
        kept = Some(format!("--export={export}"));
    }
    if let Some(kept) = kept {
        say!(
            "{launcher} {kept} may remove LD_PRELOAD and DXT_* from the environment of the ranks; such ranks are not traced"
        );
    }
}

/// Returns a hint that names the filter variables in effect, which may have excluded all I/O.
pub(crate) fn filters(settings: &crate::settings::Settings) -> String {
    const FILTERS: [&str; 7] =
        ["DXT_INCLUDE", "DXT_EXCLUDE", "DXT_RANKS", "DXT_APPS", "DXT_LAYERS", "DARSHAN_EXCLUDE_DIRS", "DXT_CONFIG"];
    let set = settings.0.iter().filter(|(name, value)| FILTERS.contains(&&**name) && !value.is_empty());
    let set: Vec<&str> = set.map(|(name, _)| name.as_str()).collect();
    if set.is_empty() { String::new() } else { format!(" ({} may have excluded all I/O)", set.join(", ")) }
}

/// Returns the number of nodes of the user's Slurm job, if there are several and srun is on PATH.
pub(crate) fn slurm_nodes() -> Option<String> {
    let nodes = variable("SLURM_JOB_NUM_NODES")?.into_string().ok()?;
    (nodes.parse::<u64>().is_ok_and(|nodes| nodes > 1) && program("srun".as_ref()).is_some()).then_some(nodes)
}
