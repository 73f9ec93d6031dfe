//! The first screen: where the run time went, what costs most of it, and what to do about it.
//!
//! A claim is a finding with the calls that it explains and their saving. Pricing a claim computes its saving from a counterfactual: the
//! time that the calls would take if the finding were fixed. Contrasts (a unit is slower than its peers) are proven within the run;
//! counterfactuals of other I/O are not.
//!
//! * [`claims`]: claims from findings of other topics: counterfactuals by code in [`crate::hypotheses`], facts about files in [`of_files`], about
//!   alternating ranks in [`by_turns`].
//! * [`aggregators`]: saving of more aggregators.
//! * [`joined`]: merges claims with one code about several files.
//! * [`aliasing`]: requests that reach few of many storage targets.
//! * [`one_stripe`]: a shared file on one storage target, if there is no other finding.
//! * [`outside`]: time of MPI-IO outside of system calls.
//! * [`overlap`]: asynchronous operations that do not overlap computation.
//! * [`alternating`]: alternating I/O and computation, where nothing else explains the time.
//! * [`threads`]: serialized threads.
//! * [`weigh`]: orders findings by saving, each without the time that earlier ones explain.
//! * [`mapped`]: memory-mapped files.
//! * [`sites`]: functions and lines of the program that make a finding's calls.
//! * [`severity`]: upper bound of a finding's severity; [`rest`]: unexplained time.
//! * [`judge`]: makes the verdict, a [`result`]; [`job_line`] and [`sentence`]: its words.
//! * [`remedy`]: commands and settings to type; [`typed`]: their form in the terminal.

pub(crate) mod aggregators;
mod aliasing;
pub(crate) mod alternating;
mod by_turns;
pub(crate) mod claims;
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
pub(crate) mod sentence;
mod severity;
mod sites;
pub(crate) mod threads;
pub(crate) mod typed;
pub(crate) mod weigh;

pub(crate) use judge::{findings, give_weight, price, top_codes, verdict, with_code, with_prices};
pub(crate) use result::Verdict;
