//! Checks of calls that move no data: opens, closes, stats, locks.

use super::result::{Amount, Said, Verdicts};
use super::{Measured, percent, share};
use crate::findings::{About, Code, Severity};
use crate::limits::NAMED_EXAMPLES;
use crate::model::ProcessId;
use crate::sum::Sum;
use crate::text::units;

pub(super) fn judge(measured: &Measured<'_>, out: &mut Verdicts) {
    time_per_rank(measured, out);
    share_of_time(measured, out);
    repeated(measured, out);
    per_access(measured, out);
    failed(measured, out);
    rate(measured, out);
}

const HINT: &str = "open each file once and keep it open; let one rank open and stat files and broadcast the result; use fewer, larger files or a container \
                    (HDF5, ADIOS)";

fn time_per_rank(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) =
        ("metadata time of the slowest rank", Code::METADATA_TIME, seconds(m.least.metadata_rank_s));
    if m.run.reduced_ranks() > 0 {
        return out.skip(check, code, Amount::Ns(least), "ranks were reduced to one record");
    }
    let mut ranks: Vec<(u64, ProcessId)> =
        m.calls.ranks.iter().map(|(process, rank)| (rank.metadata.time_ns, *process)).collect();
    ranks.sort_by_key(|&(ns, process)| (std::cmp::Reverse(ns), process));
    let Some(&(most, _)) = ranks.first() else { return out.skip(check, code, Amount::Ns(least), "no calls") };
    let slow: Vec<_> = ranks.iter().filter(|(ns, _)| *ns > least).collect();
    let cost = slow.iter().map(|(ns, _)| *ns).sum::<Sum>().get();
    let said = (!slow.is_empty()).then(|| Said {
        about: About { time_ns: Some(cost), ..About::default() },
        severity: m.severity(cost),
        title: format!(
            "metadata calls take more than {} on {}",
            units::duration(least),
            units::counted(slow.len() as u64, "rank")
        ),
        evidence: slow
            .iter()
            .take(NAMED_EXAMPLES)
            .map(|(ns, process)| format!("{}: {}", m.run.process_name(*process), units::duration(*ns)))
            .collect(),
        cost_ns: Some(cost),
        hint: HINT.into(),
    });
    out.add(
        check,
        code,
        Amount::Ns(most),
        Amount::Ns(least),
        format!("{} {}", ranks.len(), units::agree(ranks.len() as u64, "rank", "ranks")),
        said,
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
    let said = (part >= least && calls.metadata.count >= m.least.metadata_min).then(|| Said {
        about: About { time_ns: Some(calls.metadata.time_ns), ..About::default() },
        severity: Severity::Warn,
        title: format!("{} of the time in I/O calls is spent in metadata calls", percent(part)),
        evidence: m
            .most(&calls.files, |file| file.opens.time_ns.saturating_add(file.closes.time_ns))
            .into_iter()
            .map(|(file, ns)| format!("{}: {} in opens and closes", m.name(file), units::duration(ns)))
            .collect(),
        cost_ns: Some(calls.metadata.time_ns),
        hint: HINT.into(),
    });
    let looked =
        format!("{}, {}", units::counted(calls.metadata.count, "call"), units::duration(calls.metadata.time_ns));
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), looked, said);
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
    let said = (most >= least).then(|| Said {
        about: About { time_ns: Some(cost), ..About::default() },
        severity: m.severity(cost),
        title: format!("single processes open {} {} or more", units::counted(often.count() as u64, "file"), units::counted(least, "time")),
        evidence: files
            .iter()
            .filter(|(_, count)| *count >= least)
            .filter_map(|(id, count)| {
                let file = m.calls.files.get(id)?;
                Some(format!(
                    "{}: {} by {} for {}",
                    m.name(*id),
                    units::counted(*count, "open"),
                    m.run.process_name(file.most_opens.1),
                    units::accesses(file.accesses_of_most)
                ))
            })
            .collect(),
        cost_ns: Some(cost),
        hint: "keep the file open between accesses: each open queries the metadata server, and each close writes back cached data"
            .into(),
    });
    out.add(check, code, Amount::Count(most), Amount::Count(least), units::counted(m.calls.opens.count, "open"), said);
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
    let said = (ratio <= least && opens.count >= m.least.metadata_min).then(|| Said {
        about: About { calls: Some(opens.count), time_ns: Some(cost), ..About::default() },
        severity: m.severity(cost),
        title: format!(
            "the program opens files {} {} for {}",
            units::count(opens.count),
            units::agree(opens.count, "time", "times"),
            units::accesses(data)
        ),
        evidence: m
            .most(&m.calls.files, |file| file.opens.count)
            .into_iter()
            .map(|(file, count)| format!("{}: {}", m.name(file), units::counted(count, "open")))
            .collect(),
        cost_ns: Some(cost),
        hint: "pack small files into one (HDF5, tar with an index, a database), or keep files open".into(),
    });
    let looked = format!("{}, {}", units::counted(opens.count, "open"), units::accesses(data));
    out.add(check, code, Amount::Ratio(ratio), Amount::Ratio(least), looked, said);
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
    let said = (part >= least && failed.count >= m.least.failed_opens_min).then(|| Said {
        about: About { calls: Some(failed.count), time_ns: Some(failed.time_ns), ..About::default() },
        severity: m.severity(failed.time_ns),
        title: format!(
            "{} of {} {}",
            units::count(failed.count),
            units::counted(all, "open"),
            units::agree(failed.count, "fails", "fail")
        ),
        evidence: m
            .most(&m.calls.failed_files, |count| *count)
            .into_iter()
            .map(|(file, count)| format!("{}: {}", m.name(file), units::counted(count, "failed open")))
            .collect(),
        cost_ns: Some(failed.time_ns),
        hint: "if the program searches for files: shorten search paths (PYTHONPATH, LD_LIBRARY_PATH), cache which files are absent, put packages into one image"
            .into(),
    });
    out.add(check, code, Amount::Ratio(part), Amount::Ratio(least), units::counted(all, "open"), said);
    out.also("failed opens", Amount::Count(failed.count), Amount::Count(m.least.failed_opens_min));
}

fn rate(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code, least) = ("peak metadata calls per second", Code::METADATA_RATE, m.least.metadata_rate);
    if let Some(why) = m.no_segments() {
        return out.skip(check, code, Amount::PerSecond(least), why);
    }
    let (peak, at) = m.phases.metadata_peak;
    let said = (peak >= least).then(|| Said {
        about: About { calls: Some(peak as u64), ..About::default() },
        severity: Severity::Warn,
        title: format!("metadata calls peak at {} per second", units::count(peak as u64)),
        evidence: vec![format!("in the second that begins at {} s", units::seconds(at))],
        cost_ns: None,
        hint: HINT.into(),
    });
    let looked = units::counted(m.calls.metadata.count, "metadata call");
    out.add(check, code, Amount::PerSecond(peak), Amount::PerSecond(least), looked, said);
}
