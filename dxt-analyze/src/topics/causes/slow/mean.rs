//! Means of what calls differ by from their peers.

/// A weighted mean that grows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    pub(super) fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.weight += weight;
    }

    /// Of values whose mean and weight are known.
    #[must_use]
    pub fn of(value: f64, weight: f64) -> Self {
        Self { sum: value * weight, weight }
    }

    /// Its value.
    #[must_use]
    pub fn get(self) -> f64 {
        self.sum / self.weight.max(1.0)
    }

    /// Its weight: calls.
    #[must_use]
    pub fn weight(self) -> f64 {
        self.weight
    }
}
