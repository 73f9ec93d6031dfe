//! Operations (read, write, open, ...) of streams. Each trace contains its table of operations (in the job block), so that an older analyzer
//! can show operations that a newer tracer added.

use crate::coded::coded;
use serde::{Deserialize, Serialize};

/// Interface (layer) through which the program called: POSIX, STDIO, MPI-IO, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum Layer {
    /// System-call wrappers of the C library: open, read, pwrite, ...
    Posix,
    /// C streams (FILE): fopen, fread, fwrite, ...
    Stdio,
    /// MPI-IO: `MPI_File_*`.
    Mpiio,
    /// HDF5: `H5F*`, `H5D*`.
    Hdf5,
    /// Parallel netCDF: `ncmpi_*`.
    Pnetcdf,
    /// MPI itself: collective calls, which touch no file. Their segments hold a communicator id in the field for the file offset.
    Mpi,
    /// DAOS files: `dfs_*`.
    Dfs,
    /// DAOS objects: `daos_*`.
    Daos,
    /// Layer code that this version does not know.
    Other,
}

coded!(Layer { Posix = 0, Stdio = 1, Mpiio = 2, Hdf5 = 3, Pnetcdf = 4, Mpi = 5, Dfs = 6, Daos = 7, Other = 0xffff_ffff } else Other);

impl Layer {
    /// True if calls of the layer do I/O: all layers except MPI communication.
    #[must_use]
    pub const fn is_io(self) -> bool {
        !matches!(self, Self::Mpi)
    }

    /// Returns the layer's name as shown in all outputs, in capitals.
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

/// Kind of work of an operation; analyses decide by the class, not by the operation's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum OpClass {
    /// Moves bytes from the file to memory: read, pread, ...
    Read,
    /// Moves bytes from memory to the file: write, pwrite, ...
    Write,
    /// Opens or creates a file.
    Open,
    /// Closes a file.
    Close,
    /// Makes bytes durable or visible: fsync, fflush, `MPI_File_sync`.
    Sync,
    /// Moves the file position (seek).
    Seek,
    /// Other metadata: stat, truncate, rename, `MPI_File_set_view`, ...
    Metadata,
    /// Takes a lock on a file.
    Lock,
    /// Releases a lock on a file.
    Unlock,
    /// Maps the file into memory.
    Map,
    /// Communicates with other processes and waits for them, without touching a file.
    Communication,
    /// Blocks the calling thread for asynchronous operations: submits operations, or waits for their completion.
    Wait,
    /// Operation class that this version does not know.
    Other,
}

coded!(OpClass {
    Read = 0, Write = 1, Open = 2, Close = 3, Sync = 4, Seek = 5, Metadata = 6, Lock = 7, Unlock = 8, Map = 9, Communication = 10, Wait = 11,
    Other = 0xffff_ffff
} else Other);

impl OpClass {
    /// True if the operation moves file data, so that a bandwidth is meaningful.
    #[must_use]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// Variant of a call, for operation names with several variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
#[non_exhaustive]
pub enum OpMode {
    /// Ordinary variant; in MPI-IO, an independent blocking call.
    #[default]
    Plain,
    /// List of buffers: readv, writev and similar calls.
    Vectored,
    /// Collective MPI-IO: every rank of the communicator takes part.
    Collective,
    /// MPI-IO call with the shared file pointer.
    Shared,
    /// Collective MPI-IO call with the shared file pointer, in rank order.
    Ordered,
    /// Nonblocking call: one call starts the operation, another call completes it.
    Nonblocking,
    /// Split collective MPI-IO (begin ... end).
    Split,
    /// Variant that this version does not know.
    Other,
}

coded!(OpMode {
    Plain = 0, Vectored = 1, Collective = 2, Shared = 3, Ordered = 4, Nonblocking = 5, Split = 6, Other = 0xffff_ffff
} else Other);

impl OpMode {
    /// Returns the variant's lower-case name; empty for the ordinary variant.
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

/// Entry of the operation table: definition of one operation code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpDef {
    /// Operation code, to which definitions of streams (operations on files) refer; unique within a trace.
    pub code: u16,
    /// Interface (layer) that the operation belongs to.
    pub layer: Layer,
    /// Kind of work that the operation does.
    pub class: OpClass,
    /// Variant of the call (plain, vectored, collective, ...).
    pub mode: OpMode,
    /// Lower-case name: `read`, `write`, `open`, `close`, `sync`, `seek`, ...
    pub name: String,
}
