//! Tables that are small enough to be held in memory.

use crate::{capsules, rows};
use arrow_array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

/// Table for any consumer of Arrow data; ``rows()`` returns it as dicts.
#[pyclass(frozen, module = "dxt")]
pub(crate) struct Table(pub(crate) RecordBatch);

#[pymethods]
impl Table {
    /// Returns the columns as an Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsules::schema(py, &self.0.schema())
    }

    /// Returns the rows as an Arrow stream. A requested schema is ignored, which the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        capsules::batch(py, &self.0)
    }

    /// Names of the columns, in order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// Returns the rows as dicts; times (``*_unix_ns``) are ints, in ns since 1970.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        rows::dicts(py, &self.0)
    }
}
