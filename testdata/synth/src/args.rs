//! Command line of `dxt-synth`. Sizes may have the suffixes K, M and G (powers of 1024).

use crate::lustre::Striping;
use crate::patterns::gcrm;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;

/// Writes a synthetic trace: any number of ranks, several access patterns, same bytes for same options
#[derive(Clone, Debug, Parser)]
#[command(name = "dxt-synth", version)]
pub(crate) struct Args {
    /// Access pattern
    #[arg(value_enum)]
    pub(crate) pattern: PatternName,
    /// Trace file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Ranks [default: 8; gcrm: 256]
    #[arg(short = 'n', long)]
    pub(crate) ranks: Option<u32>,
    /// Nodes, filled with ranks in order [default: one per 16 ranks]
    #[arg(long)]
    pub(crate) nodes: Option<u32>,
    /// Data operations per rank
    #[arg(long, default_value_t = 16)]
    pub(crate) segments: u32,
    /// Bytes per data operation
    #[arg(long, default_value = "1M", value_parser = size)]
    pub(crate) transfer: u64,
    /// Direction of the data operations
    #[arg(long, value_enum, default_value_t = Direction::Write)]
    pub(crate) op: Direction,
    /// Interface used by the program; MPI-IO adds nested POSIX operations
    #[arg(long, value_enum, default_value_t = Interface::Posix)]
    pub(crate) layer: Interface,
    /// Lustre stripe size in bytes; 0 for files without a layout [default: 1M; gcrm: 4M]
    #[arg(long, value_parser = size)]
    pub(crate) stripe_size: Option<u64>,
    /// Lustre stripe count; stripe k is on OST k mod count [default: 8; gcrm: 52]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=2000))]
    pub(crate) stripe_count: Option<u16>,
    /// Multiply the time of a rank's operations by FACTOR
    #[arg(long, value_name = "RANK:FACTOR", value_parser = factor)]
    pub(crate) slow_rank: Vec<(u32, f64)>,
    /// Multiply the time of operations on an OST by FACTOR
    #[arg(long, value_name = "OST:FACTOR", value_parser = factor)]
    pub(crate) slow_ost: Vec<(u32, f64)>,
    /// Multiply the time of a node's operations by FACTOR
    #[arg(long, value_name = "NODE:FACTOR", value_parser = factor)]
    pub(crate) slow_node: Vec<(u32, f64)>,
    /// Random variation of durations: sigma of their logarithm
    #[arg(long, default_value_t = 0.1)]
    pub(crate) jitter: f64,
    /// Bandwidth of one undisturbed operation, in bytes per second
    #[arg(long, default_value_t = 1.4e9)]
    pub(crate) bandwidth: f64,
    /// Latency of one operation, in nanoseconds
    #[arg(long, default_value_t = 2000.0)]
    pub(crate) latency: f64,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatternName {
    /// One file, a contiguous part per rank (IOR, segmented)
    IorShared,
    /// One file, ranks alternate transfer by transfer (IOR, strided)
    IorStrided,
    /// A file per rank, written from its start
    FilePerProcess,
    /// One file, nine variables, each with a small header per rank (HACC-IO)
    Hacc,
    /// One file, transfers at random multiples of the transfer size
    Random,
    /// Case of the DXT paper: 14 small writes of 3.5 s on shared stripes among fast large ones (GCRM)
    Gcrm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    /// Write
    Write,
    /// Read
    Read,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Interface {
    /// POSIX calls
    Posix,
    /// MPI-IO calls
    Mpiio,
}

impl Args {
    /// Returns the number of ranks: the value of `--ranks`, or the pattern's default.
    pub(crate) fn ranks(&self) -> u32 {
        self.ranks.unwrap_or(if self.pattern == PatternName::Gcrm { 256 } else { 8 }).max(1)
    }

    /// Returns the stripe layout of every file, with the pattern's defaults; `None` if the stripe size is 0.
    pub(crate) fn striping(&self) -> Option<Striping> {
        let (size, count) = match self.pattern {
            PatternName::Gcrm => (gcrm::STRIPE_SIZE, gcrm::STRIPE_COUNT),
            _ => (1 << 20, 8),
        };
        let size = self.stripe_size.unwrap_or(size);
        (size > 0).then(|| Striping { size, count: self.stripe_count.unwrap_or(count) })
    }

    /// Returns the number of nodes, at most one node per rank.
    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.unwrap_or(self.ranks().div_ceil(16)).clamp(1, self.ranks())
    }

    /// Returns the node of a rank: nodes are filled with ranks in order.
    pub(crate) fn node_of(&self, rank: u32) -> u32 {
        rank / self.ranks().div_ceil(self.nodes())
    }
}

/// Parses a size such as `4M`; returns bytes.
fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| format!("'{text}' is not a size such as 4096, 64K or 4M"))?;
    number.checked_mul(1 << shift).filter(|&size| size < 1 << 40).ok_or_else(|| format!("'{text}' is too large"))
}

/// Parses a number (of a rank, OST or node) with its slowdown factor, such as `3:2.5`.
fn factor(text: &str) -> Result<(u32, f64), String> {
    let pair = text.split_once(':').and_then(|(which, by)| Some((which.parse().ok()?, by.parse().ok()?)));
    pair.filter(|&(_, by): &(u32, f64)| by.is_finite() && by > 0.0)
        .ok_or_else(|| format!("'{text}' is not NUMBER:FACTOR, such as 3:2.5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_factors() {
        assert_eq!((size("4096"), size("64K"), size("4M")), (Ok(4096), Ok(64 << 10), Ok(4 << 20)));
        assert!(size("4X").is_err() && size("").is_err() && size("9999G").is_err());
        assert_eq!(factor("3:2.5"), Ok((3, 2.5)));
        assert!(factor("3").is_err() && factor("3:-1").is_err());
    }
}
