//! Summary: the job, its ranks, operations and files, and what the trace lacks.
//!
//! * [`result`]: the result; [`details`]: data sets, hints, datatypes.
//! * [`view`], `tables_details`: how it looks.

pub mod details;
pub mod result;
mod tables_details;
pub mod view;
