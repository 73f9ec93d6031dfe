//! Codes of findings. A code never changes its meaning; new meanings get new codes. Each topic (folder of analyses) defines its codes with
//! [`codes!`] in `codes.rs`.

use serde::{Deserialize, Serialize, Serializer};
use std::cmp::Ordering;

/// Explanation of a finding's code, as printed by `explain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Code of the finding, such as `DXT-O001`.
    pub code: &'static str,
    /// Meaning of the finding for the program.
    pub meaning: &'static str,
    /// Computation of the finding, with thresholds by name.
    pub computed: &'static str,
    /// Advice on how to remove the finding's cause.
    pub remedy: &'static str,
    /// Source of the rule by which the finding is made: paper, tool or reasoning.
    pub source: &'static str,
}

/// Stable code of a kind of finding, such as `DXT-O001`. The letter is the code's family, see [`FAMILIES`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Code(&'static Explanation);

/// Families of codes, in the order in which findings of equal weight are listed: the trace itself, causes, outliers, stripes, layers,
/// checks, comparison of runs. Other families follow in alphabetical order.
const FAMILIES: &str = "TVOSLCD";

impl Code {
    /// Creates a code from its explanation; called by [`codes!`].
    #[must_use]
    pub const fn new(explanation: &'static Explanation) -> Self {
        Self(explanation)
    }

    /// Returns the explanation: meaning, computation, advice and source.
    #[must_use]
    pub const fn explanation(self) -> Explanation {
        *self.0
    }

    /// Returns the code as text, such as `DXT-O001`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.code
    }

    /// Returns the sort key of the code: position of its family, then name.
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

/// Defines the codes of the findings of a topic (folder of analyses): `NAME = code, meaning, computation, remedy, source;` defines
/// `Code::NAME`; `CODES` lists all.
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

        /// Codes of all findings of the topic (folder of analyses), in the order of their definition.
        pub const CODES: &[$crate::findings::Code] = &[$($crate::findings::Code::$name,)+];
    };
}
pub(crate) use codes;
