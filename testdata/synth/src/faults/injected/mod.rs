//! Injected faults. A fault changes a parameter of a job, and defines by codes and facts which findings name the fault.
//!
//! * `machine`: slow or overloaded ranks, nodes and OSTs; `program`: inefficient I/O by the program itself; `codes`: codes of findings.

mod codes;
pub use codes::CODES;
mod machine;
mod program;
#[cfg(test)]
mod tests;

use super::job::Job;
use super::truth::Right;
pub(super) use machine::*;
pub(super) use program::*;

pub(super) struct Fault {
    /// Description of the fault in words.
    pub(super) cause: String,
    pub(super) inject: Box<dyn Fn(&mut Job)>,
    /// Criteria by which a finding counts as naming the fault; it must meet one of them.
    pub(super) right: Vec<Right>,
}

fn fault(cause: impl Into<String>, right: Vec<Right>, inject: impl Fn(&mut Job) + 'static) -> Fault {
    Fault { cause: cause.into(), inject: Box::new(inject), right }
}

fn numbers(of: &[u32]) -> Vec<String> {
    of.iter().map(u32::to_string).collect()
}
