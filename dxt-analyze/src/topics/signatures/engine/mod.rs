//! The engine of the signatures: from accesses to loop nests, and back. It knows no trace, no file and no rank's name; its
//! modules use the standard library only.
//!
//! [`Recogniser`] takes the accesses of one stream (one process, thread, file and layer) in the order of the trace and
//! gives a [`Signature`]: loop nests that regenerate the accesses exactly, and residue that is only counted.
//! [`expand`] shares no arithmetic with it. [`global`] puts the signatures of many ranks together.

pub mod access;
pub mod across;
pub mod classes;
mod cursor;
pub mod expand;
pub mod global;
pub mod iosig;
pub mod nest;
pub mod parse;
pub mod print;
pub mod recognise;
mod resplit;
mod run;
pub mod signature;
mod stack;
pub mod succession;
pub mod tiles;
pub mod times;
mod turn;
#[cfg(test)]
mod verify;

#[cfg(test)]
mod tests;

pub use access::{Access, Accesses};
pub use nest::{Leaf, Loop, Node, Step};
pub use recognise::{Limits, Recogniser};
pub use signature::{Item, Pattern, Residue, Signature};
pub use times::Intervals;
