//! Encoding and decoding of fixed structures, field by field. The last four bytes of each structure are the CRC-32 of all its bytes before.

use super::crc;
use crate::error::{Error, Result};

/// Writer of the fields of a fixed structure, which appends the CRC-32.
pub(super) struct Fields<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Fields<N> {
    pub(super) fn new() -> Self {
        Self { bytes: [0; N], at: 0 }
    }

    pub(super) fn put(mut self, field: &[u8]) -> Self {
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
        self
    }

    pub(super) fn seal(mut self) -> [u8; N] {
        let sum = crc(&self.bytes[..N - 4]);
        self.bytes[N - 4..].copy_from_slice(&sum.to_le_bytes());
        self.bytes
    }
}

/// Reader of the fields of a structure whose size and CRC-32 have been checked.
pub(super) struct Parts<'a> {
    bytes: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Checks size and CRC-32 of the structure `what` at file offset `offset`, and returns a reader of the structure's fields.
    pub(super) fn open<const N: usize>(bytes: &'a [u8], what: &'static str, offset: u64) -> Result<Self> {
        let Some(bytes) = bytes.get(..N) else {
            return Err(Error::Truncated { what, offset, needed: N as u64, available: bytes.len() as u64 });
        };
        let mut stated = Parts { bytes: &bytes[N - 4..] };
        let (expected, found) = (stated.u32(), crc(&bytes[..N - 4]));
        if expected != found {
            return Err(Error::Checksum { what, offset, expected, found });
        }
        Ok(Self { bytes: &bytes[..N - 4] })
    }

    /// Returns the next `M` bytes; zeros past the end, which is never reached because all structures have fixed sizes.
    pub(super) fn take<const M: usize>(&mut self) -> [u8; M] {
        let mut out = [0; M];
        if let Some((head, rest)) = self.bytes.split_at_checked(M) {
            out.copy_from_slice(head);
            self.bytes = rest;
        }
        out
    }

    pub(super) fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.take())
    }
    pub(super) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }
    pub(super) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }
    pub(super) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
    pub(super) fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.take())
    }
}
