//! I/O signatures: recognition of regular patterns in lists of file accesses.
//!
//! A program that writes 100 blocks of 4 KiB, one every 16 KiB and every µs, has a signature of one line:
//!
//! ```
//! use iosig::text::{Numbered, print};
//! use iosig::{Access, Expected, Recogniser, expand};
//!
//! const WRITE: u16 = 1;
//! let mut recogniser = Recogniser::default();
//! for i in 0..100 {
//!     let start_ns = 1000 * i;
//!     recogniser.push(&Access { op: WRITE, offset: 16_384 * i, length: 4096, start_ns, end_ns: start_ns + 500 });
//! }
//! let signature = recogniser.finish();
//! assert_eq!(
//!     print(&signature, &Numbered),
//!     "at 0: 100 x {op1 0+4096 [16384]} every 1000 ns cv 0 of 99, 100 accesses 409600 bytes, from 0 to 99000 ns\n"
//! );
//! assert_eq!(expand(&signature).nth(7), Some(Expected::Access((WRITE, 7 * 16_384, 4096))));
//! ```
//!
//! This crate depends only on the standard library and knows nothing of traces, files or MPI. An [`Access`] is an operation number, a byte
//! range and two times. A stream is a sequence of accesses in the order of their starts, usually of one process, thread, file and I/O layer.
//!
//! [`Recogniser`] compresses a stream to a [`Signature`] in one pass with bounded memory; only the signature grows, up to [`Limits::items`]
//! items. A signature is a sequence of [`Item`]s of two kinds:
//!
//! - [`Pattern`]: a nest of [`Loop`]s that regenerates its accesses exactly. Offsets, lengths and inner iteration counts may be linear in
//!   the indices of all surrounding loops.
//! - [`Residue`]: successive accesses outside loops, of which only totals are stored.
//!
//! Operations, offsets and lengths determine the structure, times never do. Each loop stores only mean and spread of the [`Intervals`]
//! between its iterations.
//!
//! # Use
//!
//! - [`Recogniser`]: recognition of loops; [`expand`], [`expand_nest`]: regeneration of accesses. Recognition and regeneration share no
//!   arithmetic, so that each checks the other.
//! - [`ranks`]: patterns across many ranks or files, summarized as a few lines.
//! - [`classes`]: classification of patterns on the five axes of the IOSIG paper.
//! - [`text`]: printer and parser; [`notation`]: the notation of the IOSIG paper.
//!
//! # Sources
//!
//! - IOSIG, with the five axes and the notation: Byna, Chen, Sun, Thakur & Gropp, SC 2008.
//! - Recognition of loop nests: Ketterlin & Clauss, CGO 2008.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod access;
pub mod classes;
mod cursor;
mod expand;
mod nest;
pub mod notation;
pub mod ranks;
mod recognise;
mod resplit;
mod run;
mod signature;
mod stack;
mod succession;
pub mod text;
mod times;
mod turn;
#[cfg(test)]
mod verify;

#[cfg(test)]
mod tests;

pub use access::{Access, Accesses};
pub use expand::{Expansion, Expected, Untimed, expand, expand_nest};
pub use nest::{Leaf, Loop, Node, Step};
pub use recognise::{Limits, Recogniser};
pub use signature::{Item, Pattern, Residue, Signature};
pub use succession::Succession;
pub use times::{FIXED_CV, Intervals};
