//! File name patterns of `--files`, `--layout` and all other options, with one matching rule.

use globset::{Glob, GlobMatcher};

/// Glob for file names. A glob without `/` is matched against the last part of a path, any other against the full path.
#[derive(Clone, Debug)]
pub struct Pattern(GlobMatcher);

impl Pattern {
    /// Parses a glob.
    ///
    /// # Errors
    /// Fails if the glob is invalid.
    pub fn new(glob: &str) -> Result<Self, globset::Error> {
        Ok(Self(Glob::new(glob)?.compile_matcher()))
    }

    /// Returns true if the glob matches `path`, or its last part if the glob has no `/`.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let whole = self.0.glob().glob().contains('/');
        self.0.is_match(if whole { path } else { path.rsplit('/').next().unwrap_or(path) })
    }
}
