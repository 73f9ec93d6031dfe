//! The one file that names bincode: how a section's value becomes bytes and back. Configuration: bincode 2 "standard",
//! that is little-endian, variable-length integers (bincode 2 specification, spec.md).

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

/// Encodes `value` behind its tag and length. Values of this crate's types always encode.
pub(super) fn section<T: Serialize>(tag: u16, value: &T, out: &mut Vec<u8>) {
    let Ok(bytes) = bincode::serde::encode_to_vec(value, bincode::config::standard()) else { return };
    out.extend_from_slice(&tag.to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(&bytes);
}

/// As [`section`], but an empty list, which a missing section means too, takes no room.
pub(super) fn list_section<T: Serialize>(tag: u16, list: &[T], out: &mut Vec<u8>) {
    if !list.is_empty() {
        section(tag, &list, out);
    }
}

/// Decodes one section's bytes, counting what they become; bytes after the value are a newer writer's and are ignored.
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

/// The sections of a metadata block: (tag, bytes). A section that is cut ends the list with an error.
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
