//! Option `-o` of commands that read several runs: writes tables, findings and figures as one HTML file. Figures are SVG, so the page is
//! readable without scripts; its scripts only sort tables and change colours.

use super::built_in;
use super::html;
use super::names::Names;
use crate::progress::say;
use crate::render::{Part, View};
use crate::session::PageOutput;
use crate::text::units;
use crate::topics::report::Section;
use crate::written::{Ours, Target};
use anyhow::Result;
use maud::html;

const PAGE: &str = include_str!("../../assets/several/page.html");
const SCRIPTS: [&str; 4] = [
    include_str!("../../assets/report/theme.js"),
    include_str!("../../assets/report/tables.js"),
    include_str!("../../assets/report/sideways.js"),
    include_str!("../../assets/several/main.js"),
];

/// Returns title and description of the page of a command.
fn titles(subcommand: &str) -> (&'static str, &'static str) {
    match subcommand {
        "compare" => ("Two ways compared", "Differences between the runs, and which of them are significant."),
        _ => ("Runs side by side", "Medians of repeated runs, with minimum and maximum."),
    }
}

/// Writes the page of `view` to the file named by the option `-o`, if given.
///
/// # Errors
/// Fails if the page cannot be written, or would replace another kind of file.
pub fn of_view(place: &PageOutput, subcommand: &str, view: &View) -> Result<()> {
    let Some(output) = &place.output else { return Ok(()) };
    let text = page(subcommand, view);
    Target::new(output, Ours::Page, place.force).stream(|out| Ok(out.write_all(text.as_bytes())?))?;
    say!("wrote {} ({})", output.display(), units::bytes(text.len() as u64));
    Ok(())
}

fn page(subcommand: &str, view: &View) -> String {
    let (title, about) = titles(subcommand);
    let (mut found, mut figures, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for part in &view.parts {
        match part {
            Part::Findings(findings) if findings.is_empty() => {}
            Part::Findings(_) => found.push(part),
            Part::Figure(_) | Part::Flames(_) => figures.push(part),
            _ => rest.push(part),
        }
    }
    let section = |id: &'static str, title: &'static str, parts: Vec<&Part>| Section {
        id,
        title,
        about: "",
        findings: Vec::new(),
        view: View { parts: parts.into_iter().cloned().collect(), max_width: None },
    };
    let names = Names::none();
    let found = (!found.is_empty()).then(|| html::open_section(&section("found", "Findings", found), &names));
    let drawn = (!figures.is_empty()).then(|| html::open_section(&section("charts", "Charts", figures), &names));
    let tables = html::open_section(&section("tables", "In numbers", rest), &names);
    let filled = vec![
        ("title", html! { (title) }.into_string()),
        ("about", html! { (about) }.into_string()),
        ("sections", html::visible(&html! { @for part in found.iter().chain(&drawn).chain([&tables]) { (part) } })),
    ];
    built_in::page(PAGE, &SCRIPTS, built_in::policy_of, filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Cell, Table};

    #[test]
    fn names_in_a_page_end_nothing_and_what_is_no_page_is_kept() {
        let table = Table::of("t", "T", [()]).column("A", "a", |_| Cell::text("</script><b>")).done();
        let view = View { parts: vec![Part::Table(table)], max_width: None };
        let text = page("scaling", &view);
        assert!(text.contains("&lt;/script&gt;&lt;b&gt;"), "{text}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.html");
        let place = PageOutput { output: Some(path.clone()), force: false };
        of_view(&place, "scaling", &view).unwrap();
        of_view(&place, "scaling", &view).unwrap();
        std::fs::write(&path, "mine").unwrap();
        assert!(of_view(&place, "scaling", &view).is_err());
        of_view(&PageOutput::default(), "scaling", &view).unwrap();
    }
}
