//! Divides a run's calls into pieces, to compare each with the same piece of other runs.

use super::pace::{Course, Kind, Paces, SLOTS};

/// Piece of a run: consecutive calls of one kind (type and size class). Piece i is the same work in all runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    /// Start of the calls in this piece, ns since the run's start.
    pub(super) from_ns: f64,
    /// End of the calls in this piece, ns since the run's start.
    pub(super) until_ns: f64,
    pub(super) time_ns: f64,
    /// Mean of the natural logarithms of the durations of the piece's calls.
    pub(super) mean: f64,
}

impl Piece {
    /// Returns the time at which calls of the piece start to exceed the log duration `most`, ns since the run's start. A slow call makes
    /// its whole piece look slow, including earlier calls, so the piece's time windows (in `paces`, of the same run) before the first slow
    /// one are skipped.
    pub(super) fn begins_to_exceed(&self, most: f64, paces: &Paces) -> f64 {
        let width = paces.length_ns as f64 / SLOTS as f64;
        let slots = paces.course(self.kind).map_or(&[][..], |course| &course.slots);
        let begin = |slot: u8| f64::from(slot) * width;
        let slow = slots.iter().find(|(slot, sum)| {
            let within = begin(*slot) + width > self.from_ns && begin(*slot) < self.until_ns;
            within && sum.logs() / sum.calls as f64 > most
        });
        self.from_ns.max(slow.map_or(0.0, |(slot, _)| begin(*slot)))
    }
}

/// Divides the calls of one kind (type and size class), in a run of `length_ns` ns, into `parts` pieces of equal call count.
pub(super) fn cut(course: &Course, length_ns: u64, parts: usize) -> Vec<Piece> {
    let width = length_ns as f64 / SLOTS as f64;
    let calls = course.all().calls as f64;
    let at = |part: usize| Mark::at(course, width, calls * part as f64 / parts as f64);
    let marks: Vec<Mark> = (0..=parts).map(at).collect();
    let piece = |two: &[Mark]| Piece {
        kind: course.kind,
        from_ns: two[0].begins_ns,
        until_ns: two[1].ends_ns,
        time_ns: two[1].time_ns - two[0].time_ns,
        mean: (two[1].logs - two[0].logs) / (calls / parts as f64),
    };
    marks.windows(2).map(piece).collect()
}

/// Boundary between two pieces of a [`Course`]: totals of all calls before it, end of the last call before it, start of the next call.
struct Mark {
    begins_ns: f64,
    ends_ns: f64,
    time_ns: f64,
    logs: f64,
}

impl Mark {
    fn at(course: &Course, width: f64, calls: f64) -> Self {
        let (mut before, mut time_ns, mut logs) = (0.0, 0.0, 0.0);
        let mut mark = None;
        let mut ends_ns = 0.0;
        for (slot, sum) in &course.slots {
            let here = sum.calls as f64;
            let part = ((calls - before) / here).clamp(0.0, 1.0);
            let begin = f64::from(*slot) * width;
            if part > 0.0 {
                ends_ns = begin + width * part;
            }
            if part < 1.0 && mark.is_none() {
                mark = Some(begin + width * part);
            }
            time_ns += sum.time_ns as f64 * part;
            logs += sum.logs() * part;
            before += here;
        }
        Self { begins_ns: mark.unwrap_or(ends_ns), ends_ns, time_ns, logs }
    }
}
