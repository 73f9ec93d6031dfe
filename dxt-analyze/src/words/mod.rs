//! Sentences of findings, one function per code: each formats the facts of a finding as title, evidence and hint. No other module makes
//! sentences of findings. `sentences.txt` has every sentence once, made from sample facts, for reviewers: change a sentence here, run the
//! test with `DXT_BLESS=1`, and read the difference.

pub(crate) mod calls;
pub(crate) mod checks;
pub(crate) mod common;
pub(crate) mod compare;
pub(crate) mod completeness;
pub(crate) mod layers;
pub(crate) mod outliers;
pub(crate) mod outside;
pub(crate) mod patterns;
pub(crate) mod shape;
pub(crate) mod signatures;
pub(crate) mod sites;
pub(crate) mod stripes;
pub(crate) mod units;
pub(crate) mod verdict;

pub(crate) use crate::findings::Words;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Code;
    use std::collections::BTreeSet;
    use std::fmt::Write;
    use std::path::Path;

    /// Sample of the sentences of a code. A code has several samples if its sentences depend on the facts.
    pub(crate) type Sample = (Code, Words);

    fn samples() -> Vec<Sample> {
        let of = [
            calls::samples,
            checks::samples,
            compare::samples,
            completeness::samples,
            layers::samples,
            outliers::samples,
            outside::samples,
            shape::samples,
            signatures::samples,
            stripes::samples,
            units::samples,
            verdict::samples,
        ];
        of.iter().flat_map(|samples| samples()).collect()
    }

    #[test]
    fn every_sentence_is_in_the_list_for_reviewers() {
        let mut samples = samples();
        samples.sort_by_key(|(code, _)| code.name());
        let mut text = String::new();
        for (code, words) in &samples {
            writeln!(text, "{}  {}", code.name(), words.title).unwrap();
            words.evidence.iter().for_each(|evidence| writeln!(text, "    - {evidence}").unwrap());
            if !words.hint.is_empty() {
                writeln!(text, "    > {}", words.hint).unwrap();
            }
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/words/sentences.txt");
        // Does not rewrite the file in CI, where nobody would read the difference.
        if std::env::var_os("DXT_BLESS").is_some() && std::env::var_os("CI").is_none() {
            std::fs::write(&path, &text).unwrap();
        }
        let listed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            text == listed,
            "sentences changed: run this test with DXT_BLESS=1, then read the difference of {path:?}"
        );
    }

    #[test]
    fn every_code_has_a_sample() {
        let have: BTreeSet<&str> = samples().iter().map(|(code, _)| code.name()).collect();
        let codes = crate::topics::codes();
        // Codes DXT-Z... belong to the example topic for contributors, so they have no sentences here.
        let all: BTreeSet<&str> =
            codes.iter().map(|code| code.name()).filter(|name| !name.starts_with("DXT-Z")).collect();
        assert_eq!(all.difference(&have).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
