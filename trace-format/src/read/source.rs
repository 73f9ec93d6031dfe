//! Source of bytes that can be read at any offset, such as a file.

use crate::error::{Error, Result};
use std::ops::Range;

/// Bytes that several threads can read at any offset at once.
pub trait Source: Sync {
    /// Returns the size of the source in bytes.
    ///
    /// # Errors
    /// Returns the operating system's error.
    fn size(&self) -> std::io::Result<u64>;

    /// Fills `buffer` with the bytes that begin at `offset`.
    ///
    /// # Errors
    /// Returns the operating system's error, or `UnexpectedEof` if the source is shorter.
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()>;

    /// Returns the number of bytes allocated in storage, which is less than the size if the file has holes.
    ///
    /// # Errors
    /// Returns the operating system's error.
    fn allocated(&self) -> std::io::Result<u64> {
        self.size()
    }

    /// Returns the first byte range at or after `offset` that is not in a hole of the file; `None` if only a hole follows.
    ///
    /// # Errors
    /// Returns the operating system's error.
    fn stored(&self, offset: u64) -> std::io::Result<Option<Range<u64>>> {
        let size = self.size()?;
        Ok((offset < size).then_some(offset..size))
    }
}

impl<T: AsRef<[u8]> + Sync> Source for T {
    fn size(&self) -> std::io::Result<u64> {
        Ok(self.as_ref().len() as u64)
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.as_ref().get(from..).and_then(|rest| rest.get(..buffer.len()));
        buffer.copy_from_slice(bytes.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// Fills `buffer` with the bytes of `source` that begin at `offset`; the error contains the offset.
pub(super) fn fill<S: Source + ?Sized>(source: &S, offset: u64, buffer: &mut [u8]) -> Result<()> {
    source.read_exact_at(offset, buffer).map_err(|source| Error::Io { offset, length: buffer.len() as u64, source })
}
