//! Operations: what a stream does. The table of operations travels in the trace (job block), so a reader needs no
//! list of its own, and a newer tracer's operations are shown by an older analyzer.

use crate::coded::coded;
use serde::{Deserialize, Serialize};

/// The interface through which the program made the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum Layer {
    /// System-call wrappers of the C library: open, read, pwrite, ...
    Posix,
    /// C streams: fopen, fread, fwrite, ...
    Stdio,
    /// MPI-IO: `MPI_File_*`.
    Mpiio,
    /// HDF5: `H5F*`, `H5D*`.
    Hdf5,
    /// Parallel netCDF: `ncmpi_*`.
    Pnetcdf,
    /// MPI itself: its collective calls, which touch no file. A segment's offset is the number of a communicator.
    Mpi,
    /// Files of DAOS: `dfs_*`.
    Dfs,
    /// Objects of DAOS: `daos_*`.
    Daos,
    /// One that this version does not know.
    Other,
}

coded!(Layer { Posix = 0, Stdio = 1, Mpiio = 2, Hdf5 = 3, Pnetcdf = 4, Mpi = 5, Dfs = 6, Daos = 7, Other = 0xffff_ffff } else Other);

impl Layer {
    /// Whether its calls do I/O.
    #[must_use]
    pub const fn is_io(self) -> bool {
        !matches!(self, Self::Mpi)
    }

    /// The name that every output shows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Posix => "POSIX",
            Self::Stdio => "STDIO",
            Self::Mpiio => "MPIIO",
            Self::Hdf5 => "HDF5",
            Self::Pnetcdf => "PNETCDF",
            Self::Mpi => "MPI",
            Self::Dfs => "DFS",
            Self::Daos => "DAOS",
            Self::Other => "OTHER",
        }
    }
}

/// What kind of work an operation is; analyses look at this, not at names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum OpClass {
    /// Moves bytes from the file.
    Read,
    /// Moves bytes to the file.
    Write,
    /// Opens or creates.
    Open,
    /// Closes.
    Close,
    /// Makes bytes durable or visible: fsync, fflush, `MPI_File_sync`.
    Sync,
    /// Moves the file position.
    Seek,
    /// Other metadata: stat, truncate, rename, `MPI_File_set_view`, ...
    Metadata,
    /// Takes a lock.
    Lock,
    /// Gives a lock back.
    Unlock,
    /// Maps the file into memory.
    Map,
    /// Talks to other processes, and waits for them; touches no file.
    Communication,
    /// Keeps its thread for operations that go on while the program does: hands them over, or waits for them.
    Wait,
    /// One that this version does not know.
    Other,
}

coded!(OpClass {
    Read = 0, Write = 1, Open = 2, Close = 3, Sync = 4, Seek = 5, Metadata = 6, Lock = 7, Unlock = 8, Map = 9, Communication = 10, Wait = 11,
    Other = 0xffff_ffff
} else Other);

impl OpClass {
    /// Whether the operation moves file data, so that a bandwidth has a meaning.
    #[must_use]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// How the call was made, where one operation name has several forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum OpMode {
    /// The ordinary form; for MPI-IO, an independent blocking call.
    #[default]
    Plain,
    /// A list of buffers: readv, writev and their kin.
    Vectored,
    /// MPI-IO collective: every rank of the communicator takes part.
    Collective,
    /// MPI-IO with the shared file pointer.
    Shared,
    /// MPI-IO collective, in rank order, with the shared file pointer.
    Ordered,
    /// Started and completed by different calls.
    Nonblocking,
    /// MPI-IO split collective (begin ... end).
    Split,
    /// One that this version does not know.
    Other,
}

coded!(OpMode {
    Plain = 0, Vectored = 1, Collective = 2, Shared = 3, Ordered = 4, Nonblocking = 5, Split = 6, Other = 0xffff_ffff
} else Other);

impl OpMode {
    /// Lower-case name, empty for the plain form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Vectored => "vectored",
            Self::Collective => "collective",
            Self::Shared => "shared",
            Self::Ordered => "ordered",
            Self::Nonblocking => "nonblocking",
            Self::Split => "split",
            Self::Other => "other",
        }
    }
}

/// One entry of the operation table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpDef {
    /// Number by which streams refer to it; unique within a trace.
    pub code: u16,
    /// Interface it belongs to.
    pub layer: Layer,
    /// Kind of work.
    pub class: OpClass,
    /// Form of the call.
    pub mode: OpMode,
    /// Lower-case name: `read`, `write`, `open`, `close`, `sync`, `seek`, ...
    pub name: String,
}
