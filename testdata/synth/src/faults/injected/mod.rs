//! The faults: each turns a knob of a job, and says which findings name it. The words are those of the cause, not of a
//! particular analyzer.
//!
//! * `machine`: what is slow or crowded outside the program; `program`: what the program itself does badly.

mod machine;
mod program;
#[cfg(test)]
mod tests;

use super::job::Job;
use super::truth::Right;
pub(super) use machine::*;
pub(super) use program::*;

/// A fault.
pub(super) struct Fault {
    /// What it is, in words.
    pub(super) cause: String,
    /// Puts it into a job.
    pub(super) inject: Box<dyn Fn(&mut Job)>,
    /// What would be right to say of it.
    pub(super) right: Vec<Right>,
}

fn fault(cause: impl Into<String>, right: Vec<Right>, inject: impl Fn(&mut Job) + 'static) -> Fault {
    Fault { cause: cause.into(), inject: Box::new(inject), right }
}

fn numbers(of: &[u32]) -> Vec<String> {
    of.iter().map(u32::to_string).collect()
}
