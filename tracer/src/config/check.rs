//! Settings check: `DXT_ENABLE=check`, or `check:MODE` to validate the settings for that mode. Nothing is recorded; invalid settings and
//! misspelled variables are reported. dxt-run runs this check before it starts a program.

use super::source::{Environment, FROM_ENVIRONMENT, VARIABLES};

/// Maximum edit distance at which an unknown variable is reported as a misspelling of a known variable.
const MOST_CHANGES: usize = 4;

/// True if this process only validates its settings and records nothing.
pub(crate) fn is_wanted(environment: &impl Environment) -> bool {
    matches!(environment.get(c"DXT_ENABLE"), Some(b"check" | b"check:trace" | b"check:counters"))
}

/// True if a check of the settings is requested without a mode (`DXT_ENABLE=check`).
pub(super) fn is_of_any_mode(environment: &impl Environment) -> bool {
    environment.get(c"DXT_ENABLE") == Some(b"check")
}

/// Returns the unknown variables of the environment that begin with `DXT_`, each with the most similar known name, if any.
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

/// True for known `DXT_` variables, and for variables of the tests and of the tracer's environment modules (`DXT_TEST_...`,
/// `DXT_TRACER...`).
fn is_known(name: &[u8]) -> bool {
    FROM_ENVIRONMENT.iter().any(|known| known.to_bytes() == name)
        || name.starts_with(b"DXT_TRACER")
        || name.starts_with(b"DXT_TEST_")
        || VARIABLES.iter().any(|known| known.to_bytes() == name)
}

/// Returns the known variable most similar to the misspelled `name`; `None` if none is similar enough.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let known = VARIABLES.iter().chain(&FROM_ENVIRONMENT).filter_map(|known| known.to_str().ok());
    let (changes, known) = known.map(|known| (strsim::levenshtein(name, known), known)).min()?;
    // With a short name nearly every variable would be similar, so the limit is half of the characters after `DXT_`.
    let most = MOST_CHANGES.min(name.len().saturating_sub("DXT_".len()) / 2);
    (changes <= most).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn mistyped_names_are_reported_with_what_was_meant() {
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
