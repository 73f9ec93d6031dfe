//! Table of all hypotheses: one row per code that explains time of a run.

use super::Cause::{Metadata, Requests, Syncs};
use super::Counterfactual as If;
use super::Says::{Again, All, Form, Long, Mechanism, Needless, Order, Slower, Small, Sum, Who};
use super::counterfactual::DATA;
use super::{Basis, Explained, Explainers, Hypothesis, Origin};
use crate::findings::Code;
use crate::model::Class;

const READS: &[Class] = &[Class::Read];
const WRITES: &[Class] = &[Class::Write];
/// Classes of calls of data sieving, which locks the bytes that it reads and writes back.
const SIEVED: &[Class] = &[Class::Read, Class::Write, Class::Lock];
/// Classes of calls that move no data.
const METADATA: &[Class] = &[Class::Open, Class::Metadata];
/// Codes of findings that say why ranks are late.
const LATE: &[Code] =
    &[Code::POLLED, Code::CPU_WAIT, Code::LATE_TO_MEET, Code::SERIALISED, Code::SERIAL, Code::ONE_RANK];
/// Codes of findings about ranks that work one after another: of all calls, of POSIX calls, or in single phases.
const SERIALISED: &[Code] = &[Code::SERIALISED, Code::SERIAL];
/// Calls inside MPI-IO and HDF5.
const INSIDE: Option<bool> = Some(true);
/// The program's own calls.
const OWN: Option<bool> = Some(false);

const fn of(code: Code, says: super::Says) -> Hypothesis {
    Hypothesis::new(code, says)
}

/// A contrast: a unit or single calls that take longer than their peers.
const fn longer(code: Code) -> Hypothesis {
    Hypothesis { basis: Basis::Excess, ..of(code, Slower) }
}

/// A code that only describes the program.
const fn described(code: Code) -> Hypothesis {
    Hypothesis { origin: Origin::Description, ..of(code, Form) }
}

/// All hypotheses, by families of codes.
pub(super) const ALL: &[Hypothesis] = &[
    // Slow units and single calls.
    longer(Code::SLOW_RANK),
    longer(Code::SLOW_NODE),
    longer(Code::SLOW_TARGET).explained_by(Explainers::Codes(&[Code::SAME_BYTES])),
    longer(Code::SLOW_FILE),
    longer(Code::SLOW_MOMENT),
    longer(Code::STALL),
    Hypothesis { basis: Basis::Excess, ..of(Code::LONG_TAIL, Long) },
    of(Code::SLOW_OPERATIONS, Form).of_causes(),
    of(Code::FIRST_CALLS, Form).measured(),
    of(Code::SLOW_THREAD, Slower).measured(),
    // Waits.
    of(Code::CPU_WAIT, Slower).explained_by(Explainers::Codes(&[Code::LATE_TO_MEET, Code::LATE_RANKS])),
    of(Code::LATE_TO_MEET, Slower).explained_by(Explainers::Codes(LATE)),
    of(Code::LATE_RANKS, Slower).of_causes().explained_by(Explainers::Codes(LATE)),
    of(Code::STANDARD_OUTPUT, Needless).measured(),
    of(Code::POLLED, Needless).measured(),
    of(Code::BY_TURNS, Form).explaining(Explained::Waits),
    of(Code::NO_OVERLAP, Form).measured(),
    of(Code::THREADS_BY_TURNS, Mechanism).explaining(Explained::Waits),
    of(Code::SERIALISED, Needless)
        .explaining(Explained::Waits)
        .instead(DATA, None, If::Parallel)
        .explained_by(Explainers::Codes(SERIALISED)),
    of(Code::SERIAL, Needless)
        .explaining(Explained::Waits)
        .instead(DATA, None, If::Parallel)
        .explained_by(Explainers::Codes(SERIALISED)),
    of(Code::LOCK_WAITS, Mechanism).measured(),
    of(Code::LOCK_TIME, Mechanism).measured().of_causes(),
    // Storage targets and stripes.
    of(Code::FEW_TARGETS, Mechanism),
    of(Code::ALIASING, Mechanism).measured().of_one_file(),
    of(Code::FALSE_SHARING, Order).measured().instead(WRITES, None, If::Handover),
    of(Code::LOCAL_SHARING, Order)
        .measured()
        .instead(WRITES, None, If::Handover)
        .explained_by(Explainers::Codes(&[Code::FALSE_SHARING])),
    of(Code::UNALIGNED, Form)
        .measured()
        .instead(DATA, None, If::Compared)
        .explained_by(Explainers::Codes(&[Code::SIEVING])),
    of(Code::CROSSING, Mechanism)
        .measured()
        .instead(DATA, None, If::Compared)
        .explained_by(Explainers::Codes(&[Code::SIEVING])),
    of(Code::IMBALANCE, Form).measured().instead(DATA, None, If::Compared),
    // MPI-IO and HDF5.
    of(Code::OUTSIDE_POSIX, Form)
        .explaining(Explained::Library)
        .explained_by(Explainers::Codes(&[Code::SIEVING_BLOCK, Code::HDF5_AMPLIFIED])),
    of(Code::COMMUNICATION, Form)
        .explaining(Explained::Library)
        .of_causes()
        .explained_by(Explainers::Codes(&[Code::BUFFER_SIZE])),
    of(Code::HDF5_COLLECTIVE, Form).explaining(Explained::Library),
    of(Code::BUFFER_SIZE, Mechanism).instead(DATA, INSIDE, If::Waiting),
    of(Code::SIEVING_BLOCK, Mechanism).instead(DATA, INSIDE, If::Waiting),
    of(Code::LONG_COLLECTIVE, Mechanism),
    of(Code::TINY_COLLECTIVE, Mechanism),
    of(Code::SIEVING, Mechanism).instead(SIEVED, INSIDE, If::Asked),
    of(Code::UNASKED, Order).instead(DATA, INSIDE, If::Asked),
    of(Code::AGGREGATORS, Mechanism).instead(DATA, INSIDE, If::Spread).explained_by(Explainers::Any),
    of(Code::FEW_AGGREGATORS, Form).instead(DATA, INSIDE, If::Spread).explained_by(Explainers::Any),
    of(Code::ASKED_AGGREGATORS, Mechanism).of_one_file(),
    of(Code::MANY_AGGREGATORS, Mechanism).measured(),
    of(Code::INDEPENDENT, Order).measured().of_causes().about(Requests),
    of(Code::NO_BUFFERING, Order).instead(DATA, None, If::Large).about(Requests),
    of(Code::HDF5_METADATA, Mechanism),
    of(Code::HDF5_REOPENED, Mechanism).repeated(),
    of(Code::HDF5_FLUSHED, Mechanism).repeated().explaining(Explained::Both),
    of(Code::HDF5_AMPLIFIED, Mechanism).explaining(Explained::Both),
    // Calls that the program need not make, or makes again.
    of(Code::ASKED_AGAIN, Needless).repeated(),
    of(Code::SYNC_TIME, Form).about(Syncs),
    of(Code::SYNC_PER_WRITE, Mechanism).of_causes().repeated().about(Syncs),
    of(Code::WRITTEN_THROUGH, Mechanism),
    of(Code::PAST_CACHE, Mechanism),
    of(Code::STREAM_BUFFER, Mechanism).explained_by(Explainers::Codes(&[Code::TEMPORARY_FILES])),
    of(Code::HEADER_REWRITTEN, Mechanism),
    of(Code::READ_MODIFY_WRITE, Mechanism),
    of(Code::READ_BEFORE, Order),
    of(Code::SMALL_FILES, Mechanism),
    of(Code::TEMPORARY_FILES, Needless),
    of(Code::REWRITTEN, Mechanism).repeated(),
    of(Code::LAUNCHED, Again),
    of(Code::PROCESSED_AGAIN, Form),
    of(Code::REPEATED_OPENS, Again).of_causes().repeated().about(Metadata),
    of(Code::OPEN_PER_ACCESS, Mechanism).repeated().about(Metadata).instead(METADATA, OWN, If::Once),
    of(Code::METADATA_RATE, Form).about(Metadata),
    of(Code::METADATA_SHARE, Sum).of_causes().about(Metadata),
    of(Code::METADATA_TIME, Sum).of_causes().about(Metadata),
    of(Code::FAILED_OPENS, Form).instead(METADATA, None, If::Quick),
    of(Code::SEEK_PER_ACCESS, Form).of_causes(),
    of(Code::SAME_BYTES, Mechanism).measured().instead(READS, None, If::Shared),
    of(Code::COMMON_READS, Slower).measured().of_causes().of_one_file().instead(READS, None, If::ByCost),
    of(Code::REREAD, Again).instead(READS, None, If::ByCost).explained_by(Explainers::Codes(&[Code::SIEVING])),
    of(Code::READ_BACK, Form).instead(READS, None, If::ByCost),
    of(Code::OVERWRITTEN, Form).instead(WRITES, None, If::ByCost).explained_by(Explainers::Codes(&[
        Code::HDF5_FLUSHED,
        Code::REWRITTEN,
        Code::HEADER_REWRITTEN,
    ])),
    of(Code::READ_AHEAD, Long).instead(READS, None, If::ByCost),
    // Order and size of requests.
    of(Code::READ_RUNS, Again).instead(READS, None, If::Rows).of_the_program().about(Requests),
    of(Code::WRITE_RUNS, Again).instead(WRITES, None, If::Rows).of_the_program().about(Requests),
    of(Code::STRIDED_READS, Again).instead(READS, OWN, If::Apart).about(Requests),
    of(Code::STRIDED_WRITES, Again).instead(WRITES, OWN, If::Apart).about(Requests),
    of(Code::RANDOM_READS, Order).instead(READS, None, If::Random).about(Requests),
    of(Code::RANDOM_WRITES, Order)
        .instead(WRITES, None, If::Random)
        .about(Requests)
        .explained_by(Explainers::Codes(&[Code::HEADER_REWRITTEN])),
    of(Code::SMALL_READS, Small).instead(READS, None, If::Large).of_the_program().about(Requests),
    of(Code::SMALL_WRITES, Small).instead(WRITES, None, If::Large).of_the_program().about(Requests),
    of(Code::SMALL_SHARED_READS, Form).instead(READS, None, If::Large).of_shared().of_the_program().about(Requests),
    of(Code::SMALL_SHARED_WRITES, Form).instead(WRITES, None, If::Large).of_shared().of_the_program().about(Requests),
    of(Code::NO_COLLECTIVE_READS, Form).instead(READS, None, If::Large).of_shared().about(Requests),
    of(Code::NO_COLLECTIVE_WRITES, Form).instead(WRITES, None, If::Large).of_shared().about(Requests),
    of(Code::ONE_CALL, Long).instead(DATA, None, If::Large).about(Requests),
    of(Code::SLOW_SMALL_WRITES, All).instead(WRITES, None, If::Tiny).of_the_program().about(Requests),
    of(Code::NO_MPIIO, All).instead(DATA, None, If::Tiny).of_shared().about(Requests),
    of(Code::SHARED_INDEPENDENT, All).instead(DATA, None, If::Large).of_shared().about(Requests),
    // Balance.
    of(Code::BYTE_IMBALANCE, Mechanism).of_causes(),
    of(Code::ONE_RANK, Small).of_causes(),
    of(Code::TIME_IMBALANCE, Who).measured().explained_by(Explainers::Any),
    // Findings without a saving of their own.
    of(Code::UNCOVERED, Form),
    of(Code::SHARED_READ_IMBALANCE, Form),
    of(Code::SHARED_WRITE_IMBALANCE, Form),
    of(Code::BLOCKING_ONLY, Form),
    of(Code::MEMORY_UNALIGNED, Form),
    of(Code::IDLE_GAPS, Form),
    of(Code::STRIPE_SIZE, Form),
    described(Code::STDIO_SHARE),
    described(Code::CALL_MIX),
    described(Code::BYTE_MIX),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_of_a_run_has_one_hypothesis() {
        // The trace itself, comparisons and the template have none.
        let counts = |code: &Code| !["DXT-T", "DXT-D", "DXT-Z"].iter().any(|family| code.name().starts_with(family));
        let mut expected: Vec<Code> = crate::topics::codes().into_iter().filter(counts).collect();
        let mut found: Vec<Code> = ALL.iter().map(|one| one.code).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_explains_a_finding_never_needs_it_as_its_own_explanation() {
        for one in ALL {
            let explainers = ALL.iter().filter(|other| other.code != one.code && one.explained_by.names(other.code));
            for other in explainers {
                let (mine, theirs) = (one.explained_by.names(other.code), other.explained_by.names(one.code));
                let same_waits = [one, other].iter().any(|of| of.code == Code::CPU_WAIT || of.code == Code::SERIAL);
                assert!(!(mine && theirs) || same_waits, "{:?} and {:?}", one.code.name(), other.code.name());
            }
        }
    }
}
