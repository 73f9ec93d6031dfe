//! The ends of a process, and of a program; its limits of memory.

mod becomes;
mod ends;
mod limits;

pub(super) use becomes::BECOMES;
pub(super) use ends::ENDS;
pub(super) use limits::LIMITS;
