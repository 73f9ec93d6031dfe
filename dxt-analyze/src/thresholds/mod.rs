//! Thresholds that users can set with `--thresholds FILE` (TOML): name, unit, range, default, meaning, source. The rules of effects,
//! hypotheses and the verdict share one vocabulary of them: shares, ratios, counts, sizes and times. Users cannot set bounds of memory and
//! work ([`crate::limits`]). `docs/analyses.md` has a table of all thresholds; a test compares each row.

use crate::exit::UsageError;
use serde::Serialize;

/// Description of one threshold, for reports and documentation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// Name, as in the TOML file.
    pub name: &'static str,
    /// Value used in this run: the default or the user's.
    pub value: f64,
    /// Unit of the value, such as `ratio` or `ns`.
    pub unit: &'static str,
    /// Smallest and largest valid value.
    #[serde(skip)]
    pub range: (f64, f64),
    /// Meaning of the threshold, as a sentence.
    pub meaning: &'static str,
    /// Source of the default value: publication, tool, or `ours`.
    pub source: &'static str,
}

/// Defines [`Thresholds`] from a table: name, type, default, range (0 or more if none is given), unit, meaning, source.
macro_rules! thresholds {
    ($($name:ident: $type:ty = $default:literal $(in $low:literal to $high:expr)?, $unit:literal, $doc:literal, $source:literal;)+) => {
        /// Values of all thresholds used in a run.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Thresholds {
            $(#[doc = concat!($doc, " Unit: ", $unit, ". Source: ", $source, ".")] pub $name: $type,)+
        }

        impl Default for Thresholds {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        impl Thresholds {
            /// Returns all thresholds with their descriptions, in the order of the documentation.
            #[must_use]
            pub fn all(&self) -> Vec<Threshold> {
                vec![$(Threshold {
                    name: stringify!($name),
                    value: self.$name as f64,
                    unit: $unit,
                    range: [$(($low, $high),)? (0.0, f64::INFINITY)][0],
                    meaning: $doc,
                    source: $source,
                },)+]
            }
        }
    };
}

pub mod fixed;
mod table;

pub use table::Thresholds;

/// Iterates over the words of a text that could be names of thresholds: runs of letters, digits and underscores.
pub(crate) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

impl Thresholds {
    /// Parses a TOML text of thresholds; thresholds that the text does not set keep their defaults.
    ///
    /// # Errors
    /// Fails with [`UsageError`] and the position in the text if the TOML, a name or a value in it is invalid.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let parsed: Self = toml::from_str(text).map_err(|error| UsageError(error.to_string().trim_end().to_owned()))?;
        let is_bad = |of: &Threshold| !(of.value.is_finite() && of.value >= of.range.0 && of.value <= of.range.1);
        match parsed.all().into_iter().find(is_bad) {
            Some(Threshold { name, value, range: (from, until), .. }) if until.is_finite() => {
                Err(UsageError(format!("{name} = {value}: the value must be from {from} to {until}")))
            }
            Some(Threshold { name, value, range: (from, _), .. }) => {
                Err(UsageError(format!("{name} = {value}: the value must be a finite number of at least {from}")))
            }
            None => Ok(parsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the table of thresholds in `docs/analyses.md` with the code; with DXT_BLESS=1, rewrites its rows instead.
    #[test]
    fn the_documentation_has_each_threshold_as_it_is() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/analyses.md");
        let text = std::fs::read_to_string(path).unwrap();
        let row = |of: &Threshold| {
            let Threshold { name, value, unit, range: (from, until), meaning, source } = of;
            let range = if until.is_finite() { format!("{from} to {until}") } else { format!("{from} or more") };
            format!("| `{name}` | {value} | {unit} | {range} | {meaning} | {source} |")
        };
        let expected: Vec<String> = Thresholds::default().all().iter().map(row).collect();
        let is_row =
            |line: &&str| Thresholds::default().all().iter().any(|of| line.starts_with(&format!("| `{}` | ", of.name)));
        let found: Vec<&str> = text.lines().filter(is_row).collect();
        if std::env::var_os("DXT_BLESS").is_some() {
            let (before, behind) = text.split_once(&found.join("\n")).expect("the rows follow each other");
            std::fs::write(path, [before, &expected.join("\n"), behind].concat()).unwrap();
        } else {
            assert_eq!(found, expected, "DXT_BLESS=1 writes docs/analyses.md anew");
        }
    }

    #[test]
    fn a_file_changes_what_it_names_and_only_what_exists() {
        let changed = Thresholds::parse("modified_z = 5\nbox_min_sample = 7\n").unwrap();
        assert_eq!(changed, Thresholds { modified_z: 5.0, box_min_sample: 7, ..Thresholds::default() });
        assert_eq!(Thresholds::parse("").unwrap(), Thresholds::default());
        for wrong in [
            "modified_y = 5",
            "modified_z = \"a\"",
            "modified_z = -1",
            "half_share = 1.5",
            "double_ratio = 0.5",
            "box_min_sample = 1.5",
            "modified_z = nan",
            "=",
        ] {
            assert!(Thresholds::parse(wrong).is_err(), "{wrong}");
        }
    }
}
