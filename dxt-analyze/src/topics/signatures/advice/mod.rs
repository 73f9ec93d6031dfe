//! Advice derived from I/O signatures: applies [`super::uses`] to the access patterns of this run.
//!
//! - `ahead`: reads that can be prefetched.
//! - `one_call`: loops of calls that could be one collective call.
//! - `same_bytes`: bytes that several ranks read.
//! - `strided`: small calls at a fixed distance, with gaps in between.
//! - `stripes`: stripe sizes and layouts that suit the access patterns; `replayed`: the best ones by replay of the trace.
//! - `parts`: composite layouts, for files whose regions suit different stripes.
//! - `findings`, `tables`: conversion to findings and tables.

mod ahead;
mod findings;
mod one_call;
mod parts;
mod replayed;
mod same_bytes;
mod strided;
mod stripes;
mod tables;

pub use ahead::AheadRow;
pub use one_call::OneCall;
pub use parts::FilePart;
pub use replayed::Replayed;
pub use same_bytes::SameBytes;
pub use strided::Strided;
pub use stripes::StripeRow;

use super::args::Options;
use super::listed::Listed;
use super::pass::Signed;
use crate::findings::Finding;
use crate::model::Run;
use crate::render::Part;
use serde::Serialize;

/// Minimum number of calls in a pattern, per process, for which changing the program pays.
const FEWEST: u64 = 100;
/// Upper bound of a small call, bytes. The duration of a larger call depends on its size.
const SMALL_BYTES: u64 = 256 << 10;

/// Minimum mean duration of a read that counts as having waited for storage, ns.
const WAITED_NS: u64 = 100_000;

/// Advice derived from the signatures of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Advice {
    /// Reads that can be prefetched, largest saving first.
    pub read_ahead: Vec<AheadRow>,
    /// Loops of calls that could be one collective call, most calls first.
    pub one_call: Listed<OneCall>,
    /// Small calls at a fixed distance with gaps in between, most calls first.
    pub strided: Listed<Strided>,
    /// Reads of the same bytes by several ranks, most bytes first.
    pub same_bytes: Listed<SameBytes>,
    /// Stripe sizes that suit the access patterns, largest gain first.
    pub stripes: Vec<StripeRow>,
    /// Components of composite layouts, for files whose regions suit different stripes.
    pub file_parts: Vec<FilePart>,
}

impl Advice {
    pub(super) fn of(run: &Run, signed: &[Signed], options: &Options) -> Self {
        Self {
            read_ahead: ahead::rows(run, signed, options),
            one_call: Listed::new(one_call::rows(run, signed), options.top),
            strided: Listed::new(strided::rows(run, signed), options.top),
            same_bytes: Listed::new(same_bytes::rows(run, signed), options.top),
            stripes: stripes::rows(run, signed, options),
            file_parts: Vec::new(),
        }
    }

    /// Adds the best stripe sizes and counts by replay, which reads the trace once more.
    pub(super) fn replay(&mut self, run: &Run) {
        if !self.stripes.is_empty() {
            replayed::add(run, &mut self.stripes);
            self.file_parts = parts::of(&self.stripes);
        }
    }

    /// Returns the findings derived from the advice.
    pub(super) fn findings(&self) -> Vec<Finding> {
        findings::of(self)
    }

    /// Returns all advice as tables of at most `top` rows.
    pub(super) fn parts(&self, top: usize) -> Vec<Part> {
        tables::of(self, top)
    }
}
