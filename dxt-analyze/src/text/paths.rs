//! Paths by the names that users know.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Directory of unnamed files such as copies of standard input: `load::standard_input`.
pub(crate) const WITHOUT_NAME: &str = "/proc/self/fd/";

/// Copies of pipes, with the names that the user knows.
static COPIED: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());

/// Sets the name of `copy` in messages.
pub(crate) fn call(copy: &Path, name: String) {
    COPIED.lock().unwrap_or_else(PoisonError::into_inner).push((copy.to_owned(), name));
}

/// Returns a path for messages.
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
