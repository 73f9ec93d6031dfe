//! Job block: the part of a trace file's metadata that all processes share.

use super::codec;
use crate::op::OpDef;
use serde::{Deserialize, Serialize};

mod tag {
    pub(super) const INFO: u16 = 1;
    pub(super) const OPS: u16 = 2;
    pub(super) const NAMES: u16 = 3;
    pub(super) const SETTINGS: u16 = 4;
    pub(super) const MOUNTS: u16 = 5;
}

/// MPI library that the job used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mpi {
    /// Number of ranks in `MPI_COMM_WORLD`.
    pub ranks: u32,
    /// ABI family of the MPI library: `MPICH`, `Open MPI`, `MPI ABI`.
    pub family: String,
    /// First line of the text from `MPI_Get_library_version`.
    pub version: String,
}

/// Description of a job: user, program, arguments, time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// Key of the job: files with the same key belong to one job.
    pub key: String,
    /// Job id of the scheduler, as `SLURM_JOB_ID=123`; empty without a scheduler.
    pub scheduler: String,
    /// User id of the job's processes.
    pub uid: u32,
    /// Path of the executable of the process that wrote this block.
    pub exe: Vec<u8>,
    /// Arguments of the process that wrote this block, the program's name first.
    pub args: Vec<Vec<u8>>,
    /// Working directory of the process that wrote this block, when the process started.
    pub cwd: Vec<u8>,
    /// Wall-clock start time of the process that wrote this block, in ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// MPI library and number of ranks; `None` if the job did not use MPI.
    pub mpi: Option<Mpi>,
    /// Version of the tracer that recorded the job.
    pub tracer: String,
}

/// Path used by several processes and stored once; the processes' file tables contain only the hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedName {
    /// Hash of the path, computed by [`super::path_hash`].
    pub hash: u64,
    /// Path whose hash is `hash`.
    pub path: Vec<u8>,
}

/// File system that was mounted during the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Path of the mount point.
    pub path: Vec<u8>,
    /// File system type, as in mountinfo: `lustre`, `ext4`, ...
    pub kind: String,
}

/// Job block: metadata shared by all processes of a trace file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Description of the job: user, program, arguments, time.
    pub info: JobInfo,
    /// Operation table: definitions of the operation codes in streams.
    pub ops: Vec<OpDef>,
    /// Paths stored once for all processes of the file.
    pub names: Vec<SharedName>,
    /// Tracer settings that affected the content of the trace, as (variable, value).
    pub settings: Vec<(String, String)>,
    /// Mounted file systems that can hold data, in the kernel's order, as seen by the process that wrote this block.
    pub mounts: Vec<Mount>,
}

impl Job {
    /// Encodes the job block as a list of tagged sections.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        codec::section(tag::INFO, &self.info, &mut out);
        codec::section(tag::OPS, &self.ops, &mut out);
        codec::section(tag::NAMES, &self.names, &mut out);
        codec::section(tag::SETTINGS, &self.settings, &mut out);
        if !self.mounts.is_empty() {
            codec::section(tag::MOUNTS, &self.mounts, &mut out);
        }
        out
    }

    /// Decodes the decompressed payload of the job frame at file offset `offset`.
    ///
    /// # Errors
    /// Returns [`crate::Error::Malformed`] if a section is invalid, and [`crate::Error::Limit`] if the tables exceed the memory limit.
    #[cfg(feature = "read")]
    pub fn decode(block: &[u8], offset: u64) -> crate::Result<Self> {
        Self::decode_within(block, offset, &crate::read::Meter::new(&crate::read::Room::default()))
    }

    /// Decodes the job block like [`Self::decode`], charging the memory to `meter`.
    #[cfg(feature = "read")]
    pub(crate) fn decode_within(block: &[u8], offset: u64, meter: &crate::read::Meter<'_>) -> crate::Result<Self> {
        let mut job = Self::default();
        for section in codec::sections(block, offset) {
            let (tag, bytes) = section?;
            match tag {
                tag::INFO => job.info = codec::value("the job's description", bytes, offset, meter)?,
                tag::OPS => job.ops = codec::value("the operation table", bytes, offset, meter)?,
                tag::NAMES => job.names = codec::value("the job's names", bytes, offset, meter)?,
                tag::MOUNTS => job.mounts = codec::value("the job's mounts", bytes, offset, meter)?,
                tag::SETTINGS => job.settings = codec::value("the job's settings", bytes, offset, meter)?,
                _ => {}
            }
        }
        Ok(job)
    }
}
