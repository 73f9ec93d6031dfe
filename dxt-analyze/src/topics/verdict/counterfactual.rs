//! What would be left of the calls that findings of other topics name, if what these say were counterfactual: rules by code.

use crate::findings::Code;
use crate::model::Class;

/// What would be left of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counterfactual {
    /// The time that the same bytes take in large requests.
    Large,
    /// Of the calls of an operation of a process on a file, one.
    Once,
    /// As `Large`, of the part of the small calls that the finding's own cost is of.
    Rows,
    /// What a server takes that is not busy.
    Quick,
    /// Of what is moved inside MPI-IO, what was asked for.
    Asked,
    /// All but the finding's own cost.
    ByCost,
    /// As `Large`, of requests of which nobody doubts that they are small.
    Tiny,
    /// What is left if all ranks work at the same time.
    Parallel,
    /// What as many aggregators as can work at once would take ([`super::aggregators`]).
    Spread,
    /// What each process would wait less inside of MPI-IO, and small calls inside as `Large`.
    Waiting,
    /// As `Large`, of the part of the calls that the finding's own cost is of, twice that: of calls in any order half go backwards.
    Random,
    /// As `Large`, of requests that may take their time for where they are, though they are not small.
    Apart,
    /// What calls take longer than the fastest of their peers, which wait for no other, as far as the finding is of them by its own cost.
    Handover,
    /// What calls take that wait for nobody, if they usually take much longer; or what is left if each process reads its part and passes it on.
    Shared,
}

/// Which calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) classes: &'static [Class],
    /// Made inside MPI-IO or HDF5, or by the program; either if it does not matter.
    pub(super) inside: Option<bool>,
    pub(super) counterfactual: Counterfactual,
}

pub(super) const DATA: &[Class] = &[Class::Read, Class::Write];
const READS: &[Class] = &[Class::Read];
const WRITES: &[Class] = &[Class::Write];
/// Data sieving locks what it reads to write it back.
const MOVED: &[Class] = &[Class::Read, Class::Write, Class::Lock];
const METADATA: &[Class] = &[Class::Open, Class::Metadata];

/// Codes, and the classes of calls, whether these are made inside MPI-IO, and what is counterfactual.
type ForCodes = (&'static [Code], &'static [Class], Option<bool>, Counterfactual);

/// What is counterfactual of which calls, by codes.
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
    (&[Code::REREAD, Code::READ_BACK, Code::READ_AHEAD], READS, None, Counterfactual::ByCost),
    (&[Code::ONE_CALL], DATA, None, Counterfactual::Large),
    (&[Code::OVERWRITTEN], WRITES, None, Counterfactual::ByCost),
    (&[Code::FALSE_SHARING, Code::LOCAL_SHARING], WRITES, None, Counterfactual::Handover),
    (&[Code::UNALIGNED, Code::CROSSING, Code::IMBALANCE], DATA, None, Counterfactual::ByCost),
];

/// Findings of calls on files that several processes use.
pub(super) const OF_SHARED: [Code; 6] = [
    Code::SHARED_INDEPENDENT,
    Code::NO_MPIIO,
    Code::SMALL_SHARED_READS,
    Code::SMALL_SHARED_WRITES,
    Code::NO_COLLECTIVE_READS,
    Code::NO_COLLECTIVE_WRITES,
];

/// Findings of how a program makes its requests: what MPI-IO makes of collective calls is none of it.
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
