//! Anonymizes paths: each component is hashed separately, so that directory structure and mount points stay recognizable. The file
//! extension is kept if it names a data format, which reveals nothing about the user.

use super::{DIGITS, digits};

/// File extensions of common data formats, kept in clear text in anonymized paths.
const ENDINGS: [&[u8]; 48] = [
    b"h5",
    b"hdf5",
    b"he5",
    b"hdf",
    b"nc",
    b"nc4",
    b"cdf",
    b"bp",
    b"bp4",
    b"bp5",
    b"silo",
    b"exo",
    b"cgns",
    b"vtk",
    b"vtu",
    b"pvtu",
    b"vti",
    b"xmf",
    b"xdmf",
    b"fits",
    b"grib",
    b"grb",
    b"root",
    b"npy",
    b"npz",
    b"pt",
    b"pth",
    b"ckpt",
    b"onnx",
    b"safetensors",
    b"tfrecord",
    b"parquet",
    b"arrow",
    b"csv",
    b"json",
    b"xml",
    b"yaml",
    b"txt",
    b"log",
    b"dat",
    b"bin",
    b"out",
    b"tar",
    b"gz",
    b"bz2",
    b"xz",
    b"zst",
    b"zip",
];

/// Maximum number of hashed components of a path; the last hash covers all remaining components.
const MOST_PARTS: usize = 64;

/// Returns the length of the anonymized form of `path`, in bytes.
pub(crate) fn path_bytes(path: &[u8]) -> usize {
    let mut bytes = 0;
    each(path, |part| bytes += part.len());
    bytes
}

/// Writes the anonymized form of `path` to `out`, which must hold [`path_bytes`] bytes. Allocates nothing.
pub(crate) fn path_into(path: &[u8], out: &mut [u8]) {
    let mut rest = out;
    each(path, |part| {
        let place = std::mem::take(&mut rest);
        let (here, behind) = place.split_at_mut(part.len().min(place.len()));
        here.copy_from_slice(&part[..here.len()]);
        rest = behind;
    });
}

pub(crate) fn path(path: &[u8]) -> Vec<u8> {
    let mut out = vec![0; path_bytes(path)];
    path_into(path, &mut out);
    out
}

/// Calls `with` for each consecutive part of the anonymized path: hashes, slashes, extensions.
fn each(path: &[u8], mut with: impl FnMut(&[u8])) {
    let parts = path.splitn(MOST_PARTS, |&byte| byte == b'/');
    for (number, part) in parts.enumerate() {
        if number > 0 {
            with(b"/");
        }
        if part.is_empty() {
            continue;
        }
        let digits: [u8; DIGITS] = digits(part);
        with(&digits);
        if let Some(ending) = ending(part) {
            with(b".");
            with(ending);
        }
    }
}

/// Returns the file extension of `name` if it is in the list [`ENDINGS`].
fn ending(name: &[u8]) -> Option<&'static [u8]> {
    let dot = name.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0)?;
    ENDINGS.into_iter().find(|known| name[dot + 1..].eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(text: &str) -> String {
        super::super::begin_for_tests();
        String::from_utf8(path(text.as_bytes())).unwrap()
    }

    #[test]
    fn what_lies_together_stays_together_and_no_word_stays() {
        let (one, other) = (hashed("/scratch/alice/secret/a.h5"), hashed("/scratch/alice/secret/b.smith"));
        let directory = hashed("/scratch/alice/secret");
        assert!(one.starts_with(&directory) && other.starts_with(&directory) && one != other);
        assert!(hashed("/scratch").len() == 17 && directory.starts_with(&hashed("/scratch")));
        for word in ["scratch", "alice", "secret", "smith"] {
            assert!(!one.contains(word) && !other.contains(word), "{one} {other}");
        }
        assert!(one.ends_with(".h5") && one.len() == 4 * 17 + 3, "{one}");
        assert!(!other.contains('.') && !hashed("/x/.csv").contains('.'));
        assert_eq!((hashed("/").as_str(), hashed("").as_str()), ("/", ""));
        assert!(hashed("/a/").ends_with('/') && hashed("/a").len() == 17);
    }

    #[test]
    fn long_paths_are_bounded() {
        let deep = "/x".repeat(2000);
        // The component before the first slash is empty.
        assert_eq!(hashed(&deep).len(), (MOST_PARTS - 1) * (DIGITS + 1));
        assert_ne!(hashed(&deep), hashed(&format!("{deep}y")));
    }
}
