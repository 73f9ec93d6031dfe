//! What an agent had shown when it was last heard of, in a file: one that is started anew goes on there.

use super::held::Kept;
use super::interval::NotSeen;
use crate::input::open_no_link;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::Path;

/// What is kept.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SavedState {
    /// Of this version.
    version: u32,
    /// Boot of the machine: spools of another one are gone.
    boot: String,
    /// By [`super::held::Held::key`].
    spools: BTreeMap<String, Kept>,
    /// How far each destination had come, by its name.
    pub sinks: BTreeMap<String, u64>,
    /// Names of all destinations, also of those that are always given everything again.
    #[serde(default)]
    names: BTreeSet<String>,
    /// Calls that were in the sums.
    #[serde(default)]
    pub calls: u64,
    /// What was not seen, without what is in the spools above.
    pub gone: NotSeen,
}

const VERSION: u32 = 2;

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

impl SavedState {
    /// Reads it; empty if there is none yet, or it is of another boot.
    ///
    /// # Errors
    /// If the file is no state.
    pub fn read(path: &Path) -> Result<Self> {
        let mut text = Vec::new();
        match open_no_link(path).and_then(|mut file| file.read_to_end(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).with_context(|| format!("failed to read the state {}", path.display())),
        }
        let state: Self = serde_json::from_slice(&text).with_context(|| {
            format!("{} is no state of a live agent: name another file, or remove it", path.display())
        })?;
        let known = state.version == VERSION && state.boot == boot();
        Ok(if known {
            state
        } else {
            Self { sinks: state.sinks, names: state.names, calls: state.calls, ..Self::default() }
        })
    }

    /// What was shown of a spool; it is not asked for again.
    pub fn take(&mut self, key: &str) -> Option<Kept> {
        self.spools.remove(key)
    }

    /// How many of the spools are not there any more.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.spools.len() as u64
    }

    /// Calls that were passed on before there was a destination of this name.
    #[must_use]
    pub fn lacking(&self, name: &str) -> u64 {
        // States of older versions have no names.
        if self.names.is_empty() || self.names.contains(name) { 0 } else { self.calls }
    }

    /// The same with other destinations: nothing has been looked at since.
    #[must_use]
    pub fn with_sinks(&self, sinks: BTreeMap<String, u64>, names: BTreeSet<String>) -> Self {
        let (spools, gone, calls) = (self.spools.clone(), self.gone, self.calls);
        Self { version: VERSION, boot: boot(), spools, sinks, names, calls, gone }
    }

    /// A new one.
    #[must_use]
    pub fn new(
        spools: BTreeMap<String, Kept>,
        sinks: BTreeMap<String, u64>,
        names: BTreeSet<String>,
        gone: NotSeen,
        calls: u64,
    ) -> Self {
        Self { version: VERSION, boot: boot(), spools, sinks, names, calls, gone }
    }

    /// Writes it: whole, or not at all.
    ///
    /// # Errors
    /// If that cannot be.
    pub fn write(&self, path: &Path) -> Result<()> {
        let failed = || format!("failed to write the state {}", path.display());
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory).with_context(failed)?;
        // In one piece: of a thousand processes it is some 150 KB, which would be tens of thousands of writes.
        let text = serde_json::to_vec(self).with_context(failed)?;
        file.write_all(&text).with_context(failed)?;
        file.persist(path).with_context(failed)?;
        Ok(())
    }
}
