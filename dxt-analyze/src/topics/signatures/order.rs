//! Sorts reads and writes by start where calls may overlap; the trace is ordered by the ends of calls.

use iosig::Access;

/// Number of accesses per signature that stay in the sorting buffer. An access is out of order if more than this many accesses with later
/// starts come before it.
const WINDOW: usize = 16_384;
/// Maximum number of accesses in the sorting buffers of a thread, over all signatures.
const HELD: usize = 1 << 20;

/// Sorting buffer for the accesses of one signature.
#[derive(Debug, Default)]
struct Waiting {
    held: Vec<Access>,
    last_start_ns: u64,
}

impl Waiting {
    /// Passes the earliest accesses to `take` until `kept` accesses remain, and adds to `late` the number of those that come after an
    /// access with a later start. Accesses with equal starts keep their order.
    fn hand_out(&mut self, kept: usize, late: &mut u64, mut take: impl FnMut(&Access)) {
        if !self.held.is_sorted_by_key(|access| access.start_ns) {
            self.held.sort_by_key(|access| access.start_ns);
        }
        let count = self.held.len().saturating_sub(kept);
        for access in self.held.drain(..count) {
            *late += u64::from(access.start_ns < self.last_start_ns);
            self.last_start_ns = self.last_start_ns.max(access.start_ns);
            take(&access);
        }
    }
}

/// Sorting buffers for the accesses of one thread, by signature.
#[derive(Debug, Default)]
pub(super) struct ByStart {
    places: Vec<Waiting>,
    held: usize,
    /// Number of accesses passed on after an access with a later start, because they overlap more accesses than the buffer holds.
    pub(super) late: u64,
}

impl ByStart {
    /// Adds an access of the signature with index `place`, and passes the accesses that exceed the buffer's size to `take`.
    pub(super) fn push(&mut self, place: u32, access: Access, mut take: impl FnMut(u32, &Access)) {
        let at = place as usize;
        if self.places.len() <= at {
            self.places.resize_with(at + 1, Waiting::default);
        }
        let Some(waiting) = self.places.get_mut(at) else { return };
        waiting.held.push(access);
        self.held += 1;
        if waiting.held.len() >= 2 * WINDOW {
            waiting.hand_out(WINDOW, &mut self.late, |access| take(place, access));
            self.held -= WINDOW;
        }
        if self.held >= HELD {
            for (place, waiting) in (0..).zip(&mut self.places) {
                let kept = waiting.held.len() / 2;
                waiting.hand_out(kept, &mut self.late, |access| take(place, access));
            }
            self.held = self.places.iter().map(|waiting| waiting.held.len()).sum();
        }
    }

    /// Passes all remaining accesses to `take`; must be called at the end of the thread.
    pub(super) fn end(&mut self, mut take: impl FnMut(u32, &Access)) {
        for (place, mut waiting) in (0..).zip(self.places.drain(..)) {
            waiting.hand_out(0, &mut self.late, |access| take(place, access));
        }
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(start_ns: u64, offset: u64) -> Access {
        Access { start_ns, end_ns: start_ns, offset, ..Access::default() }
    }

    /// Returns the offsets per signature in output order, and the number of accesses that came out of order.
    fn ordered(all: impl IntoIterator<Item = (u32, Access)>) -> (Vec<Vec<u64>>, u64) {
        let (mut order, mut out) = (ByStart::default(), Vec::<Vec<u64>>::new());
        let mut take = |place: u32, access: &Access| {
            out.resize_with(out.len().max(place as usize + 1), Vec::new);
            out[place as usize].push(access.offset);
        };
        for (place, access) in all {
            order.push(place, access, &mut take);
            assert!(order.held <= HELD);
        }
        order.end(&mut take);
        (out, order.late)
    }

    #[test]
    fn those_that_begin_first_come_first_and_equal_ones_stay() {
        let all = [(0, access(5, 1)), (1, access(9, 10)), (0, access(3, 2)), (0, access(5, 3)), (1, access(1, 11))];
        assert_eq!(ordered(all), (vec![vec![2, 1, 3], vec![11, 10]], 0));
    }

    #[test]
    fn two_threads_of_any_length_are_merged() {
        // A call of the second thread returns after 999 calls of the first thread that started later.
        let all = (0..200_000).map(|n| match n % 1000 {
            999 => (0, access(n - 999, n - 999)),
            k => (0, access(n - k + k + 1, n + 1)),
        });
        let (out, late) = ordered(all);
        assert_eq!(late, 0);
        assert!(out[0].is_sorted() && out[0].len() == 200_000);
    }

    #[test]
    fn what_overlaps_with_more_than_are_held_is_counted() {
        let many = (1..=3 * WINDOW as u64).map(|n| (0, access(n, n)));
        let (out, late) = ordered(many.chain([(0, access(0, 0))]));
        assert_eq!((out[0].len(), late), (3 * WINDOW + 1, 1));
    }

    #[test]
    fn many_files_share_the_room() {
        let all = (0..3 * HELD as u64).map(|n| ((n % 4000) as u32, access(n, n)));
        let (out, late) = ordered(all);
        assert!(late == 0 && out.iter().all(|of| of.is_sorted()));
        assert_eq!(out.iter().map(Vec::len).sum::<usize>(), 3 * HELD);
    }
}
