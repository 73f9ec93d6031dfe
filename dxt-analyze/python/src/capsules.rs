//! Record batches as capsules of the Arrow PyCapsule interface
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>), which consumers use without copying the data.

use crate::errors::raised;
use crate::wait::PATIENCE;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use dxt_analyze::frames::stream::{Next, Segments};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::thread::ThreadId;

pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| raised(&error.into()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Wraps one record batch in an Arrow capsule, as a stream.
pub(crate) fn batch<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = batch.schema();
    stream(py, Box::new(RecordBatchIterator::new([Ok(batch.clone())], schema)))
}

/// Wraps a stream of segments in an Arrow capsule; segments are read while the stream is consumed.
pub(crate) fn segments(py: Python<'_>, segments: Segments, strict: bool) -> PyResult<Bound<'_, PyCapsule>> {
    let schema = segments.schema();
    stream(py, Box::new(Reader { segments, schema, strict, asked_by: std::thread::current().id() }))
}

fn stream(py: Python<'_>, reader: Box<dyn RecordBatchReader + Send>) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

/// Stream of record batches. The consumer of an Arrow capsule calls this stream from any thread, attached to Python or not.
struct Reader {
    segments: Segments,
    schema: SchemaRef,
    strict: bool,
    /// Thread that requested the stream. Only this thread checks for signals, since another thread may not be allowed to wait for Python.
    asked_by: ThreadId,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.segments.next_within(PATIENCE) {
                Ok(Next::Batch(batch)) => return self.signals().map_or(Some(Ok(batch)), |error| Some(Err(error))),
                Ok(Next::End) => return None,
                Ok(Next::NotYet) => {
                    if let Some(error) = self.signals() {
                        return Some(Err(error));
                    }
                }
                Err(error) => {
                    let hint = if self.strict { " (strict=False leaves out what cannot be read)" } else { "" };
                    return Some(Err(ArrowError::ExternalError(format!("{error:#}{hint}").into())));
                }
            }
        }
    }
}

impl Reader {
    /// Checks for signals and returns the exception raised by a signal handler, which the consumer turns into an exception of its own. A
    /// keyboard interrupt is therefore raised again as soon as Python code runs, so that it is not mistaken for an error.
    fn signals(&self) -> Option<ArrowError> {
        if self.asked_by != std::thread::current().id() {
            return None;
        }
        Python::try_attach(|py| {
            let raised = py.check_signals().err()?;
            // Formatted before the interrupt is raised again: formatting checks for signals as well, and would consume that interrupt.
            let words = format!("interrupted: {raised}");
            if raised.is_instance_of::<PyKeyboardInterrupt>(py) {
                let again = py.import("_thread").and_then(|module| module.call_method0("interrupt_main"));
                // Fails only if SIGINT is ignored; then there was no interrupt to raise again.
                drop(again);
            }
            Some(ArrowError::ExternalError(words.into()))
        })
        .flatten()
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}
