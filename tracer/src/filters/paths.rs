//! DXT_INCLUDE, DXT_EXCLUDE and DARSHAN_EXCLUDE_DIRS.

use super::pattern::{Pattern, items};

/// Decision about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Recorded.
    Recorded,
    /// Excluded by DXT_EXCLUDE or DARSHAN_EXCLUDE_DIRS.
    Excluded,
    /// Not matched by DXT_INCLUDE.
    NotIncluded,
}

/// Path filters. Exclusion takes precedence over inclusion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paths {
    /// Paths to record; all if empty.
    pub(crate) include: Vec<Pattern>,
    /// Paths not to record.
    pub(crate) exclude: Vec<Pattern>,
    /// True if files that the system and the MPI library open for themselves are recorded too.
    pub(crate) no_defaults: bool,
}

impl Paths {
    /// Adds DARSHAN_EXCLUDE_DIRS: directories separated by commas, or `none`. `None` if invalid.
    pub(crate) fn exclude_directories(&mut self, value: &[u8]) -> Option<()> {
        if value.trim_ascii() == b"none" {
            self.no_defaults = true;
            return Some(());
        }
        let directories: Option<Vec<Pattern>> = items(value, b",").map(Pattern::directory).collect();
        self.exclude.extend(directories?);
        Some(())
    }

    /// Adds each pattern with symbolic links in its path resolved, since open files are known by their real paths.
    pub(crate) fn follow_links(&mut self, real_path: impl Fn(&[u8]) -> Option<Vec<u8>>) {
        for list in [&mut self.include, &mut self.exclude] {
            let real: Vec<Pattern> = list.iter().filter_map(|pattern| pattern.real(&real_path)).collect();
            list.extend(real.into_iter().filter(|pattern| !list.contains(pattern)).collect::<Vec<_>>());
        }
    }

    /// True if these variables exclude no path.
    pub(crate) fn are_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Returns the decision about the absolute path `path`.
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
