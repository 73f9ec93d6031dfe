//! Writer of an imported trace: its regions one after another, then the index.

use anyhow::Result;
use std::io::Write;
use trace_format::write::{Region, trailer};

/// Regions written so far.
pub(crate) struct Written {
    index: Vec<u8>,
    regions: u32,
    offset: u64,
}

impl Written {
    /// Starts after the `head` of the file.
    pub(crate) fn behind(head: &[u8]) -> Self {
        Self { index: Vec::new(), regions: 0, offset: head.len() as u64 }
    }

    pub(crate) const fn regions(&self) -> u32 {
        self.regions
    }

    /// Writes a region.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub(crate) fn add(&mut self, mut region: Region, out: &mut impl Write) -> Result<()> {
        region.entry.offset = self.offset;
        self.index.extend_from_slice(&region.entry.encode());
        out.write_all(&region.bytes)?;
        self.offset += region.bytes.len() as u64;
        self.regions += 1;
        Ok(())
    }

    /// Writes the index after the last region.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub(crate) fn finish(&self, out: &mut impl Write) -> Result<()> {
        out.write_all(&self.index)?;
        out.write_all(&trailer(self.offset, self.regions))?;
        Ok(out.flush()?)
    }
}
