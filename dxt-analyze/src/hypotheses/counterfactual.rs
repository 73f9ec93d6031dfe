//! Counterfactuals: the time that the calls of a finding would take if it were fixed.

use crate::model::Class;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counterfactual {
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
    /// Time with as many aggregators as can work at once ([`crate::topics::verdict::aggregators`]).
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

/// Classes of calls that move data.
pub(crate) const DATA: &[Class] = &[Class::Read, Class::Write];
