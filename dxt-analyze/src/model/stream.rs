//! Streams: all calls of one process with one operation on one file that come from one caller (the program, HDF5 or MPI-IO).

use super::{FileId, Manner};

/// Stream: all calls of one process with the same operation, file and caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Stream id, which each segment of the stream carries.
    pub id: u32,
    /// Bits of the stream ids that segments of the stream carry (one for each call site), as in [`trace_format::frame::BlockHead::stream_mask`].
    pub mask: u64,
    /// File of the calls, as an index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Operation of the calls, as an index into [`crate::model::Run::ops`].
    pub op: u16,
    /// True for calls made inside an MPI-IO call.
    pub nested: bool,
    /// True for calls made inside an HDF5 call.
    pub in_hdf5: bool,
    /// True for calls of a library (HDF5, PnetCDF) from a Darshan log. Logs do not record nesting, so the library's inner POSIX and MPI-IO
    /// calls count as calls of the program; sums therefore exclude the library calls.
    pub overview: bool,
    /// HDF5 data set of the calls, as an index into [`crate::model::Run::data_sets`]; `None` for other calls.
    pub data_set: Option<u32>,
    /// Flags with which the file was opened, such as O_DIRECT.
    pub manner: Manner,
    /// Number of the mounted file system that holds the file: calls on different ones are no peers. 0 if mounts are unknown.
    pub mount: u16,
    /// True if all calls of the stream failed (successful ones have a stream of their own).
    pub failed: bool,
    /// errno of the stream's failed calls; 0 if the calls did not fail.
    pub errno: u16,
    /// True for successful reads or writes of the layer whose calls reach the storage system for this file. Stripe analyses use only these calls.
    pub storage: bool,
    /// True for MPI synchronization calls, which are no I/O; analyses skip these calls unless they ask for them.
    pub meets: bool,
    /// True if the user selected the stream, see [`super::select`].
    pub chosen: bool,
}

/// Caller of a stream's calls: the program, HDF5 or MPI-IO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Within {
    /// Calls of a library, such as HDF5, in a Darshan log ([`Stream::overview`]); excluded from sums over the program's calls.
    Overview,
    /// Calls that the program itself made, outside of any traced library call.
    Nothing,
    /// Calls that HDF5 made, inside an HDF5 call of the program.
    Hdf5,
    /// Calls that MPI-IO made, inside an MPI-IO call of the program or of HDF5.
    Mpiio,
}

impl Stream {
    /// Returns the caller of the stream's calls.
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
