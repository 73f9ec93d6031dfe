//! Advice derived from the signatures: [`super::uses`] with the numbers of this run.
//!
//! - `ahead`: prefetchable reads.
//! - `one_call`: loops that could be one collective call.
//! - `same_bytes`: bytes that all ranks read.
//! - `strided`: small calls with gaps.
//! - `stripes`: stripe sizes and layouts that suit the access patterns; `replayed`: the best ones by replay.
//! - `parts`: composite layouts, for files whose parts suit different stripes.
//! - `findings`, `tables`: output.

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

/// Minimum calls of a pattern per process to be worth a program change.
const FEWEST: u64 = 100;
/// Upper bound of a small call, bytes; the duration of larger calls depends on their bytes.
const SMALL_BYTES: u64 = 256 << 10;

/// Minimum mean duration of a read that has waited for storage, ns.
const WAITED_NS: u64 = 100_000;

/// Advice on a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Advice {
    /// Prefetchable reads, largest saving first.
    pub read_ahead: Vec<AheadRow>,
    /// Loops that could be one collective call, most calls first.
    pub one_call: Listed<OneCall>,
    /// Small calls at a fixed distance with gaps between, most calls first.
    pub strided: Listed<Strided>,
    /// Bytes that all ranks read, most bytes first.
    pub same_bytes: Listed<SameBytes>,
    /// Stripe sizes that suit the patterns, largest gain first.
    pub stripes: Vec<StripeRow>,
    /// Components of composite layouts, for files with successive patterns that suit different stripes.
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

    /// Adds the best stripes by replay, which reads the trace once more.
    pub(super) fn replay(&mut self, run: &Run) {
        if !self.stripes.is_empty() {
            replayed::add(run, &mut self.stripes);
            self.file_parts = parts::of(&self.stripes);
        }
    }

    /// Returns the findings.
    pub(super) fn findings(&self) -> Vec<Finding> {
        findings::of(self)
    }

    /// Returns all advice as tables.
    pub(super) fn parts(&self, top: usize) -> Vec<Part> {
        tables::of(self, top)
    }
}
