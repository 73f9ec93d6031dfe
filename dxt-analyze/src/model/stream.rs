//! Streams: calls of one process with one operation on one file, made by one caller.

use super::{FileId, Manner};

/// Stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Id in segments.
    pub id: u32,
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Index into [`crate::model::Run::ops`].
    pub op: u16,
    /// True for calls made inside an MPI-IO call.
    pub nested: bool,
    /// True for calls made inside an HDF5 call.
    pub in_hdf5: bool,
    /// True for calls of a library (HDF5, PnetCDF) from a Darshan log. The log counts the library's inner calls as if the program had
    /// made them, since it does not record nesting.
    pub overview: bool,
    /// Index into [`crate::model::Run::data_sets`], for calls on a data set.
    pub data_set: Option<u32>,
    /// Open flags of the file.
    pub manner: Manner,
    /// True for failed calls.
    pub failed: bool,
    /// Error of failed calls.
    pub errno: u16,
    /// True for successful reads or writes of the layer that reaches storage for this file. Stripe analyses use these.
    pub storage: bool,
    /// True for MPI synchronization calls, which are no I/O: only code that asks for them gets them.
    pub meets: bool,
    /// True if the stream is selected, see [`super::select`].
    pub chosen: bool,
}

/// Caller of a stream's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Within {
    /// The program, see [`Stream::overview`]: excluded from sums over the program's calls.
    Overview,
    /// The program.
    Nothing,
    /// HDF5, inside a call of the program.
    Hdf5,
    /// MPI-IO, inside a call of the program or of HDF5.
    Mpiio,
}

impl Stream {
    /// Returns the caller.
    #[inline]
    #[must_use]
    pub fn within(&self) -> Within {
        match (self.nested, self.in_hdf5) {
            (true, _) => Within::Mpiio,
            (false, true) => Within::Hdf5,
            (false, false) if self.overview => Within::Overview,
            (false, false) => Within::Nothing,
        }
    }
}
