//! Means of log slowdowns.

/// Running weighted mean.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    pub(super) fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.weight += weight;
    }

    /// Makes a mean from its value and weight.
    #[must_use]
    pub(super) fn of(value: f64, weight: f64) -> Self {
        Self { sum: value * weight, weight }
    }

    /// Returns the mean.
    #[must_use]
    pub(super) fn get(self) -> f64 {
        self.sum / self.weight.max(1.0)
    }

    /// Returns the weight: number of calls.
    #[must_use]
    pub(super) fn weight(self) -> f64 {
        self.weight
    }
}
