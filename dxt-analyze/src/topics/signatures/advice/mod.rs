//! What the signatures of a run are good for: [`super::uses`] with this run's numbers.
//!
//! * `ahead`: reads that could be fetched before they are made.
//! * `one_call`: loops that are one collective call.
//! * `same_bytes`: what ranks all read.
//! * `strided`: small calls that leave gaps.
//! * `stripes`: stripe sizes and layouts that suit what files are used for; `replayed`: which ones a replay of the accesses finds.
//! * `parts`: layouts of several components, where parts of a file suit different stripes.
//! * `findings`: which of it is worth saying; `tables`: all of it.

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

/// Fewest calls of a pattern, of a process, that is worth changing the program for.
const FEWEST: u64 = 100;
/// Bytes below which a call is small: a larger one takes its time for its bytes.
const SMALL_BYTES: u64 = 256 << 10;

/// Mean time of a read from which it has waited for storage, ns.
const WAITED_NS: u64 = 100_000;

/// What could be done with the patterns.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Advice {
    /// Reads that could be fetched before they are made, those that save most first.
    pub read_ahead: Vec<AheadRow>,
    /// Loops that are one collective call, those of most calls first.
    pub one_call: Listed<OneCall>,
    /// Small calls at a fixed distance that leave gaps, most calls first.
    pub strided: Listed<Strided>,
    /// What ranks all read, most bytes first.
    pub same_bytes: Listed<SameBytes>,
    /// Stripe sizes that suit patterns, those that gain most first.
    pub stripes: Vec<StripeRow>,
    /// Components of layouts, where patterns that lie behind each other in a file suit different stripes.
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

    /// Looks which stripes are best by a replay, too, which reads the trace once more.
    pub(super) fn replay(&mut self, run: &Run) {
        if !self.stripes.is_empty() {
            replayed::add(run, &mut self.stripes);
            self.file_parts = parts::of(&self.stripes);
        }
    }

    /// What is worth saying.
    pub(super) fn findings(&self) -> Vec<Finding> {
        findings::of(self)
    }

    /// All of it.
    pub(super) fn parts(&self, top: usize) -> Vec<Part> {
        tables::of(self, top)
    }
}
