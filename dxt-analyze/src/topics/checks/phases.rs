//! Checks of activity over time: gaps without I/O, and periods in which one process does I/O alone.

use super::result::{Amount, Said, Verdicts};
use super::{Measured, percent, share};
use crate::findings::{About, Code, Severity};
use crate::limits::NAMED_EXAMPLES;
use crate::text::units;

pub(super) fn judge(measured: &Measured<'_>, out: &mut Verdicts) {
    idle(measured, out);
    alone(measured, out);
}

fn idle(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("time with no process in an I/O call", Code::IDLE_GAPS, m.least.idle_share);
    if let Some(why) = m.no_segments() {
        return out.skip(check, code, Amount::Ratio(least), why);
    }
    let phases = &m.phases;
    let part = share(phases.idle_ns, phases.span_ns);
    let said = (part >= least && phases.span_ns >= m.least.phases_min_ns).then(|| Said {
        about: About { time_ns: Some(phases.idle_ns), ..About::default() },
        severity: Severity::Info,
        title: format!("the job does no I/O for {} ({}) between its first and last I/O call", units::duration(phases.idle_ns), percent(part)),
        evidence: phases
            .gaps
            .iter()
            .take(NAMED_EXAMPLES)
            .map(|gap| format!("no I/O for {}: from {} s to {} s", units::duration(gap.ns()), units::seconds(gap.start_ns), units::seconds(gap.end_ns)))
            .collect(),
        cost_ns: None,
        hint: "if the program computes in these gaps, overlap I/O with the computation: nonblocking calls, a writer thread, or node-local \
               buffers that drain in the background"
            .into(),
    });
    let looked = format!("{} in {}", units::counted(phases.gaps.len() as u64, "gap"), units::duration(phases.span_ns));
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), looked, said);
    out.also("from the first I/O call to the last", Amount::Ns(phases.span_ns), Amount::Ns(m.least.phases_min_ns));
}

fn alone(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("time with a single process moving bytes", Code::SERIALISED, m.least.serial_share);
    if let Some(why) = m.no_segments().or_else(|| m.no_ranks()) {
        return out.skip(check, code, Amount::Ratio(least), why);
    }
    let phases = &m.phases;
    if phases.moving_ns == 0 {
        return out.skip(check, code, Amount::Ratio(least), "no bytes moved");
    }
    let part = share(phases.alone_ns, phases.moving_ns);
    let movers = m.calls.ranks.values().filter(|rank| rank.data.count > 0).count();
    let said = (part >= least && phases.alone_ns >= m.least.phases_min_ns).then(|| Said {
        about: About { time_ns: Some(phases.alone_ns), ..About::default() },
        severity: if share(phases.alone_ns, phases.span_ns) >= m.least.high_cost_share { Severity::Warn } else { Severity::Info },
        title: format!("a single process moves bytes during {} of the time with data transfer", percent(part)),
        evidence: vec![format!(
            "{} of {} with data transfer; {movers} {} during the run",
            units::duration(phases.alone_ns),
            units::duration(phases.moving_ns),
            units::agree(movers as u64, "process reads or writes", "processes read or write")
        )],
        cost_ns: None,
        hint: "let ranks move their parts at the same time: look for one rank that does all I/O, serialized ranks, or a single \
               aggregator (cb_nodes)"
            .into(),
    });
    out.add(
        check,
        code,
        Amount::Ratio(part),
        Amount::Ratio(least),
        format!("{} with data transfer", units::duration(phases.moving_ns)),
        said,
    );
    out.also("by a single process", Amount::Ns(phases.alone_ns), Amount::Ns(m.least.phases_min_ns));
}
