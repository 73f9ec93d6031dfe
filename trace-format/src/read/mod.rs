//! The reading half: bytes in, segments out, in bounded memory. What can be read of a cut or damaged file is read; what
//! cannot is a [`Problem`] with its place and, where known, the number of segments it cost.

mod decoder;
mod frames;
mod room;
mod source;
mod trace;

pub use crate::columns::Columns;
pub use decoder::Decoder;
pub use frames::BlockRef;
pub(crate) use room::Meter;
pub use room::Room;
pub use source::Source;
pub use trace::{Problem, Region, RegionRef, Trace};
