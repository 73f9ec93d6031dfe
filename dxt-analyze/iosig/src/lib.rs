//! Recognition of loop nests in streams of file accesses, and expansion of loop nests to accesses.
//!
//! The engine depends on the standard library only and knows nothing of traces, files or ranks. An [`Access`] is an operation number, a
//! byte range and two times. A stream is a sequence of accesses in the order of their starts, usually those of one process, thread, file
//! and I/O layer.
//!
//! [`Recogniser`] compresses a stream to a [`Signature`] in one pass. Its memory is bounded; only the signature grows, up to
//! [`Limits::items`] items. A signature is a sequence of [`Item`]s of two kinds:
//!
//! - [`Pattern`]: a nest of [`Loop`]s that regenerates its accesses exactly. Offsets, lengths and inner iteration counts may be linear in
//!   the indices of all surrounding loops.
//! - [`Residue`]: successive accesses that form no loop; only their totals are stored.
//!
//! Operations, offsets and lengths determine the structure; times never do. Each loop stores only mean and spread of the [`Intervals`]
//! between its iterations.
//!
//! # Example
//!
//! A program writes 100 blocks of 4 KiB, one every 16 KiB and every µs:
//!
//! ```
//! use iosig::expand::{Expected, expand};
//! use iosig::print::{Numbered, text};
//! use iosig::{Access, Recogniser};
//!
//! const WRITE: u16 = 1;
//! let mut recogniser = Recogniser::default();
//! for i in 0..100 {
//!     let start_ns = 1000 * i;
//!     recogniser.push(&Access { op: WRITE, offset: 16_384 * i, length: 4096, start_ns, end_ns: start_ns + 500 });
//! }
//! let signature = recogniser.finish();
//! assert_eq!(
//!     text(&signature, &Numbered).to_string(),
//!     "at 0: 100 x {op1 0+4096 [16384]} every 1000 ns cv 0 of 99, 100 accesses 409600 bytes, from 0 to 99000 ns\n"
//! );
//! assert_eq!(expand(&signature).nth(7), Some(Expected::Access((WRITE, 7 * 16_384, 4096))));
//! ```
//!
//! # Modules
//!
//! - [`access`]: input; [`recognise`]: loop recognition, after Ketterlin and Clauss (CGO 2008).
//! - [`nest`], [`signature`], [`times`], [`succession`]: types of the resulting signatures.
//! - [`expand`]: regenerates accesses from a signature. Shares no arithmetic with loop recognition, so that each checks the other.
//! - [`global`], [`across`], [`tiles`]: patterns across many ranks or files, summarized as a few lines.
//! - [`classes`]: classification of patterns on the five axes of the IOSIG papers.
//! - [`mod@print`], [`parse`], [`notation`]: text forms.

pub mod access;
pub mod across;
pub mod classes;
mod cursor;
pub mod expand;
pub mod global;
pub mod nest;
pub mod notation;
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
