//! Finds units that are slow only because of slow storage targets. A rank, node or file whose bytes are all on one target is as slow as the
//! target. The target is to blame if at least half of the other units that used it were slow there too; the unit is then judged without its
//! operations on that target. If no other unit used the target, the unit is judged as usual.

use super::{Comparison, Judged, Score, Unit, UnitGroup, compare, unit};
use crate::layouts::spread::spread;
use crate::model::Run;
use crate::progress::Bar;
use crate::scan::{Analysis, Block, scan};
use crate::shared::groups::{Group, group_of};
use crate::thresholds::Thresholds;
use crate::topics::outliers::distribution::Metric;
use crate::topics::outliers::units::work::{Cell, Grouped, UnitWork, WHOLE, counted, size_class};
use crate::topics::outliers::units::{UnitKind, Windows, Work, work};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::OpClass;

/// Storage targets that are slow: (true for writes, target index).
type Slow = BTreeSet<(bool, u32)>;

/// Totals of the operations of a unit (rank, node or file) on each slow storage target, and on all other targets.
#[derive(Clone, Debug, Default)]
pub struct UnitMet {
    elsewhere: UnitWork,
    there: BTreeMap<u32, UnitWork>,
}

/// Totals of units (ranks, nodes or files) on slow storage targets and elsewhere, by (group of operations, time window) and unit key.
#[derive(Clone, Debug, Default)]
pub struct Met(BTreeMap<(Group, u32), BTreeMap<u64, UnitMet>>);

impl Met {
    /// Computes the totals of each unit (rank, node or file) on slow storage targets and elsewhere; `None` if no target is slow. Reads the
    /// trace twice more.
    #[must_use]
    pub fn of(run: &Run, analysis: &Work<'_>, metric: Metric) -> Option<Self> {
        let names_targets = |layout: &crate::model::FileLayout| {
            layout.layout.components.iter().any(|component| !component.targets.is_empty())
        };
        if !analysis.layouts.iter().flatten().any(names_targets) {
            return None;
        }
        let slow = slow_targets(run, analysis, metric);
        (!slow.is_empty()).then(|| Self::on(run, &Split { work: *analysis, slow: &slow }))
    }

    fn on(run: &Run, split: &Split<'_>) -> Self {
        let bar = Bar::new(run.segments(), "slow storage targets");
        let (mut partial, _) = scan(run, split, &bar);
        for counted in counted(run, &split.work) {
            let Some(window) = counted.window else { continue };
            let Some(unit) = split.work.unit(counted.number, counted.process, counted.stream) else { continue };
            let target = counted.target(split.work.layouts);
            let target = target.filter(|target| split.is_slow(run, counted.stream, *target));
            let key = (counted.group as u32, window, unit, target, counted.class);
            partial.entry(key).or_default().merge(&counted.cell);
        }
        let mut out = Self::default();
        for ((group, window, unit, target, class), cell) in partial {
            let Some(Some(group)) = split.work.groups.get(group as usize) else { continue };
            let unit = out.0.entry((group.clone(), window)).or_default().entry(unit).or_default();
            let work = target.map_or(&mut unit.elsewhere, |target| unit.there.entry(target).or_default());
            work.entry(class).or_default().merge(&cell);
        }
        out
    }

    /// Returns the units (ranks, nodes or files) of a group in a time window, each with its totals on slow targets and elsewhere; `None` if
    /// there are none.
    pub(super) fn of_group(&self, group: &Group, window: u32) -> Option<&BTreeMap<u64, UnitMet>> {
        self.0.get(&(group.clone(), window))
    }
}

fn is_write(run: &Run, stream: &crate::model::Stream) -> bool {
    run.op(stream).class == Some(OpClass::Write)
}

fn slow_targets(run: &Run, analysis: &Work<'_>, metric: Metric) -> Slow {
    let windows = Windows::WHOLE.clone();
    let targets = Work { kind: UnitKind::Target, windows: &windows, ..*analysis };
    let bar = Bar::new(run.segments(), "storage targets");
    let (partial, _) = scan(run, &targets, &bar);
    let (work, _): (Grouped, _) = work::with_missing(run, &targets, partial);
    let writes = |group: &Group| {
        let of = run.ops.iter().find(|op| Group::new(op, group.nested) == *group);
        of.is_some_and(|op| op.class == Some(OpClass::Write))
    };
    let (kind, named) = (UnitKind::Target, &BTreeSet::new());
    let groups = compare(&Comparison { run, kind, metric, windows: &windows, named, top: usize::MAX }, &work, None);
    let slow = |group: &UnitGroup| {
        let writes = writes(&group.group);
        let rows = group.rows.iter().filter(|row| row.outlier);
        rows.filter_map(|row| Some((writes, row.unit.parse().ok()?))).collect::<Vec<_>>()
    };
    groups.iter().flat_map(slow).collect()
}

/// Pass that separates operations on slow storage targets from all others. An operation that touches a slow target is as slow as the
/// target, even if few of its bytes are there, so it counts fully on that target.
struct Split<'a> {
    work: Work<'a>,
    slow: &'a Slow,
}

impl Split<'_> {
    fn is_slow(&self, run: &Run, stream: &crate::model::Stream, target: u32) -> bool {
        self.slow.contains(&(is_write(run, stream), target))
    }
}

/// Key of totals: group index, time window, key of the unit (rank, node or file), slow target touched (`None` if none), request size class.
type Key = (u32, u32, u64, Option<u32>, u8);

impl Analysis for Split<'_> {
    type Partial = FxHashMap<Key, Cell>;

    fn start(&self) -> Self::Partial {
        FxHashMap::default()
    }

    fn block(&self, partial: &mut Self::Partial, block: &Block<'_>) {
        let mut met: Vec<u32> = Vec::new();
        for row in block.rows() {
            let Some(stream) = block.process.stream(row.stream) else { continue };
            let Some(group) = group_of(self.work.groups, stream) else { continue };
            let Some(unit) = self.work.unit(block.number, block.process, stream) else { continue };
            let Some(window) = self.work.windows.of(row.start.saturating_add(block.process.shift_ns)) else { continue };
            let layout = self.work.layouts.get(stream.file.index()).and_then(Option::as_ref);
            met.clear();
            if let (Some(layout), Ok(offset)) = (layout, u64::try_from(row.offset)) {
                let writes = is_write(block.run, stream);
                spread(&layout.layout, offset, row.length, |target, _| {
                    met.extend(target.filter(|target| self.slow.contains(&(writes, *target))));
                });
                met.sort_unstable();
                met.dedup();
            }
            let cell = Cell::of(row.length, row.duration_ns(), WHOLE);
            let mut add = |target| {
                let key = (group as u32, window, unit, target, size_class(row.length));
                partial.entry(key).or_default().merge(&cell);
            };
            match met.as_slice() {
                [] => add(None),
                met => met.iter().for_each(|target| add(Some(*target))),
            }
        }
    }

    fn merge(&self, into: &mut Self::Partial, other: Self::Partial) {
        for (key, cell) in other {
            into.entry(key).or_default().merge(&cell);
        }
    }
}

/// Slow storage targets of a group: per target, (number of units (ranks, nodes or files) that used it, number of units that were slow on
/// it).
pub(super) struct Blame<'a> {
    units: &'a BTreeMap<u64, UnitMet>,
    there: BTreeMap<u32, (u64, u64)>,
}

impl<'a> Blame<'a> {
    /// Counts, for each slow target, the ranks, nodes or files of the judged group that used it, and those that were slow on it.
    pub(super) fn of(units: &'a BTreeMap<u64, UnitMet>, judged: &Judged, least: &Thresholds) -> Self {
        let mut there: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (key, met) in units {
            for (target, work) in &met.there {
                let (met, slow) = there.entry(*target).or_default();
                *met += 1;
                *slow += u64::from(is_slow(*key, work, judged, least));
            }
        }
        Self { units, there }
    }

    /// Returns a unit (rank, node or file) and its score without operations on targets that were slow for at least half of the other units
    /// that used them; `None` if the unit used no such target.
    pub(super) fn rest(&self, key: u64, judged: &Judged, least: &Thresholds) -> Option<(Unit, Score)> {
        let met = self.units.get(&key)?;
        let mut rest = met.elsewhere.clone();
        let mut any = false;
        for (target, work) in &met.there {
            let own = u64::from(is_slow(key, work, judged, least));
            let (others, slow) = self.there.get(target).map_or((0, 0), |(met, slow)| (met - 1, slow - own));
            if others > 0 && slow * 2 >= others {
                any = true;
            } else {
                work.iter().for_each(|(class, cell)| rest.entry(*class).or_default().merge(cell));
            }
        }
        any.then(|| judged.scored(unit(key, &rest, &judged.usual)))
    }
}

fn is_slow(key: u64, work: &UnitWork, judged: &Judged, least: &Thresholds) -> bool {
    judged.scored(unit(key, work, &judged.usual)).1.slower >= least.min_slowdown
}
