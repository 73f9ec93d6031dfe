//! HDF5 data sets in the connector's rows. The name of an H5D record is `FILE:/PATH`, where PATH is the data set's path in the file. Each
//! row has running counts of reads and writes by type of selection (points, regular or irregular hyperslab). The count that grew since the
//! previous row is the selection of the call.

use super::names::Named;
use super::row::Row;
use trace_format::meta::{DataSetAccess, Selection};

/// Returns the paths of the file and of the data set of a row; `None` if the row concerns no data set, or does not name the data set.
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

/// Selection counts in the latest row of a data set: points, irregular hyperslabs, regular hyperslabs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Selections([u64; 3]);

impl Selections {
    /// Adds the selection of the call in `row` to `accesses`; `Other` if no count grew (all or nothing selected), or if earlier rows are missing.
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
