//! Byte order, fixed-size fields, and the type of texts that Darshan stores as C strings.

use std::borrow::Cow;
use std::fmt;

/// Byte order of the machine that wrote a log, and of all numbers in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// Decodes the first 8 bytes as a number; returns 0 for fewer bytes, which callers prevent by requesting enough bytes.
    #[inline]
    pub(crate) fn u64(self, bytes: &[u8]) -> u64 {
        let field = field(bytes);
        match self {
            Self::Little => u64::from_le_bytes(field),
            Self::Big => u64::from_be_bytes(field),
        }
    }

    #[inline]
    pub(crate) fn i64(self, bytes: &[u8]) -> i64 {
        self.u64(bytes).cast_signed()
    }

    #[inline]
    pub(crate) fn f64(self, bytes: &[u8]) -> f64 {
        f64::from_bits(self.u64(bytes))
    }

    #[inline]
    pub(crate) fn u32(self, bytes: &[u8]) -> u32 {
        let field = field(bytes);
        match self {
            Self::Little => u32::from_le_bytes(field),
            Self::Big => u32::from_be_bytes(field),
        }
    }
}

#[inline]
fn field<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

pub(crate) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Text from a log, stored there as a C string; without the NUL. Usually, but not necessarily, UTF-8.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Box<[u8]>);

impl Text {
    /// Returns the bytes of the text as stored in the log.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the text as a string, with replacement characters for invalid UTF-8.
    #[must_use]
    pub fn to_str(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().into())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_str())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_fields_are_zero_and_not_a_panic() {
        assert_eq!(Endian::Little.u64(&[1, 2]), 0);
        assert_eq!(Endian::Big.u64(&[0, 0, 0, 0, 0, 0, 1, 2, 9]), 258);
        assert_eq!(until_nul(b"ab\0cd"), b"ab");
        assert_eq!(until_nul(b"abc"), b"abc");
    }
}
