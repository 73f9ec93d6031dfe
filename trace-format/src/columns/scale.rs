//! Conversion of clock ticks to nanoseconds since the process's epoch.

/// Conversion of clock ticks of segments in memory to nanoseconds since the process's epoch: `(ticks - base) * mult / 2^52`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickScale {
    /// Ticks at the epoch; earlier ticks count as the epoch.
    pub base: u64,
    /// Nanoseconds per tick, in units of 2^-52.
    pub mult: u64,
}

impl TickScale {
    const SHIFT: u32 = 52;

    /// Scale of ticks that already are nanoseconds since the epoch.
    pub const IDENTITY: Self = Self { base: 0, mult: 1 << Self::SHIFT };

    /// Computes the scale from two clock readings, between which `ticks` ticks and `nanoseconds` ns passed; `base` is the tick count at the
    /// epoch.
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
