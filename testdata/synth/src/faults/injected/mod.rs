//! Injected faults: each changes a parameter of a job, and defines the findings that name it. Their words describe the cause, not a
//! particular analyzer.
//!
//! * `machine`: slow or overloaded units outside the program; `program`: poor behaviour of the program itself.

mod machine;
mod program;
#[cfg(test)]
mod tests;

use super::job::Job;
use super::truth::Right;
pub(super) use machine::*;
pub(super) use program::*;

pub(super) struct Fault {
    /// Description of the fault.
    pub(super) cause: String,
    /// Function that adds the fault to a job.
    pub(super) inject: Box<dyn Fn(&mut Job)>,
    /// Criteria of right findings.
    pub(super) right: Vec<Right>,
}

fn fault(cause: impl Into<String>, right: Vec<Right>, inject: impl Fn(&mut Job) + 'static) -> Fault {
    Fault { cause: cause.into(), inject: Box::new(inject), right }
}

fn numbers(of: &[u32]) -> Vec<String> {
    of.iter().map(u32::to_string).collect()
}
