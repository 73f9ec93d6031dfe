//! Paths as people know them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where standard input lies once it is in a file without a name: `load::standard_input`.
pub(crate) const WITHOUT_NAME: &str = "/proc/self/fd/";

/// What came through a pipe, and the name that the user knows it by.
static COPIED: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());

/// From now on `copy` is called `name` in messages.
pub(crate) fn call(copy: &Path, name: String) {
    COPIED.lock().unwrap_or_else(PoisonError::into_inner).push((copy.to_owned(), name));
}

/// A path for messages.
#[must_use]
pub(crate) fn shown(path: &Path) -> String {
    let copied = COPIED.lock().unwrap_or_else(PoisonError::into_inner);
    match copied.iter().find(|(copy, _)| copy == path) {
        Some((_, name)) => name.clone(),
        None if path.starts_with(WITHOUT_NAME) => "standard input".to_owned(),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_nothing_that_a_user_has_named() {
        assert_eq!(shown(Path::new("/proc/self/fd/3")), "standard input");
        assert_eq!(shown(Path::new("/proc/self")), "/proc/self");
    }
}
