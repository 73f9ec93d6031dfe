//! Recognizes files that are one compressed stream: logs of Darshan 2.x, logs that were compressed as a whole, or other files.

use crate::error::{Error, Result};
use crate::header::byte_order;
use std::io::{Read, Seek, SeekFrom};

/// Number of bytes at the beginning of a log of any version that contain the magic number.
const HEAD_BYTES: usize = 16;
/// Number of compressed bytes read to recognize the contents. bzip2 decompresses whole blocks of 900,000 bytes, each of which is compressed
/// to little more in the worst case.
const LOOKED_AT: u64 = 2 << 20;

/// Returns the compression, `gzip` or `bzip2`, of a file that begins with `head`; `None` for other files.
#[must_use]
pub fn compression(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(&[0x1f, 0x8b]) {
        Some("gzip")
    } else if head.starts_with(b"BZh") {
        Some("bzip2")
    } else {
        None
    }
}

/// Returns the first [`HEAD_BYTES`] decompressed bytes of a file; fewer if the contents are shorter or damaged.
fn unpacked_head<R: Read>(source: R, compression: &str) -> Vec<u8> {
    let source = source.take(LOOKED_AT);
    let unpacked: Box<dyn Read + '_> = match compression {
        "gzip" => Box::new(flate2::read::GzDecoder::new(source)),
        _ => Box::new(bzip2::read::BzDecoder::new(source)),
    };
    let mut head = Vec::new();
    // Bytes decompressed before damage are kept.
    let _ = unpacked.take(HEAD_BYTES as u64).read_to_end(&mut head);
    head
}

/// Rejects a file that is one compressed stream with a log inside: a log of Darshan 2.x, which has this form, or a newer log that was
/// compressed as a whole.
///
/// # Errors
/// Returns [`Error::Darshan2`] or [`Error::Packed`] for such a file, and [`Error::Io`] if reading fails.
pub fn refuse_packed<R: Read + Seek>(source: &mut R) -> Result<()> {
    let io = |source| Error::Io { offset: 0, source };
    let mut head = Vec::new();
    source.seek(SeekFrom::Start(0)).map_err(io)?;
    source.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(io)?;
    source.seek(SeekFrom::Start(0)).map_err(io)?;
    let Some(compression) = compression(&head) else { return Ok(()) };
    let inside = unpacked_head(source.by_ref(), compression);
    source.seek(SeekFrom::Start(0)).map_err(io)?;
    match (byte_order(&inside).is_ok(), inside.first()) {
        (true, Some(b'1' | b'2')) => Err(Error::Darshan2 { compression }),
        (true, _) => Err(Error::Packed { compression }),
        (false, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::MAGIC;
    use std::io::{Cursor, Write};

    fn packed(compression: &str, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        match compression {
            "gzip" => flate2::write::GzEncoder::new(&mut out, flate2::Compression::fast()).write_all(bytes),
            _ => bzip2::write::BzEncoder::new(&mut out, bzip2::Compression::best()).write_all(bytes),
        }
        .expect("writing to memory");
        out
    }

    fn log(version: &[u8; 8], magic: [u8; 8]) -> Vec<u8> {
        [version.as_slice(), magic.as_slice(), &[0; 100]].concat()
    }

    #[test]
    fn only_what_has_a_log_inside_is_one() {
        let refused = |bytes: Vec<u8>| refuse_packed(&mut Cursor::new(bytes));
        for compression in ["gzip", "bzip2"] {
            for magic in [MAGIC.to_le_bytes(), MAGIC.to_be_bytes()] {
                let old = packed(compression, &log(b"2.04\0\0\0\0", magic));
                assert!(matches!(refused(old), Err(Error::Darshan2 { compression: found }) if found == compression));
                let new = packed(compression, &log(b"3.41\0\0\0\0", magic));
                assert!(matches!(refused(new), Err(Error::Packed { compression: found }) if found == compression));
            }
            for other in [b"rank,file,offset,length\n0,/a,0,1\n".as_slice(), b"", b"2.04"] {
                assert!(refused(packed(compression, other)).is_ok());
            }
        }
        assert!(refused(vec![0x1f, 0x8b, 8]).is_ok() && refused(b"BZh91AY".to_vec()).is_ok());
        assert!(refused(log(b"3.41\0\0\0\0", MAGIC.to_le_bytes())).is_ok());
    }
}
