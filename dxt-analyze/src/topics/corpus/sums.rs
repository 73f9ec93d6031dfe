//! Sums over many jobs that answer the questions of Carns et al., "Understanding and improving computational science storage access through
//! continuous characterization", ACM TOS 7(3), 2011. All results are sums over rows of jobs and files.

use super::files::{FILE_SIZES, Sharing, Tally};
use super::interface::{INTERFACES, InterfaceSum};
use super::job::JobRow;
use super::result::{
    CodeRow, Corpus, DirectionRow, GroupRow, InterfaceRow, NumberRow, ShareRow, SharingRow, SizeRow, Whole,
};
use crate::findings::{Code, Finding};
use crate::load::corpus::LeftOut;
use crate::shared::ratio::{share, share_if_any, share_of_sums};
use crate::sum::Sum;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Classes of the number of files per job: (inclusive upper bound, name).
const NUMBERS: [(u64, &str); 7] = [
    (0, "0"),
    (1, "1"),
    (10, "2 - 10"),
    (100, "11 - 100"),
    (1000, "101 - 1,000"),
    (10_000, "1,001 - 10,000"),
    (u64::MAX, "> 10,000"),
];

/// Classes of the share of run time spent in I/O: (exclusive upper bound, name).
const SHARES: [(f64, &str); 6] = [
    (0.01, "< 1 %"),
    (0.05, "1 - 5 %"),
    (0.10, "5 - 10 %"),
    (0.25, "10 - 25 %"),
    (0.50, "25 - 50 %"),
    (f64::INFINITY, ">= 50 %"),
];

const DIRECTIONS: [&str; 4] = ["no data", "read only", "write only", "read and write"];
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    jobs: u64,
    calls: u64,
    bytes: u64,
    time_ns: u128,
}

impl Used {
    fn add(&mut self, sum: &InterfaceSum) {
        self.jobs += u64::from(sum.used);
        self.calls = self.calls.saturating_add(sum.calls);
        self.bytes = self.bytes.saturating_add(sum.bytes);
        self.time_ns = self.time_ns.saturating_add(sum.time_ns.into());
    }

    fn row(self, interface: &'static str, whole: &Whole) -> InterfaceRow {
        let Self { jobs, calls, bytes, time_ns } = self;
        let share_of_jobs = share(jobs, whole.jobs);
        InterfaceRow { interface, jobs, share_of_jobs, calls, bytes, time_ns }
    }
}

/// Accumulator of sums over many jobs, for the report of `corpus`.
#[derive(Debug, Default)]
pub struct Together {
    whole: Whole,
    incomplete: u64,
    users: BTreeMap<String, Whole>,
    programs: BTreeMap<String, Whole>,
    interfaces: [Used; INTERFACES.len()],
    /// Sums over jobs of independent and collective MPI-IO calls together.
    mpiio: Used,
    tally: Tally,
    numbers: [u64; NUMBERS.len()],
    shares: [(u64, u64); SHARES.len()],
    directions: [Whole; DIRECTIONS.len()],
    findings: BTreeMap<Code, CodeRow>,
}

impl Together {
    /// Adds the row of a job, the totals over its files, and its findings.
    pub fn add(&mut self, job: &JobRow, files: &Tally, findings: &[Finding]) {
        self.whole.add(job);
        self.incomplete += u64::from(!job.complete);
        let number = job.uid.map_or_else(|| "unknown".into(), |uid| uid.to_string());
        self.users.entry(job.user_name.clone().unwrap_or(number)).or_default().add(job);
        self.programs.entry(job.program.clone()).or_default().add(job);
        for (used, (interface, _)) in self.interfaces.iter_mut().zip(INTERFACES) {
            used.add(&job.interface(interface));
        }
        self.mpiio.add(&job.mpiio());
        self.tally.add(files);
        let place = NUMBERS.iter().position(|(most, _)| job.files <= *most);
        place.and_then(|place| self.numbers.get_mut(place)).into_iter().for_each(|jobs| *jobs += 1);
        if let Some(at) = share_place(job.io_share).and_then(|place| self.shares.get_mut(place)) {
            at.0 += 1;
        }
        if let Some(at) = share_place(job.slowest_share).and_then(|place| self.shares.get_mut(place)) {
            at.1 += 1;
        }
        let direction = usize::from(job.called.bytes_read > 0) + 2 * usize::from(job.called.bytes_written > 0);
        self.directions.get_mut(direction).into_iter().for_each(|sums| sums.add(job));
        let mut seen = BTreeSet::new();
        for finding in findings {
            let row = self.findings.entry(finding.code).or_insert_with(|| CodeRow {
                code: finding.code,
                meaning: finding.code.explanation().meaning,
                jobs: 0,
                findings: 0,
                cost_ns: 0,
                severity: finding.severity,
            });
            row.jobs += u64::from(seen.insert(finding.code));
            row.findings += 1;
            row.cost_ns = row.cost_ns.saturating_add(finding.cost_ns.unwrap_or_default().into());
            row.severity = row.severity.max(finding.severity);
        }
    }

    /// Returns the sums as the result of `corpus`; `jobs` are the rows to list.
    #[must_use]
    pub fn finish(self, jobs: Vec<JobRow>, left_out: Vec<LeftOut>, remarks: Vec<String>) -> Corpus {
        let whole = self.whole.finish();
        let mut interfaces: Vec<InterfaceRow> =
            INTERFACES.iter().zip(self.interfaces).map(|((_, name), used)| used.row(name, &whole)).collect();
        let before = INTERFACES.iter().position(|(_, name)| name.starts_with("mpiio")).unwrap_or_default();
        interfaces.insert(before, self.mpiio.row("mpiio", &whole));
        let with_data = self.tally.sizes.iter().map(|sum| sum.files).sum::<Sum>().get();
        let share = |files: u64| share_if_any(files, with_data);
        let sizes = FILE_SIZES.iter().zip(self.tally.sizes);
        let mut findings: Vec<CodeRow> = self.findings.into_values().collect();
        findings.sort_by_key(|row| (Reverse(row.jobs), Reverse(row.cost_ns), row.code));
        Corpus {
            slow_runs: Vec::new(),
            jobs,
            incomplete: self.incomplete,
            users: groups(self.users, &whole),
            programs: groups(self.programs, &whole),
            interfaces,
            file_sizes: sizes.map(|((_, size), sums)| SizeRow { size, sums, share: share(sums.files) }).collect(),
            files_without_data: self.tally.no_data.files,
            files_per_job: NUMBERS
                .iter()
                .zip(self.numbers)
                .map(|((_, files), jobs)| NumberRow { files, jobs })
                .collect(),
            sharing: Sharing::ALL
                .iter()
                .zip(self.tally.sharing)
                .map(|((_, ranks), sums)| SharingRow { ranks, sums })
                .collect(),
            io_shares: SHARES
                .iter()
                .zip(self.shares)
                .map(|((_, share), (jobs, jobs_by_slowest))| ShareRow { share, jobs, jobs_by_slowest })
                .collect(),
            directions: DIRECTIONS
                .iter()
                .zip(self.directions)
                .map(|(direction, sums)| DirectionRow {
                    direction,
                    jobs: sums.jobs,
                    bytes_read: sums.bytes_read,
                    bytes_written: sums.bytes_written,
                })
                .collect(),
            findings,
            left_out,
            remarks,
            whole,
        }
    }
}

fn share_place(share: Option<f64>) -> Option<usize> {
    SHARES.iter().position(|(most, _)| share.is_some_and(|share| share < *most))
}

fn groups(groups: BTreeMap<String, Whole>, whole: &Whole) -> Vec<GroupRow> {
    let of = |part: u128, whole: u128| share_of_sums(part, whole).unwrap_or(0.0);
    let bytes = |sums: &Whole| u128::from(sums.bytes_read) + u128::from(sums.bytes_written);
    let row = |(name, sums): (String, Whole)| GroupRow {
        name,
        share_of_io: of(sums.io_ns, whole.io_ns),
        share_of_bytes: of(bytes(&sums), bytes(whole)),
        sums: sums.finish(),
    };
    let mut rows: Vec<GroupRow> = groups.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.sums.io_ns.cmp(&a.sums.io_ns).then_with(|| a.name.cmp(&b.name)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_one_place() {
        let places = [Some(0.0), Some(0.01), Some(0.0999), Some(0.5), Some(7.0), None].map(share_place);
        assert_eq!(places, [Some(0), Some(1), Some(2), Some(5), Some(5), None]);
    }
}
