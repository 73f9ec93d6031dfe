//! Writer of an imported trace: writes the regions (one per process) one after another, then the index.

use anyhow::Result;
use std::io::Write;
use trace_format::write::{Region, trailer};

/// Writer of a trace's regions (one per process); collects the index entry of each region, and the file offset of the next region.
pub(crate) struct Written {
    index: Vec<u8>,
    regions: u32,
    offset: u64,
}

impl Written {
    /// Creates the writer for a trace file that so far contains only the header `head`.
    pub(crate) fn behind(head: &[u8]) -> Self {
        Self { index: Vec::new(), regions: 0, offset: head.len() as u64 }
    }

    pub(crate) const fn regions(&self) -> u32 {
        self.regions
    }

    /// Writes a region, the encoded data of one process, to `out`.
    pub(crate) fn add(&mut self, mut region: Region, out: &mut impl Write) -> Result<()> {
        region.entry.offset = self.offset;
        self.index.extend_from_slice(&region.entry.encode());
        out.write_all(&region.bytes)?;
        self.offset += region.bytes.len() as u64;
        self.regions += 1;
        Ok(())
    }

    /// Writes the index of all regions at the end of the file.
    pub(crate) fn finish(&self, out: &mut impl Write) -> Result<()> {
        out.write_all(&self.index)?;
        out.write_all(&trailer(self.offset, self.regions))?;
        Ok(out.flush()?)
    }
}
