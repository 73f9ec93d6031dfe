//! DXT_OUTPUT_ID and DXT_SPOOL_ID: identity (device, inode, boot ID, path) of the directory that dxt-run created for this run. In a
//! container or behind another mount, the path may lead to another directory or to none; the tracer then does not create the directory.

use crate::{job, own_directories};
use std::ffi::CString;

/// Device, inode, boot ID and path of the directory that dxt-run created for this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    device: u64,
    inode: u64,
    boot: [u8; 16],
    path: Vec<u8>,
}

impl Made {
    /// Parses `DEVICE:INODE:BOOT:PATH` (decimal numbers; boot ID as in random(4)); `None` if invalid.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let mut parts = value.splitn(4, |&byte| byte == b':');
        let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
        let (device, inode) = (number()?, number()?);
        let (boot, path) = (job::id_of(parts.next()?), parts.next()?.to_vec());
        (boot != [0; 16] && path.starts_with(b"/")).then_some(Self { device, inode, boot, path })
    }

    /// True if `path` is the path of the directory that dxt-run created, but leads to another directory in this process (container, other
    /// mount). Always false on other nodes, where each process creates the directory if needed.
    pub(crate) fn is_elsewhere(&self, path: &[u8]) -> bool {
        let Ok(name) = CString::new(path) else { return false };
        self.path == path
            && own_directories::identity_at(name.as_ptr()) != Some((self.device, self.inode))
            && [self.boot, [0; 16]].contains(&job::boot_id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_directory_is_known_by_its_numbers_on_this_machine_alone() {
        let place = std::env::temp_dir();
        let about = std::fs::metadata(&place).unwrap();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let other = "01234567-89ab-cdef-0123-456789abcdef";
        let path = place.to_str().unwrap();
        let elsewhere = |inode: u64, boot: &str, path: &str, asked: &str| {
            let made = format!("{}:{inode}:{}:{path}", about.dev(), boot.trim());
            Made::parse(made.as_bytes()).unwrap().is_elsewhere(asked.as_bytes())
        };
        assert!(!elsewhere(about.ino(), &boot, path, path));
        assert!(elsewhere(about.ino() + 1, &boot, path, path) && elsewhere(1, &boot, "/no/such", "/no/such"));
        assert!(!elsewhere(1, other, path, path) && !elsewhere(1, &boot, "/no/such", path));
        for wrong in ["", "1:2", "1:2::/x", "1:x:01:/x", "1:2:01:x"] {
            assert_eq!(Made::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
