//! Streams: what a process's calls of one operation on one file are, and who made them.

use super::{FileId, Manner};

/// A stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Id that segments carry.
    pub id: u32,
    /// Index into [`crate::model::Run::files`].
    pub file: FileId,
    /// Index into [`crate::model::Run::ops`].
    pub op: u16,
    /// Made inside an MPI-IO call.
    pub nested: bool,
    /// Made inside an HDF5 call.
    pub in_hdf5: bool,
    /// Calls of a library (HDF5, PnetCDF) that a Darshan log counts: what the library did inside stands beside them as if the
    /// program had called it, since the log does not tell.
    pub overview: bool,
    /// Index into [`crate::model::Run::data_sets`] of the data set that it is about.
    pub data_set: Option<u32>,
    /// How its file was opened.
    pub manner: Manner,
    /// The calls failed.
    pub failed: bool,
    /// How they failed.
    pub errno: u16,
    /// Successful reads or writes of the layer that reaches storage for this file: what stripe audits look at.
    pub storage: bool,
    /// Calls of MPI's in which processes meet, which are no I/O: only who looks for them finds them.
    pub meets: bool,
    /// Whether it is looked at: see [`super::select`].
    pub chosen: bool,
}

/// Who made calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Within {
    /// The program, see [`Stream::overview`]: no sum over what the program did has them.
    Overview,
    /// The program.
    Nothing,
    /// HDF5, inside a call of the program.
    Hdf5,
    /// MPI-IO, inside a call of the program or of HDF5.
    Mpiio,
}

impl Stream {
    /// Who made its calls.
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
