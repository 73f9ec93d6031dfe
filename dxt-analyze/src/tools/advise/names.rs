//! The names of the files of `advise`, and what goes into which.

use crate::topics::verdict::remedy::Place;

pub(super) const ROMIO: &str = "romio_hints";
const OMPI: &str = "ompi_mca.conf";
const VARIABLES: &str = "environment";
pub(super) const SETUP: &str = "setup.sh";
pub(super) const README: &str = "README.txt";

/// All of them.
pub(super) const NAMES: [&str; 5] = [ROMIO, OMPI, VARIABLES, SETUP, README];

/// Where remedies of a kind are written, if as settings.
pub(super) const fn name_of(place: Place) -> Option<&'static str> {
    match place {
        Place::RomioHints => Some(ROMIO),
        Place::OmpiMca => Some(OMPI),
        Place::CrayHints | Place::Environment => Some(VARIABLES),
        Place::Shell => Some(SETUP),
        Place::Job | Place::Program => None,
    }
}
