//! File names with a random part, as mkstemp(3) and Python's tempfile create them.
//!
//! A single name proves nothing. If two names of one form both look random, all names of this form count as random, even names that look
//! like words.

use rustc_hash::FxHashMap;
use std::ops::Range;

/// Lengths of the random part in characters: for mkstemp(3), and for Python's tempfile.
const LENGTHS: [usize; 2] = [6, 8];

/// Replaces each number in a file name by a star.
pub(super) fn starred(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('*') {
            out.push('*');
        }
    }
    out
}

/// Returns the byte ranges of a file name that may be its random part: at the end of a sequence of letters, digits and underscores.
pub(super) fn places(name: &str) -> impl Iterator<Item = Range<usize>> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = name.as_bytes();
    let ends = (1..=bytes.len()).filter(move |&at| {
        let before = bytes.get(at - 1).copied().is_some_and(is_word);
        before && !bytes.get(at).copied().is_some_and(is_word)
    });
    ends.flat_map(move |end| {
        let room = bytes.get(..end).unwrap_or_default().iter().rev().take_while(|byte| is_word(**byte)).count();
        LENGTHS.into_iter().filter(move |length| *length <= room).map(move |length| end - length..end)
    })
}

/// Returns the form of a file name whose random part is at `place`: question marks for this part, a star for each number elsewhere.
pub(super) fn form(name: &str, place: &Range<usize>) -> String {
    let part = |range: Range<usize>| starred(name.get(range).unwrap_or_default());
    format!("{}{}{}", part(0..place.start), "?".repeat(place.len()), part(place.end..name.len()))
}

/// True if a text is unlikely to be chosen by a person: neither a number nor a word, optionally with a number at its end.
fn looks_random(part: &str) -> bool {
    let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
    let lower = |c: char| c.is_ascii_lowercase() || c == '_';
    let upper = |c: char| c.is_ascii_uppercase() || c == '_';
    let capital = word.chars().next().is_none_or(upper) && word.chars().skip(1).all(lower);
    !(capital || word.chars().all(lower) || word.chars().all(upper))
}

/// Forms that at least two random-looking names have, with the number of these names.
#[derive(Debug, Default)]
pub(super) struct Forms(FxHashMap<String, u32>);

impl Forms {
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut found: FxHashMap<String, u32> = FxHashMap::default();
        for name in names {
            let random = places(name).filter(|place| name.get(place.clone()).is_some_and(looks_random));
            random.for_each(|place| *found.entry(form(name, &place)).or_default() += 1);
        }
        found.retain(|_, count| *count > 1);
        Self(found)
    }

    /// Returns the most frequent known form that fits a name; if there is none, returns the name with stars for numbers.
    pub(super) fn key(&self, name: &str) -> String {
        if self.0.is_empty() {
            return starred(name);
        }
        let known = places(name).map(|place| form(name, &place));
        let counted = known.filter_map(|form| Some((*self.0.get(&form)?, form)));
        counted.max().map_or_else(|| starred(name), |(_, form)| form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_not_random() {
        for word in ["output", "OUTPUT", "Output", "file_1", "run007", "123456", "step_2"] {
            assert!(!looks_random(word), "{word}");
        }
        for random in ["k3JdQa", "aBcDeF", "x8s0ql1z", "9aZ0bc", "QwErTy"] {
            assert!(looks_random(random), "{random}");
        }
    }

    #[test]
    fn names_of_one_form_are_together() {
        let names = [
            "/tmp/out.k3JdQa",
            "/tmp/out.aBcDeF",
            "/tmp/out.words9",
            "/tmp/log.k3JdQa",
            "/tmp/tmpx8s0ql1z",
            "/tmp/tmpa_b2c3d4",
        ];
        let forms = Forms::of(names.into_iter());
        let keys = names.map(|name| forms.key(name));
        assert_eq!(keys[..3], ["/tmp/out.??????"; 3]);
        assert_eq!(keys[3], "/tmp/log.k*JdQa", "one alone tells nothing");
        assert_eq!(keys[4..], ["/tmp/tmp????????"; 2]);
        let directories = ["/tmp/job3.aB3dE5/data", "/tmp/job12.Zz0yX9/data"];
        let forms = Forms::of(directories.into_iter());
        assert!(directories.iter().all(|name| forms.key(name) == "/tmp/job*.??????/data"));
        assert_eq!(Forms::of(["/a/step1", "/a/step2", "/b/input7"].into_iter()).key("/a/step1"), "/a/step*");
    }

    #[test]
    fn names_of_any_signs_are_no_trouble() {
        for name in ["", "/", "äöüäöü", "/tmp/äaB3dE5", "aB3dE5", "/tmp/aB3dE5ä"] {
            let forms = Forms::of([name, name].into_iter());
            assert!(!forms.key(name).is_empty() || name.is_empty());
        }
    }
}
