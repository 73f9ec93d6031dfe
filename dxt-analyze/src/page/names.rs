//! Paths in sentences, abbreviated to their last part; readers get the full path on demand.

use crate::model::Run;
use crate::text::printable::printable;
use maud::{Markup, html};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// Path: its last part, and the full path.
    Path {
        last: String,
        whole: String,
    },
}

/// Paths of a run that contain white space, longest first. Sentences cannot be split at spaces to find these paths, so the paths are searched for.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// Returns an empty list, with which only paths without white space are recognized.
    pub(super) const fn none() -> Self {
        Self(Vec::new())
    }

    /// Collects the paths with white space among the files of a run.
    pub(super) fn of(run: &Run) -> Self {
        let spaced = run.files.iter().map(|file| &file.name).filter(|name| name.contains(char::is_whitespace));
        let mut all: Vec<String> = spaced.cloned().collect();
        all.sort_by_key(|name| Reverse(name.len()));
        Self(all)
    }

    /// Splits a text into paths and the text between the paths.
    pub(super) fn pieces(&self, text: &str) -> Vec<Piece> {
        let mut out = Vec::new();
        let (mut plain, mut rest) = (String::new(), text);
        let mut starts = true;
        while let Some(first) = rest.chars().next() {
            let whole = if starts && first == '/' { self.path_at(rest) } else { "" };
            match whole.trim_end_matches('/').rsplit_once('/') {
                Some((before, last)) if !before.is_empty() && !last.is_empty() => {
                    if !plain.is_empty() {
                        out.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    out.push(Piece::Path { last: last.to_owned(), whole: whole.to_owned() });
                    rest = rest.get(whole.len()..).unwrap_or_default();
                    starts = false;
                }
                _ => {
                    plain.push(first);
                    starts = matches!(first, ' ' | '(' | '"' | '\'');
                    rest = rest.get(first.len_utf8()..).unwrap_or_default();
                }
            }
        }
        if !plain.is_empty() {
            out.push(Piece::Text(plain));
        }
        out
    }

    fn path_at<'t>(&self, text: &'t str) -> &'t str {
        if let Some(known) = self.0.iter().find(|known| text.starts_with(known.as_str())) {
            return text.get(..known.len()).unwrap_or_default();
        }
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        text.get(..end).unwrap_or_default().trim_end_matches([',', ';', ':', '.', ')', '"', '\''])
    }

    /// Returns a text as HTML: paths are abbreviated, with the full path on hover.
    pub(super) fn marked(&self, text: &str) -> Markup {
        html! {
            @for piece in self.pieces(text) {
                @match piece {
                    Piece::Text(text) => { (printable(&text)) }
                    Piece::Path { last, whole } => { span.file title=(printable(&whole)) { (printable(&last)) } }
                }
            }
        }
    }

    /// Returns a text with its paths abbreviated.
    pub(super) fn short(&self, text: &str) -> String {
        let words = self.pieces(text).into_iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Path { last, .. } => last,
        });
        words.collect()
    }
}

/// Returns for each path the shortest suffix that distinguishes it from all others, mostly its last part; in the order of `paths`.
pub(super) fn short_names(paths: &[&str]) -> Vec<String> {
    // Returns the last `parts` components of a path.
    let end = |path: &str, parts: usize| {
        let from = path.trim_end_matches('/').rmatch_indices('/').nth(parts - 1).map_or(0, |(at, _)| at + 1);
        path.get(from..).unwrap_or(path).to_owned()
    };
    let most = paths.iter().map(|path| path.matches('/').count() + 1).max().unwrap_or(1);
    let mut out: BTreeMap<&str, String> = BTreeMap::new();
    let mut open: BTreeSet<&str> = paths.iter().copied().collect();
    for parts in 1..=most {
        let mut ends: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for path in &open {
            ends.entry(end(path, parts)).or_default().push(path);
        }
        for (short, of) in ends {
            if let ([one], false) = (of.as_slice(), short.is_empty()) {
                open.remove(one);
                out.insert(one, short);
            }
        }
    }
    paths.iter().map(|path| out.get(path).cloned().unwrap_or_else(|| (*path).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_reported_by_their_last_part_and_nothing_else_changes() {
        let names = Names(vec!["/lus/my run/a b.h5".into(), "/lus/my run/a".into()]);
        assert_eq!(names.short("4 stripes of /scratch/x/gcrm.nc are shared"), "4 stripes of gcrm.nc are shared");
        assert_eq!(
            names.short("reads of /lus/my run/a b.h5: 3 MiB/s, and/or more"),
            "reads of a b.h5: 3 MiB/s, and/or more"
        );
        assert_eq!(names.short("(/a/b.c) /a /, /a/b/: \"/x/y\"."), "(b.c) /a /, b: \"y\".");
        assert_eq!(names.short("/über/größe.dat"), "größe.dat");
    }

    #[test]
    fn names_are_as_long_as_it_takes_to_tell_them_apart() {
        let all = ["/a/x.h5", "/b/x.h5", "/b/y.h5", "/b/y.h5", "<STDOUT>", "/d/", "z", "/c/b/x.h5", "/"];
        assert_eq!(short_names(&all), ["a/x.h5", "/b/x.h5", "y.h5", "y.h5", "<STDOUT>", "d/", "z", "c/b/x.h5", "/"]);
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_text(text in "[a-z/ .,:()é]{0,60}") {
            let all: String = Names(vec!["/a b/c".into()]).pieces(&text).into_iter().map(|piece| match piece {
                Piece::Text(text) => text,
                Piece::Path { whole, .. } => whole,
            }).collect();
            prop_assert_eq!(all, text);
        }
    }
}
