//! Random access pattern: transfers at random multiples of the transfer size, anywhere in one shared file.

use super::{Access, Pattern};
use crate::args::Args;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Pattern on one file with room for all transfers of all ranks; offsets are drawn with replacement.
pub(super) struct Random<'a> {
    pub(super) args: &'a Args,
}

impl Pattern for Random<'_> {
    fn path(&self, _rank: u32) -> (String, bool) {
        ("/scratch/synth/random".into(), true)
    }

    fn accesses(&self, _rank: u32, random: &mut ChaCha8Rng) -> Vec<Access> {
        let places = (u64::from(self.args.ranks()) * u64::from(self.args.segments)).max(1);
        let transfer = self.args.transfer;
        (0..self.args.segments).map(|_| Access::new(random.random_range(0..places) * transfer, transfer)).collect()
    }
}
