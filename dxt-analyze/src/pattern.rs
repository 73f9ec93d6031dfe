//! Which files a pattern names: the same rule for `--files`, `--layout` and every other place that takes one.

use globset::{Glob, GlobMatcher};

/// A glob. Without a `/` it is compared with the last part of a path, otherwise with the whole.
#[derive(Clone, Debug)]
pub struct Pattern(GlobMatcher);

impl Pattern {
    /// Reads a glob.
    ///
    /// # Errors
    /// If it is none.
    pub fn new(glob: &str) -> Result<Self, globset::Error> {
        Ok(Self(Glob::new(glob)?.compile_matcher()))
    }

    /// Whether it names `path`.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let whole = self.0.glob().glob().contains('/');
        self.0.is_match(if whole { path } else { path.rsplit('/').next().unwrap_or(path) })
    }
}
