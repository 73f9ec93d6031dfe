//! Remedies below the findings of the first screen, as the terminal shows them.

use super::result::{SHOWN, Weighed};
use crate::render::Part;

/// Returns the remedies of the findings on the first screen that save time; empty if there are none.
pub(crate) fn parts(findings: &[Weighed]) -> Vec<Part> {
    let mut lines: Vec<String> = Vec::new();
    let mut shown: Vec<&[String]> = Vec::new();
    let saves = |weighed: &&Weighed| weighed.finding.saving.is_some_and(|saving| saving.saves_ns > 0);
    for weighed in findings.iter().filter(saves).take(SHOWN) {
        for remedy in &weighed.commands {
            if shown.contains(&remedy.typed.as_slice()) {
                continue;
            }
            shown.push(&remedy.typed);
            let when = remedy.only_if.map_or_else(String::new, |when| format!(", if {when}"));
            let code = remedy.of.unwrap_or(weighed.finding.code);
            lines.push(format!("{}: {} ({}{when})", code.name(), remedy.what.name(), remedy.why));
            lines.extend(remedy.typed.iter().map(|line| format!("    {line}")));
        }
    }
    if lines.is_empty() { Vec::new() } else { vec![Part::Heading("What to type".into()), Part::Lines(lines)] }
}
