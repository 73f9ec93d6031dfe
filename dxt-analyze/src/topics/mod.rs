//! Topics: the analyses of a job. Each topic has a folder with its options, its pass over the segments, its result, findings and output.
//!
//! The table below has one row per topic. The row creates the topic's command, its part of `report`, and its codes in `explain`. To add a
//! topic, see CONTRIBUTING.md.

pub mod causes;
pub mod checks;
pub mod compare;
pub mod corpus;
pub mod counters;
pub mod layers;
pub mod ledger;
pub mod outliers;
pub(crate) mod report;
pub mod scaling;
pub mod signatures;
pub mod sites;
pub mod stripes;
pub mod summary;
mod table;
pub mod timeline;
#[cfg(test)]
pub mod toy;
#[cfg(test)]
pub mod toy_table;
pub(crate) mod verdict;

pub use table::Outcome;

use crate::exit::Exit;
use crate::findings::{Code, Finding};
use crate::progress::Bar;
use crate::render::{self, Style, View};
use crate::scan::{Nothing, scan, together};
use crate::session::{Output, PageOutput};
use crate::shared::completeness;
use crate::shared::totals::{Totals, with_missing};
use anyhow::Result;
use report::{Found, Job, Reported, Section, Sums};
use std::io::Write;

/// Function that writes a result as a page; its arguments are destination, title and view.
pub type PageWriter<'a> = &'a dyn Fn(&PageOutput, &str, &View) -> Result<()>;

table::topics! {
    one run {
        /// Job, ranks, operations, bytes, times, and what is missing
        summary: Summary at 7;
        /// Run time by activity: computation, reads, writes, metadata, syncs, locks, waiting; for the job and each process
        ledger: Ledger at 0;
        /// Slow ranks, nodes, storage targets, time windows or calls, and the run time that each costs the job
        causes: Causes at 0;
        /// Operations, ranks, nodes, storage targets or files that are slower than their peers
        outliers: Outliers at 2;
        /// Distribution of accesses over stripes and storage targets; stripes that several ranks write concurrently
        stripes: Stripes at 3;
        /// I/O of the job and its files: sizes, patterns, times per process, kinds of files
        counters: Counters at 6;
        /// Time inside MPI-IO and HDF5 calls: system calls, locks, communication; aggregators, late ranks, concurrency
        layers: Layers at 4;
        /// Rules of thumb (those of the tool Drishti), and findings from single calls: needless traffic, small requests, idle ranks
        checks: Checks at 5;
        /// Bandwidth, request sizes and calls in flight over time; I/O phases
        timeline: Timeline at 1;
        /// Access patterns: reads and writes of each process as loops that regenerate them exactly; ranks with equal patterns
        signatures: Signatures at 8;
        /// Functions and lines of the program that make the calls, and what they cost
        sites: Sites at 9;
    }
    several runs {
        /// Differences between two runs of a program, and which of them are larger than chance explains
        compare: Compare;
        /// Many jobs, a row for each: which do most I/O, and how; Parquet tables for SQL and data frames
        corpus: Corpus;
        /// Runs of a program side by side: time in MPI-IO, POSIX and locks, bandwidth, sizes, efficiency, by ranks or an option
        scaling: Scaling;
    }
}

impl TryFrom<String> for Code {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        codes().into_iter().find(|code| code.name() == name).ok_or_else(|| format!("there is no finding {name}"))
    }
}

/// Writes the result of a command in the format that the options request; returns the exit code.
fn finish(outcome: &impl Outcome, output: &Output, style: &Style, out: &mut dyn Write) -> Result<Exit> {
    let style = Style { format: output.format, table: output.table.clone(), ..style.clone() };
    if outcome.untimed() {
        render::write(&render::Untimed(outcome), &style, out)?;
    } else {
        render::write(outcome, &style, out)?;
    }
    Ok(outcome.exit(output.fail_on))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{About, Evidence, Severity};

    const DOCS: &str = include_str!("../../../docs/analyses.md");

    #[test]
    fn names_and_json_agree_and_every_code_is_documented_once() {
        let all = codes();
        let mut names: Vec<&str> = all.iter().map(|code| code.name()).collect();
        for code in &all {
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{}\"", code.name()));
            assert_eq!(serde_json::from_str::<Code>(&format!("\"{}\"", code.name())).unwrap(), *code);
            assert!(DOCS.contains(&format!("| {} |", code.name())), "{} is not in docs/analyses.md", code.name());
        }
        names.dedup();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn a_finding_can_be_sent_without_its_saving() {
        let finding = Finding {
            code: Code::DAMAGED,
            about: About { rank: Some(3), ..About::default() },
            severity: Severity::Warn,
            title: "rank 3 is cut".into(),
            evidence: vec![Evidence::of("at 1 s".into(), About { offset: Some(7), ..About::default() })],
            cost_ns: Some(5),
            saving: None,
            hint: "repeat it".into(),
        };
        let mut sent = serde_json::to_value(&finding).unwrap();
        sent["saves_ns"] = 9.into();
        let got: Finding = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!((&got, got.title.to_string(), &*got.hint), (&finding, "rank 3 is cut".into(), "repeat it"));
        assert_eq!(got.evidence.iter().map(Evidence::words).collect::<Vec<_>>(), ["at 1 s"]);
        sent["code"] = "DXT-X000".into();
        let failed = serde_json::from_value::<Finding>(sent).unwrap_err();
        assert!(failed.to_string().contains("there is no finding DXT-X000"), "{failed}");
    }

    #[test]
    fn every_topic_is_documented() {
        for name in NAMES {
            // A section, a linked page of its own, or a mention describes a topic.
            let ways = [format!("\n## {name}\n"), format!("({name}.md)"), format!("`{name}`")];
            assert!(ways.iter().any(|way| DOCS.contains(way)), "{name} is not in docs/analyses.md");
        }
    }

    #[test]
    fn explanations_have_no_gaps() {
        for code in codes() {
            let of = code.explanation();
            for text in [of.meaning, of.computed, of.remedy] {
                assert!(!text.contains("  "), "{}: {text}", code.name());
            }
        }
    }

    #[test]
    fn thresholds_that_explanations_name_exist() {
        let known: Vec<&str> = crate::thresholds::Thresholds::default().all().iter().map(|known| known.name).collect();
        for code in codes() {
            let words = crate::thresholds::names_in(code.explanation().computed);
            // Variables of the tracer (DXT_...) are no thresholds.
            for word in words.filter(|word| word.contains('_') && !word.starts_with("DXT_")) {
                assert!(known.contains(&word), "{}: {word} is no threshold", code.name());
            }
        }
    }
}
