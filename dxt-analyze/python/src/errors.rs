//! Conversion of the analyzer's errors to Python exceptions with the same messages.

use dxt_analyze::exit::UsageError;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(dxt, DxtError, PyException, "A trace or a log cannot be read.");

/// Converts an error to a Python exception: `ValueError` for an invalid argument, `OSError` for an error from the operating system, else `DxtError`.
pub(crate) fn raised(error: &anyhow::Error) -> PyErr {
    let words = format!("{error:#}");
    if error.downcast_ref::<UsageError>().is_some() {
        // Command-line options are arguments in Python, without the leading dashes.
        return PyValueError::new_err(words.strip_prefix("--").map(str::to_owned).unwrap_or(words));
    }
    let number = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()?.raw_os_error());
    match number {
        Some(number) => PyOSError::new_err((number, words)),
        None => DxtError::new_err(words),
    }
}
