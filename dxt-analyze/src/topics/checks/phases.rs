//! Checks of activity over time: gaps without I/O, and periods in which a single process does I/O.

use super::result::{Amount, Verdicts};
use super::{Measured, share};
use crate::findings::{About, Code, Finding, Severity};
use crate::limits::NAMED_EXAMPLES;
use crate::text::units;
use crate::words::checks::phases as words;

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
    let found = (part >= least && phases.span_ns >= m.least.phases_min_ns).then(|| {
        let gaps: Vec<_> = phases.gaps.iter().take(NAMED_EXAMPLES).map(|gap| (gap.start_ns, gap.end_ns)).collect();
        let about = About { time_ns: Some(phases.idle_ns), ..About::default() };
        Finding::new(code, words::idle_gaps(phases.idle_ns, part, &gaps)).with(about)
    });
    let looked = format!("{} in {}", units::counted(phases.gaps.len() as u64, "gap"), units::duration(phases.span_ns));
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), looked, found);
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
    let found = (part >= least && phases.alone_ns >= m.least.phases_min_ns).then(|| {
        let is_much = share(phases.alone_ns, phases.span_ns) >= m.least.high_cost_share;
        let words = words::serialised(part, phases.alone_ns, phases.moving_ns, movers as u64);
        let about = About { time_ns: Some(phases.alone_ns), ..About::default() };
        let severity = if is_much { Severity::Warn } else { Severity::Info };
        Finding { severity, ..Finding::new(code, words).with(about) }
    });
    out.add(
        check,
        code,
        Amount::Ratio(part),
        Amount::Ratio(least),
        format!("{} with data transfer", units::duration(phases.moving_ns)),
        found,
    );
    out.also("by a single process", Amount::Ns(phases.alone_ns), Amount::Ns(m.least.phases_min_ns));
}
