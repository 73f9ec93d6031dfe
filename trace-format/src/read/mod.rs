//! Reader of trace files in bounded memory. Intact parts of a truncated or damaged file are read; every other part is a [`Problem`] with its
//! offset. [`Region::expected_segments`] minus the number of segments read is the number of segments lost.

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
