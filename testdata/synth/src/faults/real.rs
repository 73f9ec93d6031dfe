//! Real programs under the tracer with a library behind it that delays chosen calls.

use super::Choice;
use super::truth::Truth;
use std::path::Path;

pub(super) fn run(_built: &Path, _folder: &Path, _choice: &Choice) -> anyhow::Result<Vec<Truth>> {
    Ok(Vec::new())
}
