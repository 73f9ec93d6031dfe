//! Command `sites`, and its tables.

use super::args::{Args, Options, Stacks};
use super::result::{Row, Sites};
use super::sums::BySite;
use crate::findings::Finding;
use crate::model::Run;
use crate::progress::Bar;
use crate::render::{Cell, FlameGraph, Part, Report, Table, View};
use crate::scan::scan;
use crate::shared::completeness::Completeness;
use crate::symbols::Symbols;
use crate::text::printable::printable;
use crate::text::units;
use crate::topics::Outcome;
use anyhow::{Result, ensure};
use std::path::PathBuf;

/// Loads a run and sums its calls by the places in the program that make them.
///
/// # Errors
/// Fails if nothing can be loaded, or if a flame graph is wanted and there are no call stacks for it.
pub fn sites(args: &Args) -> Result<Sites> {
    let found = sites_of(&crate::session::open(&args.inputs)?, &args.options, &args.debug.dirs);
    let is_drawn = args.options.stacks != Some(Stacks::Flame) || found.flames().is_some();
    ensure!(is_drawn, "this trace has no call stacks of two or more functions");
    Ok(found)
}

/// Sums the calls of a loaded run by the places in the program that make them; `dirs`: directories with debug information.
#[must_use]
pub fn sites_of(run: &Run, options: &Options, dirs: &[PathBuf]) -> Sites {
    let (sums, lost) = scan(run, &BySite, &Bar::new(run.segments(), "call sites"));
    Sites::of(run, &sums, &Symbols::of(run, dirs), options, &lost)
}

impl Outcome for Sites {
    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn missing(&self) -> Vec<&Completeness> {
        vec![&self.missing]
    }
}

impl Sites {
    fn flames(&self) -> Option<FlameGraph> {
        FlameGraph::of(self.stacks.iter().map(|(stack, sums)| (stack.as_slice(), sums.time_ns)))
    }

    /// Returns the call stacks in a form for other programs; `None` if there are none.
    fn stacks_as(&self, form: Stacks) -> Option<Part> {
        let line = |(stack, sums): &(Vec<String>, super::sums::Sums)| {
            format!("{} {}", printable(&stack.join(";")), sums.time_ns / 1000)
        };
        match form {
            Stacks::Collapsed => {
                let lines: Vec<String> = self.stacks.iter().map(line).collect();
                Some(lines.join("\n")).filter(|text| !text.is_empty()).map(Part::Verbatim)
            }
            Stacks::Flame => self.flames().map(|flames| Part::Verbatim(flames.file())),
        }
    }

    fn table(&self) -> Table {
        let callers =
            |row: &&Row| row.site.callers.iter().map(crate::symbols::Place::shown).collect::<Vec<String>>().join(" < ");
        let place = |row: &&Row| row.site.place.shown();
        Table::of("sites", "Places in the program that make calls", &self.sites)
            .column("Share", "share", |row| Cell::Share(row.share))
            .column("Time", "time_s", |row| Cell::Duration(row.time_ns))
            .column("Calls", "calls", |row| Cell::Count(row.calls))
            .column("Bytes", "bytes", |row| Cell::Bytes(row.bytes))
            .column("Layer", "layer", |row| Cell::Layer(row.layer.into()))
            .column("Operation", "operation", |row| Cell::text(row.operation.as_str()))
            .column("Place", "place", move |row| Cell::text(place(row)))
            .column("Through", "through", |row| Cell::text(row.site.through.clone().unwrap_or_default()))
            .column("Called by", "callers", move |row| Cell::text(callers(row)))
            .csv("function", |row| Cell::text(row.site.place.function.as_str()))
            .csv("source_file", |row| Cell::text(row.site.place.file.clone().unwrap_or_default()))
            .csv("line", |row| Cell::maybe(row.site.place.line, |line| Cell::Count(line.into())))
            .csv("module", |row| Cell::text(row.site.module.as_str()))
            .csv("processes", |row| Cell::Count(row.processes))
            .csv("files", |row| Cell::Count(row.files))
            .csv("file", |row| Cell::path(row.file.as_str()))
            .most(self.top)
            .done()
    }
}

impl Report for Sites {
    fn view(&self) -> View {
        if let Some(form) = self.wants_stacks {
            return View { parts: self.stacks_as(form).into_iter().collect(), max_width: None };
        }
        let mut parts: Vec<Part> = self.missing.scope_part().into_iter().collect();
        if self.none_recorded {
            parts.push(Part::Lines(vec!["This trace has no call sites: tracers newer than 0.2.0 record them on x86-64, unless DXT_SITES=off, DXT_ENABLE=counters or DXT_ANONYMIZE is set.".into()]));
        }
        parts.extend(self.flames().map(|flames| Part::Flames(Box::new(flames))));
        parts.push(Part::Table(self.table()));
        if let Some(python) = &self.without_lines {
            parts.push(Part::Lines(vec![format!(
                "{python}: lines of scripts are recorded with Python 3.13, unless it is free-threaded"
            )]));
        }
        if self.unknown_calls > 0 {
            parts
                .push(Part::Lines(vec![format!("{} from unknown places", units::counted(self.unknown_calls, "call"))]));
        }
        parts.push(Part::Findings(self.findings.clone()));
        parts.extend(self.missing.parts());
        View { parts, max_width: None }
    }
}
