//! Description of a file that rank 0 lacks, sent by another rank: the file's definition, encoded as words.

use crate::flush::counted;
use crate::registry::File;
use trace_format::meta::{FileDef, FileKind};

/// Number of 64-bit words before the path in an encoded description.
const HEAD: usize = 5;
/// Maximum length of a file's path in a description, in bytes. Files with longer paths are not reduced: each rank writes its own record.
const PATH_BYTES: usize = 400;
pub(super) const DESCRIBED: usize = HEAD + PATH_BYTES / 8;

/// True if the path of `file` is short enough for a description that a rank sends.
pub(super) const fn has_room(file: &File) -> bool {
    file.reported.len() <= PATH_BYTES
}

/// Encodes the definition of a file as words of fixed number. The path must fit ([`has_room`]).
pub(super) fn put(file: &File) -> [u64; DESCRIBED] {
    words(&counted::definition(file, &[]))
}

fn words(def: &FileDef) -> [u64; DESCRIBED] {
    let path = def.path.as_deref().unwrap_or_default();
    let head = [path.len() as u64, u64::from(u32::from(def.kind)), def.device, def.inode, u64::from(def.block_size)];
    let mut words = [0; DESCRIBED];
    let (first, text) = words.split_at_mut(HEAD);
    first.copy_from_slice(&head);
    for (word, bytes) in text.iter_mut().zip(path.chunks(8)) {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(eight);
    }
    words
}

/// Decodes the description (`words`) of a file, sent by a rank. `hash`: hash of the file's name.
pub(super) fn take(hash: u64, words: &[u64; DESCRIBED]) -> FileDef {
    let (head, text) = words.split_at(HEAD);
    let [length, kind, device, inode, block_size] = std::array::from_fn(|i| head.get(i).copied().unwrap_or(0));
    let mut path: Vec<u8> = text.iter().flat_map(|word| word.to_ne_bytes()).collect();
    path.truncate(length as usize);
    FileDef { hash, path: Some(path), kind: FileKind::from(kind as u32), device, inode, block_size: block_size as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_come_back_from_their_words() {
        for length in [0, 1, 7, 8, 9, 399, PATH_BYTES] {
            let path = (0..length).map(|i| b'a' + (i % 26) as u8).collect();
            let kind = FileKind::Character;
            let def =
                FileDef { hash: 77, path: Some(path), kind, device: u64::MAX, inode: 1 << 63, block_size: u32::MAX };
            assert_eq!(take(77, &words(&def)), def);
        }
    }
}
