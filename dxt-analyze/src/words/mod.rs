//! Sentences of findings, one function per code: each takes the facts of a finding and returns title, evidence and hint. No other module
//! makes sentences of findings. `sentences.txt` has every sentence once, made from sample facts, for reviewers: change a sentence here, run
//! the test with `DXT_BLESS=1`, and read the difference.

pub(crate) mod common;
pub(crate) mod shape;

use crate::findings::{Evidence, Title};

/// Sentences of a finding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// Sentence that names subject, place and amount.
    pub(crate) title: Title,
    /// Sentences that support it, with their subjects.
    pub(crate) evidence: Vec<Evidence>,
    /// What to change; empty if nothing is advised.
    pub(crate) hint: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Code;
    use std::collections::BTreeSet;
    use std::fmt::Write;
    use std::path::Path;

    /// Sentences of a code for sample facts. A code whose sentences differ by their facts has several.
    pub(crate) type Sample = (Code, Words);

    /// Samples of all topics.
    const SAMPLES: [fn() -> Vec<Sample>; 1] = [shape::samples];

    /// Codes without samples. Delete an entry once its sentences are made here; never add one.
    const LEFT: &str = "
        DXT-C001
        DXT-C002
        DXT-C003
        DXT-C006
        DXT-C007
        DXT-C008
        DXT-C009
        DXT-C010
        DXT-C011
        DXT-C016
        DXT-C017
        DXT-C018
        DXT-C019
        DXT-C020
        DXT-C021
        DXT-C022
        DXT-C023
        DXT-C026
        DXT-C027
        DXT-C028
        DXT-C029
        DXT-C030
        DXT-C031
        DXT-C035
        DXT-C036
        DXT-C037
        DXT-C038
        DXT-D001
        DXT-D002
        DXT-D003
        DXT-D004
        DXT-D005
        DXT-D006
        DXT-D007
        DXT-D008
        DXT-D009
        DXT-D010
        DXT-D011
        DXT-I001
        DXT-I002
        DXT-I003
        DXT-I004
        DXT-I005
        DXT-I006
        DXT-L002
        DXT-L004
        DXT-L007
        DXT-L008
        DXT-L009
        DXT-L010
        DXT-O001
        DXT-O002
        DXT-O003
        DXT-O004
        DXT-O005
        DXT-S001
        DXT-S002
        DXT-S003
        DXT-S004
        DXT-S005
        DXT-T001
        DXT-T002
        DXT-V001
        DXT-V002
        DXT-V003
        DXT-V004
        DXT-V008
        DXT-V012
        DXT-V016
        DXT-V019
        DXT-V026
        DXT-V032
    ";

    #[test]
    fn every_sentence_is_in_the_list_for_reviewers() {
        let mut samples: Vec<Sample> = SAMPLES.iter().flat_map(|samples| samples()).collect();
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
        if std::env::var_os("DXT_BLESS").is_some() {
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
        let have: BTreeSet<&str> = SAMPLES.iter().flat_map(|samples| samples()).map(|(code, _)| code.name()).collect();
        let lacks: Vec<&str> =
            crate::topics::codes().iter().map(|code| code.name()).filter(|name| !have.contains(name)).collect();
        let lacks: BTreeSet<&str> = lacks.into_iter().filter(|name| !name.starts_with("DXT-Z")).collect();
        assert_eq!(lacks, LEFT.split_whitespace().collect::<BTreeSet<&str>>());
    }
}
