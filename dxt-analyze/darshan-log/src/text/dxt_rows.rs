//! Output lines of a DXT record: the record head as comment lines, and a row per segment.

use super::dxt::DxtLayout;
use super::number::{fixed, signed};
use crate::dxt::{Api, DxtRecord, Operation, Segment};
use crate::lustre::LustreRecord;

const COLUMNS: &[u8] = b"# Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)";
const COLUMNS_MAIN: &[u8] = b"# Module    Rank  Wt/Rd  Segment          Offset          Length    Start(s)      End(s)";

/// Data with which the lines of one DXT record are formatted.
pub(super) struct Rows<'a> {
    pub(super) api: Api,
    pub(super) layout: DxtLayout,
    pub(super) rank: i64,
    /// Stripe layout of the file on Lustre; `None` without a layout, and always for MPI-IO.
    pub(super) stripes: Option<&'a LustreRecord>,
}

impl Rows<'_> {
    /// Appends the lines that precede a record's segments. `place` is (name, mount point, file system type) of the file; `threads` is the
    /// number of threads in the segments.
    pub(super) fn head(&self, text: &mut Vec<u8>, record: &DxtRecord, place: [&[u8]; 3], threads: u32) {
        let main = self.layout == DxtLayout::Main;
        let [name, mount, fs_type] = place;
        put(text, "\n# DXT, file_id: ", record.id);
        join(text, &[b", file_name: ", name, b"\n# DXT, rank: "]);
        signed(text, record.rank, 0);
        join(text, &[b", hostname: ", record.hostname.as_bytes(), b"\n"]);
        if main {
            put(text, "# DXT, number of threads: ", threads);
            text.push(b'\n');
        }
        put(text, "# DXT, write_count: ", record.write_count);
        put(text, ", read_count: ", record.read_count);
        join(text, &[b"\n# DXT, mnt_pt: ", mount, b", fs_type: ", fs_type, b"\n"]);
        if let Some(stripes) = self.stripes {
            components(text, stripes);
        }
        text.extend_from_slice(if main { COLUMNS_MAIN } else { COLUMNS });
        if self.stripes.is_some() {
            text.extend_from_slice(b"   [OST]");
        }
        text.extend_from_slice(if main { b"   Pthread-ID\n" } else { b"\n" });
    }

    pub(super) fn row(&self, text: &mut Vec<u8>, operation: Operation, number: u64, segment: &Segment) {
        text.extend_from_slice(match self.api {
            Api::Posix => b" X_POSIX",
            Api::MpiIo => b" X_MPIIO",
        });
        signed(text, self.rank, 8);
        text.extend_from_slice(match operation {
            Operation::Write => b"  write",
            Operation::Read => b"   read",
        });
        // Darshan's tools count segments in a C int, which wraps around.
        signed(text, i64::from(number as i32), 9);
        signed(text, segment.offset, 16);
        signed(text, segment.length, 16);
        fixed(text, segment.start, 12, 4);
        fixed(text, segment.end, 12, 4);
        match self.layout {
            DxtLayout::Release3_5 if self.api == Api::Posix => {
                text.extend_from_slice(b"   ");
                self.osts(text, segment);
            }
            DxtLayout::Release3_5 => {}
            DxtLayout::Main => {
                text.extend_from_slice(b"  ");
                self.osts(text, segment);
                if self.stripes.is_some_and(|stripes| !stripes.components.is_empty()) {
                    text.extend_from_slice(b"  ");
                }
                match segment.thread {
                    Some(thread) => put(text, " ", format_args!("{thread:4}")),
                    None => text.extend_from_slice(b" N/A"),
                }
            }
        }
        text.push(b'\n');
    }

    fn osts(&self, text: &mut Vec<u8>, segment: &Segment) {
        if let Some(stripes) = self.stripes {
            stripes.osts(segment.offset, segment.length, |ost| {
                text.extend_from_slice(b" [");
                signed(text, ost, 0);
                text.push(b']');
            });
        }
    }
}

fn components(text: &mut Vec<u8>, stripes: &LustreRecord) {
    text.extend_from_slice(b"# DXT, Lustre stripe components:\n");
    for (number, component) in (1..).zip(&stripes.components) {
        put(text, "#\t[Component ", number);
        put(text, "] stripe_ext: ", component.extent_start);
        match component.extent_end {
            -1 => text.extend_from_slice(b" - EOF"),
            end => put(text, " - ", end),
        }
        put(text, ", stripe_size: ", component.stripe_size);
        put(text, ", stripe_count: ", component.stripe_count);
        text.extend_from_slice(b", OSTs:");
        for ost in &component.osts {
            put(text, " ", ost);
        }
        text.push(b'\n');
    }
}

fn put(text: &mut Vec<u8>, before: &str, value: impl std::fmt::Display) {
    use std::io::Write;
    // Writing to a buffer in memory cannot fail.
    let _ = write!(text, "{before}{value}");
}

fn join(text: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        text.extend_from_slice(part);
    }
}
