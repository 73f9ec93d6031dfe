//! The report page as one self-contained HTML file with the files of `assets/report/` and the plotting library built in; nothing is
//! fetched. The content security policy names the scripts by their hash, so names in a trace cannot run as scripts.

use super::built_in::{self, ECHARTS, json};
use super::{OF_THE_TRACE, Parts, first, html};
use crate::findings::{Code, Finding};
use crate::text::printable::printable;
use crate::text::units;
use crate::topics::report::Section;
use anyhow::Result;
use maud::html;
use std::collections::BTreeSet;

/// HTML id of the section that directly follows the charts.
const FIRST: &str = "summary";
/// HTML id of the section with the findings that belong to no other section.
const FINDINGS: &str = "findings";
const MISSING: &str = "Limits of this trace";

const PAGE: &str = include_str!("../../assets/report/page.html");
const SCRIPTS: [&str; 20] = [
    include_str!("../../assets/report/units.js"),
    include_str!("../../assets/report/data.js"),
    include_str!("../../assets/report/theme.js"),
    include_str!("../../assets/report/state.js"),
    include_str!("../../assets/report/tooltip.js"),
    include_str!("../../assets/report/raster.js"),
    include_str!("../../assets/report/legend.js"),
    include_str!("../../assets/report/tiles.js"),
    include_str!("../../assets/report/calls.js"),
    include_str!("../../assets/report/pointed.js"),
    include_str!("../../assets/report/map.js"),
    include_str!("../../assets/report/series.js"),
    include_str!("../../assets/report/offsets.js"),
    include_str!("../../assets/report/boxes.js"),
    include_str!("../../assets/report/zoom.js"),
    include_str!("../../assets/report/alternatives.js"),
    include_str!("../../assets/report/tables.js"),
    include_str!("../../assets/report/sideways.js"),
    include_str!("../../assets/report/print.js"),
    include_str!("../../assets/report/main.js"),
];

pub(crate) fn assemble(parts: &Parts<'_>) -> Result<String> {
    let program = parts.exe.rsplit('/').next().unwrap_or_default().to_owned();
    let name = if program.is_empty() { "a job".to_owned() } else { program };
    let entry = |id: &str, title: &str| html! { li { a href={ "#" (id) } { (title) } } };
    let (mut sections, others): (Vec<&Section>, Vec<&Section>) =
        parts.sections.iter().partition(|section| section.id == FIRST);
    sections.extend(others);
    let entries = |sections: &[&Section]| html! { @for section in sections { (entry(section.id, section.title)) } };
    // Findings that belong to no section are shown in full in a separate section.
    let in_sections = || parts.sections.iter().flat_map(|section| &section.findings);
    let anchors: BTreeSet<String> = in_sections().map(html::anchor).collect();
    let others_found: Vec<Finding> = parts
        .verdict
        .findings
        .iter()
        .map(|weighed| weighed.finding.clone())
        .filter(|finding| !OF_THE_TRACE.contains(&finding.code) && !anchors.contains(&html::anchor(finding)))
        .collect();
    let anchors = others_found.iter().chain(in_sections()).map(html::anchor).collect();
    let beside = units::counted(others_found.len() as u64, "finding");
    let about = "Findings at the top of this page that belong to no section below, with all their evidence.";
    let found = html::all_findings(&others_found, parts.names);
    let found = html::folded(FINDINGS, "Findings in full", about, &beside, &found);
    let has_found = !others_found.is_empty();
    let context = first::FindingContext { names: parts.names, anchors: &anchors, run_ns: parts.verdict.run_ns };
    let codes = html::folded(
        "codes",
        "Meaning of the codes",
        "How each finding on this page is computed, and the source of its rule.",
        "",
        &first::codes(&codes(parts)),
    );
    let missing = html::unfolded("missing", MISSING, &first::missing(parts.verdict));
    let filled = vec![
        ("title", html::visible(&html! { "I/O of " (printable(&name)) })),
        ("job", html::visible(&first::job(parts.verdict))),
        (
            "menu",
            html::visible(
                &html! { @if has_found { (entry(FINDINGS, "In full")) } (entries(&sections)) (entry("codes", "Codes")) (entry("missing", "Limits")) },
            ),
        ),
        ("verdict", html::visible(&first::screen(parts.verdict, parts.ledger, &context))),
        (
            "sections",
            html::visible(
                &html! { @if has_found { (found) } @for section in &sections { (html::section(section, parts.names)) } (codes) (missing) },
            ),
        ),
        ("data", json(parts.data)?),
        ("echarts", ECHARTS.to_owned()),
    ];
    Ok(built_in::page(PAGE, &SCRIPTS, built_in::policy, filled))
}

fn codes(parts: &Parts<'_>) -> BTreeSet<Code> {
    let weighed = parts.verdict.findings.iter().flat_map(|weighed| [&weighed.finding].into_iter().chain(&weighed.also));
    weighed.chain(parts.sections.iter().flat_map(|section| &section.findings)).map(|finding| finding.code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_script_ends_itself() {
        for script in SCRIPTS {
            assert!(!script.contains("</script"), "it would end itself");
        }
    }
}
