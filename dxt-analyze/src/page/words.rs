//! What the first screen says, in words: the same on the page and in the terminal.

use crate::findings::{Code, Finding};
use crate::shared::ratio::share;
use crate::text::units;
use crate::topics::verdict::Verdict;
use crate::topics::verdict::result::{SHOWN, Weighed};
use std::cmp::Reverse;

/// Share of the time in calls that is too small to speak of.
const NOTHING: f64 = 0.005;

/// Run time that a finding would save, ns.
pub(super) fn saves(finding: &Finding) -> u64 {
    finding.saving.map_or(0, |saving| saving.saves_ns)
}

/// The findings that save something, those that save most first.
pub(super) fn listed(verdict: &Verdict) -> Vec<&Weighed> {
    let mut all: Vec<&Weighed> = verdict.findings.iter().filter(|weighed| saves(&weighed.finding) > 0).collect();
    all.sort_by_key(|weighed| Reverse(saves(&weighed.finding)));
    all
}

/// Those that stand on cards: the first of them, if I/O matters at all.
pub(super) fn on_cards(verdict: &Verdict) -> Vec<&Weighed> {
    let mut first = listed(verdict);
    first.truncate(if verdict.io_matters { SHOWN } else { 0 });
    first
}

/// From the least to the most that it may save, where it is a range: `1.20 s to 2.40 s`.
pub(super) fn range(finding: &Finding) -> Option<String> {
    let saving = finding.saving?;
    let (low, high) = (saving.saves_low_ns.unwrap_or(saving.saves_ns), saving.saves_high_ns.unwrap_or(saving.saves_ns));
    (low < high).then(|| format!("{} to {}", units::duration(low), units::duration(high)))
}

/// A share in percent: `12.3 %`, `< 0.1 %`.
pub(super) fn percent(part: u64, whole: u64) -> String {
    match share(part, whole) * 100.0 {
        small if part > 0 && small < 0.05 => "< 0.1 %".into(),
        large if part < whole && large >= 99.95 => "> 99.9 %".into(),
        percent => format!("{percent:.1} %"),
    }
}

/// With a capital in front.
pub(super) fn sentence(text: &str) -> String {
    crate::topics::verdict::sentence::capital(text)
}

/// The job: who ran what where, a line each.
pub(super) fn job(verdict: &Verdict) -> Vec<(&'static str, String)> {
    let job = &verdict.job;
    // Darshan knows that it was MPI, and not whose.
    let mpi = if matches!(job.mpi.as_str(), "" | "MPI") { String::new() } else { format!(", {}", job.mpi) };
    let scheduler = match job.scheduler.as_str() {
        "" => "no scheduler".to_owned(),
        named if named.contains('=') => named.to_owned(),
        number => format!("job {number}"),
    };
    let mut out = vec![
        ("Program", job.command.clone()),
        ("Run time", format!("{}, started {}", units::duration(job.run_ns), job.start)),
        ("Ran as", format!("{} on {}{mpi}", job.processes, job.nodes)),
        ("User, job", format!("uid {}, {scheduler}", job.uid)),
    ];
    if !job.file_systems.is_empty() {
        out.push(("File systems", job.file_systems.join(", ")));
    }
    out
}

/// The ledger in a line: `writes 12.1 %, metadata 0.4 %, no I/O 87.5 %`.
pub(super) fn ledger(verdict: &Verdict) -> String {
    let total = verdict.ledger.total_ns();
    let parts = verdict.ledger.named().into_iter().filter(|(_, ns)| *ns > 0);
    parts.map(|(name, ns)| format!("{name} {}", percent(ns, total))).collect::<Vec<String>>().join(", ")
}

/// What no finding explains; `None` if that is nothing.
pub(super) fn rest(verdict: &Verdict) -> Option<String> {
    let rest = verdict.rest.as_ref().filter(|rest| verdict.io_matters && rest.share >= NOTHING)?;
    let explained = if listed(verdict).is_empty() { "No finding explains" } else { "These findings do not explain" };
    Some(format!(
        "{explained} {:.0} % of the time in I/O calls; the largest part of that is {} ({:.0} %).",
        rest.share * 100.0,
        rest.largest,
        rest.largest_share * 100.0
    ))
}

/// What says that a kind of calls takes much time and is not odd, with what to do.
pub(super) fn uncovered(verdict: &Verdict) -> Option<&Finding> {
    verdict.findings.iter().map(|weighed| &weighed.finding).find(|finding| finding.code == Code::UNCOVERED)
}

/// What says that the trace is damaged.
pub(super) fn damage(verdict: &Verdict) -> Option<&Finding> {
    verdict.findings.iter().map(|weighed| &weighed.finding).find(|finding| finding.code == Code::DAMAGED)
}

/// How many findings save nothing that could be told, if any.
pub(super) fn observations(verdict: &Verdict) -> Option<String> {
    // These are said in other words.
    let own = [Code::DAMAGED, Code::FOLDED, Code::UNCOVERED];
    let all = verdict.findings.iter().map(|weighed| &weighed.finding);
    match all.filter(|finding| saves(finding) == 0 && !own.contains(&finding.code)).count() {
        0 => None,
        1 => Some("1 more observation saves no run time that could be told; it stands in its section.".into()),
        more => {
            Some(format!("{more} more observations save no run time that could be told; they stand in their sections."))
        }
    }
}

/// A piece of a text of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// A path: its last part, and all of it.
    Path {
        last: String,
        whole: String,
    },
}

/// A finding's text in pieces: paths that it names, and `known` ones with spaces in them, are told by their last part.
pub(super) fn pieces(text: &str, known: Option<&str>) -> Vec<Piece> {
    let mut out = Vec::new();
    let (mut plain, mut rest) = (String::new(), text);
    let mut starts = true;
    while let Some(first) = rest.chars().next() {
        let whole = if starts && first == '/' { path_at(rest, known) } else { "" };
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

/// The path that a text begins with.
fn path_at<'t>(text: &'t str, known: Option<&str>) -> &'t str {
    if let Some(known) = known.filter(|known| text.starts_with(*known)) {
        return text.get(..known.len()).unwrap_or_default();
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    text.get(..end).unwrap_or_default().trim_end_matches([',', ';', ':', '.', ')', '"', '\''])
}

/// A text with its paths told by their last part.
pub(super) fn short(text: &str, known: Option<&str>) -> String {
    let words = pieces(text, known).into_iter().map(|piece| match piece {
        Piece::Text(text) => text,
        Piece::Path { last, .. } => last,
    });
    words.collect()
}

/// The file that a finding is about.
pub(super) fn file(finding: &Finding) -> Option<String> {
    finding.evidence.iter().find_map(|evidence| evidence.about.file.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_told_by_their_last_part_and_nothing_else_changes() {
        let of = |text: &str| short(text, Some("/lus/my run/a b.h5"));
        assert_eq!(of("4 stripes of /scratch/x/gcrm.nc are shared"), "4 stripes of gcrm.nc are shared");
        assert_eq!(of("reads of /lus/my run/a b.h5: 3 MB/s, and/or more"), "reads of a b.h5: 3 MB/s, and/or more");
        assert_eq!(of("(/a/b.c) /a /, /a/b/: \"/x/y\"."), "(b.c) /a /, b: \"y\".");
        assert_eq!(of("/über/größe.dat"), "größe.dat");
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_text(text in "[a-z/ .,:()é]{0,60}") {
            let all: String = pieces(&text, Some("/a b/c")).into_iter().map(|piece| match piece {
                Piece::Text(text) => text,
                Piece::Path { whole, .. } => whole,
            }).collect();
            prop_assert_eq!(all, text);
        }
    }

    #[test]
    fn a_share_that_is_there_is_never_nothing_and_one_that_is_not_all_never_all() {
        let shares = [percent(0, 5), percent(1, 1_000_000), percent(1, 8), percent(9999, 10_000), percent(7, 7)];
        assert_eq!(shares, ["0.0 %", "< 0.1 %", "12.5 %", "> 99.9 %", "100.0 %"]);
    }
}
