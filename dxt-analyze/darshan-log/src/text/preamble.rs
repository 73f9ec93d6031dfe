//! What both tools print first: the job, the regions, the mounts.

use super::number::{ctime, fixed};
use crate::header::{Compression, HEADER_BYTES};
use crate::log::Log;
use std::io::{self, Read, Seek, Write};

pub(super) fn preamble<R: Read + Seek>(log: &Log<R>, out: &mut dyn Write) -> io::Result<()> {
    let (header, job) = (log.header(), log.job());
    let compression = match header.compression {
        Compression::Zlib => "ZLIB",
        Compression::Bzip2 => "BZIP2",
        Compression::None => "NONE",
    };
    if header.version.has_doubtful_counters() {
        // The tools warn too, in other words.
        writeln!(
            out,
            "# WARNING: counters in logs of Darshan 3.2.0 may be corrupt, those of common accesses above all."
        )?;
    }
    writeln!(out, "# darshan log version: {}", header.version.as_str())?;
    writeln!(out, "# compression method: {compression}")?;
    line(out, &[b"# exe: ", job.exe.as_bytes()])?;
    writeln!(out, "# uid: {}", job.uid)?;
    writeln!(out, "# jobid: {}", job.jobid)?;
    writeln!(out, "# start_time: {}", job.start_sec)?;
    write!(out, "# start_time_asci: {}", ctime(job.start_sec))?;
    writeln!(out, "# end_time: {}", job.end_sec)?;
    write!(out, "# end_time_asci: {}", ctime(job.end_sec))?;
    writeln!(out, "# nprocs: {}", job.nprocs)?;
    let mut run_time = Vec::new();
    fixed(&mut run_time, job.run_time, 0, 4);
    line(out, &[b"# run time: ", &run_time])?;
    for (key, value) in &job.metadata {
        line(out, &[b"# metadata: ", key.as_bytes(), b" = ", value.as_bytes()])?;
    }
    regions(log, out)?;
    out.write_all(b"\n# mounted file systems (mount point and fs type)\n")?;
    rule(out)?;
    for mount in log.mounts() {
        line(out, &[b"# mount entry:\t", mount.point.as_bytes(), b"\t", mount.fs_type.as_bytes()])?;
    }
    Ok(())
}

fn regions<R: Read + Seek>(log: &Log<R>, out: &mut dyn Write) -> io::Result<()> {
    let header = log.header();
    out.write_all(b"\n# log file regions\n")?;
    rule(out)?;
    // The size of the tools' own structure, also for logs with the shorter one.
    writeln!(out, "# header: {HEADER_BYTES} bytes (uncompressed)")?;
    writeln!(out, "# job data: {} bytes (compressed)", header.job.length)?;
    writeln!(out, "# record table: {} bytes (compressed)", header.names.length)?;
    for entry in &header.modules {
        let (length, version) = (entry.region.length, entry.version);
        let name = match entry.module {
            Some(module) => format!("{module} module"),
            None => format!("<UNKNOWN> module (id {})", entry.place),
        };
        writeln!(out, "# {name}: {length} bytes (compressed), ver={version}")?;
    }
    Ok(())
}

fn rule(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {}", "-".repeat(55))
}

/// A line of parts that need not be UTF-8.
fn line(out: &mut dyn Write, parts: &[&[u8]]) -> io::Result<()> {
    for part in parts {
        out.write_all(part)?;
    }
    out.write_all(b"\n")
}
