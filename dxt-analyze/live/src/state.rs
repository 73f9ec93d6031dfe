//! State file of an agent: records which data the agent has delivered, so that a later agent resumes there.

use super::interval::NotSeen;
use super::open_spool::Kept;
use anyhow::{Context, Result};
use dxt_base::input::open_no_link;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::path::Path;

/// Saved state of an agent: data delivered so far, with which a later agent resumes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SavedState {
    version: u32,
    /// Boot id of the machine: spools (files with recorded calls) from before a reboot no longer exist.
    boot: String,
    /// Reading progress in each spool (file with recorded calls), by the spool's key ([`super::open_spool::Held::key`]).
    spools: BTreeMap<String, Kept>,
    /// Output position of each destination that can resume, by destination name.
    pub sinks: BTreeMap<String, u64>,
    /// Names of all destinations; those that cannot resume always receive everything again.
    #[serde(default)]
    names: BTreeSet<String>,
    /// Number of calls that the delivered sums include so far.
    #[serde(default)]
    pub calls: u64,
    /// Numbers of calls missed, lost or seen twice so far, by cause, without those that the spools in `spools` report.
    pub gone: NotSeen,
}

const VERSION: u32 = 2;

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

impl SavedState {
    /// Reads the state file; the state is empty if the file is missing. Drops the progress in spools and the missing calls of another boot
    /// or version.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not a state file.
    pub fn read(path: &Path) -> Result<Self> {
        let mut text = Vec::new();
        match open_no_link(path).and_then(|mut file| file.read_to_end(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).with_context(|| format!("failed to read the state {}", path.display())),
        }
        let state: Self = serde_json::from_slice(&text).with_context(|| {
            format!(
                "{} is not a state file of `dxt-analyze live`: give another file name, or remove it",
                path.display()
            )
        })?;
        let known = state.version == VERSION && state.boot == boot();
        Ok(if known {
            state
        } else {
            Self { sinks: state.sinks, names: state.names, calls: state.calls, ..Self::default() }
        })
    }

    /// Removes the reading progress in a spool (file with recorded calls) from the state and returns it.
    pub fn take(&mut self, key: &str) -> Option<Kept> {
        self.spools.remove(key)
    }

    /// Returns the number of spools whose reading progress was not taken, since they no longer exist.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.spools.len() as u64
    }

    /// Returns the number of calls delivered before a destination named `name` was first used; 0 if the saved state knows the destination.
    #[must_use]
    pub fn lacking(&self, name: &str) -> u64 {
        // State files of older versions have no names of destinations.
        if self.names.is_empty() || self.names.contains(name) { 0 } else { self.calls }
    }

    /// Returns this state with other destinations: `sinks` are their output positions, `names` their names. For use before any spool is
    /// read.
    #[must_use]
    pub fn with_sinks(&self, sinks: BTreeMap<String, u64>, names: BTreeSet<String>) -> Self {
        let (spools, gone, calls) = (self.spools.clone(), self.gone, self.calls);
        Self { version: VERSION, boot: boot(), spools, sinks, names, calls, gone }
    }

    /// Creates the state of an agent for the current boot.
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

    /// Writes the state file atomically.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let failed = || format!("failed to write the state {}", path.display());
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory).with_context(failed)?;
        // Serializes to memory first: a thousand processes take some 150 KB, which would be tens of thousands of writes.
        let text = serde_json::to_vec(self).with_context(failed)?;
        file.write_all(&text).with_context(failed)?;
        file.persist(path).with_context(failed)?;
        Ok(())
    }
}
