//! Access patterns: which bytes of which file each rank moves. A pattern knows ranks and offsets; segments, names of
//! operations and (but for the one with given times) durations are made elsewhere.

mod file_per_process;
pub(crate) mod gcrm;
mod hacc;
mod ior;
mod random;

use crate::args::{Args, PatternName};
use rand_chacha::ChaCha8Rng;

/// One data operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// First byte.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) length: u64,
    /// Start and end in ns since the job's start, where the pattern gives them.
    pub(crate) at: Option<(u64, u64)>,
}

impl Access {
    fn new(offset: u64, length: u64) -> Self {
        Self { offset, length, at: None }
    }
}

/// An access pattern.
pub(crate) trait Pattern {
    /// File of a rank, and whether all ranks share it.
    fn path(&self, rank: u32) -> (String, bool);

    /// The rank's data operations, in order.
    fn accesses(&self, rank: u32, random: &mut ChaCha8Rng) -> Vec<Access>;

    /// With MPI-IO: the POSIX operations under the rank's data operation number `index`. `None` for an independent
    /// call, whose nested operation moves the same bytes.
    fn collective(&self, _rank: u32, _index: usize) -> Option<Vec<Access>> {
        None
    }
}

/// The pattern that the command line names.
pub(crate) fn named(args: &Args) -> Box<dyn Pattern + '_> {
    match args.pattern {
        PatternName::IorShared => Box::new(ior::Segmented { args }),
        PatternName::IorStrided => Box::new(ior::Strided { args }),
        PatternName::FilePerProcess => Box::new(file_per_process::FilePerProcess { args }),
        PatternName::Hacc => Box::new(hacc::Hacc { args }),
        PatternName::Random => Box::new(random::Random { args }),
        PatternName::Gcrm => Box::new(gcrm::Gcrm { args }),
    }
}
