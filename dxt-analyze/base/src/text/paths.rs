//! Paths as shown to users: a copy of a pipe is shown under the name that the user gave.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Directory of the paths of unnamed temporary files, such as copies of standard input (`load::standard_input`).
pub const WITHOUT_NAME: &str = "/proc/self/fd/";

/// Paths of copies of pipes, each with the name shown to the user.
static COPIED: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());

/// Sets the name with which messages refer to the file `copy`.
pub fn call(copy: &Path, name: String) {
    COPIED.lock().unwrap_or_else(PoisonError::into_inner).push((copy.to_owned(), name));
}

/// Returns the name with which messages refer to `path`.
#[must_use]
pub fn shown(path: &Path) -> String {
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
