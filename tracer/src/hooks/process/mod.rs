//! The ends of a process, and of a program.

mod becomes;
mod ends;

pub(super) use becomes::BECOMES;
pub(super) use ends::ENDS;
