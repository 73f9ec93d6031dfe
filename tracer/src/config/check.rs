//! `DXT_ENABLE=check`, or `check:MODE` for what MODE would make of them: nothing is recorded; what is wrong with the settings is said, and which variables look like ours and are not.
//! dxt-run asks so before it starts a program.

use super::source::{Environment, FROM_ENVIRONMENT, VARIABLES};

/// Changes of single characters up to which a name is taken for a mistyped one.
const MOST_CHANGES: usize = 4;

/// Whether settings are to be looked at only.
pub(crate) fn is_wanted(environment: &impl Environment) -> bool {
    matches!(environment.get(c"DXT_ENABLE"), Some(b"check" | b"check:trace" | b"check:counters"))
}

/// Whether that is asked for without saying for which mode.
pub(super) fn is_of_any_mode(environment: &impl Environment) -> bool {
    environment.get(c"DXT_ENABLE") == Some(b"check")
}

/// Variables of the environment that begin as ours do and are none, each with the known one that is nearest.
pub(crate) fn unknown(environment: &impl Environment) -> Vec<(Vec<u8>, Option<&'static str>)> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    environment.each_name(&mut |name| {
        if name.starts_with(b"DXT_") && !is_known(name) {
            all.push(name.to_vec());
        }
    });
    all.sort();
    all.dedup();
    all.into_iter()
        .map(|name| {
            let near = nearest(&String::from_utf8_lossy(&name));
            (name, near)
        })
        .collect()
}

/// Ours, or one of those that tests and module files use.
fn is_known(name: &[u8]) -> bool {
    FROM_ENVIRONMENT.iter().any(|known| known.to_bytes() == name)
        || name.starts_with(b"DXT_TRACER")
        || name.starts_with(b"DXT_TEST_")
        || VARIABLES.iter().any(|known| known.to_bytes() == name)
}

/// The variable that may have been meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let known = VARIABLES.iter().chain(&FROM_ENVIRONMENT).filter_map(|known| known.to_str().ok());
    let (changes, known) = known.map(|known| (strsim::levenshtein(name, known), known)).min()?;
    // Of a short name nearly all would be another's.
    let most = MOST_CHANGES.min(name.len().saturating_sub("DXT_".len()) / 2);
    (changes <= most).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn mistyped_names_are_told_with_what_was_meant() {
        let variables: &[(&CStr, &str)] = &[
            (c"DXT_OUTPUTDIR", "x"),
            (c"DXT_ENABLE", "check"),
            (c"DXT_TRACER", "x"),
            (c"DXT_SOMETHING_ELSE", ""),
            (c"DXT_", ""),
            (c"PATH", ""),
        ];
        let expected = [
            (b"DXT_".to_vec(), None),
            (b"DXT_OUTPUTDIR".to_vec(), Some("DXT_OUTPUT_DIR")),
            (b"DXT_SOMETHING_ELSE".to_vec(), None),
        ];
        assert!(is_wanted(&variables));
        assert_eq!(unknown(&variables), expected);
    }
}
