//! Mount table, and Darshan's rule to find the mount point of a file.

use crate::bytes::Text;

/// File system that was mounted on the node of rank 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Path of the mount point.
    pub point: Text,
    /// Type of the file system, as in `/etc/mtab`.
    pub fs_type: Text,
}

/// Mount table in Darshan's order: longest mount point first, mount points of equal length as in the log.
#[derive(Clone, Debug, Default)]
pub struct Mounts(Vec<Mount>);

impl Mounts {
    pub(crate) fn new(mut mounts: Vec<Mount>) -> Self {
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.point.as_bytes().len()));
        Self(mounts)
    }

    /// Returns an iterator over the mounts, longest mount point first.
    pub fn iter(&self) -> std::slice::Iter<'_, Mount> {
        self.0.iter()
    }

    /// Returns the mount that Darshan's tools report for the file `name`: the first mount whose mount point is a prefix of the name. The
    /// prefix need not end at a slash, so `/home2/x` matches `/home` if `/home2` is not a mount point. For `None`, the tools print
    /// `UNKNOWN`.
    #[must_use]
    pub fn of(&self, name: &[u8]) -> Option<&Mount> {
        self.0.iter().find(|mount| name.starts_with(mount.point.as_bytes()))
    }
}

impl<'a> IntoIterator for &'a Mounts {
    type Item = &'a Mount;
    type IntoIter = std::slice::Iter<'a, Mount>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins_and_needs_no_slash() {
        let mount = |point: &str, fs_type: &str| Mount { point: point.into(), fs_type: fs_type.into() };
        let mounts = Mounts::new(vec![mount("/", "ext4"), mount("/home", "nfs"), mount("/scratch/a", "lustre")]);
        let of = |name: &str| mounts.of(name.as_bytes()).map(|mount| mount.fs_type.to_str().into_owned());
        assert_eq!(of("/scratch/a/x"), Some("lustre".into()));
        assert_eq!(of("/scratch/b"), Some("ext4".into()));
        assert_eq!(of("/home2/x"), Some("nfs".into()));
        assert_eq!(of("<STDOUT>"), None);
    }
}
