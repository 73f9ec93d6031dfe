//! Access patterns: the file and the byte ranges that each rank accesses. Other modules add segments, operation names and most durations.

mod file_per_process;
pub(crate) mod gcrm;
mod hacc;
mod ior;
mod random;

use crate::args::{Args, PatternName};
use rand_chacha::ChaCha8Rng;

/// Data operation of a rank: byte range, and optionally start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// Start and end in ns since the job's start; `None` if the pattern does not state times.
    pub(crate) at: Option<(u64, u64)>,
}

impl Access {
    fn new(offset: u64, length: u64) -> Self {
        Self { offset, length, at: None }
    }
}

pub(crate) trait Pattern {
    /// Returns the path of a rank's file, and true if all ranks share this file.
    fn path(&self, rank: u32) -> (String, bool);

    /// Returns the data operations of `rank` in order.
    fn accesses(&self, rank: u32, random: &mut ChaCha8Rng) -> Vec<Access>;

    /// Returns the POSIX operations nested in the rank's MPI-IO data operation number `index`; `None` for an independent call, which has
    /// one nested operation on the same bytes.
    fn collective(&self, _rank: u32, _index: usize) -> Option<Vec<Access>> {
        None
    }
}

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
