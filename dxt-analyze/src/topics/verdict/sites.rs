//! Functions and lines of the program that make the calls of a finding.

use super::result::{SiteShare, Weighed};
use super::weigh::Card;
use crate::findings::Finding;
use crate::hypotheses::{Explained, Hypothesis};
use crate::limits::NAMED_EXAMPLES;
use crate::model::{ProcessId, Run, StreamIx};
use crate::shared::ratio::share;
use crate::symbols::Place;
use crate::topics::Whole;
use crate::topics::sites::result::OfStreams;
use crate::words;
use trace_format::op::Layer;

/// Returns the places in the program that make the calls in which a finding saves time, most time first: as many as cover most of it.
pub(super) fn of(whole: &Whole<'_>, card: &Card) -> Vec<SiteShare> {
    let (cube, of) = (&whole.causes.cube, &whole.sites.of_streams);
    let (sites, without) = if card.savings.is_empty() {
        of.shares(of_libraries(cube.run, of, &card.finding).into_iter())
    } else {
        of.shares(card.savings.iter().filter_map(|(index, ns)| {
            let cell = cube.cells.get(*index as usize)?;
            Some(((cell.process, cell.stream), *ns))
        }))
    };
    let all: f64 = sites.iter().map(|(_, time, _)| time).sum::<f64>() + without;
    let mut left = cube.run.thresholds.most_share;
    let mut out = Vec::new();
    for (site, time, calls) in sites {
        if left <= 0.0 || out.len() >= NAMED_EXAMPLES {
            break;
        }
        let share = share(time as u64, all as u64);
        left -= share;
        out.push(SiteShare { site, share, calls });
    }
    out
}

/// Returns the time in the calls of MPI-IO and HDF5 that a finding about their own time explains, by process and stream, ns; none for other
/// findings.
fn of_libraries(run: &Run, of: &OfStreams, finding: &Finding) -> Vec<((ProcessId, StreamIx), f64)> {
    if Hypothesis::of(finding.code).explains != Explained::Library {
        return Vec::new();
    }
    let file = finding.about.file.as_deref().and_then(|name| run.file_named(name));
    let is = |process: ProcessId, stream: StreamIx| {
        let stream = run.process(process).and_then(|process| process.stream(stream));
        stream.is_some_and(|stream| {
            let is_library = matches!(run.op(stream).layer, Some(Layer::Mpiio | Layer::Hdf5));
            is_library && run.op(stream).is_data() && file.is_none_or(|file| file == stream.file)
        })
    };
    of.times().filter(|((process, stream), _)| is(*process, *stream)).collect()
}

/// Adds a sentence with the finding's places in the program to its evidence.
pub(super) fn said(mut weighed: Weighed) -> Weighed {
    if !weighed.sites.is_empty() {
        let place = |of: &SiteShare| words::sites::Place {
            share: of.share,
            place: of.site.place.shown(),
            through: of.site.through.clone(),
            caller: of.site.callers.first().map(Place::shown),
        };
        let places: Vec<words::sites::Place> = weighed.sites.iter().map(place).collect();
        weighed.finding.evidence.push(words::sites::places(&places));
    }
    weighed
}
