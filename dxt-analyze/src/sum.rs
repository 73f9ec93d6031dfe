//! Saturating sums: counters in input files may hold any value, so plain additions could overflow.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign};

/// Sum of counts, bytes or ns that saturates at the maximum; it never wraps around or panics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sum(pub u64);

impl Sum {
    /// Returns the sum as an integer.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl From<u64> for Sum {
    #[inline]
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl From<&u64> for Sum {
    #[inline]
    fn from(number: &u64) -> Self {
        Self(*number)
    }
}

impl<T: Into<Self>> Add<T> for Sum {
    type Output = Self;

    #[inline]
    fn add(self, more: T) -> Self {
        Self(self.0.saturating_add(more.into().0))
    }
}

impl<T: Into<Self>> AddAssign<T> for Sum {
    #[inline]
    fn add_assign(&mut self, more: T) {
        *self = *self + more;
    }
}

impl<T: Into<Self>> std::iter::Sum<T> for Sum {
    fn sum<I: Iterator<Item = T>>(all: I) -> Self {
        all.fold(Self(0), Self::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_at_the_largest_number() {
        let mut sum: Sum = [1, 2].iter().sum();
        sum += 4_u64;
        assert_eq!(sum + Sum(5), Sum(12));
        assert_eq!([u64::MAX - 1, 1, 1].into_iter().sum::<Sum>().get(), u64::MAX);
        assert_eq!(serde_json::to_string(&sum).expect("a number"), "7");
    }
}
