//! Paths as people know them.

use std::path::Path;

/// Where standard input lies once it is in a file without a name: `load::standard_input`.
pub(crate) const WITHOUT_NAME: &str = "/proc/self/fd/";

/// A path for messages.
#[must_use]
pub(crate) fn shown(path: &Path) -> String {
    if path.starts_with(WITHOUT_NAME) { "standard input".to_owned() } else { path.display().to_string() }
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
