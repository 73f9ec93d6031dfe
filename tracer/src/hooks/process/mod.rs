//! The ends of a process, and of a program; its limits of memory.

mod becomes;
mod confines;
mod ends;
mod limits;
mod preload;
mod untraceable;

pub(super) use becomes::BECOMES;
pub(super) use confines::{CONFINES, by_prctl, by_seccomp};
pub(super) use ends::ENDS;
pub(super) use limits::LIMITS;
pub(crate) use untraceable::look_at_programs;
