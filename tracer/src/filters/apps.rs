//! DXT_APPS: filter by name of the executable.

use super::pattern::items;

/// Filter by program name (DXT_APPS): globs matched against the last component of the executable's path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Apps {
    /// Globs for names of programs to record; if empty, all programs are recorded.
    only: Vec<Vec<u8>>,
    /// Globs for names of programs not to record, even if a glob of `only` matches.
    never: Vec<Vec<u8>>,
}

impl Apps {
    /// Parses globs separated by commas or colons; returns `None` if invalid. A glob after `!` excludes programs.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let mut apps = Self::default();
        for item in items(text, b",:") {
            let (list, glob) = match item.strip_prefix(b"!") {
                Some(glob) => (&mut apps.never, glob),
                None => (&mut apps.only, item),
            };
            if glob.is_empty() || glob.starts_with(b"!") || glob.contains(&b'/') || fast_glob::validate(glob).is_err() {
                return None;
            }
            list.push(glob.to_vec());
        }
        (apps != Self::default()).then_some(apps)
    }

    /// True if the program at path `executable` is recorded.
    pub(crate) fn choose(&self, executable: &[u8]) -> bool {
        let name = crate::job::basename(executable);
        let is_in = |list: &[Vec<u8>]| list.iter().any(|glob| fast_glob::glob_match(glob, name));
        !is_in(&self.never) && (self.only.is_empty() || is_in(&self.only))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_their_negations() {
        let chosen = |apps: &str, exe: &str| Apps::parse(apps.as_bytes()).unwrap().choose(exe.as_bytes());
        assert!(chosen("lmp*,python3.*", "/opt/bin/lmp_mpi") && chosen("lmp*,python3.*", "/usr/bin/python3.11"));
        assert!(!chosen("lmp*", "/opt/lmp/sh"));
        assert!(!chosen("!git:!ls", "/usr/bin/git") && chosen("!git:!ls", "/usr/bin/cp"));
        assert!(!chosen("lmp*,!lmp_test", "/x/lmp_test") && chosen("lmp*,!lmp_test", "/x/lmp"));
        for wrong in ["", "!", "!!a", "/bin/ls", "[a", ","] {
            assert_eq!(Apps::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
