//! Assignment of slices (bars that stand for calls) to tracks (rows of the viewer). Viewers show a track correctly only if any two of its
//! slices are disjoint or nested. This holds for the calls of one thread, except for concurrent (nonblocking) calls, which get additional
//! tracks.

use super::Slice;

/// Distributes the slices (bars) of one thread over tracks (rows of the viewer), first fit by start. Returns the slices of each track,
/// sorted by start; an outer slice precedes the slices inside it.
pub(crate) fn lanes(mut slices: Vec<Slice>) -> Vec<Vec<Slice>> {
    slices.sort_by_key(|slice| (slice.start, std::cmp::Reverse(slice.end), slice.what));
    let mut lanes: Vec<Lane> = Vec::new();
    for slice in slices {
        match lanes.iter_mut().position(|lane| lane.has_room(&slice)).and_then(|at| lanes.get_mut(at)) {
            Some(lane) => lane.push(slice),
            None => {
                let mut lane = Lane::default();
                lane.push(slice);
                lanes.push(lane);
            }
        }
    }
    lanes.into_iter().map(|lane| lane.slices).collect()
}

/// Track (row of the viewer) under construction: its slices (bars), and the end times of the slices still open, innermost last.
#[derive(Default)]
struct Lane {
    slices: Vec<Slice>,
    open: Vec<u64>,
}

impl Lane {
    fn has_room(&mut self, slice: &Slice) -> bool {
        while self.open.last().is_some_and(|&end| end <= slice.start) {
            self.open.pop();
        }
        self.open.last().is_none_or(|&end| slice.end <= end)
    }

    fn push(&mut self, slice: Slice) {
        self.open.push(slice.end);
        self.slices.push(slice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::perfetto::{Common, What};
    use crate::model::StreamIx;

    fn slice(start: u64, end: u64) -> Slice {
        let what = What { stream: StreamIx(0), of: Common::Stream };
        Slice { thread: 0, what, start, end, count: 1, bytes: 0, time: end - start, offset: 0, site: None }
    }

    #[test]
    fn slices_of_a_track_nest_or_are_disjoint() {
        let spans = [(10, 20), (0, 30), (12, 15), (15, 40), (30, 35), (30, 50), (5, 5)];
        let tracks = lanes(spans.iter().map(|&(start, end)| slice(start, end)).collect());
        let found: Vec<Vec<(u64, u64)>> =
            tracks.iter().map(|track| track.iter().map(|slice| (slice.start, slice.end)).collect()).collect();
        assert_eq!(found, [vec![(0, 30), (5, 5), (10, 20), (12, 15), (30, 50), (30, 35)], vec![(15, 40)]]);
    }
}
