//! Memory limit of the reader, since a file of some kilobytes can decompress to tables of gigabytes. All tables that a program reads count
//! against one [`Room`]; a table that does not fit is reported like damage of its process region.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of bytes that a decoder reserves from a [`Room`] at once, so that decoders on several threads rarely contend.
const STEP: u64 = 64 << 10;

/// Memory limit that the tables of several traces share.
#[derive(Debug)]
pub struct Room {
    left: AtomicU64,
    limit: u64,
}

impl Default for Room {
    fn default() -> Self {
        Self::new(crate::limits::TABLE_BYTES)
    }
}

impl Room {
    /// Creates a memory limit of `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { left: AtomicU64::new(limit), limit }
    }

    /// Reserves `bytes` bytes if available; returns true on success.
    fn take(&self, bytes: u64) -> bool {
        let less = |left: u64| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn give(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Reserves `bytes` bytes permanently; returns [`Error::Limit`] with `what` and `offset` if fewer bytes are left.
    pub(crate) fn keep(&self, what: &'static str, bytes: u64, offset: u64) -> Result<()> {
        if self.take(bytes) { Ok(()) } else { Err(self.spent(what, offset)) }
    }

    /// Reserves `bytes` bytes until the returned value is dropped; fails like [`Self::keep`].
    pub(crate) fn lend(&self, what: &'static str, bytes: u64, offset: u64) -> Result<Lent<'_>> {
        self.keep(what, bytes, offset)?;
        Ok(Lent { room: self, bytes })
    }

    pub(crate) fn spent(&self, what: &'static str, offset: u64) -> Error {
        Error::Limit { what, value: self.limit.saturating_add(1), limit: self.limit, offset }
    }
}

/// Memory reserved from a [`Room`] and returned to it on drop.
pub(crate) struct Lent<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.room.give(self.bytes);
    }
}

/// Counter of the memory used by one decoder; returns unused memory to its [`Room`] on drop.
pub(crate) struct Meter<'a> {
    room: &'a Room,
    step: Cell<u64>,
    spent: Cell<bool>,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(room: &'a Room) -> Self {
        Self { room, step: Cell::new(0), spent: Cell::new(false) }
    }

    /// Counts `bytes` bytes; returns true if the memory limit allows them.
    #[inline]
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        if let Some(left) = self.step.get().checked_sub(bytes) {
            self.step.set(left);
            return true;
        }
        let more = bytes.max(STEP);
        if self.room.take(more) {
            self.step.set(self.step.get() + more - bytes);
            return true;
        }
        self.spent.set(true);
        false
    }

    /// Returns an error about `what` at file offset `offset` if decoding failed because the memory limit was reached; else `None`.
    pub(crate) fn error(&self, what: &'static str, offset: u64) -> Option<Error> {
        self.spent.get().then(|| self.room.spent(what, offset))
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.room.give(self.step.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_or_not_used_comes_back() {
        let room = Room::new(1 << 20);
        {
            let _lent = room.lend("a buffer", 1 << 19, 0).unwrap();
            let meter = Meter::new(&room);
            assert!(meter.take(100) && meter.take(STEP as usize) && !meter.take(1 << 20));
            assert!(matches!(meter.error("a table", 7), Some(Error::Limit { offset: 7, .. })));
        }
        let used = 100 + STEP;
        assert_eq!(room.left.load(Ordering::Relaxed), (1 << 20) - used);
        assert!(room.keep("a table", (1 << 20) - used, 0).is_ok() && room.keep("a table", 1, 0).is_err());
    }
}
