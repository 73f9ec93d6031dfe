//! Tables of the layouts that `stripes` simulated.

use crate::render::{Cell, Table};
use crate::text::units;
use crate::topics::stripes::trials::result::{FileTrials, Trial};

/// Maximum number of layouts from the grid of `--recommend` (stripe sizes and counts) that the terminal shows per file.
const SHOWN_GRID: usize = 3;

/// Builds the table of simulated layouts: the current one, those that the user requested, and the best of the grid of `--recommend`. CSV
/// has the whole grid.
pub(crate) fn trial_table(files: &[FileTrials]) -> Table {
    let (mut shown, mut others) = (Vec::new(), Vec::new());
    for file in files {
        let mut grid: Vec<(usize, &Trial)> =
            file.trials.iter().enumerate().filter(|(_, trial)| trial.kind == "grid").collect();
        grid.sort_by_key(|(number, trial)| (file.recommended != Some(*number), trial.cost_bytes, *number));
        let first = file.trials.iter().enumerate().filter(|(_, trial)| trial.kind != "grid");
        let row = |(number, trial)| Tried { file, number, trial };
        shown.extend(first.chain(grid.iter().take(SHOWN_GRID).copied()).map(row));
        others.extend(grid.into_iter().skip(SHOWN_GRID).map(row));
    }
    let most = shown.len();
    Table::of("what_if", "The same accesses on other layouts", shown.into_iter().chain(others))
        .column("File", "file", |row| Cell::path(&row.file.file))
        .column("Layout", "kind", |row| Cell::text(row.kind()))
        .column("Stripes", "stripes", |row| Cell::Text(row.stripes()))
        .csv("stripe_size", |row| Cell::Count(row.trial.stripe_size))
        .csv("stripe_count", |row| Cell::Count(row.trial.stripe_count))
        .column("Unaligned", "unaligned_share", |row| Cell::share_of(row.trial.unaligned, row.trial.operations))
        .column("Crossing", "crossing_share", |row| Cell::share_of(row.trial.crossing, row.trial.operations))
        .column("Contested", "contested_stripes", |row| Cell::Count(row.trial.contested_stripes))
        .column("Between nodes", "contested_between_nodes", |row| Cell::Count(row.trial.contested_between_nodes))
        .column("OSTs/op", "osts_per_operation", |row| Cell::Times(row.trial.osts_per_operation))
        .column("Max/mean", "busiest_ost_to_mean", |row| Cell::Times(row.trial.busiest_to_mean))
        .column("Parallel", "osts_at_work_together", |row| Cell::Times(row.trial.parallelism))
        .column("Cost", "cost_to_today", |row| Cell::maybe(relative(row.file, row.trial), Cell::Times))
        .most(most)
        .done()
}

/// Layout simulated for a file, with its index among the file's layouts.
struct Tried<'a> {
    file: &'a FileTrials,
    number: usize,
    trial: &'a Trial,
}

impl Tried<'_> {
    fn kind(&self) -> &'static str {
        match self.trial.kind {
            "today" if self.file.is_guess => "guess",
            _ if self.file.recommended == Some(self.number) => "best",
            kind => kind,
        }
    }

    fn stripes(&self) -> String {
        format!("{} x {}", units::size_option(self.trial.stripe_size), self.trial.stripe_count)
    }
}

/// Returns the cost of `trial` / cost of the current layout; `None` if the current layout is a guess or costs nothing.
fn relative(file: &FileTrials, trial: &Trial) -> Option<f64> {
    let today = file.trials.first().filter(|_| !file.is_guess)?.cost_bytes;
    (today > 0).then(|| trial.cost_bytes as f64 / today as f64)
}

pub(crate) fn trial_lines(files: &[FileTrials]) -> Vec<String> {
    let mut out = Vec::new();
    for file in files {
        let Some(best) = file.recommended.and_then(|best| file.trials.get(best)) else { continue };
        out.push(format!(
            "Recommended for {}: stripes of {} over {}, {:.2} times the present cost by the model:",
            file.file,
            units::size_option(best.stripe_size),
            units::counted(best.stripe_count, "OST"),
            relative(file, best).unwrap_or(1.0)
        ));
        out.extend(file.how.iter().map(|line| format!("  {line}")));
    }
    if let Some(guess) = files.iter().find(|file| file.is_guess) {
        out.push(format!(
            "{}: the layout is not known, so other layouts cannot be compared with it; give the layout with --layout FILE",
            guess.file
        ));
    }
    out.push(
        "Contested: stripes partly written by several processes, at any time. Cost: by a simple model that ranks layouts and \
         predicts no times (docs/stripes.md)."
            .into(),
    );
    out
}
