//! Verification and repair after the collective write: each rank compares its part in the file with the bytes that it passed to MPI, and
//! rewrites mismatching bytes.
//!
//! The result of MPI's write is not trusted. An aggregator may write more than requested (data sieving): it reads a range, inserts its
//! pieces and writes the whole range back, including stale bytes of another aggregator. Parts without gaps between them do not prevent
//! this, since a library assigns ranges to aggregators freely. Open MPI's OMPIO counts ranges from the start of the file, so that a write
//! which begins elsewhere gives one aggregator both the first and the last bytes.
//!
//! When the repair begins, no MPI call writes to the file any more, and each byte belongs to one rank; so a rank writes mismatching bytes
//! directly. Bytes that cannot be read back count as mismatching, since writing them again does no harm.

use super::shared_file::Spans;
use super::unfinished::Unfinished;

/// Number of bytes of a rank's part to compare with the file at a time; buffered on the stack.
const PIECE_BYTES: usize = 8 << 10;

/// Repairs this rank's part of the trace file, of which MPI was asked to write the first `given` bytes, then writes the rank's index
/// entries (positions of its regions). Returns the number of the `given` bytes that were rewritten, in whole pieces of [`PIECE_BYTES`].
///
/// # Errors
/// Fails if the file cannot be written.
pub(super) fn repair(file: &Unfinished, spans: &Spans, given: usize) -> Result<u64, String> {
    let (at, body) = (spans.body.0, spans.body.1.as_slice());
    let (given, rest) = body.split_at_checked(given).unwrap_or((body, &[]));
    let mut repaired = 0;
    for (place, piece) in (at..).step_by(PIECE_BYTES).zip(given.chunks(PIECE_BYTES)) {
        if !is_there(file, place, piece) {
            file.write_at(piece, place)?;
            repaired += piece.len() as u64;
        }
    }
    file.write_at(rest, at + given.len() as u64)?;
    file.write_at(&spans.index.1, spans.index.0)?;
    if let Some(length) = spans.length {
        file.end_at(length)?;
    }
    Ok(repaired)
}

fn is_there(file: &Unfinished, at: u64, piece: &[u8]) -> bool {
    let mut found = [0; PIECE_BYTES];
    let found = &mut found[..piece.len()];
    file.read_at(found, at) && found == piece
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;
    use std::os::unix::fs::FileExt;
    use std::path::{Path, PathBuf};

    fn noise(bytes: usize) -> Vec<u8> {
        (0..bytes as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8 | 1).collect()
    }

    /// Repairs a file with content `found`, in which this rank's part `body` belongs at offset `at`. MPI was to write the part's first
    /// `given` bytes. Returns the number of bytes rewritten, and the file's content afterwards. `name`: for the test's directory.
    fn repaired(name: &str, found: &[u8], (at, body): (u64, &[u8]), given: usize) -> (u64, Vec<u8>) {
        let place: PathBuf = std::env::temp_dir().join(format!("dxt-repair-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir(&place).unwrap();
        let mut file =
            Unfinished::new(Directory::open(place.to_str().unwrap().as_bytes()).unwrap(), "x", 0o600).unwrap();
        std::fs::write(Path::new(std::str::from_utf8(&file.path()).unwrap()), found).unwrap();
        let index = (at + body.len() as u64, b"index".to_vec());
        let length = Some(index.0 + 5);
        let count =
            repair(&file, &Spans { body: (at, body.to_vec()), index, length, ..Spans::default() }, given).unwrap();
        let bytes = std::fs::read(std::str::from_utf8(&file.finish("x").unwrap()).unwrap()).unwrap();
        std::fs::remove_dir_all(place).unwrap();
        (count, bytes)
    }

    #[test]
    fn whatever_lies_there_the_part_and_its_index_are_there_afterwards() {
        for bytes in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 77] {
            for at in [0_u64, 64, 4095] {
                let body = noise(bytes);
                let before = vec![7; at as usize];
                let right = [&before[..], &body].concat();
                let mut states = vec![(right.clone(), 0..=0)];
                if bytes > 0 {
                    let some = 1..=bytes as u64;
                    let mut one = right.clone();
                    *one.last_mut().unwrap() = 0;
                    let zeros = [before.clone(), vec![0; bytes]].concat();
                    let cut = right[..right.len() - 1].to_vec();
                    let longer = [&right[..], &[9; 100_000]].concat();
                    states.extend([(one, some.clone()), (zeros, some.clone()), (cut, some.clone())]);
                    states.extend([(before.clone(), some), (longer, 0..=0)]);
                }
                for (found, count) in states {
                    let (repaired, held) = repaired("states", &found, (at, &body), bytes);
                    assert_eq!(held, [&right[..], b"index"].concat(), "{bytes} at {at}");
                    assert!(count.contains(&repaired), "{repaired} of {bytes} at {at}");
                }
            }
        }
    }

    #[test]
    fn what_mpi_was_not_given_is_written_and_is_not_called_mended() {
        let body = noise(PIECE_BYTES * 2);
        for given in [0, 1, PIECE_BYTES, body.len(), body.len() + 1] {
            let (count, held) = repaired("given", &body[..given.min(body.len())], (0, &body), given);
            assert_eq!((count, held), (0, [&body[..], b"index"].concat()), "{given}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_written() {
        let name = std::env::temp_dir().join(format!("dxt-repair-blind-{}", std::process::id()));
        std::fs::create_dir(&name).unwrap();
        let file = Unfinished::new(Directory::open(name.to_str().unwrap().as_bytes()).unwrap(), "x", 0o600).unwrap();
        let (_, own) = file.place();
        // Another rank's file is shorter than it should be.
        let other = Unfinished::of_another(
            Directory::open(name.to_str().unwrap().as_bytes()).unwrap(),
            own,
            file.inode().unwrap(),
        );
        let body = noise(100);
        let spans = Spans { body: (1000, body.clone()), index: (1100, Vec::new()), ..Spans::default() };
        assert_eq!(repair(&other.unwrap(), &spans, 100).unwrap(), 100);
        let mut found = vec![0; 100];
        let path = file.path();
        let held = std::fs::File::open(std::str::from_utf8(&path).unwrap()).unwrap();
        held.read_exact_at(&mut found, 1000).unwrap();
        assert_eq!(found, body);
        std::fs::remove_dir_all(name).unwrap();
    }
}
