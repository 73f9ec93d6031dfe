//! Table with a single topic for tests, which shows everything that a topic needs: a folder and a row.

use super::toy;
use crate::exit::Exit;
use crate::findings::{Code, Finding};
use crate::load::{Source, load};
use crate::progress::Bar;
use crate::render::{Format, Style};
use crate::scan::{Nothing, scan, together};
use crate::shared::completeness;
use crate::shared::totals::{Totals, with_missing};
use crate::topics::report::{self, Found, Job, Options, Reported, Section, Sums};
use crate::topics::{PageWriter, finish, table};
use anyhow::Result;
use clap::Parser;
use std::io::Write;

table::topics! {
    one run {
        /// Number of reads
        toy: Toy at 1;
    }
    several runs {}
}

#[derive(Debug, Parser)]
struct Line {
    #[command(subcommand)]
    subcommand: Command,
}

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/v1.dxt");

#[test]
fn the_row_makes_the_verb() {
    let style = Style { format: Format::Table, color: false, width: None, table: None };
    let mut out = Vec::new();
    let line = Line::parse_from(["dxt-analyze", "toy", TRACE, "--format", "csv", "--fail-on", "info"]);
    assert_eq!(line.subcommand.run(&style, &mut out, &|_, _, _| Ok(())).unwrap(), Exit::Findings);
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("reads\r\n") || text.starts_with("reads\n"), "{text}");
    assert!(text.lines().nth(1).unwrap().parse::<u64>().unwrap() > 0, "{text}");
}

#[test]
fn the_row_makes_its_part_in_the_report_and_in_explain() {
    let run = load(vec![Source::Path(TRACE.into())], None).unwrap();
    let options = Options::findings_only(None);
    let job = Job::new(&run, &options).unwrap();
    let found = whole(&job).unwrap();
    assert!(found.toy.reads > 0);
    assert_eq!(found.sections().iter().map(|section| section.id).collect::<Vec<_>>(), ["toy"]);
    assert!(found.findings().iter().any(|finding| finding.code == Code::TOY));
    assert_eq!(codes().last(), Some(&Code::TOY));
    assert_eq!(NAMES, ["toy"]);
    assert!(!found.sums.all.is_empty());
}
