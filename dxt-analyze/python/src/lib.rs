//! Module `dxt._dxt`: the compiled half of the Python package; the other half is `../dxt/`. Long work runs on other threads while the
//! calling thread checks for signals. There is no unsafe code here; PyO3 and arrow create the capsules.
//!
//! * `job`: a job, and queries on it.
//! * `segments`, `table`: objects that other programs read as Arrow; `capsules`: their Arrow capsules.
//! * `rows`: small tables as dicts; `errors`: errors as exceptions; `wait`: waiting that a signal can end.

#![forbid(unsafe_code)]

mod capsules;
mod errors;
mod job;
mod rows;
mod segments;
mod table;
mod wait;

use pyo3::prelude::*;

/// Compiled part of the Python package ``dxt``.
#[pymodule]
fn _dxt(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Standard error belongs to the Python program.
    dxt_analyze::progress::be_quiet();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DxtError", module.py().get_type::<errors::DxtError>())?;
    module.add_class::<job::Job>()?;
    module.add_class::<segments::Segments>()?;
    module.add_class::<table::Table>()
}
