//! Commands on the file itself rather than on the job in it.

pub mod advise;
pub mod check;
pub mod convert;
pub mod dump;
pub mod expand;
pub mod explain;
pub mod generate;
pub mod recover;
