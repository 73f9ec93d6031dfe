//! The order in which reads and writes are taken: that of a trace, which is that of their returns, or where these may overlap, that of their starts.

use super::engine::Access;

/// Accesses of a file and an interface that are put in order at a time: one that begins before so many others that are there before it comes too
/// late.
const WINDOW: usize = 16_384;
/// Accesses of a thread that are held, of all its files together.
const HELD: usize = 1 << 20;

/// Accesses of one place.
#[derive(Debug, Default)]
struct Waiting {
    held: Vec<Access>,
    last_start_ns: u64,
}

impl Waiting {
    /// Hands out the first of them and keeps `kept`. Those that begin at once stay in the order in which they came.
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

/// The accesses of a thread that wait for those that began earlier.
#[derive(Debug, Default)]
pub(super) struct ByStart {
    places: Vec<Waiting>,
    held: usize,
    /// How many came after one that began later: more overlap than are held.
    pub(super) late: u64,
}

impl ByStart {
    /// Takes an access of a place, and hands out those that have waited for long enough.
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

    /// Hands out all that are left: the thread has ended.
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

    /// Offsets by place, in the order in which they are handed out, and how many came too late.
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
        // A call of the second returns after 1,000 of the first that it began before.
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
