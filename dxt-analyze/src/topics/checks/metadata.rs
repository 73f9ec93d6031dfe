//! Checks of calls that move no data: opens, closes, stats, locks.

use super::result::{Amount, Verdicts};
use super::{Measured, share};
use crate::findings::{About, Code, Finding, Severity};
use crate::limits::NAMED_EXAMPLES;
use crate::model::ProcessId;
use crate::sum::Sum;
use crate::text::units;
use crate::words::checks::metadata as words;

pub(super) fn judge(measured: &Measured<'_>, out: &mut Verdicts) {
    time_per_rank(measured, out);
    share_of_time(measured, out);
    repeated(measured, out);
    per_access(measured, out);
    failed(measured, out);
    rate(measured, out);
}

fn time_per_rank(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) =
        ("metadata time of the slowest rank", Code::METADATA_TIME, seconds(m.least.metadata_rank_s));
    if m.run.reduced_ranks() > 0 {
        return out.skip(check, code, Amount::Ns(least), "the ranks' counters are recorded only as sums over ranks");
    }
    let mut ranks: Vec<(u64, ProcessId)> =
        m.calls.ranks.iter().map(|(process, rank)| (rank.metadata.time_ns, *process)).collect();
    ranks.sort_by_key(|&(ns, process)| (std::cmp::Reverse(ns), process));
    let Some(&(most, _)) = ranks.first() else { return out.skip(check, code, Amount::Ns(least), "no calls") };
    let slow: Vec<_> = ranks.iter().filter(|(ns, _)| *ns > least).collect();
    let cost = slow.iter().map(|(ns, _)| *ns).sum::<Sum>().get();
    let found = (!slow.is_empty()).then(|| {
        let named = slow.iter().take(NAMED_EXAMPLES).map(|(ns, process)| (m.run.process_name(*process), *ns));
        let words = words::metadata_time(least, slow.len() as u64, &named.collect::<Vec<_>>());
        m.costly(code, words, About::default(), cost)
    });
    out.add(
        check,
        code,
        Amount::Ns(most),
        Amount::Ns(least),
        format!("{} {}", ranks.len(), units::agree(ranks.len() as u64, "rank", "ranks")),
        found,
    );
}

fn seconds(value: f64) -> u64 {
    (value * 1e9) as u64
}

fn share_of_time(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("metadata's share of I/O time", Code::METADATA_SHARE, m.least.metadata_share);
    let calls = &m.calls;
    if calls.all.time_ns == 0 {
        return out.skip(check, code, Amount::Ratio(least), "no calls");
    }
    let part = share(calls.metadata.time_ns, calls.all.time_ns);
    let found = (part >= least && calls.metadata.count >= m.least.metadata_min).then(|| {
        let files = m.named(&calls.files, |file| file.opens.time_ns.saturating_add(file.closes.time_ns));
        let about = About { time_ns: Some(calls.metadata.time_ns), ..About::default() };
        let finding = Finding::new(code, words::metadata_share(part, &files)).with(about);
        Finding { severity: Severity::Warn, cost_ns: Some(calls.metadata.time_ns), ..finding }
    });
    let looked =
        format!("{}, {}", units::counted(calls.metadata.count, "call"), units::duration(calls.metadata.time_ns));
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), looked, found);
    out.also("calls", Amount::Count(calls.metadata.count), Amount::Count(m.least.metadata_min));
}

fn repeated(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("opens of one file by one process", Code::REPEATED_OPENS, m.least.opens_per_file);
    let files = m.most(&m.calls.files, |file| file.most_opens.0);
    let Some(&(_, most)) = files.first() else { return out.skip(check, code, Amount::Count(least), "no opens") };
    let often = m.calls.files.values().filter(|file| file.most_opens.0 >= least);
    let cost = often
        .clone()
        .fold(0_u64, |sum, file| sum.saturating_add(file.opens.time_ns).saturating_add(file.closes.time_ns));
    let found = (most >= least).then(|| {
        let named = files.iter().filter(|(_, count)| *count >= least).filter_map(|(id, count)| {
            let file = m.calls.files.get(id)?;
            Some((m.name(*id), *count, m.run.process_name(file.most_opens.1), file.accesses_of_most))
        });
        let words = words::repeated_opens(often.count() as u64, least, &named.collect::<Vec<_>>());
        m.costly(code, words, About::default(), cost)
    });
    out.add(check, code, Amount::Count(most), Amount::Count(least), units::counted(m.calls.opens.count, "open"), found);
}

fn per_access(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("reads and writes per open", Code::OPEN_PER_ACCESS, m.least.accesses_per_open);
    let opens = &m.calls.opens;
    if opens.count == 0 {
        return out.skip(check, code, Amount::Ratio(least), "no opens");
    }
    let data = m.calls.reads.count.saturating_add(m.calls.writes.count);
    let ratio = data as f64 / opens.count as f64;
    let cost = m.calls.metadata.time_ns;
    let found = (ratio <= least && opens.count >= m.least.metadata_min).then(|| {
        let files = m.named(&m.calls.files, |file| file.opens.count);
        let about = About { calls: Some(opens.count), ..About::default() };
        m.costly(code, words::open_per_access(opens.count, data, &files), about, cost)
    });
    let looked = format!("{}, {}", units::counted(opens.count, "open"), units::accesses(data));
    out.add(check, code, Amount::Ratio(ratio), Amount::Ratio(least), looked, found);
    out.also("opens", Amount::Count(opens.count), Amount::Count(m.least.metadata_min));
}

fn failed(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("failed opens", Code::FAILED_OPENS, m.least.failed_opens_share);
    let failed = &m.calls.failed_opens;
    let all = m.calls.opens.count.saturating_add(failed.count);
    if all == 0 {
        return out.skip(check, code, Amount::Ratio(least), "no opens");
    }
    let part = share(failed.count, all);
    let found = (part >= least && failed.count >= m.least.failed_opens_min).then(|| {
        let files = m.named(&m.calls.failed_files, |count| *count);
        let about = About { calls: Some(failed.count), ..About::default() };
        m.costly(code, words::failed_opens(failed.count, all, &files), about, failed.time_ns)
    });
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), units::counted(all, "open"), found);
    out.also("failed opens", Amount::Count(failed.count), Amount::Count(m.least.failed_opens_min));
}

fn rate(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("peak metadata calls per second", Code::METADATA_RATE, m.least.metadata_rate);
    if let Some(why) = m.no_segments() {
        return out.skip(check, code, Amount::PerSecond(least), why);
    }
    let (peak, at) = m.phases.metadata_peak;
    let found = (peak >= least).then(|| {
        let about = About { calls: Some(peak as u64), ..About::default() };
        Finding { severity: Severity::Warn, ..Finding::new(code, words::metadata_rate(peak as u64, at)).with(about) }
    });
    let looked = units::counted(m.calls.metadata.count, "metadata call");
    out.add(check, code, Amount::PerSecond(peak), Amount::PerSecond(least), looked, found);
}
