//! DXT_INCLUDE, DXT_EXCLUDE and DARSHAN_EXCLUDE_DIRS.

use super::pattern::{Pattern, items};

/// What the variables say of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// It is recorded.
    Recorded,
    /// DXT_EXCLUDE or DARSHAN_EXCLUDE_DIRS names it.
    Excluded,
    /// DXT_INCLUDE does not name it.
    NotIncluded,
}

/// Which paths are recorded. What is excluded is, whatever includes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paths {
    /// Only these; all if there is none.
    pub(crate) include: Vec<Pattern>,
    /// Not these.
    pub(crate) exclude: Vec<Pattern>,
    /// Also what the system and the MPI library open for themselves.
    pub(crate) no_defaults: bool,
}

impl Paths {
    /// Takes in DARSHAN_EXCLUDE_DIRS: directories, apart from each other by commas, or `none`. `None` if it makes no sense.
    pub(crate) fn exclude_directories(&mut self, value: &[u8]) -> Option<()> {
        if value.trim_ascii() == b"none" {
            self.no_defaults = true;
            return Some(());
        }
        let directories: Option<Vec<Pattern>> = items(value, b",").map(Pattern::directory).collect();
        self.exclude.extend(directories?);
        Some(())
    }

    /// Adds what patterns mean where a symbolic link is in their path: open files are known by their real paths.
    pub(crate) fn follow_links(&mut self, real_path: impl Fn(&[u8]) -> Option<Vec<u8>>) {
        for list in [&mut self.include, &mut self.exclude] {
            let real: Vec<Pattern> = list.iter().filter_map(|pattern| pattern.real(&real_path)).collect();
            list.extend(real.into_iter().filter(|pattern| !list.contains(pattern)).collect::<Vec<_>>());
        }
    }

    /// Whether every path is recorded, as far as these variables go.
    pub(crate) fn are_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// What is said of `path`, an absolute one.
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
