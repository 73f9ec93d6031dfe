//! The first screen: where the run time went, what costs most of it, and what to do about that.
//!
//! * [`claims`]: which calls a finding of another topic explains, and what would be left of them: [`counterfactual`] by code, by [`of_files`]: what is known of calls, and [`by_turns`]: of ranks.
//! * [`aggregators`]: what more of them would save.
//! * [`joined`]: the same said of several files, as one.
//! * [`gathered`]: one rank that does all I/O and brings the data together for that.
//! * [`aliasing`]: requests that meet on few of many storage targets; [`scratch`]: data that are written, read back and overwritten.
//! * [`interleaved`]: small writes of ranks between each other in stripes.
//! * [`wanted`]: what waits for bytes that all want.
//! * [`one_stripe`]: a shared file on one storage target, where nothing is odd.
//! * [`outside`]: what MPI-IO spends outside of system calls.
//! * [`overlap`]: asynchronous operations that nothing overlaps.
//! * [`alternating`]: I/O and computing alternately, where nothing else is to blame.
//! * [`threads`]: threads that alternate.
//! * [`weigh`]: findings in the order of what they save, each by what those before it leave.
//! * [`header`]: writes that are those of a header; [`mapped`]: files that no call reads or writes.
//! * [`severity`]: how much a finding is worth at most; [`rest`]: what none explains.
//! * [`judge`]: the verdict, as in [`result`]; [`job_line`] and [`sentence`]: its words.
//! * [`remedy`]: what to type; [`typed`]: how that looks in the terminal.

pub(crate) mod aggregators;
mod aliasing;
pub(crate) mod alternating;
mod by_turns;
pub(crate) mod claims;
mod counterfactual;
pub(crate) mod gathered;
mod header;
mod interleaved;
mod job_line;
pub(crate) mod joined;
pub(crate) mod judge;
mod mapped;
mod of_files;
mod one_stripe;
pub(crate) mod outside;
pub(crate) mod overlap;
pub(crate) mod remedy;
mod rest;
pub(crate) mod result;
pub(crate) mod scratch;
pub(crate) mod sentence;
mod severity;
pub(crate) mod threads;
pub(crate) mod typed;
pub(crate) mod wanted;
pub(crate) mod weigh;

pub(crate) use judge::{findings, give_weight, top_codes, verdict};
pub(crate) use result::Verdict;
