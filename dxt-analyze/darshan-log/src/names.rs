//! Names region: paths and other names by record id.

use crate::bytes::{Endian, Text};
use crate::error::Error;
use crate::hash::record_id;
use crate::header::Version;
use crate::limits;
use crate::stream::Stream;
use rustc_hash::FxHashMap;
use std::io::{Read, Seek};

/// Names (mostly paths) by record id.
#[derive(Clone, Debug, Default)]
pub struct Names {
    by_id: FxHashMap<u64, Text>,
    order: Vec<u64>,
}

/// Collects names under the record ids computed from them ([`record_id`]), as in a log that is not anonymized.
impl<T: Into<Text>> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let mut out = Self::default();
        for name in names {
            let name = name.into();
            let id = record_id(name.as_bytes());
            if out.by_id.insert(id, name).is_none() {
                out.order.push(id);
            }
        }
        out
    }
}

impl Names {
    /// Returns the name of record `id`; `None` if the log has no name or an empty one.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<&Text> {
        self.by_id.get(&id)
    }

    /// Returns the number of names (each record id counts once).
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True if the log has no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns an iterator over (record id, name) in the order of the log.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Text)> {
        self.order.iter().filter_map(|&id| Some((id, self.get(id)?)))
    }

    /// Reads names up to the end of the region, damage, or the memory limit. Damage and limit are added to the stream's problems.
    pub(crate) fn read<R: Read + Seek>(stream: &mut Stream<'_, R>, version: Version, endian: Endian) -> Self {
        let mut names = Self::default();
        let mut text = Vec::new();
        let mut kept = 0u64;
        loop {
            let entry = if version == Version::V3_00 {
                with_length(stream, endian, &mut text)
            } else {
                with_nul(stream, endian, &mut text)
            };
            let Some(id) = entry else { return names };
            // Several ranks may name a record; an empty name counts as no name.
            if text.is_empty() || names.by_id.contains_key(&id) {
                continue;
            }
            kept += text.len() as u64 + limits::NAME_COST;
            let offset = stream.offset();
            if let Err(error) = limits::check("memory for all names", kept, limits::NAMES_BYTES, offset) {
                stream.problem(error);
                return names;
            }
            names.by_id.insert(id, text.as_slice().into());
            names.order.push(id);
        }
    }
}

/// Reads a name entry of format 3.10 or newer: record id, then a C string, which is stored in `text`.
fn with_nul<R: Read + Seek>(stream: &mut Stream<'_, R>, endian: Endian, text: &mut Vec<u8>) -> Option<u64> {
    let id = endian.u64(stream.head("a record id of the names region", 8)?);
    text.clear();
    stream.until_nul("a name", text, limits::NAME_BYTES)?;
    Some(id)
}

/// Reads a name entry of format 3.00: record id, length, then `length` bytes, which are stored in `text`.
fn with_length<R: Read + Seek>(stream: &mut Stream<'_, R>, endian: Endian, text: &mut Vec<u8>) -> Option<u64> {
    let head = stream.head("a record id of the names region", 12)?;
    let (id, length) = (endian.u64(head), u64::from(endian.u32(&head[8..])));
    text.clear();
    if length > limits::NAME_BYTES {
        let offset = stream.offset();
        stream.problem(Error::Limit { what: "a name", value: length, limit: limits::NAME_BYTES, offset });
        stream.close();
        return None;
    }
    if length > 0 {
        text.extend_from_slice(stream.exact("a name", length as usize)?);
    }
    Some(id)
}
