//! View of the result of `advise`: the advice as a table, and the files written.

use super::{Advice, Item};
use crate::render::{Cell, Part, Report, Table, View};

impl Report for Advice {
    fn view(&self) -> View {
        let mut parts = vec![Part::Lines(vec![self.sentence.clone()])];
        if self.advice.is_empty() {
            parts.push(Part::Lines(vec![
                "no advice: no important finding has a remedy by a command or a setting".into(),
            ]));
        }
        let rows = self.advice.iter().flat_map(|item| item.remedy.lines.iter().map(move |line| (item, line)));
        let table = Table::of("advice", "", rows)
            .column("Finding", "code", |(item, _)| Cell::text(item.code.name()))
            .column("Saves", "saves_s", |(item, _)| Cell::Duration(item.saving.saves_ns))
            .column("Where", "where", |(item, _)| Cell::text(place(item)))
            .column("What", "what", |(_, line)| Cell::text(line.as_str()))
            .column("", "why", |(item, _)| Cell::text(item.remedy.why.as_str()))
            .done();
        parts.push(Part::Table(table));
        let mut lines: Vec<String> = self.written.iter().map(|path| format!("wrote {path}")).collect();
        lines.extend(self.removed.iter().map(|path| format!("removed {path}: it held earlier advice")));
        if self.written.iter().any(|path| !path.ends_with(".txt") && !path.ends_with(".sh")) {
            lines.push(format!("use it: dxt-run --hints {} -o traces -- mpirun ...", self.directory));
        }
        parts.extend((!lines.is_empty()).then_some(Part::Lines(lines)));
        View { parts, max_width: None }
    }
}

/// Returns the name of the file to which a setting was written, or the place where the user has to set it.
fn place(item: &Item) -> String {
    match (item.file, &item.not_written) {
        (Some(file), _) => file.to_owned(),
        (None, Some(_)) => format!("not written; {}", item.remedy.what.name()),
        (None, None) => item.remedy.what.name().to_owned(),
    }
}
