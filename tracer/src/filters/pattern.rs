//! Path patterns of the path filters. Matching works on bytes, allocates nothing and does not recurse, since it may run in a signal handler.

/// Pattern that selects paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Absolute path without wildcards and without trailing slash: matches that path and all paths below it.
    Path(Vec<u8>),
    /// Relative path without wildcards, stored with a leading slash: matches at any depth of a path, and all paths below the match.
    Anywhere(Vec<u8>),
    /// Glob that the whole path must match.
    Glob(Vec<u8>),
}

impl Pattern {
    /// Parses a path pattern given by the user; returns `None` if invalid.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let rooted = text.starts_with(b"/");
        if !text.iter().any(|byte| b"*?[\\".contains(byte)) {
            let path = text.strip_suffix(b"/").unwrap_or(text);
            return (!text.is_empty())
                .then(|| if rooted { Self::Path(path.to_vec()) } else { Self::Anywhere([b"/", path].concat()) });
        }
        let mut glob = if rooted { Vec::new() } else { b"**/".to_vec() };
        for &byte in text {
            // Escapes braces: the glob matcher would treat them as alternatives, which a comma-separated list cannot hold.
            if byte == b'{' || byte == b'}' {
                glob.push(b'\\');
            }
            glob.push(byte);
        }
        if text.ends_with(b"/") {
            glob.extend_from_slice(b"**");
        }
        fast_glob::validate(&glob).is_ok().then_some(Self::Glob(glob))
    }

    /// Returns a pattern that matches the directory `path` literally, even if it contains wildcards.
    pub(crate) fn directory(path: &[u8]) -> Option<Self> {
        path.starts_with(b"/").then(|| Self::Path(path.strip_suffix(b"/").unwrap_or(path).to_vec()))
    }

    /// Returns the pattern with the part before its first wildcard canonicalized by `real_path`; `None` if that path does not exist.
    pub(super) fn real(&self, real_path: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Option<Self> {
        match self {
            Self::Path(path) if !path.is_empty() => real_path(path).map(Self::Path),
            Self::Glob(glob) if glob.starts_with(b"/") => {
                let wildcard = glob.iter().position(|byte| b"*?[\\".contains(byte))?;
                let slash = glob[..wildcard].iter().rposition(|&byte| byte == b'/').filter(|&at| at > 0)?;
                let mut real = Vec::new();
                for byte in real_path(&glob[..slash])? {
                    if b"*?[]{}\\!".contains(&byte) {
                        real.push(b'\\');
                    }
                    real.push(byte);
                }
                real.extend_from_slice(&glob[slash..]);
                Some(Self::Glob(real))
            }
            Self::Path(_) | Self::Anywhere(_) | Self::Glob(_) => None,
        }
    }

    /// Parses a list of patterns separated by commas or colons; returns `None` if one is invalid.
    pub(crate) fn list(text: &[u8]) -> Option<Vec<Self>> {
        let all: Option<Vec<Self>> = items(text, b",:").map(Self::parse).collect();
        all.filter(|all| !all.is_empty())
    }

    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        match self {
            Self::Path(whole) => path.strip_prefix(whole.as_slice()).is_some_and(ends_name),
            Self::Anywhere(part) => path
                .windows(part.len())
                .enumerate()
                .any(|(at, found)| found == part && ends_name(&path[at + part.len()..])),
            Self::Glob(glob) => fast_glob::glob_match(glob, path),
        }
    }
}

/// True if `rest`, the remainder of a path after a match, begins at the end of a path component.
fn ends_name(rest: &[u8]) -> bool {
    rest.is_empty() || rest.starts_with(b"/")
}

/// Splits `text` at any of the `separators`. Returns the trimmed items without empty ones.
pub(super) fn items<'a>(text: &'a [u8], separators: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    text.split(|byte| separators.contains(byte)).map(<[u8]>::trim_ascii).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Pattern::parse(pattern.as_bytes()).unwrap().matches(path.as_bytes())
    }

    #[test]
    fn a_plain_path_covers_what_is_below() {
        for (pattern, path, expected) in [
            ("/a/b", "/a/b", true),
            ("/a/b/", "/a/b/c/d", true),
            ("/a/b", "/a/bc", false),
            ("/", "/x", true),
            ("logs", "/x/logs/y", true),
            ("logs", "/x/logs", true),
            ("x/logs", "/a/x/logs/b", true),
            ("logs", "/x/mylogs/y", false),
            ("a.b", "/a.b.c", false),
            ("a{b", "/x/a{b", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn wildcards_mean_what_the_documentation_says() {
        for (pattern, path, expected) in [
            ("*.h5", "/a/b/x.h5", true),
            ("*.h5", "/x.h5", true),
            ("*.h5", "/a/x.h5.tmp", false),
            ("/a/*.h5", "/a/b/x.h5", false),
            ("/a/**/*.h5", "/a/b/c/x.h5", true),
            ("/a/**/*.h5", "/a/x.h5", true),
            ("/a/**", "/a/b/c", true),
            ("/a/*/", "/a/b/c/d", true),
            ("/a/rank?[0-3].dat", "/a/rank_2.dat", true),
            ("/a/rank?[!0-3].dat", "/a/rank_2.dat", false),
            ("out*/x", "/a/out1/x", true),
            ("*{1}", "/a/x{1}", true),
            ("/a/[*]", "/a/*", true),
            ("/a/[*]", "/a/b", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
        assert!(Pattern::Glob(b"/\xff*".to_vec()).matches(b"/\xff\xfe"));
    }

    #[test]
    fn links_in_front_of_wildcards_are_followed() {
        let link = |path: &[u8]| Some([b"/lustre*".as_slice(), path.strip_prefix(b"/scratch")?].concat());
        let real = |pattern: &str| Pattern::parse(pattern.as_bytes()).unwrap().real(link);
        assert!(real("/scratch/me").unwrap().matches(b"/lustre*/me/x"));
        let glob = real("/scratch/me/*.h5").unwrap();
        assert!(glob.matches(b"/lustre*/me/x.h5") && !glob.matches(b"/lustre1/me/x.h5"));
        assert_eq!((real("/data/x"), real("/data/*"), real("*.h5"), real("/*")), (None, None, None, None));
    }

    #[test]
    fn lists_and_nonsense() {
        assert_eq!(Pattern::list(b" /a, *.b : /c,,").unwrap().len(), 3);
        assert!(Pattern::list(b"/a/[b").is_none() && Pattern::list(b"a\\").is_none() && Pattern::list(b",").is_none());
        assert!(Pattern::directory(b"a").is_none());
        assert!(Pattern::directory(b"/a*/").unwrap().matches(b"/a*/b"));
    }

    #[test]
    fn no_pattern_and_no_path_makes_it_fail() {
        let bytes = b"/ab*?[]!-^\\{},.\xff";
        let mut state = 1_u64;
        let mut text = |most: u64| -> Vec<u8> {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize
            };
            let length = next() % most as usize;
            (0..length).map(|_| bytes[next() % bytes.len()]).collect()
        };
        let mut met = 0;
        for _ in 0..300_000 {
            let (pattern, path) = (text(14), text(12));
            if let Some(pattern) = Pattern::parse(&pattern) {
                met += u32::from(pattern.matches(&path));
            }
        }
        assert!(met > 1000);
    }
}
