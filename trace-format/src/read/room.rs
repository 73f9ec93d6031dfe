//! How much memory what is read may take: a file of some kilobytes can unpack to tables of gigabytes. Every table of a run counts
//! against one [`Room`]; what does not fit is a problem of its region, as damage is.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are taken from a room at once, so that decoders on several threads seldom meet.
const STEP: u64 = 64 << 10;

/// Memory that the tables of some traces may take together.
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
    /// Of `limit` bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { left: AtomicU64::new(limit), limit }
    }

    /// Takes `bytes`, if they are there.
    fn take(&self, bytes: u64) -> bool {
        let less = |left: u64| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    fn give(&self, bytes: u64) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes `bytes` for `what` at `offset` for good.
    ///
    /// # Errors
    /// [`Error::Limit`] if there is not so much.
    pub(crate) fn keep(&self, what: &'static str, bytes: u64, offset: u64) -> Result<()> {
        if self.take(bytes) { Ok(()) } else { Err(self.spent(what, offset)) }
    }

    /// Takes `bytes` as long as the result lives.
    ///
    /// # Errors
    /// As [`Self::keep`].
    pub(crate) fn lend(&self, what: &'static str, bytes: u64, offset: u64) -> Result<Lent<'_>> {
        self.keep(what, bytes, offset)?;
        Ok(Lent { room: self, bytes })
    }

    pub(crate) fn spent(&self, what: &'static str, offset: u64) -> Error {
        Error::Limit { what, value: self.limit.saturating_add(1), limit: self.limit, offset }
    }
}

/// Room that is given back.
pub(crate) struct Lent<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.room.give(self.bytes);
    }
}

/// Counts what one decoder makes; what it has taken and not used goes back.
pub(crate) struct Meter<'a> {
    room: &'a Room,
    step: Cell<u64>,
    spent: Cell<bool>,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(room: &'a Room) -> Self {
        Self { room, step: Cell::new(0), spent: Cell::new(false) }
    }

    /// Counts `bytes`; whether there is room for them.
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

    /// Why decoding failed, if it was for want of room.
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
