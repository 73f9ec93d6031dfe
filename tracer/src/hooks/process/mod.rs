//! Wraps functions that end a process, replace its program, confine it, or limit its memory.

mod confines;
mod exec;
mod exit;
mod limits;
mod preload;
mod untraceable;

pub(super) use confines::{CONFINES, by_prctl, by_seccomp};
pub(super) use exec::BECOMES;
pub(super) use exit::ENDS;
pub(super) use limits::LIMITS;
