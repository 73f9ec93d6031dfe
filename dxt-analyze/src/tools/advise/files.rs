//! Contents of the files that `advise` writes. Each file begins with its author, `dxt-analyze`. `dxt-run` reads the files of hints,
//! parameters and variables; `setup.sh` and `README.txt` are for the user.

use super::collect::Item;
use super::names::{NAMES, README, ROMIO, SETUP};
use crate::text::printable::is_hidden;
use crate::text::units;
use crate::topics::verdict::Verdict;
use crate::topics::verdict::remedy::{Destination, cray};
use crate::written::ADVICE;
use std::fmt::Write as _;

/// Replaces line breaks and control characters by `?`, since data from a trace may contain any.
fn plain(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '?' } else { c }).collect()
}

/// Returns (file name, content) of the files to write; empty without advice. `kept` are hints of an earlier hints file that remain in effect.
pub(super) fn texts(verdict: &Verdict, items: &[Item], kept: &[String]) -> Vec<(&'static str, String)> {
    if items.is_empty() {
        return Vec::new();
    }
    let mut out: Vec<(&'static str, String)> = Vec::new();
    for name in NAMES.into_iter().filter(|name| *name != README) {
        let mine: Vec<&Item> = items.iter().filter(|item| item.file == Some(name)).collect();
        if !mine.is_empty() {
            out.push((name, settings(name, &mine, kept)));
        }
    }
    let names: Vec<&str> = out.iter().map(|(name, _)| *name).collect();
    let readme = readme(verdict, items, &names);
    out.push((README, readme));
    out
}

fn settings(name: &str, items: &[&Item], kept: &[String]) -> String {
    let mut text = String::new();
    if name == SETUP {
        text.push_str("#!/bin/sh\n");
    }
    let _ = writeln!(text, "# {ADVICE}");
    if name == SETUP {
        text.push_str("# Run this once, before the job. Nothing is moved or deleted: each command affects new files only.\nset -e\n");
    }
    // Cray's MPI reads all hints from one environment variable.
    let mut of_cray: Vec<String> = items
        .iter()
        .filter(|item| item.remedy.what == Destination::CrayHints)
        .flat_map(|item| item.remedy.lines.clone())
        .collect();
    for item in items {
        let _ = writeln!(text, "# {}: {}", item.code.name(), plain(&item.remedy.why));
        if item.remedy.what != Destination::CrayHints {
            item.remedy.lines.iter().for_each(|line| {
                let _ = writeln!(text, "{line}");
            });
        }
    }
    if name == ROMIO && !kept.is_empty() {
        text.push_str(
            "# Hints of the traced run that a hints file set: repeated here, since this file replaces that hints file.\n",
        );
        kept.iter().for_each(|line| {
            let _ = writeln!(text, "{line}");
        });
    }
    if !of_cray.is_empty() {
        of_cray.extend_from_slice(kept);
        // Removes quotes, since the file is no shell script.
        let _ = writeln!(text, "{}", cray(&of_cray).replace('\'', ""));
    }
    text
}

fn readme(verdict: &Verdict, items: &[Item], names: &[&str]) -> String {
    let mut text = format!("{ADVICE}\n\n{}\n\n", plain(&verdict.sentence));
    if names.contains(&SETUP) {
        let _ = writeln!(text, "Once, after reviewing it:       sh {SETUP}");
    }
    if names.iter().any(|name| *name != SETUP) {
        let _ =
            writeln!(text, "Then the job, with its settings: dxt-run --hints THIS_DIRECTORY -o traces -- mpirun ...");
    }
    text.push_str("To measure the gain:            dxt-analyze compare TRACE_BEFORE TRACE_AFTER\n");
    let mut before = None;
    for item in items {
        if before != Some((item.code, &item.about)) {
            let percent = crate::shared::ratio::share(item.saving.saves_ns, verdict.run_ns) * 100.0;
            let range = match (item.saving.saves_low_ns, item.saving.saves_high_ns) {
                (Some(low), Some(high)) => format!(", between {} and {}", units::duration(low), units::duration(high)),
                _ => String::new(),
            };
            let saves = units::duration(item.saving.saves_ns);
            let _ = writeln!(
                text,
                "\n{}  {}\n  saves {saves} of the run time ({percent:.1} %){range}",
                item.code.name(),
                plain(&item.title)
            );
        }
        before = Some((item.code, &item.about));
        let place = item.file.map_or_else(|| item.remedy.what.name().to_owned(), |file| format!("in {file}"));
        let _ = writeln!(text, "  {place}: {}", plain(&item.remedy.why));
        for line in &item.remedy.lines {
            let _ = writeln!(text, "      {line}");
        }
        if let Some(why) = &item.not_written {
            let _ = writeln!(text, "    not written: {why}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_trace_holds_stays_on_its_line() {
        assert_eq!(plain("a\nrm -rf /\u{1b}[2J"), "a?rm -rf /?[2J");
    }
}
