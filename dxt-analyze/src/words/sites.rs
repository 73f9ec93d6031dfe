//! Sentence on the places in the program that make the calls of a finding.

use crate::findings::Evidence;

/// Place in the program that makes calls of a finding.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Share of the finding's saving that the calls from the place have, 0 to 1.
    pub(crate) share: f64,
    /// Function and line: `write_all (io.c:213)`.
    pub(crate) place: String,
    /// Library function that the program called there.
    pub(crate) through: Option<String>,
    /// Function and line that called the place.
    pub(crate) caller: Option<String>,
}

/// Formats the places in the program that make a finding's calls.
pub(crate) fn places(places: &[Place]) -> Evidence {
    let of = |of: &Place| {
        let through = of.through.as_ref().map(|name| format!(" through {name}")).unwrap_or_default();
        let caller = of.caller.as_ref().map(|place| format!(", called by {place}")).unwrap_or_default();
        format!("{:.0} % from {}{through}{caller}", of.share * 100.0, of.place)
    };
    let all: Vec<String> = places.iter().map(of).collect();
    format!("in the program: {}", all.join("; ")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_with_library_and_caller() {
        let place = |share, place: &str| Place { share, place: place.into(), through: None, caller: None };
        let first = Place {
            through: Some("H5Dwrite".into()),
            caller: Some("main (main.c:88)".into()),
            ..place(0.92, "write_all (io.c:213)")
        };
        assert_eq!(
            places(&[first, place(0.05, "app+0x1b2c")]).words(),
            "in the program: 92 % from write_all (io.c:213) through H5Dwrite, called by main (main.c:88); 5 % from app+0x1b2c"
        );
    }
}
