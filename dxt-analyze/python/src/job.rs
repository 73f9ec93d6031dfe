//! Job opened for analysis in Python. Results are passed as JSON texts, which the Python code in `../dxt/` decodes.

use crate::segments::Segments;
use crate::table::Table;
use crate::wait::wait;
use dxt_analyze::exit::UsageError;
use dxt_analyze::frames::{Opened, Table as Which};
use dxt_analyze::session::{Inputs, LayerName};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Job, or part of a job, opened for analysis.
#[pyclass(frozen, module = "dxt._dxt")]
pub(crate) struct Job(Opened);

/// Filter that selects a part of a job, in the syntax of the command line.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Choice {
    ranks: Option<String>,
    files: Vec<String>,
    layer: Vec<String>,
    time: Option<String>,
}

impl Choice {
    fn inputs(self) -> anyhow::Result<Inputs> {
        let layer = |name: &String| {
            name.parse::<LayerName>().map_err(|names| UsageError(format!("layer: '{name}' is none of {names}")))
        };
        let layer = self.layer.iter().map(layer).collect::<Result<_, _>>()?;
        let Self { ranks, files, time, .. } = self;
        Ok(Inputs { traces: Vec::new(), job: None, ranks, files, layer, time, thresholds: None })
    }
}

#[pymethods]
impl Job {
    #[new]
    fn new(
        py: Python<'_>,
        traces: Vec<PathBuf>,
        job: Option<String>,
        layout: Option<PathBuf>,
        thresholds: Option<PathBuf>,
        debug_dirs: Vec<PathBuf>,
    ) -> PyResult<Self> {
        let (ranks, files, layer, time) = Default::default();
        let inputs = Inputs { traces, job, ranks, files, layer, time, thresholds };
        wait(py, move || Opened::new(&inputs, layout, &debug_dirs)).map(Self)
    }

    /// Returns the part of the job that `choice` selects.
    fn part(&self, py: Python<'_>, choice: Choice) -> PyResult<Self> {
        let job = self.0.clone();
        wait(py, move || job.part(&choice.inputs()?)).map(Self)
    }

    /// Returns true if no data is known to be missing, and remarks on the job for the user.
    fn remarks(&self, py: Python<'_>) -> (bool, Vec<String>) {
        py.detach(|| self.0.remarks())
    }

    fn summary(&self, py: Python<'_>, top: usize, profiles: bool) -> PyResult<String> {
        let job = self.0.clone();
        wait(py, move || job.summary(top, profiles))
    }

    fn findings(&self, py: Python<'_>) -> PyResult<String> {
        let job = self.0.clone();
        wait(py, move || job.findings())
    }

    fn layouts(&self, py: Python<'_>) -> PyResult<String> {
        let job = self.0.clone();
        wait(py, move || job.layouts())
    }

    fn files(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, Which::Files)
    }

    fn ranks(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, Which::Ranks)
    }

    fn findings_table(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, Which::Findings)
    }

    fn sites(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, Which::Sites)
    }

    fn segments(&self, columns: Option<Vec<String>>, strict: bool) -> PyResult<Segments> {
        Segments::new(self.0.clone(), columns, strict)
    }
}

impl Job {
    fn table(&self, py: Python<'_>, which: Which) -> PyResult<Table> {
        let job = self.0.clone();
        wait(py, move || job.table(which)).map(Table)
    }
}
