//! Output in the format of Darshan's own tools, for programs that parse it. Times are in UTC, regardless of the machine's time zone and locale.

mod counters;
mod dxt;
mod dxt_rows;
mod number;
mod preamble;

pub use counters::darshan_parser;
pub use dxt::{DxtLayout, dxt_parser};

use crate::bytes::Text;
use crate::hash::record_id;
use crate::log::Info;
use crate::module::Module;
use std::io::{self, Write};

/// Size of the text buffer, in bytes; a buffer that has reached this size is written out.
const BUFFER_BYTES: usize = 64 << 10;

/// Name that Darshan's tools print for the only record of BG/Q.
const BGQ_NAME: &[u8] = b"darshan-bgq-record";

/// Returns name, mount point and file system type of a record in the form that Darshan's tools print.
fn place(info: &Info, id: u64) -> [&[u8]; 3] {
    const UNKNOWN: &[u8] = b"UNKNOWN";
    // The Darshan runtime gives the BG/Q record no name, but the tools print one.
    let unnamed = || (id == record_id(BGQ_NAME)).then_some(BGQ_NAME);
    let name = info.names.get(id).map(Text::as_bytes).or_else(unnamed);
    match name.and_then(|name| info.mounts.of(name)) {
        Some(mount) => [name.unwrap_or_default(), mount.point.as_bytes(), mount.fs_type.as_bytes()],
        None => [name.unwrap_or(b"(null)"), UNKNOWN, UNKNOWN],
    }
}

/// Writes the banner above a module's records: the module's name between two lines of stars.
fn banner(out: &mut dyn Write, module: Module, stars: usize) -> io::Result<()> {
    let stars = "*".repeat(stars);
    write!(out, "\n# {stars}\n# {} module data\n# {stars}\n", module.name())
}

/// Version of Darshan whose warning about incomplete modules is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Advice {
    /// Wording of the warning in both tools of release 3.5.0.
    Release,
    /// Wording of the warning in Darshan's main branch after 3.5.0.
    Main,
}

/// Writes the warning of Darshan's tools about a module with incomplete records; its wording and spelling are part of the output format.
fn incomplete(out: &mut dyn Write, module: Module, advice: Advice) -> io::Result<()> {
    write!(
        out,
        "\n# *WARNING*: The {} module contains incomplete data!\n\
         #            This happens when a module runs out of\n\
         #            memory to store new record data.\n\n",
        module.name()
    )?;
    out.write_all(match advice {
        Advice::Release => {
            b"# To avoid this error, consult the darshan-runtime\n\
              # documentation and consider setting the\n\
              # DARSHAN_EXCLUDE_DIRS or DXT_TRIGGER_CONF_PATH\n\
              # environment variable to prevent Darshan from\n\
              # instrumenting unecessary files.\n"
        }
        Advice::Main => {
            b"# To avoid this error, consult the darshan-runtime\n\
              # documentation and consider setting the NAME_EXCLUDE\n\
              # variable in a run-time configuration file to prevent\n\
              # Darshan from instrumenting unecessary files.\n"
        }
    })
}
