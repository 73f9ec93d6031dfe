//! Wrapped functions that end a process, replace its program, confine it, or limit its memory.

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
