/// Conversion of clock ticks in the tracer's memory to nanoseconds since the process's epoch: `(ticks - base) * mult / 2^52`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickScale {
    /// Clock ticks at the process's epoch; earlier ticks become 0 ns.
    pub base: u64,
    /// Length of a tick in ns, as a multiple of 2^-52.
    pub mult: u64,
}

impl TickScale {
    const SHIFT: u32 = 52;

    /// Scale for ticks that already are nanoseconds since the epoch.
    pub const IDENTITY: Self = Self { base: 0, mult: 1 << Self::SHIFT };

    /// Computes the scale from two clock readings that are `ticks` ticks and `nanoseconds` ns apart; `base` is the number of ticks at the
    /// process's epoch (time zero).
    #[must_use]
    pub fn measured(base: u64, ticks: u64, nanoseconds: u64) -> Self {
        let mult = (u128::from(nanoseconds) << Self::SHIFT) / u128::from(ticks.max(1));
        Self { base, mult: u64::try_from(mult).unwrap_or(u64::MAX) }
    }

    /// Converts a tick count to nanoseconds since the process's epoch.
    #[inline]
    #[must_use]
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let since = u128::from(ticks.saturating_sub(self.base));
        ((since * u128::from(self.mult)) >> Self::SHIFT) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_scale_exactly_over_a_month() {
        let month_ns = 30 * 86_400 * 1_000_000_000_u64;
        let scale = TickScale::measured(1000, month_ns * 26 / 10, month_ns);
        let error = scale.nanoseconds(1000 + month_ns * 26 / 10).abs_diff(month_ns);
        assert!(error <= 10, "{error} ns off");
        assert_eq!(scale.nanoseconds(3), 0);
    }
}
