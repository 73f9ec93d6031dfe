//! Codes of findings. A code never changes its meaning; new meanings get new codes. Each topic has its own in `codes.rs`, made by
//! [`codes!`]; [`crate::topics::codes`] has all of them.

use serde::{Serialize, Serializer};
use std::cmp::Ordering;

/// What `explain` prints of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// As it is written everywhere.
    pub code: &'static str,
    /// What it says of the program.
    pub meaning: &'static str,
    /// How it is computed, thresholds by name.
    pub computed: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// Paper, tool or reasoning that it comes from.
    pub source: &'static str,
}

/// A stable code, as `DXT-O001`. The letter is its family, see [`FAMILIES`].
#[derive(Clone, Copy, Debug)]
pub struct Code(&'static Explanation);

/// Families of codes in the order in which findings of equal weight are listed: the trace itself, causes, outliers, stripes, layers, checks,
/// two runs compared. Others come after them, by their letter.
const FAMILIES: &str = "TVOSLCD";

impl Code {
    /// A code by its explanation: for [`codes!`].
    #[must_use]
    pub const fn new(explanation: &'static Explanation) -> Self {
        Self(explanation)
    }

    /// What it means and what to do.
    #[must_use]
    pub const fn explanation(self) -> Explanation {
        *self.0
    }

    /// As it is written everywhere.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.code
    }

    /// Family, then name.
    fn place(self) -> (usize, &'static str) {
        let family = self.name().strip_prefix("DXT-").and_then(|rest| rest.chars().next());
        (family.and_then(|letter| FAMILIES.find(letter)).unwrap_or(FAMILIES.len()), self.name())
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Code {}

impl PartialOrd for Code {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Code {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Codes of a topic: `NAME = code, meaning, how it is computed, remedy, source;` makes `Code::NAME`, and all are in `CODES`.
macro_rules! codes {
    ($($name:ident = $code:literal, $meaning:literal, $computed:literal, $remedy:literal, $source:literal;)+) => {
        impl $crate::findings::Code {
            $(#[doc = $meaning]
            pub const $name: Self = Self::new(&$crate::findings::Explanation {
                code: $code,
                meaning: $meaning,
                computed: $computed,
                remedy: $remedy,
                source: $source,
            });)+
        }

        /// All of them, in order.
        pub const CODES: &[$crate::findings::Code] = &[$($crate::findings::Code::$name,)+];
    };
}
pub(crate) use codes;
