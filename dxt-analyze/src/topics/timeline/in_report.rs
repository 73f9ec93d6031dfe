//! Charts and I/O phases on the page; reports without a page have neither.

use super::charts::{self, Drawn, PageData};
use super::exact;
use super::grids::Grids;
use super::slices::Slices;
use super::view::TimelineReport;
use crate::findings::Finding;
use crate::render::Part;
use crate::scan::Nothing;
use crate::topics::report::{Found, Job, Reported, Section, Sums};
use anyhow::Result;

/// Timeline as a part of the report; implements [`Reported`].
#[derive(Debug)]
pub(crate) struct InReport<'a>(&'a Job<'a>);

/// Data of the charts, and the timeline with its I/O phases; `None` if no page is made.
#[derive(Debug)]
pub(crate) struct OnPage(pub(crate) Option<(PageData, TimelineReport)>);

impl<'a> Reported<'a> for InReport<'a> {
    type First = Nothing;
    type Read = Slices;
    type Second<'b>
        = Drawn<'b>
    where
        Self: 'b;
    type More = (Grids, Option<exact::Calls>);
    type Found = OnPage;

    fn new(job: &'a Job<'a>) -> Self {
        Self(job)
    }

    fn first(&self) -> &Nothing {
        &Nothing
    }

    fn read(&self, (): (), sums: &Sums) -> Result<Slices> {
        Ok(Slices::new(self.0.run, &sums.all))
    }

    fn second<'b>(&'b self, read: &'b Slices, sums: &'b Sums) -> Option<Drawn<'b>> {
        self.0.options.draw.then(|| charts::drawn(self.0.run, &self.0.layouts, read, &sums.all))
    }

    fn found(self, read: Slices, more: Option<(Grids, Option<exact::Calls>)>, sums: &Sums) -> OnPage {
        let drawn = more.map(|more| {
            let activity = charts::drawn(self.0.run, &self.0.layouts, &read, &sums.all);
            PageData::of(self.0.run, &activity, more, &sums.lost)
        });
        OnPage(drawn)
    }
}

impl Found for OnPage {
    fn sections(&self) -> Vec<Section> {
        let about = "I/O of the job over time, and the I/O phases.";
        let section = |(_, report): &(PageData, TimelineReport)| {
            let mut section = Section::of("phases", "Phases", about, report);
            // Sparklines are for terminals; the page has charts instead.
            section.view.parts.retain(|part| !matches!(part, Part::Pairs(_)));
            section
        };
        self.0.iter().map(section).collect()
    }

    fn findings(&self) -> Vec<&Finding> {
        self.0.iter().flat_map(|(_, report)| &report.findings).collect()
    }
}
