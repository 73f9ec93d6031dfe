//! Data sets of HDF5: the name of an H5D record is that of the file and of the data set in it, `FILE:/PATH`, and each row says how many
//! reads and writes so far selected what. What a call selected is what has grown since the row before.

use super::names::Named;
use super::row::Row;
use trace_format::meta::{DataSetAccess, Selection};

/// File and data set of a row; `None` if it is about no data set, or does not say about which.
pub(super) fn split<'a>(row: &Row<'_>, named: &'a Named<'_>) -> Option<(&'a [u8], &'a [u8])> {
    if !row.code.is_of_data_sets() || matches!(named, Named::Unknown(_)) {
        return None;
    }
    let name = named.bytes();
    let at = match name.strip_suffix(b":") {
        Some(file) => file.len(),
        None => name.windows(2).rposition(|two| two == b":/")?,
    };
    Some((name.get(..at)?, name.get(at + 1..)?))
}

/// How often what was selected of a data set, by its latest row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Selections([u64; 3]);

impl Selections {
    /// Adds what a call of `stream` selected to its access. Of a call that selected neither points nor hyperslabs it is not known whether that
    /// was everything or nothing, and of one behind rows that are missing, what it was.
    pub(super) fn add(&mut self, row: &Row<'_>, stream: u32, accesses: &mut Vec<DataSetAccess>) {
        if !accesses.iter().any(|access| access.stream == stream) {
            accesses.push(DataSetAccess { stream, ..DataSetAccess::default() });
        }
        if !row.code.is_data() {
            return;
        }
        let now = row.selected.unwrap_or(self.0);
        let before = std::mem::replace(&mut self.0, now);
        let mut grown = now.into_iter().zip(before).map(|(now, before)| now.checked_sub(before));
        let kind = match [grown.next(), grown.next(), grown.next()].map(Option::flatten) {
            [Some(1), Some(0), Some(0)] => Selection::Points,
            [Some(0), Some(1), Some(0)] => Selection::IrregularHyperslab,
            [Some(0), Some(0), Some(1)] => Selection::RegularHyperslab,
            _ => Selection::Other,
        };
        let access = accesses.iter_mut().find(|access| access.stream == stream);
        if let Some(count) = access.and_then(|access| access.selections.get_mut(kind as usize)) {
            *count = count.saturating_add(1);
        }
    }
}
