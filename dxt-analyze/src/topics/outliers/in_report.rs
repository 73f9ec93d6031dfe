//! Section of the HTML report on slow operations, ranks, nodes and storage targets.

use super::args::{By, Options};
use super::distribution::{Distribution, GroupSample, Metric};
use super::result::fences;
use super::units::{ByProcess, UnitKind, Windows, Work};
use super::view::{OutliersReport, operations_from, units_from};
use super::worst::{Fence, GroupWorst, Worst};
use crate::findings::Finding;
use crate::scan::{Analysis, together};
use crate::shared::groups::Group;
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

together!(
    /// Analyses that share the first pass over the trace.
    First, Partial { operations, processes, targets }
);

/// Outliers as a part of the report; implements [`Reported`].
pub(crate) struct InReport<'a> {
    job: &'a Job<'a>,
    first: First<Distribution<'a, Group>, ByProcess<'a>, Work<'a>>,
}

/// Results of the outlier analyses in the first pass over the trace.
#[derive(Debug)]
pub(crate) struct Read {
    samples: Vec<GroupSample>,
    fences: Vec<Option<Fence>>,
    ranks: OutliersReport,
    nodes: OutliersReport,
    targets: OutliersReport,
}

/// Outliers among operations, ranks, nodes and storage targets, with a report for each.
#[derive(Debug)]
pub(crate) struct All {
    pub(crate) operations: OutliersReport,
    pub(crate) ranks: OutliersReport,
    pub(crate) nodes: OutliersReport,
    pub(crate) targets: OutliersReport,
}

impl InReport<'_> {
    fn options(&self, by: By) -> Options {
        let layout = self.job.layout().map(std::path::Path::to_path_buf);
        Options { by, layout, top: self.job.options.top, ..Options::default() }
    }
}

impl<'a> Reported<'a> for InReport<'a> {
    type First = First<Distribution<'a, Group>, ByProcess<'a>, Work<'a>>;
    type Read = Read;
    type Second<'b>
        = Worst<'b>
    where
        Self: 'b;
    type More = Vec<GroupWorst>;
    type Found = All;

    fn new(job: &'a Job<'a>) -> Self {
        let first = First {
            operations: Distribution { groups: &job.groups, metric: Metric::Bandwidth },
            processes: ByProcess { groups: &job.groups, windows: Windows::WHOLE },
            targets: Work {
                kind: UnitKind::Target,
                groups: &job.groups,
                layouts: &job.certain,
                windows: Windows::WHOLE,
            },
        };
        Self { job, first }
    }

    fn first(&self) -> &Self::First {
        &self.first
    }

    fn read(&self, partial: <Self::First as Analysis>::Partial, sums: &Sums) -> Result<Read> {
        let (run, first) = (self.job.run, &self.first);
        let units = |by, work: &Work<'_>, partial| units_from(run, &self.options(by), work, partial, &sums.lost);
        let of_processes =
            |by, kind| units(by, &Work { kind, ..first.targets }, ByProcess::of(run, kind, &partial.processes));
        Ok(Read {
            fences: fences(&partial.operations, Metric::Bandwidth, &run.thresholds),
            samples: partial.operations,
            ranks: of_processes(By::Rank, UnitKind::Rank),
            nodes: of_processes(By::Node, UnitKind::Node),
            targets: units(By::Ost, &first.targets, partial.targets),
        })
    }

    fn second<'b>(&'b self, read: &'b Read, _sums: &'b Sums) -> Option<Worst<'b>> {
        let outlying = read.fences.iter().any(Option::is_some);
        let worst = Worst { fences: &read.fences, metric: Metric::Bandwidth, keep: self.job.options.top };
        outlying.then_some(worst)
    }

    fn found(self, read: Read, more: Option<Vec<GroupWorst>>, sums: &Sums) -> All {
        let Job { run, layouts, groups, .. } = self.job;
        let operations = operations_from(run, &self.options(By::Op), layouts, groups, &read.samples, more, &sums.lost);
        All { operations, ranks: read.ranks, nodes: read.nodes, targets: read.targets }
    }
}

impl Found for All {
    fn sections(&self) -> Vec<Section> {
        vec![
            Section::of(
                "outliers",
                "Slow operations",
                "Calls that are slow outliers among their peers.",
                &self.operations,
            ),
            Section::of(
                "ranks",
                "Ranks compared",
                "Bandwidth of each rank, compared with the other ranks.",
                &self.ranks,
            ),
            Section::of(
                "nodes",
                "Nodes compared",
                "Bandwidth of each node, compared with the other nodes.",
                &self.nodes,
            ),
            Section::of("osts", "Storage targets compared", "Bandwidth of each OST.", &self.targets),
        ]
    }

    fn findings(&self) -> Vec<&Finding> {
        let all = [&self.operations, &self.ranks, &self.nodes, &self.targets];
        all.into_iter().flat_map(|report| &report.result.findings).collect()
    }
}
