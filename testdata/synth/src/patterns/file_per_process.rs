//! Access pattern with a file per rank, written from its start (IOR -F).

use super::{Access, Pattern};
use crate::args::Args;
use rand_chacha::ChaCha8Rng;

/// Pattern in which rank r writes file r.
pub(super) struct FilePerProcess<'a> {
    pub(super) args: &'a Args,
}

impl Pattern for FilePerProcess<'_> {
    fn path(&self, rank: u32) -> (String, bool) {
        (format!("/scratch/synth/file.{rank:08}"), false)
    }

    fn accesses(&self, _rank: u32, _random: &mut ChaCha8Rng) -> Vec<Access> {
        (0..u64::from(self.args.segments)).map(|i| Access::new(i * self.args.transfer, self.args.transfer)).collect()
    }
}
