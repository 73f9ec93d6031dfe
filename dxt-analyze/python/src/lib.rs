//! `dxt._dxt`: the analyzer for the Python package, whose other half is `../dxt/`. Long work is done on other threads while this one looks
//! for signals. There is no unsafe code here; PyO3 and arrow make the capsules.
//!
//! * `job`: a job, and what is asked of it; `segments`, `table`: what other programs take as Arrow; `capsules`: how.
//! * `rows`: small tables as dicts; `errors`: errors as exceptions; `wait`: waiting that a signal ends.

#![forbid(unsafe_code)]

mod capsules;
mod errors;
mod job;
mod rows;
mod segments;
mod table;
mod wait;

use pyo3::prelude::*;

/// The compiled half of the package.
#[pymodule]
fn _dxt(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Standard error is Python's.
    dxt_analyze::progress::be_quiet();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DxtError", module.py().get_type::<errors::DxtError>())?;
    module.add_class::<job::Job>()?;
    module.add_class::<segments::Segments>()?;
    module.add_class::<table::Table>()
}
