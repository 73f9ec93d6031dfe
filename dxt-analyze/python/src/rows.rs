//! Small tables as lists of Python dicts.

use crate::errors::DxtError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType, UInt32Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Returns one Python dict for each row of a table.
pub(crate) fn dicts<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyList>> {
    let schema = batch.schema();
    let out = PyList::empty(py);
    for row in 0..batch.num_rows() {
        let dict = PyDict::new(py);
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            dict.set_item(field.name(), value(py, column.as_ref(), row)?)?;
        }
        out.append(dict)?;
    }
    Ok(out)
}

/// Converts one value of a table to a Python object. Tables contain only the types handled here.
fn value<'py>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::Boolean => column.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            column.as_primitive::<TimestampNanosecondType>().value(row).into_pyobject(py)?.into_any()
        }
        DataType::Utf8 => column.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        DataType::List(_) => {
            let values = column.as_list::<i32>().value(row);
            let values = (0..values.len()).map(|at| value(py, values.as_ref(), at));
            PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        other => return Err(DxtError::new_err(format!("a column of type {other} has no form in Python"))),
    })
}
