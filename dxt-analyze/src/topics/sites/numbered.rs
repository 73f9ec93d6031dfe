//! Call sites by number, for outputs with a row per call. The number of a call site is its frame's index in the run's tree of call stacks.

use super::result::{CallSite, Chooser};
use crate::model::Run;
use crate::symbols::Symbols;
use std::collections::BTreeMap;

/// Call sites of a run, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbered {
    of: BTreeMap<u32, (CallSite, String)>,
}

impl Numbered {
    /// Returns the call sites of all processes, with functions and lines from `symbols`.
    pub(crate) fn of(run: &Run, symbols: &Symbols) -> Self {
        let mut chooser = Chooser::new(run, symbols);
        let mut of = BTreeMap::new();
        for site in run.processes.iter().flat_map(|process| &process.sites) {
            of.entry(site.frame).or_insert_with(|| {
                let site = chooser.of(site.frame).clone();
                let shown = site.place.shown();
                (site, shown)
            });
        }
        Self { of }
    }

    /// Returns the call site with this number.
    pub(crate) fn site(&self, number: u32) -> Option<&CallSite> {
        self.of.get(&number).map(|(site, _)| site)
    }

    /// Returns the place in the program as text, such as `save (io.c:21)`.
    pub(crate) fn place(&self, number: u32) -> Option<&str> {
        self.of.get(&number).map(|(_, shown)| shown.as_str())
    }

    /// Iterates over numbers and places as text, in order of the numbers.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, &str)> {
        self.of.iter().map(|(number, (_, shown))| (*number, shown.as_str()))
    }
}
