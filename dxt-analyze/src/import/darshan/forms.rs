//! Forms of MPI-IO calls: collective, independent, split or nonblocking. DXT's segments do not record the form, but counters give the
//! number of a rank's calls on a file by form. If there were several forms, the rank's longest calls are assumed to be the collective
//! calls, which wait for other ranks, then the split calls. The counts are the log's; the assignment to calls is a guess.

use super::named::{Named, total};
use super::ops::FORMS;
use super::shared::Shared;
use crate::limits::LOG_HELD;
use darshan_log::{CounterRecord, DxtRecord, Module, Operation, Segment};
use rustc_hash::FxHashMap;
use trace_format::op::OpMode;

/// Order in which calls get their forms (collective, split, independent, nonblocking), longest calls first: indices into [`FORMS`].
const LONGEST_FIRST: [usize; 4] = [1, 2, 0, 3];

/// Number of calls by form (independent, collective, ...) made by one rank, and the segments that still need a form.
#[derive(Default)]
pub(crate) struct Forms {
    /// Number of calls by form (independent, collective, ...), as in [`FORMS`], for each file and direction (true for writes).
    counts: FxHashMap<(u64, bool), [u64; 4]>,
    /// Number of calls on each file (by record id) according to the rank's own records, excluding records that stand for all ranks.
    own: FxHashMap<u64, u64>,
    /// Segments whose form (independent, collective, ...) is not assigned yet, in the order of the log.
    held: Vec<(DxtRecord, Operation, Vec<Segment>)>,
    held_segments: usize,
}

impl Forms {
    /// Reads the calls by form from the rank's records and from shared records (of all ranks), of which each of `nprocs` ranks gets an equal part.
    pub(crate) fn of(counters: &[(Module, CounterRecord)], shared: &Shared, nprocs: Option<i64>) -> Self {
        let ranks = nprocs.and_then(|ranks| u64::try_from(ranks).ok()).unwrap_or(1).max(1);
        let mut out = Self::default();
        let mut add = |records: &[(Module, CounterRecord)], ranks: u64| {
            for (module, record) in records.iter().filter(|(module, _)| *module == Module::MpiIo) {
                for writes in [false, true] {
                    let forms = Named { module: *module, record }.forms(writes);
                    out.counts.insert((record.id, writes), forms.map(|count| count.div_ceil(ranks)));
                }
            }
        };
        add(&shared.records, ranks);
        add(counters, 1);
        for (module, record) in counters.iter().filter(|(module, _)| *module == Module::MpiIo) {
            let calls = |writes| total(Named { module: *module, record }.forms(writes));
            out.own.insert(record.id, calls(false).saturating_add(calls(true)));
        }
        out
    }

    fn counts(&self, id: u64, operation: Operation) -> [u64; 4] {
        self.counts.get(&(id, operation == Operation::Write)).copied().unwrap_or_default()
    }

    /// Returns the number of the rank's calls on a file by its own records; shared records (of all ranks) do not contain the part of a rank.
    pub(crate) fn calls(&self, id: u64) -> u64 {
        self.own.get(&id).copied().unwrap_or(0)
    }

    /// Returns the form (e.g. collective) of the calls in `segments` if all calls of the rank on the file in this direction have one form.
    /// Otherwise keeps the segments for [`Self::give_out`] and returns `None`; if memory is short, returns the most frequent form.
    pub(crate) fn form(&mut self, record: &DxtRecord, operation: Operation, segments: &[Segment]) -> Option<OpMode> {
        let counts = self.counts(record.id, operation);
        let used = counts.iter().filter(|count| **count > 0).count();
        let fits = self.held_segments + segments.len() <= LOG_HELD;
        if used < 2 || !fits {
            let most = counts.into_iter().max().unwrap_or(0);
            return Some(
                FORMS.into_iter().zip(counts).find(|(_, count)| *count == most).map_or(OpMode::Plain, |(form, _)| form),
            );
        }
        self.held_segments += segments.len();
        match self.held.last_mut() {
            Some((last, known, held)) if last.id == record.id && *known == operation => {
                held.extend_from_slice(segments);
            }
            _ => self.held.push((record.clone(), operation, segments.to_vec())),
        }
        None
    }

    /// Assigns forms (collective, ...) to the segments kept by [`Self::form`], and passes the segments to `each`, form by form.
    pub(crate) fn give_out(&mut self, mut each: impl FnMut(&DxtRecord, Operation, OpMode, &[Segment])) {
        self.held_segments = 0;
        for (record, operation, mut segments) in std::mem::take(&mut self.held) {
            let counts = self.counts(record.id, operation);
            // The sort is stable, so calls of equal duration stay in the order of the log.
            segments.sort_by(|a, b| (b.end - b.start).total_cmp(&(a.end - a.start)));
            let mut rest = segments.as_mut_slice();
            for (place, count) in parts(counts, rest.len() as u64) {
                let (now, later) = rest.split_at_mut(rest.len().min(count as usize));
                rest = later;
                if let (Some(form), false) = (FORMS.get(place), now.is_empty()) {
                    each(&record, operation, *form, now);
                }
            }
        }
    }
}

/// Returns pairs (index in [`FORMS`], number of calls) that divide `segments` calls by form (independent, collective, ...), in the order of
/// assignment. The numbers are `counts`, scaled in proportion if the totals differ.
fn parts(counts: [u64; 4], segments: u64) -> Vec<(usize, u64)> {
    let calls = total(counts).max(1);
    let mut before = 0_u64;
    let up_to = |number: u64| (u128::from(segments) * u128::from(number) / u128::from(calls)) as u64;
    let part = |place: usize| {
        let until = before.saturating_add(counts.get(place).copied().unwrap_or(0));
        let count = up_to(until).saturating_sub(up_to(before));
        before = until;
        (place, count)
    };
    LONGEST_FIRST.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_segment_gets_a_form_and_each_form_its_number() {
        assert_eq!(parts([3, 2, 0, 1], 6), [(1, 2), (2, 0), (0, 3), (3, 1)]);
        assert_eq!(parts([100, 0, 0, 0], 7), [(1, 0), (2, 0), (0, 7), (3, 0)]);
        for (counts, segments) in [([3, 2, 0, 1], 3), ([1, 1, 1, 1], 9), ([5, 0, 7, 0], 1)] {
            assert_eq!(parts(counts, segments).iter().map(|(_, count)| count).sum::<u64>(), segments, "{counts:?}");
        }
    }

    #[test]
    fn the_longest_calls_are_the_collective_ones() {
        let mut forms = Forms::default();
        forms.counts.insert((7, true), [2, 1, 0, 0]);
        let record = DxtRecord { id: 7, rank: 0, hostname: "n".into(), write_count: 3, read_count: 0 };
        let segment = |start: f64, took: f64| Segment { offset: 0, length: 1, start, end: start + took, thread: None };
        assert_eq!(forms.form(&record, Operation::Write, &[segment(0.0, 0.1), segment(1.0, 0.5)]), None);
        assert_eq!(forms.form(&record, Operation::Write, &[segment(2.0, 0.2)]), None);
        assert_eq!(forms.form(&record, Operation::Read, &[segment(2.0, 0.2)]), Some(OpMode::Plain));
        let mut given: Vec<(OpMode, Vec<f64>)> = Vec::new();
        forms.give_out(|_, _, form, segments| given.push((form, segments.iter().map(|one| one.start).collect())));
        assert_eq!(given, [(OpMode::Collective, vec![1.0]), (OpMode::Plain, vec![2.0, 0.0])]);
    }

    #[test]
    fn calls_without_room_get_the_form_that_most_have() {
        let mut forms = Forms::default();
        forms.counts.insert((7, true), [2, 0, 5, 0]);
        let record = DxtRecord { id: 7, rank: 0, hostname: "n".into(), write_count: 3, read_count: 0 };
        let segment = Segment { offset: 0, length: 1, start: 0.0, end: 1.0, thread: None };
        let many = vec![segment; LOG_HELD + 1];
        assert_eq!(forms.form(&record, Operation::Write, &many), FORMS.get(2).copied());
        assert_eq!(forms.form(&record, Operation::Write, many.get(1..).unwrap()), None);
        assert_eq!(forms.form(&record, Operation::Write, many.get(..1).unwrap()), FORMS.get(2).copied());
    }
}
