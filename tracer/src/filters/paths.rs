//! Path filters: DXT_INCLUDE, DXT_EXCLUDE and DARSHAN_EXCLUDE_DIRS.

use super::pattern::{Pattern, items};

/// Result of applying the path filters to one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Recorded,
    /// DXT_EXCLUDE or DARSHAN_EXCLUDE_DIRS excludes the path.
    Excluded,
    /// DXT_INCLUDE is set and does not match the path.
    NotIncluded,
}

/// Path filters, which decide whether calls on a file are recorded (DXT_INCLUDE, DXT_EXCLUDE, DARSHAN_EXCLUDE_DIRS). Exclusion takes
/// precedence over inclusion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paths {
    /// Patterns of paths to record; if empty, all paths are recorded.
    pub(crate) include: Vec<Pattern>,
    /// Patterns of paths not to record.
    pub(crate) exclude: Vec<Pattern>,
    /// True if files that the system and the MPI library open internally are recorded too; by default they are not.
    pub(crate) no_defaults: bool,
}

impl Paths {
    /// Adds the value of DARSHAN_EXCLUDE_DIRS: comma-separated directories, or `none`. Returns `None` if the value is invalid.
    pub(crate) fn exclude_directories(&mut self, value: &[u8]) -> Option<()> {
        if value.trim_ascii() == b"none" {
            self.no_defaults = true;
            return Some(());
        }
        let directories: Option<Vec<Pattern>> = items(value, b",").map(Pattern::directory).collect();
        self.exclude.extend(directories?);
        Some(())
    }

    /// Adds a copy of each pattern with the symbolic links in its path resolved, since open files are known by their canonical paths.
    pub(crate) fn follow_links(&mut self, real_path: impl Fn(&[u8]) -> Option<Vec<u8>>) {
        for list in [&mut self.include, &mut self.exclude] {
            let real: Vec<Pattern> = list.iter().filter_map(|pattern| pattern.real(&real_path)).collect();
            list.extend(real.into_iter().filter(|pattern| !list.contains(pattern)).collect::<Vec<_>>());
        }
    }

    /// True if no path filter is set, so that every path is recorded.
    pub(crate) fn are_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    pub(crate) fn choose(&self, path: &[u8]) -> Choice {
        if self.exclude.iter().any(|pattern| pattern.matches(path)) {
            Choice::Excluded
        } else if self.include.is_empty() || self.include.iter().any(|pattern| pattern.matches(path)) {
            Choice::Recorded
        } else {
            Choice::NotIncluded
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclude_wins_over_include() {
        let mut paths = Paths {
            include: Pattern::list(b"/scratch").unwrap(),
            exclude: Pattern::list(b"*.log").unwrap(),
            no_defaults: false,
        };
        for (path, choice) in [
            ("/scratch/x", Choice::Recorded),
            ("/scratch/x.log", Choice::Excluded),
            ("/home/x.log", Choice::Excluded),
            ("/home/x", Choice::NotIncluded),
        ] {
            assert_eq!(paths.choose(path.as_bytes()), choice, "{path}");
        }
        assert_eq!(paths.exclude_directories(b"/scratch/a,/scratch/b*"), Some(()));
        assert_eq!(paths.choose(b"/scratch/a/x"), Choice::Excluded);
        assert_eq!(paths.choose(b"/scratch/bc"), Choice::Recorded);
        assert_eq!(paths.exclude_directories(b"relative"), None);
        assert_eq!((paths.exclude_directories(b"none"), paths.no_defaults), (Some(()), true));
    }
}
