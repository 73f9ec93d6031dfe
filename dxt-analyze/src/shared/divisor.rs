//! Division of many numbers by one: a multiplication and two shifts each, exact for all numbers. Source: Granlund & Montgomery, "Division by
//! Invariant Integers using Multiplication", PLDI 1994, figure 4.1.

/// What is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    by: u64,
    magic: u64,
    first_shift: u32,
    second_shift: u32,
}

impl Divisor {
    /// Of a number; 0 counts as 1.
    #[must_use]
    pub fn new(by: u64) -> Self {
        let by = by.max(1);
        // The logarithm, rounded up.
        let log = u64::BITS - (by - 1).leading_zeros();
        let magic = (((1_u128 << log) - u128::from(by)) << u64::BITS) / u128::from(by) + 1;
        Self { by, magic: magic as u64, first_shift: log.min(1), second_shift: log.saturating_sub(1) }
    }

    /// The number.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.by
    }

    /// How often it is in `number`.
    #[inline]
    #[must_use]
    pub const fn divide(self, number: u64) -> u64 {
        let high = ((self.magic as u128 * number as u128) >> u64::BITS) as u64;
        (high + ((number - high) >> self.first_shift)) >> self.second_shift
    }

    /// Whether `number` is a multiple of it.
    #[inline]
    #[must_use]
    pub const fn divides(self, number: u64) -> bool {
        self.divide(number) * self.by == number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_divides_as_division_does() {
        let near = |number: u64| (0..5).map(move |by| number.wrapping_sub(2).wrapping_add(by));
        let powers = (0..64).map(|log| 1_u64 << log);
        let numbers: Vec<u64> =
            powers.chain([10, 1000, 65_536_000_000, u64::MAX / 3, u64::MAX]).flat_map(near).collect();
        for &by in numbers.iter().filter(|by| **by > 0) {
            let divisor = Divisor::new(by);
            let multiples = (1..4).flat_map(|times| near(by.wrapping_mul(times)));
            for number in numbers.iter().copied().chain(multiples) {
                assert_eq!(divisor.divide(number), number / by, "{number} by {by}");
                assert_eq!(divisor.divides(number), number.is_multiple_of(by), "{number} by {by}");
            }
        }
        assert_eq!((Divisor::new(0).get(), Divisor::new(0).divide(7)), (1, 7));
    }
}
