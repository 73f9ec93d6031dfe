//! Placeholders in file names: `%h` is the node, `%p` the agent's process id, `%%` a percent sign. Any other `%` stays.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Returns `path` with the placeholders in it (`%h`, `%p`) replaced by this node's name and this process's id.
#[must_use]
pub fn here(path: &Path) -> PathBuf {
    filled(path, node().as_bytes(), &std::process::id().to_string())
}

/// Returns the host name of this node.
#[must_use]
pub fn node() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim_end().to_owned()
}

fn filled(path: &Path, node: &[u8], pid: &str) -> PathBuf {
    let mut out = Vec::new();
    let mut rest = path.as_os_str().as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let value: Option<&[u8]> = match (first, behind.first()) {
            (b'%', Some(b'h')) => Some(node),
            (b'%', Some(b'p')) => Some(pid.as_bytes()),
            (b'%', Some(b'%')) => Some(b"%"),
            _ => None,
        };
        match value {
            Some(value) => {
                out.extend_from_slice(value);
                rest = behind.get(1..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    OsString::from_vec(out).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_node_and_the_process() {
        let name = |text: &str| filled(Path::new(text), b"n7", "42").display().to_string();
        assert_eq!(name("/a/%h/x-%p.json"), "/a/n7/x-42.json");
        assert_eq!(name("100%%h %q %"), "100%h %q %");
    }
}
