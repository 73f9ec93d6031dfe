//! How `stripes` shows the layouts that were tried.

use crate::render::{Cell, Table};
use crate::text::units;
use crate::topics::stripes::trials::result::{FileTrials, Trial};

/// Layouts of the grid that a table for people shows per file.
const SHOWN_GRID: usize = 3;

/// Today's layout, those asked for, and the best of the grid; in CSV all.
pub(crate) fn trial_table(files: &[FileTrials]) -> Table {
    let (mut shown, mut others) = (Vec::new(), Vec::new());
    for file in files {
        let mut grid: Vec<(usize, &Trial)> =
            file.trials.iter().enumerate().filter(|(_, trial)| trial.kind == "grid").collect();
        grid.sort_by_key(|(number, trial)| (file.recommended != Some(*number), trial.cost_bytes, *number));
        let first = file.trials.iter().enumerate().filter(|(_, trial)| trial.kind != "grid");
        shown
            .extend(first.chain(grid.iter().take(SHOWN_GRID).copied()).map(|(number, trial)| row(file, number, trial)));
        others.extend(grid.into_iter().skip(SHOWN_GRID).map(|(number, trial)| row(file, number, trial)));
    }
    let most = shown.len();
    shown.extend(others);
    Table {
        name: "what_if",
        title: "The same accesses on other layouts".into(),
        columns: vec![
            ("File", "file"),
            ("Layout", "kind"),
            ("Stripes", "stripes"),
            ("", "stripe_size"),
            ("", "stripe_count"),
            ("Unaligned", "unaligned_share"),
            ("Crossing", "crossing_share"),
            ("Contested", "contested_stripes"),
            ("Of nodes", "contested_between_nodes"),
            ("OSTs/op", "osts_per_operation"),
            ("Max/mean", "busiest_ost_to_mean"),
            ("Parallel", "osts_at_work_together"),
            ("Cost", "cost_to_today"),
        ],
        rows: shown,
        most,
    }
}

fn row(file: &FileTrials, number: usize, trial: &Trial) -> Vec<Cell> {
    let share =
        |part: u64| if trial.operations > 0 { Cell::Share(part as f64 / trial.operations as f64) } else { Cell::None };
    let kind = match trial.kind {
        "today" if file.is_guess => "guess",
        _ if file.recommended == Some(number) => "best",
        kind => kind,
    };
    vec![
        Cell::Path(file.file.clone()),
        Cell::Text(kind.into()),
        Cell::Text(format!("{} x {}", units::size_option(trial.stripe_size), trial.stripe_count)),
        Cell::Count(trial.stripe_size),
        Cell::Count(trial.stripe_count),
        share(trial.unaligned),
        share(trial.crossing),
        Cell::Count(trial.contested_stripes),
        Cell::Count(trial.contested_between_nodes),
        Cell::Times(trial.osts_per_operation),
        Cell::Times(trial.busiest_to_mean),
        Cell::Times(trial.parallelism),
        relative(file, trial).map_or(Cell::None, Cell::Times),
    ]
}

/// What `trial` would cost, in units of today's layout.
fn relative(file: &FileTrials, trial: &Trial) -> Option<f64> {
    let today = file.trials.first().filter(|_| !file.is_guess)?.cost_bytes;
    (today > 0).then(|| trial.cost_bytes as f64 / today as f64)
}

/// What to do.
pub(crate) fn trial_lines(files: &[FileTrials]) -> Vec<String> {
    let mut out = Vec::new();
    for file in files {
        let Some(best) = file.recommended.and_then(|best| file.trials.get(best)) else { continue };
        out.push(format!(
            "Recommended for {}: stripes of {} over {} OST(s), {:.2} of today's cost by the model:",
            file.file,
            units::size_option(best.stripe_size),
            best.stripe_count,
            relative(file, best).unwrap_or(1.0)
        ));
        out.extend(file.how.iter().map(|line| format!("  {line}")));
    }
    if let Some(guess) = files.iter().find(|file| file.is_guess) {
        out.push(format!(
            "{}: no layout is known, so others have nothing to be compared with; --layout FILE gives one",
            guess.file
        ));
    }
    out.push(
        "Contested: stripes of which several processes wrote a part, at any time. Cost: by a simple model that ranks layouts and \
         predicts no times (docs/analyses.md)."
            .into(),
    );
    out
}
