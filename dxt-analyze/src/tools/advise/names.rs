//! The names of the files of `advise`, and what goes into which.

use crate::topics::verdict::remedy::Destination;

pub(super) const ROMIO: &str = "romio_hints";
const OMPI: &str = "ompi_mca.conf";
const VARIABLES: &str = "environment";
pub(super) const SETUP: &str = "setup.sh";
pub(super) const README: &str = "README.txt";

/// All of them.
pub(super) const NAMES: [&str; 5] = [ROMIO, OMPI, VARIABLES, SETUP, README];

/// Where remedies of a kind are written, if as settings.
pub(super) const fn name_of(place: Destination) -> Option<&'static str> {
    match place {
        Destination::RomioHints => Some(ROMIO),
        Destination::OmpiMca => Some(OMPI),
        Destination::CrayHints | Destination::Environment => Some(VARIABLES),
        Destination::Shell => Some(SETUP),
        Destination::Job | Destination::Program => None,
    }
}
