//! Counterfactuals: by code, the time that the calls of a finding would take if the finding were fixed.

use crate::findings::Code;
use crate::model::Class;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counterfactual {
    /// Time of the same bytes in large requests.
    Large,
    /// Time of one call per process, file and operation, instead of many.
    Once,
    /// Time of the same bytes in large requests, but only for the part of the calls' time that the finding itself states as its cost.
    Rows,
    /// Time that the metadata calls would take at a server without load.
    Quick,
    /// Time of only the bytes that the program requested, of all bytes that MPI-IO moved.
    Asked,
    /// Time left after subtracting the cost that the finding itself states.
    ByCost,
    /// Time left after subtracting the cost that the finding itself states, measured by comparing these calls with others of the run.
    Compared,
    /// Time of the same bytes in large requests, but only for requests that are small in any case (below 64 KiB).
    Tiny,
    /// Time if all ranks work at the same time instead of one after another.
    Parallel,
    /// Time with as many aggregators as can work at once ([`super::aggregators`]).
    Spread,
    /// Time without the wait inside MPI-IO that the finding states for each process. If the finding is about the buffer size, small calls
    /// inside also take only the time of the same bytes in large requests.
    Waiting,
    /// Time of the same bytes in large requests, for twice the part of the calls' time that the finding states as its cost: the cost covers
    /// only calls that go backwards, about half of those in random order.
    Random,
    /// Time of the same bytes in large requests, for requests below 1 MiB that are far apart in the file: their position may cost time
    /// though they are not small.
    Apart,
    /// Duration of the fastest calls of the same file and size, which do not wait for a lock. Applies to the part of the calls' time that
    /// the finding states as its cost.
    Handover,
    /// Duration of calls that wait for no other (if usual calls take much longer), or the time if each process reads only its part and
    /// passes it on to the others: whichever saves more.
    Shared,
}

/// Calls that a finding explains, and the time that they would take if the finding were fixed (counterfactual).
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) classes: &'static [Class],
    /// True for calls inside MPI-IO or HDF5, false for the program's own; `None` for both.
    pub(super) inside: Option<bool>,
    /// Time of the calls if the finding were fixed.
    pub(super) counterfactual: Counterfactual,
}

pub(super) const DATA: &[Class] = &[Class::Read, Class::Write];
const READS: &[Class] = &[Class::Read];
const WRITES: &[Class] = &[Class::Write];
/// Classes of calls of data sieving, which locks the bytes that it reads and writes back.
const MOVED: &[Class] = &[Class::Read, Class::Write, Class::Lock];
/// Classes of calls that move no data: opens and other metadata calls.
const METADATA: &[Class] = &[Class::Open, Class::Metadata];

/// Row of [`RULES`]: codes, classes of calls, [`Rule::inside`], and the time if fixed.
type ForCodes = (&'static [Code], &'static [Class], Option<bool>, Counterfactual);

/// Rules by code of the finding; the first row with the code counts.
const RULES: &[ForCodes] = &[
    (&[Code::SMALL_READS, Code::SMALL_SHARED_READS, Code::NO_COLLECTIVE_READS], READS, None, Counterfactual::Large),
    (&[Code::SMALL_WRITES, Code::SMALL_SHARED_WRITES, Code::NO_COLLECTIVE_WRITES], WRITES, None, Counterfactual::Large),
    (&[Code::STRIDED_READS], READS, Some(false), Counterfactual::Apart),
    (&[Code::STRIDED_WRITES], WRITES, Some(false), Counterfactual::Apart),
    (&[Code::READ_RUNS], READS, None, Counterfactual::Rows),
    (&[Code::WRITE_RUNS], WRITES, None, Counterfactual::Rows),
    (&[Code::RANDOM_READS], READS, None, Counterfactual::Random),
    (&[Code::RANDOM_WRITES], WRITES, None, Counterfactual::Random),
    (&[Code::SAME_BYTES], READS, None, Counterfactual::Shared),
    (&[Code::SLOW_SMALL_WRITES], WRITES, None, Counterfactual::Tiny),
    (&[Code::NO_MPIIO], DATA, None, Counterfactual::Tiny),
    (&[Code::NO_BUFFERING, Code::SHARED_INDEPENDENT], DATA, None, Counterfactual::Large),
    (&[Code::OPEN_PER_ACCESS, Code::METADATA_RATE], METADATA, Some(false), Counterfactual::Once),
    (&[Code::FAILED_OPENS], METADATA, None, Counterfactual::Quick),
    (&[Code::SIEVING], MOVED, Some(true), Counterfactual::Asked),
    (&[Code::UNASKED], DATA, Some(true), Counterfactual::Asked),
    (&[Code::SERIALISED, Code::SERIAL], DATA, None, Counterfactual::Parallel),
    (&[Code::AGGREGATORS, Code::FEW_AGGREGATORS], DATA, Some(true), Counterfactual::Spread),
    (&[Code::BUFFER_SIZE, Code::SIEVING_BLOCK], DATA, Some(true), Counterfactual::Waiting),
    (&[Code::REREAD, Code::READ_BACK, Code::READ_AHEAD, Code::COMMON_READS], READS, None, Counterfactual::ByCost),
    (&[Code::ONE_CALL], DATA, None, Counterfactual::Large),
    (&[Code::OVERWRITTEN], WRITES, None, Counterfactual::ByCost),
    (&[Code::FALSE_SHARING, Code::LOCAL_SHARING], WRITES, None, Counterfactual::Handover),
    (&[Code::UNALIGNED, Code::CROSSING, Code::IMBALANCE], DATA, None, Counterfactual::Compared),
];

/// Codes of findings about calls on files that several processes use.
pub(super) const OF_SHARED: [Code; 6] = [
    Code::SHARED_INDEPENDENT,
    Code::NO_MPIIO,
    Code::SMALL_SHARED_READS,
    Code::SMALL_SHARED_WRITES,
    Code::NO_COLLECTIVE_READS,
    Code::NO_COLLECTIVE_WRITES,
];

/// Codes of findings about requests of the program itself: requests that MPI-IO makes for collective calls are left out.
pub(super) const OF_THE_PROGRAM: [Code; 7] = [
    Code::SMALL_READS,
    Code::SMALL_WRITES,
    Code::SMALL_SHARED_READS,
    Code::SMALL_SHARED_WRITES,
    Code::READ_RUNS,
    Code::WRITE_RUNS,
    Code::SLOW_SMALL_WRITES,
];

pub(super) fn rule(code: Code) -> Option<Rule> {
    let (_, classes, inside, counterfactual) = RULES.iter().find(|(codes, ..)| codes.contains(&code))?;
    Some(Rule { classes, inside: *inside, counterfactual: *counterfactual })
}
