//! Time of MPI-IO calls outside of system calls: data exchange, waits inside the library, copies. Leaves out the time that ranks wait for
//! system calls of the slowest rank.

use crate::cube::{Cell, Cube};
use crate::findings::{About, Code, Finding};
use crate::model::{Class, FileId, ProcessId};
use crate::shared::layer_calls::Form;
use crate::topics::Whole;
use crate::topics::causes::claim::Claim;
use crate::words::outside::{Outside, outside_posix};
use std::collections::{BTreeMap, BTreeSet};
use trace_format::op::Layer;

/// Sums over the MPI-IO calls of one kind (collective or not, HDF5 or not). Times in ns, summed over processes.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    time: f64,
    inside: f64,
    bytes: u64,
    calls: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    collective: bool,
    hdf5: bool,
}

impl Way {
    fn of(cube: &Cube<'_>, cell: &Cell) -> Self {
        let mode = cube.stream(cell).map(|stream| Form::of(cube.run.op(stream).mode));
        Self { collective: mode == Some(Form::Collective), hdf5: cube.layer(cell) == Some(Layer::Hdf5) }
    }
}

/// Returns the time in MPI-IO and HDF5 outside of system calls, ns per process. Leaves out the time that ranks wait for the slowest rank's
/// system calls.
pub(crate) fn neither(whole: &Whole<'_>) -> f64 {
    let ledger = &whole.ledger.result;
    let mean = |ns: u64| ns as f64 / ledger.processes.max(1) as f64;
    let inside = crate::replay::Work::of_those(&whole.causes.cube, |cell| cell.inside).critical(&whole.causes.cube)
        + crate::topics::causes::shape::shared_records::beyond_mean_inside(whole.causes.cube.run);
    (mean(ledger.job.library_ns) - (inside - mean(ledger.job.system_ns)).max(0.0)).max(0.0)
}

/// Returns one claim (finding with its saving) about the kind of MPI-IO or HDF5 calls with most time outside of system calls; `None` if this
/// time is little. `others`: the claims made so far.
pub(crate) fn claim(whole: &Whole<'_>, others: &[Claim]) -> Option<Claim> {
    let (cube, ledger) = (&whole.causes.cube, &whole.ledger.result);
    let mut by: BTreeMap<(Class, Way), Sum> = BTreeMap::new();
    let mut each: BTreeMap<(Class, Way, ProcessId), f64> = BTreeMap::new();
    let mut aggregators: BTreeMap<(Class, Way), BTreeSet<ProcessId>> = BTreeMap::new();
    let forms = forms(cube, &|class, collective| inside_of(whole, class, collective));
    for cell in &cube.cells {
        let data = matches!(cell.class, Class::Read | Class::Write);
        match (cell.leaf, cell.inside, data) {
            (false, false, true) => {
                let way = Way::of(cube, cell);
                let sum = by.entry((cell.class, way)).or_default();
                sum.time += cell.time_ns();
                sum.bytes = sum.bytes.saturating_add(cell.sums.bytes);
                sum.calls = sum.calls.saturating_add(cell.sums.calls);
                *each.entry((cell.class, way, cell.process)).or_default() += cell.time_ns();
            }
            (true, true, true) => {
                let unknown = [(Way::default(), 1.0)];
                let ways = forms.get(&(cell.file, cell.class)).map_or(unknown.as_slice(), Vec::as_slice);
                for &(way, part) in ways {
                    by.entry((cell.class, way)).or_default().inside += cell.time_ns() * part;
                    aggregators.entry((cell.class, way)).or_default().insert(cell.process);
                    *each.entry((cell.class, way, cell.process)).or_default() -= cell.time_ns() * part;
                }
            }
            _ => {}
        }
    }
    let outside = |sum: &Sum| (sum.time - sum.inside).max(0.0);
    let all: f64 = by.values().map(outside).sum();
    let (&(class, way), sum) = by.iter().max_by(|a, b| outside(a.1).total_cmp(&outside(b.1)))?;
    if all <= 0.0 || sum.time <= 0.0 {
        return None;
    }
    let thresholds = &cube.run.thresholds;
    let matched = &whole.layers.result.collectives;
    // If single collective calls were matched, the time of each beyond its slowest rank's system calls is known.
    let collective = way == Way { collective: true, hdf5: false };
    let known = (collective && matched.followed > 0)
        .then(|| (matched.rest_ns, matched.storage_ns.saturating_add(matched.rest_ns), matched.followed_one_in.max(1)));
    let part = known.map_or(outside(sum) / sum.time, |(rest, moving, _)| rest as f64 / moving.max(1) as f64);
    if part < thresholds.communication_share {
        return None;
    }
    let processes = ledger.processes.max(1) as f64;
    // A single long collective call has a finding of its own.
    let held: f64 =
        others.iter().filter(|claim| claim.finding.code == Code::LONG_COLLECTIVE).map(|claim| claim.waiting_ns).sum();
    // At most the outside time of the process with most of it.
    let of_them = each.iter().filter(|((one, form, _), _)| (*one, *form) == (class, way));
    let most = of_them.map(|(_, ns)| *ns).fold(0.0, f64::max);
    let all_of_it = known.map_or_else(
        || (neither(whole) * outside(sum) / all).min(most) * if way.collective { thresholds.half_share } else { 1.0 },
        |(rest, _, one_in)| rest.saturating_mul(one_in) as f64,
    );
    let mean_bytes = sum.bytes / sum.calls.max(1);
    let each_ns = if way.collective && mean_bytes >= thresholds.large_bytes {
        thresholds.convert_ns_per_byte
    } else {
        thresholds.copy_ns_per_byte
    };
    let copied = sum.bytes as f64 / processes * each_ns;
    let through = aggregators.get(&(class, way)).map_or(processes, |of| of.len().max(1) as f64);
    let exchanged = if way.collective { sum.bytes as f64 / through * thresholds.transfer_ns_per_byte } else { 0.0 };
    // Each collective call has a fixed cost; a few calls are needed, and waits of large ones are unknown in a log.
    let operations = sum.calls as f64 / processes;
    let by_number = way.collective && (mean_bytes < thresholds.large_bytes || !cube.run.was_log());
    let fewer = if by_number { 1.0 - thresholds.far_ratio.min(operations) / operations.max(1.0) } else { 1.0 };
    // HDF5 sets a view for each collective call: fewer calls save these synchronization points, too.
    let views = views(cube).filter(|views| way.collective && !way.hdf5 && views.calls >= sum.calls);
    let in_views = views.map_or(0.0, |views| views.time / processes).min((neither(whole) - all_of_it).max(0.0));
    let saves = (all_of_it + in_views - held - copied.max(exchanged)).max(0.0) * fewer;
    let small = mean_bytes < thresholds.small_bytes;
    let about = About { calls: small.then_some(sum.calls), time_ns: Some(sum.time as u64), ..About::default() };
    let words = outside_posix(&Outside {
        class,
        hdf5: way.hdf5,
        collective: way.collective,
        alone: cube.run.ranks() < 2,
        share: part,
        calls: sum.calls,
        bytes: sum.bytes,
        small,
        time_ns: sum.time as u64,
        inside_ns: sum.inside as u64,
        views: views.map(|views| (views.calls, views.time as u64)),
        more_in_views_ns: (in_views > all_of_it).then_some(in_views as u64),
        one_stripe: one_stripe(whole, cube),
        about,
    });
    let code = match (way.collective, way.hdf5) {
        (true, true) => Code::HDF5_COLLECTIVE,
        (true, false) => Code::COMMUNICATION,
        (false, _) => Code::OUTSIDE_POSIX,
    };
    let finding = Finding::new(code, words);
    Some(Claim {
        waiting_ns: saves,
        outside_ns: outside(sum) + in_views * processes,
        ..Claim::new(finding, Vec::new())
    })
}

/// Sums calls of MPI_File_set_view; `None` if there are none.
fn views(cube: &Cube<'_>) -> Option<Sum> {
    let is = |cell: &&Cell| {
        let of = cube.stream(cell).map(|stream| cube.run.op(stream));
        of.is_some_and(|op| op.layer == Some(Layer::Mpiio) && op.name == "set_view")
    };
    let mut out = Sum::default();
    for cell in cube.cells.iter().filter(is) {
        out.time += cell.time_ns();
        out.calls = out.calls.saturating_add(cell.sums.calls);
    }
    (out.calls > 0).then_some(out)
}

/// Returns the time of system calls inside of collective (or, if false, independent) MPI-IO calls of a class, ns.
pub(super) fn inside_of(whole: &Whole<'_>, class: Class, collective: bool) -> f64 {
    let (layer, op) = (Layer::Mpiio.name(), if class == Class::Read { "read" } else { "write" });
    let rows = whole.layers.result.calls.iter().filter(|row| (row.layer, row.op) == (layer, op));
    let of_form = rows.filter(|row| (row.form == Some(Form::Collective)) == collective);
    of_form.map(|row| row.made.inside.data().time_ns as f64).sum()
}

/// Returns the kinds of MPI-IO calls by file and class, each with its part of the time of the system calls made inside of them.
///
/// For a file with both collective and independent calls, the parts are those over all files (`inside`: time in ns, by class and by true
/// for collective calls). If these are unknown, the kind with most time gets all.
fn forms(cube: &Cube<'_>, inside: &dyn Fn(Class, bool) -> f64) -> BTreeMap<(FileId, Class), Vec<(Way, f64)>> {
    let mut of: BTreeMap<(FileId, Class), BTreeMap<Way, f64>> = BTreeMap::new();
    let program = |cell: &&Cell| !cell.leaf && !cell.inside;
    for cell in cube.cells.iter().filter(program) {
        let ways = of.entry((cell.file, cell.class)).or_default();
        *ways.entry(Way::of(cube, cell)).or_default() += cell.time_ns();
    }
    let parts = |class: Class, ways: BTreeMap<Way, f64>| {
        let both = [false, true].map(|collective| inside(class, collective));
        let all: f64 = both.iter().sum();
        if ways.len() > 1 && all > 0.0 && ways.keys().all(|way| !way.hdf5) {
            return Some(ways.into_keys().map(|way| (way, both[usize::from(way.collective)] / all)).collect());
        }
        ways.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(way, _)| vec![(way, 1.0)])
    };
    of.into_iter().filter_map(|(key, ways)| Some((key, parts(key.1, ways)?))).collect()
}

/// Returns the number of files with a single stripe and at least `striping_min_bytes` moved, and the largest number of bytes moved on one of
/// them; `None` without such files.
fn one_stripe(whole: &Whole<'_>, cube: &Cube<'_>) -> Option<(u64, u64)> {
    let mut bytes: BTreeMap<FileId, u64> = BTreeMap::new();
    for cell in cube.cells.iter().filter(|cell| cell.leaf && matches!(cell.class, Class::Read | Class::Write)) {
        let sum = bytes.entry(cell.file).or_default();
        *sum = sum.saturating_add(cell.sums.bytes);
    }
    let run = whole.causes.cube.run;
    let single = |file: FileId| {
        let layout = run.file(file)?.layout.as_ref().filter(|layout| !layout.is_guess())?;
        let [component] = layout.layout.components.as_slice() else { return None };
        (component.targets.len() == 1).then_some(())
    };
    let (count, most) = bytes
        .iter()
        .filter(|(file, bytes)| **bytes >= run.thresholds.striping_min_bytes && single(**file).is_some())
        .fold((0_u64, 0_u64), |(count, most), (_, bytes)| (count + 1, most.max(*bytes)));
    (count > 0).then_some((count, most))
}
