//! Sentences on stragglers: ranks that arrive last at synchronization points and collective calls.

use crate::findings::About;
use crate::text::units as show;
use crate::words::Words;

/// Statement that I/O is not the cause of the delay.
const NOT_SLOW: &str = "the calls themselves are not slow";

/// Ranks that arrive last, so that others wait for them (stragglers).
pub(crate) struct Late {
    /// Name of the stragglers (ranks that arrive last).
    pub(crate) name: String,
    /// True if the name is that of a single rank or node.
    pub(crate) one: bool,
    /// Number of synchronization points, or collective calls, at which the stragglers arrive last.
    pub(crate) times: u64,
    /// Number of synchronization points, or collective calls, in total.
    pub(crate) of: u64,
    /// Time that the other ranks wait for the stragglers, ns.
    pub(crate) saves_ns: u64,
}

impl Late {
    fn arrives(&self) -> String {
        format!("{} {} last at {} of", self.name, if self.one { "arrives" } else { "arrive" }, show::count(self.times))
    }

    fn whose(&self) -> &'static str {
        if self.one { "its" } else { "their" }
    }

    fn hint(&self) -> String {
        format!(
            "give {} less work between these calls, or find out what slows {} there",
            self.name,
            if self.one { "it" } else { "them" }
        )
    }

    fn hint_of_points(&self) -> String {
        format!("{} (another process on its cores, a slower node)", self.hint())
    }
}

/// Formats the finding that ranks arrive last at synchronization points of their group of `ranks` ranks.
pub(crate) fn late_in_group(of: &Late, ranks: u64, about: About) -> Words {
    let title = format!(
        "{} {} of {} group of {}",
        of.arrives(),
        show::counted(of.of, "synchronization point"),
        of.whose(),
        show::counted(ranks, "rank")
    );
    let sentence = format!(
        "the group waits {} of the run time, and the job's other ranks wait for this group; time in I/O is already subtracted, so the cause is not I/O",
        show::duration(of.saves_ns)
    );
    Words::new(title, of.hint_of_points()).with(sentence, about)
}

/// Formats the finding that ranks arrive last at synchronization points of all ranks.
pub(crate) fn late_to_meet(of: &Late, about: About) -> Words {
    let (it, does) =
        if of.one { ("the straggler", "computes or waits") } else { ("the stragglers", "compute or wait") };
    let title = format!(
        "{} {}: the others wait {} of the run time",
        of.arrives(),
        show::counted(of.of, "synchronization point"),
        show::duration(of.saves_ns)
    );
    let sentence = format!(
        "at MPI_Barrier, MPI_Allreduce, ...: while the others wait, {it} {does} for messages; extra time in I/O is already subtracted, so the cause is not I/O"
    );
    Words::new(title, of.hint_of_points()).with(sentence, about)
}

/// Formats the finding that ranks arrive last at collective calls: `own_ns` after their previous collective call, other ranks after `usual_ns`.
pub(crate) fn late_to_calls(of: &Late, own_ns: u64, usual_ns: u64, about: About) -> Words {
    let title = format!(
        "{} {}: the others wait {} of the run time",
        of.arrives(),
        show::counted(of.of, "collective call"),
        show::duration(of.saves_ns)
    );
    let sentence = format!(
        "median time from one collective call to the next: {} on {}, and {} on the other ranks",
        show::duration(own_ns),
        of.name,
        show::duration(usual_ns)
    );
    Words::new(title, format!("{}: {NOT_SLOW}", of.hint())).with(sentence, about)
}

/// Formats the finding that ranks arrive last at collective opens.
pub(crate) fn late_to_open(of: &Late, about: About) -> Words {
    let title = format!(
        "{} {}: the others wait {} of the run time",
        of.arrives(),
        show::counted(of.of, "collective MPI-IO open"),
        show::duration(of.saves_ns)
    );
    let sentence = "inferred from total times, as the log has no times of single opens: a rank that spends least time in opens arrives last";
    Words::new(title, format!("{}: {NOT_SLOW}", of.hint())).with(sentence, about)
}

/// Kind of call in which ranks wait for each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Collective calls of MPI-IO and HDF5, in which ranks wait for each other.
    Calls,
    /// Synchronization points of MPI, e.g. MPI_Barrier, in which ranks wait for each other.
    Points,
}

/// Formats the finding that alternating ranks, `ranks` in total, arrive last in `times` of `of` calls; all wait for `waits_ns`.
pub(crate) fn late_by_turns(place: Place, (times, of): (u64, u64), ranks: u64, waits_ns: f64) -> Words {
    let (there, reason) = match place {
        Place::Calls => ("collective call", NOT_SLOW),
        Place::Points => (
            "synchronization point",
            "time in I/O is already subtracted from the delay at MPI_Barrier, MPI_Allreduce, ..., so its cause is not I/O",
        ),
    };
    let title = format!(
        "at {} of {}, one rank arrives {} after all others on average, and not always the same rank",
        show::count(times),
        show::counted(of, there),
        crate::words::common::each_ns(waits_ns, times)
    );
    let hint = "find what delays a different rank each time (work that differs between steps, other processes on its cores), or let ranks synchronize less \
                often";
    let sentence = format!(
        "the other ranks wait {} of the run time; {} {} the last one at least once; {reason}",
        show::duration(waits_ns as u64),
        show::counted(ranks, "different rank"),
        show::agree(ranks, "is", "are")
    );
    Words::new(title, hint).with(sentence, About::default())
}

#[cfg(test)]
pub(super) fn samples() -> Vec<crate::words::tests::Sample> {
    use crate::findings::Code;
    let about = About::default;
    let late = |one: bool| {
        let name = if one { "rank 3" } else { "ranks 3, 4 and 5" }.into();
        Late { name, one, times: 40, of: 48, saves_ns: 12_000_000_000 }
    };
    let (own_ns, usual_ns) = (250_000_000, 12_000_000);
    vec![
        (Code::LATE_TO_MEET, late_in_group(&late(true), 8, about())),
        (Code::LATE_TO_MEET, late_in_group(&late(false), 8, about())),
        (Code::LATE_TO_MEET, late_to_meet(&late(true), about())),
        (Code::LATE_TO_MEET, late_to_meet(&late(false), about())),
        (Code::LATE_TO_MEET, late_by_turns(Place::Points, (40, 48), 7, 9e9)),
        (Code::LATE_RANKS, late_to_calls(&late(true), own_ns, usual_ns, about())),
        (Code::LATE_RANKS, late_to_calls(&late(false), own_ns, usual_ns, about())),
        (Code::LATE_RANKS, late_to_open(&late(true), about())),
        (Code::LATE_RANKS, late_to_open(&late(false), about())),
        (Code::LATE_RANKS, late_by_turns(Place::Calls, (40, 48), 7, 9e9)),
    ]
}
