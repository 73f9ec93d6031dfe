//! Mounted file systems of this node (proc(5), mountinfo).

use std::sync::Arc;

/// Mount points, with labels of their file systems, as this process sees them.
#[derive(Clone, Debug, Default)]
pub struct Mounts(Vec<(String, Arc<str>)>);

impl Mounts {
    /// Reads the table of mounts; the table is empty if the system does not report mounts.
    #[must_use]
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mount = |line: &str| {
            let (about, kind) = line.split_once(" - ")?;
            let point = unescaped(about.split(' ').nth(4)?);
            let label = format!("{point} ({})", kind.split(' ').next()?);
            Some((point, label.into()))
        };
        Self(text.lines().filter_map(mount).collect())
    }

    /// Returns mount point and type of the file system with `path`, e.g. `/scratch (lustre)`; `-` if unknown.
    #[must_use]
    pub fn of(&self, path: &str) -> Arc<str> {
        let holds = |point: &str| {
            let rest = path.strip_prefix(point);
            rest.is_some_and(|rest| point.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
        };
        let best = self.0.iter().filter(|(point, _)| holds(point)).max_by_key(|(point, _)| point.len());
        best.map_or_else(|| "-".into(), |(_, label)| label.clone())
    }
}

/// Decodes the octal escapes with which the kernel writes blanks, tabs, newlines and backslashes.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_point_that_holds_a_path_counts() {
        let text = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /scratch rw - lustre 10.0.0.1@tcp:/scratch rw
31 30 0:41 / /scratch/my\\040disk rw shared:2 - tmpfs tmpfs rw
";
        let mounts = Mounts::parse(text);
        let of = |path: &str| mounts.of(path).to_string();
        assert_eq!(of("/scratch/a"), "/scratch (lustre)");
        assert_eq!(of("/scratchy/a"), "/ (ext4)");
        assert_eq!(of("/scratch/my disk/a"), "/scratch/my disk (tmpfs)");
        assert_eq!(of("socket:[1]"), "-");
    }
}
