//! Serialization of paths in JSON: text if valid UTF-8, else an array of bytes, so that one unusual file name does not keep a job out of a
//! corpus.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
#[serde(untagged)]
enum Sent {
    Text(PathBuf),
    Bytes(Vec<u8>),
}

pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => serializer.serialize_str(text),
        None => path.as_os_str().as_bytes().serialize(serializer),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    Ok(match Sent::deserialize(from)? {
        Sent::Text(path) => path,
        Sent::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct One(#[serde(with = "super")] PathBuf);

    #[test]
    fn any_path_comes_back_as_it_was() {
        for bytes in [&b"/scratch/a.dxt"[..], b"", "/scratch/\u{e9}\n\"".as_bytes(), b"/scratch/caf\xe9.dxt", b"\xff"] {
            let path = One(PathBuf::from(OsString::from_vec(bytes.to_vec())));
            let text = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<One>(&text).unwrap(), path, "{text}");
        }
    }
}
