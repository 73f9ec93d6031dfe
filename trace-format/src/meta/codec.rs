//! Encoding of section values; the only file that uses bincode. Configuration: bincode 2 "standard", that is little-endian with
//! variable-length integers (bincode 2 specification, spec.md).
//!
//! bincode is no longer maintained (RUSTSEC-2025-0141), which matters little while its input is metered here and its output is pinned by the
//! test `bytes_are_pinned`. The alternative is a serde codec with a few rules: integers below 251 in one byte, else 251, 252 or 253 and 2, 4
//! or 8 bytes; signed integers as zigzag; lengths and variants as integers; options, booleans and single bytes in one byte. A replacement
//! has to pass that test, the golden traces and `tests/sections.rs`.

#[cfg(feature = "read")]
use super::metered::Metered;
use crate::error::{Error, Result};
#[cfg(feature = "read")]
use crate::{limits::METADATA_BYTES, read::Meter};
#[cfg(feature = "read")]
use bincode::serde::BorrowedSerdeDecoder;
use serde::Serialize;
#[cfg(feature = "read")]
use serde::de::DeserializeOwned;

/// Appends a section to a metadata block: tag, length and encoded `value`. All types of this crate can be encoded.
pub(super) fn section<T: Serialize>(tag: u16, value: &T, out: &mut Vec<u8>) {
    let Ok(bytes) = bincode::serde::encode_to_vec(value, bincode::config::standard()) else { return };
    out.extend_from_slice(&tag.to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(&bytes);
}

/// Appends a list as a section, like [`section`]. An empty list is omitted; readers treat a missing section as an empty list.
pub(super) fn list_section<T: Serialize>(tag: u16, list: &[T], out: &mut Vec<u8>) {
    if !list.is_empty() {
        section(tag, &list, out);
    }
}

/// Decodes the bytes of one section, charging the memory to `meter`. Bytes after the value come from a newer writer and are ignored.
#[cfg(feature = "read")]
pub(super) fn value<T: DeserializeOwned>(
    what: &'static str,
    bytes: &[u8],
    offset: u64,
    meter: &Meter<'_>,
) -> Result<T> {
    let config = bincode::config::standard().with_limit::<{ METADATA_BYTES as usize }>();
    let mut decoder = BorrowedSerdeDecoder::from_slice(bytes, config, ());
    let decoded = T::deserialize(Metered { inner: decoder.as_deserializer(), meter });
    decoded.map_err(|error| {
        meter.error(what, offset).unwrap_or_else(|| Error::Malformed { what, offset, why: error.to_string() })
    })
}

/// Returns an iterator over the sections of a metadata block as (tag, bytes). A truncated section ends the iteration with an error.
#[cfg_attr(not(feature = "read"), expect(dead_code, reason = "the writing half does not decode"))]
pub(super) fn sections(mut block: &[u8], offset: u64) -> impl Iterator<Item = Result<(u16, &[u8])>> {
    std::iter::from_fn(move || {
        if block.is_empty() {
            return None;
        }
        let whole = block.split_first_chunk::<2>().and_then(|(tag, rest)| {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            Some((u16::from_le_bytes(*tag), bytes, rest))
        });
        let Some((tag, bytes, rest)) = whole else {
            block = &[];
            let why = "a section is longer than the block".into();
            return Some(Err(Error::Malformed { what: "a metadata block", offset, why }));
        };
        block = rest;
        Some(Ok((tag, bytes)))
    })
}

#[cfg(all(test, feature = "read"))]
mod tests {
    use super::*;
    use crate::read::Room;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Kind {
        Zero,
        Two(u8, Vec<u16>),
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Everything {
        text: String,
        unsigned: [u64; 5],
        signed: (i32, i64, i64),
        bytes: (u8, bool, f64),
        options: (Option<u32>, Option<u32>),
        kinds: Vec<Kind>,
    }

    /// Compares encoded values with bytes written by hand from the bincode specification; a replacement of bincode must read and write these bytes.
    #[test]
    fn bytes_are_pinned() {
        let value_of = Everything {
            text: "é".into(),
            unsigned: [250, 251, 65_535, 65_536, 1 << 32],
            signed: (-1, 125, -126),
            bytes: (255, true, 1.5),
            options: (None, Some(7)),
            kinds: vec![Kind::Zero, Kind::Two(251, vec![300])],
        };
        let bytes: &[&[u8]] = &[
            &[2, 0xc3, 0xa9],
            &[250],
            &[251, 251, 0],
            &[251, 255, 255],
            &[252, 0, 0, 1, 0],
            &[253, 0, 0, 0, 0, 1, 0, 0, 0],
            &[1],
            &[250],
            &[251, 251, 0],
            &[255, 1],
            &[0, 0, 0, 0, 0, 0, 0xf8, 0x3f],
            &[0, 1, 7],
            &[2, 0, 1, 251, 1, 251, 44, 1],
        ];
        let bytes = bytes.concat();
        let mut out = Vec::new();
        section(9, &value_of, &mut out);
        let head = [9, 0, bytes.len() as u8, 0, 0, 0];
        assert_eq!(out, [&head[..], &bytes].concat());
        let room = Room::default();
        let read: Everything = value("a test", &bytes, 0, &Meter::new(&room)).unwrap();
        assert_eq!(read, value_of);
    }
}
