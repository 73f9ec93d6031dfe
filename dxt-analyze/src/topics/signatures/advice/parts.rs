//! Advice on composite layouts: if regions of a file, accessed by different patterns, suit different stripes, the file can have a layout of
//! several components (Lustre's progressive file layout, lfs-setstripe(1)).

use super::StripeRow;
use crate::model::FileId;
use crate::text::units;
use crate::topics::signatures::uses::stripes::LUSTRE_STEP_BYTES;
use serde::Serialize;
use std::collections::BTreeMap;

/// Component of a composite layout recommended for a file.
#[derive(Clone, Debug, Serialize)]
pub struct FilePart {
    /// Path of the file for which the layout is recommended.
    pub file: String,
    /// File offset of the component's first byte.
    pub first_byte: u64,
    /// File offset of the component's end, exclusive; `None` (null) for the end of the file.
    pub end: Option<u64>,
    /// Best stripe size of the component by replay, bytes.
    pub stripe_bytes: u64,
    /// Best stripe count of the component by replay.
    pub stripe_count: u64,
    /// Command that creates a new, empty file with all components of the layout.
    pub command: String,
}

/// Returns the components for all files whose patterns suit different stripes, ordered by file and offset.
pub(super) fn of(rows: &[StripeRow]) -> Vec<FilePart> {
    let mut files: BTreeMap<FileId, Vec<&StripeRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_one_file && row.replayed.is_some()) {
        files.entry(row.of).or_default().push(row);
    }
    files.into_values().filter_map(of_file).flatten().collect()
}

fn of_file(mut rows: Vec<&StripeRow>) -> Option<Vec<FilePart>> {
    rows.sort_by_key(|row| row.first_byte);
    let mut parts: Vec<FilePart> = Vec::new();
    let mut before: Option<&StripeRow> = None;
    for row in rows {
        let replayed = row.replayed?;
        let (size, count) = (replayed.stripe_bytes, replayed.stripe_count);
        let first_byte = match before {
            None => 0,
            // Patterns whose ranges overlap need the same layout.
            Some(before) if before.end > row.first_byte => return None,
            Some(before) => {
                let size = parts.last().map_or(size, |part| part.stripe_bytes.max(size)).max(LUSTRE_STEP_BYTES);
                before.end.checked_next_multiple_of(size).filter(|end| *end <= row.first_byte)?
            }
        };
        before = Some(row);
        match parts.last_mut() {
            Some(last) if (last.stripe_bytes, last.stripe_count) == (size, count) => continue,
            Some(last) => last.end = Some(first_byte),
            None => {}
        }
        let (stripe_bytes, stripe_count) = (size, count);
        let (file, command) = (row.file.clone(), String::new());
        parts.push(FilePart { file, first_byte, end: None, stripe_bytes, stripe_count, command });
    }
    let words = |part: &FilePart| {
        let end = part.end.map_or_else(|| "-1".to_owned(), units::size_option);
        format!(" -E {end} -S {} -c {}", units::size_option(part.stripe_bytes), part.stripe_count)
    };
    let command = format!("lfs setstripe{} NEW_FILE", parts.iter().map(words).collect::<String>());
    parts.iter_mut().for_each(|part| part.command.clone_from(&command));
    (parts.len() > 1).then_some(parts)
}
