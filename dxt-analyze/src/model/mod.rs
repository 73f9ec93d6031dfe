//! Data model of a loaded job: its tables, the tool that recorded it, and the user's selection.

pub mod class;
pub mod content;
pub mod converted;
pub mod cpu_waits;
pub(crate) mod details;
pub mod family;
mod file;
pub mod file_entry;
pub mod filters;
pub mod ids;
pub mod manner;
mod no_match;
pub mod notes;
pub mod origin;
pub mod run;
pub mod select;
pub mod shape;
pub mod sites;
pub mod stream;
pub mod users;
mod workers;

pub use class::{CLASSES, Class};
pub use cpu_waits::{CpuWaits, Interval};
pub use details::{DataSet, DatatypeSum, ExtentSum, Hint, Selected};
pub(crate) use file::mount_number;
pub use file_entry::{File, FileLayout, LayoutOrigin};
pub use ids::{FileId, ProcessId, StreamIx};
pub use manner::Manner;
pub use notes::Note;
pub use origin::Origin;
pub(crate) use run::OverProcesses;
pub use run::{Health, Op, Problem, Process, Run};
pub use shape::{Shape, View};
pub use sites::{Site, Sites};
pub use stream::{Stream, Within};
pub use users::Users;
