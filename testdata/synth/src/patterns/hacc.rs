//! Pattern of HACC-IO in shared-file mode: nine variables per particle, each contiguous over all ranks, with a small header before each
//! rank's part, so that nothing after the first header is aligned.

use super::{Access, Pattern};
use crate::args::Args;
use rand_chacha::ChaCha8Rng;

/// Size per particle of xx, yy, zz, vx, vy, vz, phi (float), pid (64-bit integer), mask (16-bit integer), in bytes.
const VARIABLES: [u64; 9] = [4, 4, 4, 4, 4, 4, 4, 8, 2];
/// Size of the header before each rank's part of a variable, in bytes.
const PART_HEADER: u64 = 24;

/// Pattern with `segments` data operations per rank, divided among the nine variables. The first operation of each variable is its header.
/// `transfer` is the number of bytes per data operation for a 4-byte variable.
pub(super) struct Hacc<'a> {
    pub(super) args: &'a Args,
}

impl Pattern for Hacc<'_> {
    fn path(&self, _rank: u32) -> (String, bool) {
        ("/scratch/synth/hacc.dat".into(), true)
    }

    fn accesses(&self, rank: u32, _random: &mut ChaCha8Rng) -> Vec<Access> {
        let wanted = u64::from(self.args.segments);
        let variables = VARIABLES.len() as u64;
        // Number of operations per variable: a header and at least one part.
        let parts = (wanted / variables).max(2) - 1;
        let mut out = Vec::with_capacity((variables * (parts + 1)) as usize);
        let mut variable_start = 0;
        for size in VARIABLES {
            let transfer = (self.args.transfer / 4).max(1) * size;
            let part = PART_HEADER + parts * transfer;
            let mut offset = variable_start + u64::from(rank) * part;
            out.push(Access::new(offset, PART_HEADER));
            offset += PART_HEADER;
            for _ in 0..parts {
                out.push(Access::new(offset, transfer));
                offset += transfer;
            }
            variable_start += u64::from(self.args.ranks()) * part;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn ranks_cover_the_file_once() {
        let args = Args::parse_from(["dxt-synth", "hacc", "-o", "x", "-n", "5", "--segments", "27"]);
        let pattern = Hacc { args: &args };
        let mut all: Vec<Access> =
            (0..5).flat_map(|rank| pattern.accesses(rank, &mut crate::timing::random(1, rank))).collect();
        assert_eq!(all.len(), 5 * 27);
        all.sort_by_key(|access| access.offset);
        assert_eq!(all[0].offset, 0);
        assert!(all.windows(2).all(|pair| pair[0].offset + pair[0].length == pair[1].offset));
    }
}
