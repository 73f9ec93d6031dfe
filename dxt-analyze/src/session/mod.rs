//! First steps of every command: opens the job, applies the selection, and reads layouts and thresholds.

mod inputs;

pub use inputs::{Inputs, LayerName, Output, PageOutput};

use crate::exit::UsageError;
use crate::layouts::Rules;
use crate::limits::TEXT_BYTES;
use crate::model::select::{self, Selection};
use crate::model::{FileLayout, Run};
use crate::pattern::Pattern;
use crate::scan::selection;
use crate::thresholds::Thresholds;
use anyhow::{Context, Result, ensure};
use std::io::Read as _;
use std::path::Path;
use trace_format::op::Layer;

/// Loads the job that the options name, and narrows it to the selection.
pub(crate) fn open(inputs: &Inputs) -> Result<Run> {
    let (mut run, chosen) = load(inputs)?;
    run.check_for(&chosen)?;
    let had_any = selection::has_any(&run);
    run.select(chosen);
    if had_any {
        selection::check(&run)?;
    }
    Ok(run)
}

/// Loads two jobs and applies the selection to both; the selection may match nothing in one of them.
pub(crate) fn open_both(inputs: [&Inputs; 2]) -> Result<[Run; 2]> {
    let open = |inputs: &Inputs| {
        let named =
            || inputs.traces.first().map(|path| format!("failed to load {}", path.display())).unwrap_or_default();
        load(inputs).with_context(named)
    };
    let [(mut one, of_one), (mut two, of_two)] = [open(inputs[0])?, open(inputs[1])?];
    if two.check_for(&of_two).is_err() {
        one.check_for(&of_one)?;
    }
    let had_any = selection::has_any(&one) && selection::has_any(&two);
    one.select(of_one);
    two.select(of_two);
    if had_any && !selection::has_any(&two) {
        selection::check(&one)?;
    }
    Ok([one, two])
}

/// Loads the job that the options name, and parses the selection without applying it.
fn load(inputs: &Inputs) -> Result<(Run, Selection)> {
    let thresholds = thresholds(inputs.thresholds.as_deref())?;
    let chosen = selection(inputs)?;
    let mut run = crate::load::load_paths(&inputs.traces, inputs.job.as_deref())?;
    run.thresholds = thresholds;
    Ok((run, chosen))
}

pub(crate) fn thresholds(path: Option<&Path>) -> Result<Thresholds> {
    let Some(path) = path else { return Ok(Thresholds::default()) };
    let place = || format!("failed to read the thresholds in {}", path.display());
    Thresholds::parse(&text(path).with_context(place)?).with_context(place)
}

/// Reads a text file that the user named; fails if the file is larger than [`TEXT_BYTES`].
fn text(path: &Path) -> Result<String> {
    let mut text = String::new();
    crate::input::open(path)?.take(TEXT_BYTES + 1).read_to_string(&mut text)?;
    ensure!(text.len() as u64 <= TEXT_BYTES, "it is longer than {} MiB", TEXT_BYTES >> 20);
    Ok(text)
}

pub(crate) fn selection(inputs: &Inputs) -> Result<Selection> {
    let pattern = |glob: &String| Pattern::new(glob).map_err(|error| UsageError(format!("--files {glob}: {error}")));
    let mut words = Vec::new();
    let mut said = |option, values: &[String]| words.extend((!values.is_empty()).then(|| (option, values.join(" "))));
    said("--ranks", inputs.ranks.as_slice());
    said("--files", &inputs.files);
    let layers: Vec<Layer> = inputs.layer.iter().map(|name| Layer::from(*name)).collect();
    said("--layer", &layers.iter().map(|layer| layer.name().to_owned()).collect::<Vec<String>>());
    said("--time", inputs.time.as_slice());
    Ok(Selection {
        ranks: inputs.ranks.as_deref().map(select::ranks).transpose()?.unwrap_or_default(),
        files: inputs.files.iter().map(pattern).collect::<Result<_, _>>()?,
        layers,
        window: inputs.time.as_deref().map(select::window).transpose()?,
        words,
    })
}

/// Returns the stripe layout of each file of the run, from the layout rules in the file `path`, if given, else from the trace, else
/// guessed.
pub(crate) fn layouts(run: &Run, path: Option<&Path>) -> Result<Vec<Option<FileLayout>>> {
    let rules =
        match path {
            None => None,
            Some(path) => {
                let text = text(path).with_context(|| format!("failed to read the layouts in {}", path.display()))?;
                let parsed = Rules::parse(&text);
                Some(parsed.map_err(|error| {
                    UsageError(format!("failed to read the layouts in {}: {error:#}", path.display()))
                })?)
            }
        };
    Ok(run.files.iter().map(|file| crate::layouts::effective(file, rules.as_ref())).collect())
}
