//! Hypotheses: one value per code of a finding. It says which calls a finding with the code explains, what these calls would take if it
//! were fixed (the counterfactual), and which findings stand before others about the same calls. The rule by which a finding is made, its
//! thresholds and its source are its [`crate::findings::Explanation`].

pub(crate) mod counterfactual;
mod table;

pub(crate) use counterfactual::Counterfactual;

use crate::findings::Code;
use crate::model::Class;

/// Levels of what findings with a code say about their calls, most specific first: of findings about the same calls, the more specific one stands
/// first, unless it saves much less (see [`Says::least`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Says {
    /// Nobody needs the calls, or they only wait for somebody: why calls are long or ranks late.
    Needless,
    /// Something is slower than its peers: a contrast, which the run itself proves.
    Slower,
    /// The mechanism by which the calls take long.
    Mechanism,
    /// The program makes the calls, or moves the bytes, again and again.
    Again,
    /// The calls' order, or their place between those of others.
    Order,
    /// The calls are small.
    Small,
    /// Another form of the same I/O would take less time.
    Form,
    /// Some calls are long, for an unknown reason.
    Long,
    /// Sum of all calls of a class, whatever the program makes them for.
    Sum,
    /// The process that takes the time.
    Who,
    /// All calls of a job, regardless of the cause: any other finding about most of the same calls stands before it.
    All,
}

/// Minimum share of the saving of another finding about the same calls from which a more specific finding stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Least {
    /// The threshold `half_share`.
    Half,
    /// The threshold `most_share`.
    Most,
    /// Any saving that is worth a finding.
    Any,
}

impl Says {
    /// Returns the minimum saving from which a finding that says `self` stands before one about the same calls that says `other`; `None` if it
    /// never does.
    pub(crate) fn least(self, other: Self) -> Option<Least> {
        match (self, other) {
            _ if self >= other => None,
            // A sum is only worth what more specific findings leave of it.
            (_, Self::Sum | Self::All) => Some(Least::Any),
            // A proven contrast stands before a promised saving, unless the latter is twice as large; the order of small calls explains
            // why they are slow, and the I/O of a process why it takes longer than others.
            (Self::Slower, _) | (Self::Order, Self::Small) | (_, Self::Who) => Some(Least::Half),
            _ => Some(Least::Most),
        }
    }
}

/// Origin of a claim's savings, which decides who explains the excess of calls over their peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Excess over peers, which the run proves.
    Excess,
    /// Another form of the same work, in which slow calls would still be slow: excess stays with the claims that prove it.
    Form,
    /// Measured in this run otherwise, and shows as excess of some calls, too: waits of calls for each other, ranks that take longer than
    /// others, a cost that the finding itself states.
    Measured,
}

/// Calls of a class that a finding explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) classes: &'static [Class],
    /// True for calls inside MPI-IO or HDF5, false for the program's own; `None` for both.
    pub(crate) inside: Option<bool>,
    /// True if only calls on files that several processes use count.
    pub(crate) of_shared: bool,
    /// True if requests that MPI-IO makes for collective calls do not count.
    pub(crate) of_the_program: bool,
}

/// Kind of time that a finding explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explained {
    /// Time of system calls.
    Calls,
    /// Time in MPI-IO and HDF5 outside of system calls.
    Library,
    /// Time of system calls, and in HDF5 outside of them.
    Both,
    /// Waits outside of any call.
    Waits,
}

/// Origin of a code's findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// [`crate::topics::causes`], or another topic: each has findings of its own.
    Any,
    /// [`crate::topics::causes`] makes better founded ones than the topic that defines the code.
    Causes,
    /// A topic that only describes the program, without advice: the findings stay in the tables of their section.
    Description,
}

/// Name of a cause that several codes name in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Size and order of requests, and collective calls, which would merge them.
    Requests,
    /// Syncs.
    Syncs,
    /// Metadata calls.
    Metadata,
}

/// Hypothesis: what findings with one code explain, and how they compete with others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hypothesis {
    pub(crate) code: Code,
    pub(crate) says: Says,
    pub(crate) basis: Basis,
    /// Calls that a finding of another topic explains, and their time if it were fixed; `None` if claims are made elsewhere, or never.
    pub(crate) instead: Option<(Calls, Counterfactual)>,
    pub(crate) explains: Explained,
    pub(crate) origin: Origin,
    pub(crate) cause: Option<Cause>,
    /// Findings that say why its calls or waits are as they are: it is their duplicate if they explain at least half of them.
    pub(crate) explained_by: Explainers,
    /// True if the calls are repeated by one process on one file.
    pub(crate) is_repeated: bool,
    /// True if findings of several files are merged into one.
    pub(crate) is_of_one_file: bool,
}

/// Findings that explain those of a hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Explainers {
    /// All that are about the same calls.
    Any,
    /// Findings with these codes.
    Codes(&'static [Code]),
}

impl Explainers {
    /// True if findings with `code` are among them.
    pub(crate) fn has(self, code: Code) -> bool {
        self == Self::Any || self.names(code)
    }

    /// True if findings with `code` are named among them.
    pub(crate) fn names(self, code: Code) -> bool {
        matches!(self, Self::Codes(codes) if codes.contains(&code))
    }
}

impl Hypothesis {
    const fn new(code: Code, says: Says) -> Self {
        Self {
            code,
            says,
            basis: Basis::Form,
            instead: None,
            explains: Explained::Calls,
            origin: Origin::Any,
            cause: None,
            explained_by: Explainers::Codes(&[]),
            is_repeated: false,
            is_of_one_file: false,
        }
    }

    const fn measured(self) -> Self {
        Self { basis: Basis::Measured, ..self }
    }

    const fn of_causes(self) -> Self {
        Self { origin: Origin::Causes, ..self }
    }

    const fn repeated(self) -> Self {
        Self { is_repeated: true, ..self }
    }

    const fn of_one_file(self) -> Self {
        Self { is_of_one_file: true, ..self }
    }

    const fn about(self, cause: Cause) -> Self {
        Self { cause: Some(cause), ..self }
    }

    const fn explaining(self, explains: Explained) -> Self {
        Self { explains, ..self }
    }

    const fn explained_by(self, explained_by: Explainers) -> Self {
        Self { explained_by, ..self }
    }

    /// Adds the counterfactual of calls of `classes`; `inside`: see [`Calls::inside`].
    const fn instead(self, classes: &'static [Class], inside: Option<bool>, counterfactual: Counterfactual) -> Self {
        let calls = Calls { classes, inside, of_shared: false, of_the_program: false };
        Self { instead: Some((calls, counterfactual)), ..self }
    }

    const fn of_shared(mut self) -> Self {
        if let Some((calls, _)) = &mut self.instead {
            calls.of_shared = true;
        }
        self
    }

    const fn of_the_program(mut self) -> Self {
        if let Some((calls, _)) = &mut self.instead {
            calls.of_the_program = true;
        }
        self
    }

    /// Returns the hypothesis of a code; codes about the trace and about comparisons have none of their own, only defaults.
    pub(crate) fn of(code: Code) -> Self {
        table::ALL.iter().find(|one| one.code == code).copied().unwrap_or(Self::new(code, Says::Form))
    }

    /// True for findings about calls that take longer than their peers, the unit of which is known.
    pub(crate) fn is_slower_unit(&self) -> bool {
        self.says == Says::Slower && self.basis == Basis::Excess
    }
}
