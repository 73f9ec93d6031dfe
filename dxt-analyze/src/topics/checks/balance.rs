//! Checks of load balance over ranks by the imbalance percentage of DeRose, Homer & Johnson (Euro-Par 2007): (max - mean) / max * n / (n -
//! 1). For any number n of ranks, it is 0 if all have equal loads, and 1 if one has the whole load.

use super::result::{Amount, Verdicts};
use super::{Measured, share};
use crate::findings::{About, Code, Finding, Severity};
use crate::limits::NAMED_EXAMPLES;
use crate::model::{FileId, ProcessId};
use crate::sum::Sum;
use crate::text::units;
use crate::words::Words;
use crate::words::checks::balance as words;
use std::collections::BTreeMap;

pub(super) fn judge(measured: &Measured<'_>, out: &mut Verdicts) {
    let one = one_rank(measured, out);
    over_ranks(measured, out, one);
    shared_files(measured, out);
    independent(measured, out);
}

/// Returns the imbalance of `values` over `members` ranks, from 0 (all equal) to 1 (one has everything). Ranks without a value count as 0.
fn imbalance(values: impl Iterator<Item = u64>, members: u64) -> f64 {
    let (mut max, mut sum) = (0_u64, 0_u128);
    for value in values {
        (max, sum) = (max.max(value), sum + u128::from(value));
    }
    if max == 0 || members < 2 {
        return 0.0;
    }
    imbalance_of(max as f64, sum as f64 / members as f64, members)
}

/// Returns the imbalance of `members`, at least 2, ranks by the largest value and the mean: 0 if these are equal, 1 if one rank has everything.
pub(crate) fn imbalance_of(max: f64, mean: f64, members: u64) -> f64 {
    (max - mean) / max * members as f64 / (members - 1) as f64
}

/// Returns the number of ranks to compare: all ranks of the trace, or without MPI the processes that do I/O.
fn members(m: &Measured<'_>) -> u64 {
    (m.run.ranks() + m.run.silent_ranks()).max(m.calls.ranks.len() as u64)
}

/// Checks if one of several ranks moves nearly all bytes; returns true if that gives a finding.
fn one_rank(m: &Measured<'_>, out: &mut Verdicts) -> bool {
    let (check, code, least) = ("bytes of the busiest rank", Code::ONE_RANK, m.least.one_rank_share);
    let all: u64 = m.calls.ranks.values().map(|rank| rank.data.bytes).sum::<Sum>().get();
    if m.run.reduced_ranks() > 0 || members(m) < 2 || all == 0 {
        let why = "fewer than two ranks, counters only as sums over ranks, or no bytes moved";
        out.skip(check, code, Amount::Ratio(least), why);
        return false;
    }
    let busiest = m.calls.ranks.iter().max_by_key(|(process, rank)| (rank.data.bytes, std::cmp::Reverse(**process)));
    let Some((&process, rank)) = busiest else { return false };
    let part = share(rank.data.bytes, all);
    let found = part >= least && all >= m.least.traffic_min_bytes;
    let finding = found.then(|| {
        let moved = (rank.data.bytes, rank.data.count, rank.data.time_ns);
        let words = words::one_rank(&m.run.process_name(process), part, members(m), moved);
        let about = About {
            rank: m.run.process(process).map(|process| process.rank).filter(|&rank| rank >= 0),
            calls: Some(rank.data.count),
            bytes: Some(rank.data.bytes),
            time_ns: Some(rank.data.time_ns),
            ..About::default()
        };
        let severity = m.severity(rank.data.time_ns).max(Severity::Warn);
        Finding { severity, ..Finding::new(code, words).with(about) }
    });
    out.add(
        check,
        code,
        Amount::Ratio(part),
        Amount::Ratio(least),
        format!("{} ranks, {}", members(m), units::bytes(all)),
        finding,
    );
    out.also("moved by all ranks", Amount::Bytes(all), Amount::Bytes(m.least.traffic_min_bytes));
    found
}

fn over_ranks(m: &Measured<'_>, out: &mut Verdicts, one: bool) {
    let least = m.least.straggler_imbalance;
    for (check, code, of, words, enough) in [
        (
            "imbalance of bytes over ranks",
            Code::BYTE_IMBALANCE,
            (|rank| rank.data.bytes) as fn(&super::calls::Rank) -> u64,
            words::byte_imbalance as fn(f64, u64, &[(String, u64)]) -> Words,
            m.least.traffic_min_bytes,
        ),
        (
            "imbalance of time in reads and writes over ranks",
            Code::TIME_IMBALANCE,
            |rank| rank.data.time_ns,
            words::time_imbalance,
            m.least.imbalance_min_ns,
        ),
    ] {
        if let Some(why) = m.no_ranks() {
            out.skip(check, code, Amount::Ratio(least), why);
            continue;
        }
        let mut ranks: Vec<(ProcessId, u64)> =
            m.calls.ranks.iter().map(|(process, rank)| (*process, of(rank))).collect();
        ranks.sort_by_key(|(process, value)| (std::cmp::Reverse(*value), *process));
        let most = ranks.first().map_or(0, |(_, value)| *value);
        let part = imbalance(ranks.iter().map(|(_, value)| *value), members(m));
        // A rank that does everything has a finding of its own already.
        let found = part > least && most >= enough && !one;
        let mean = ranks.iter().map(|(_, value)| *value as f64).sum::<f64>() / members(m).max(1) as f64;
        let finding = found.then(|| {
            let named = ranks.iter().take(NAMED_EXAMPLES);
            let named: Vec<_> = named.map(|(process, value)| (m.run.process_name(*process), *value)).collect();
            let about = About { operation: Some(check.into()), ..About::default() };
            let severity = if code == Code::TIME_IMBALANCE {
                m.severity(most.saturating_sub(mean as u64))
            } else {
                Severity::Info
            };
            Finding { severity, ..Finding::new(code, words(part, mean as u64, &named)).with(about) }
        });
        let elsewhere = if one { ", one of which moves nearly all bytes (see the row above)" } else { "" };
        out.add(
            check,
            code,
            Amount::Ratio(part),
            Amount::Ratio(least),
            format!("{} ranks{elsewhere}", members(m)),
            finding,
        );
        let amount = if code == Code::TIME_IMBALANCE { Amount::Ns } else { Amount::Bytes };
        out.also("on the busiest rank", amount(most), amount(enough));
    }
}

fn shared_files(m: &Measured<'_>, out: &mut Verdicts) {
    let least = m.least.shared_file_imbalance;
    for (check, code, of) in [
        (
            "imbalance of bytes read from a shared file over its ranks",
            Code::SHARED_READ_IMBALANCE,
            (|file| &file.read_by) as fn(&super::file_calls::FileCalls) -> &BTreeMap<ProcessId, u64>,
        ),
        ("imbalance of bytes written to a shared file over its ranks", Code::SHARED_WRITE_IMBALANCE, |file| {
            &file.written_by
        }),
    ] {
        if let Some(why) = m.no_ranks() {
            out.skip(check, code, Amount::Ratio(least), why);
            continue;
        }
        let several = || m.calls.files.iter().filter(|(_, file)| of(file).len() > 1);
        let bytes = |file: &super::file_calls::FileCalls| of(file).values().sum::<Sum>().get();
        let mut shared: Vec<(f64, FileId)> = several()
            .filter(|(_, file)| bytes(file) >= m.least.traffic_min_bytes)
            .map(|(id, file)| (imbalance(of(file).values().copied(), of(file).len() as u64), *id))
            .collect();
        shared.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let Some(&(worst, file)) = shared.first() else {
            let largest = several().map(|(_, file)| bytes(file)).max();
            let why = largest.map_or_else(
                || "no file shared by several ranks".to_owned(),
                |most| {
                    let (most, enough) = (units::bytes(most), units::bytes(m.least.traffic_min_bytes));
                    format!("ranks move at most {most} in any shared file; at least {enough} are needed to judge")
                },
            );
            out.skip(check, code, Amount::Ratio(least), &why);
            continue;
        };
        let found = shared.iter().filter(|(part, _)| *part > least).count();
        let finding = (found > 0).then(|| {
            let named = shared.iter().take(found.min(NAMED_EXAMPLES)).map(|(part, id)| {
                let by = m.calls.files.get(id).map(of);
                let most =
                    by.and_then(|by| by.iter().max_by_key(|(process, bytes)| (**bytes, std::cmp::Reverse(**process))));
                let most = most.map(|(process, bytes)| (m.run.process_name(*process), *bytes));
                (m.name(*id), *part, most)
            });
            let words = words::shared_imbalance(found as u64, &named.collect::<Vec<_>>());
            Finding::new(code, words).with(About { operation: Some(check.into()), ..About::default() })
        });
        out.add(
            check,
            code,
            Amount::Ratio(worst),
            Amount::Ratio(least),
            units::counted(shared.len() as u64, "shared file"),
            finding,
        );
        let of_it = m.calls.files.get(&file).map_or(0, bytes);
        out.also("moved in that file", Amount::Bytes(of_it), Amount::Bytes(m.least.traffic_min_bytes));
    }
}

fn independent(m: &Measured<'_>, out: &mut Verdicts) {
    let (check, code) = ("independent calls on a shared file", Code::SHARED_INDEPENDENT);
    let least = Amount::Count(m.least.collective_min);
    if let Some(why) = m.no_ranks() {
        return out.skip(check, code, least, why);
    }
    let alone = |file: &super::file_calls::FileCalls| {
        let shared = file.read_by.len() > 1 || file.written_by.len() > 1;
        if shared && file.collective_by == 0 { file.alone.count } else { 0 }
    };
    let worst = m.most(&m.calls.files, alone);
    let count = worst.first().map_or(0, |(_, count)| *count);
    let files: Vec<_> = worst.iter().filter(|(_, count)| *count > m.least.collective_min).collect();
    let time =
        files.iter().filter_map(|(file, _)| m.calls.files.get(file)).map(|file| file.alone.time_ns).sum::<Sum>().get();
    let found = (!files.is_empty()).then(|| {
        let files = files.iter().filter_map(|(id, count)| {
            let file = m.calls.files.get(id)?;
            let ranks = file.read_by.len().max(file.written_by.len());
            Some((m.name(*id), *count, ranks, file.alone.time_ns))
        });
        let words = words::shared_independent(&files.collect::<Vec<_>>());
        let about = About { time_ns: Some(time), ..About::default() };
        Finding { severity: m.severity(time), ..Finding::new(code, words).with(about) }
    });
    out.add(check, code, Amount::Count(count), least, "the file with most such calls".into(), found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imbalance_is_zero_to_one_whatever_the_number_of_ranks() {
        let of = |values: &[u64], members| imbalance(values.iter().copied(), members);
        assert_eq!(of(&[5, 5, 5, 5], 4), 0.0);
        assert_eq!((of(&[7], 2), of(&[7], 1000)), (1.0, 1.0));
        // One of four ranks has twice the value of the others: maximum 2, mean 1.25.
        assert!((of(&[1, 1, 2, 1], 4) - 0.75 / 2.0 * 4.0 / 3.0).abs() < 1e-12);
        assert_eq!(of(&[], 8), 0.0);
    }
}
