//! Segments as Arrow streams; each stream reads the trace again.

use crate::capsules;
use crate::errors::raised;
use dxt_analyze::frames::Opened;
use dxt_analyze::frames::stream::{Damage, Losses};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::sync::{Mutex, PoisonError};

/// Segments of a job, or of a part of one, with some columns or all; docs/interop.md explains the columns.
///
/// Any consumer of Arrow streams accepts this object (``polars.DataFrame(it)``, ``pyarrow.table(it)``, ``pandas.DataFrame.from_arrow(it)``,
/// DuckDB by its name in a query), any number of times: the trace is read again each time.
#[pyclass(frozen, module = "dxt")]
pub(crate) struct Segments {
    job: Opened,
    columns: Option<Vec<String>>,
    strict: bool,
    /// Counts of the data that the latest stream could not read.
    losses: Mutex<Losses>,
}

impl Segments {
    pub(crate) fn new(job: Opened, columns: Option<Vec<String>>, strict: bool) -> PyResult<Self> {
        Opened::columns(columns.as_deref()).map_err(|error| raised(&error))?;
        Ok(Self { job, columns, strict, losses: Mutex::default() })
    }
}

#[pymethods]
impl Segments {
    /// Returns the columns as an Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = Opened::columns(self.columns.as_deref()).map_err(|error| raised(&error))?;
        capsules::schema(py, &schema)
    }

    /// Returns the rows as an Arrow stream. A requested schema is ignored, which the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let damage = if self.strict { Damage::Fails } else { Damage::IsLeftOut };
        let stream = py.detach(|| self.job.segments(self.columns.as_deref(), damage));
        let stream = stream.map_err(|error| raised(&error))?;
        *self.losses.lock().unwrap_or_else(PoisonError::into_inner) = stream.losses();
        capsules::segments(py, stream, self.strict)
    }

    /// Names of the columns, in order.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        let schema = Opened::columns(self.columns.as_deref()).map_err(|error| raised(&error))?;
        Ok(schema.fields().iter().map(|field| field.name().clone()).collect())
    }

    /// Data that the last stream has skipped so far with ``strict=False``: a dict of ``segments``, ``blocks`` and ``problems`` (each with
    /// ``file``, ``offset`` and ``what``).
    #[getter]
    fn lost<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lost = self.losses.lock().unwrap_or_else(PoisonError::into_inner).so_far();
        let out = PyDict::new(py);
        out.set_item("segments", lost.segments.saturating_add(lost.without_stream))?;
        out.set_item("blocks", lost.blocks)?;
        let problems = lost.problems.iter().map(|problem| {
            let row = PyDict::new(py);
            row.set_item("file", &problem.file)?;
            row.set_item("offset", problem.offset)?;
            row.set_item("what", &problem.what)?;
            Ok(row)
        });
        out.set_item("problems", problems.collect::<PyResult<Vec<_>>>()?)?;
        Ok(out)
    }
}
