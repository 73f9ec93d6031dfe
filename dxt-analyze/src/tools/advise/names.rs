//! Names of the files that `advise` writes, and their purpose.

use crate::topics::verdict::remedy::Destination;

pub(super) const ROMIO: &str = "romio_hints";
const OMPI: &str = "ompi_mca.conf";
const VARIABLES: &str = "environment";
pub(super) const SETUP: &str = "setup.sh";
pub(super) const README: &str = "README.txt";

pub(super) const NAMES: [&str; 5] = [ROMIO, OMPI, VARIABLES, SETUP, README];

/// Returns the name of the file that contains the settings for `place`; `None` if remedies of this kind are not written to a file.
pub(super) const fn name_of(place: Destination) -> Option<&'static str> {
    match place {
        Destination::RomioHints => Some(ROMIO),
        Destination::OmpiMca => Some(OMPI),
        Destination::CrayHints | Destination::Environment => Some(VARIABLES),
        Destination::Shell => Some(SETUP),
        Destination::Job | Destination::Program => None,
    }
}
