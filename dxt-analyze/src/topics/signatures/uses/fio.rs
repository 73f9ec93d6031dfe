//! Generates input for fio from recorded accesses: one iolog per process, a job file that replays all iologs concurrently, and a job file
//! that creates the files to read.
//!
//! The formats follow fio's HOWTO, "Trace file format", and were tried with fio 3.33. The behaviour of fio's reader is not fully
//! documented:
//!
//! - Version 3 (fio 3.31 and newer) has a time in µs on each line. Time differences count only from the first line with a time above 0, so
//!   times begin at 1.
//! - Version 2 is used without waits, since manual and reader disagree on their unit: calls follow one another, and any version of fio
//!   replays it.
//! - A name ends at the first white space and has at most 256 bytes. Lengths have 32 bits. Reading beyond the end of a file is an error.
//!
//! The writes of a replay would destroy the traced files, so each file is replaced by one in a directory that the user names. fio 3.33 runs
//! at most 4,088 jobs at once. fio moves data with one pread or pwrite per call. Callers must omit calls that moved less than requested,
//! and calls without an offset.

use crate::sum::Sum;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Write};

/// Maximum length of the replay directory's path, bytes: together with a file name, it must fit into fio's 256 bytes.
const MOST_DIRECTORY_BYTES: usize = 150;

/// Maximum length of a replay file's name, bytes, without the number appended to make it unique.
const MOST_NAME_BYTES: usize = 80;

/// Maximum bytes that Linux moves in one call; longer calls are split into several.
const MOST_CALL_BYTES: u64 = 0x7fff_f000;

/// Maximum length of a call, bytes: a segment cannot record more.
const MOST_BYTES: u64 = 1 << 40;

/// Length of the parts into which a longer call is split, bytes.
const PART_BYTES: u64 = 1 << 30;

/// Maximum number of files that a process has open at the same time in the replay.
const MOST_OPEN: usize = 64;

/// Kind of call to replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Call that reads from a file.
    Read,
    /// Call that writes to a file.
    Write,
}

/// Recorded call to replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Kind of the call: read or write.
    pub op: Op,
    /// Path of the file, as named in the trace.
    pub file: &'a str,
    /// File offset of the first byte to read or write.
    pub offset: u64,
    /// Number of bytes that the call reads or writes.
    pub length: u64,
    /// Start of the call, ns after the start of the job.
    pub start_ns: u64,
}

/// Times at which the replay makes the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Replay calls at their recorded times (iolog version 3, fio 3.31 or newer).
    AsRecorded,
    /// Replay calls one after the other without pauses (iolog version 2, any fio).
    AtOnce,
}

/// Numbers of calls in an iolog (fio's input for one process) that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of recorded calls in the iolog.
    pub calls: u64,
    /// Number of recorded calls that were split into several, since Linux does not move so many bytes in one call.
    pub split: u64,
    /// Number of calls omitted from the iolog: they have 0 bytes or more than 1 TiB, or exceed the largest possible offset of a file.
    pub left_out: u64,
}

/// Error for a path that fio cannot read: empty, too long, or with white space or special characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadDirectory;

impl std::fmt::Display for BadDirectory {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "fio takes a directory of at most {MOST_DIRECTORY_BYTES} bytes of letters, digits and /._+,=@%~^- only"
        )
    }
}

impl std::error::Error for BadDirectory {}

/// File that stands for a traced file in the replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Path of the traced file, as named in the trace.
    pub original: String,
    /// Path of the replay's file, as written in iologs.
    pub path: String,
    /// Minimum size of the file before the replay, bytes: end of the last read; 0 if the file is not read.
    pub read_bytes: u64,
}

/// Files of the replay, shared by all processes, and the directory that holds them.
#[derive(Clone, Debug)]
pub struct Files {
    directory: String,
    by_name: HashMap<String, usize>,
    taken: HashSet<String>,
    files: Vec<Played>,
}

fn plain(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "._+,=@%~^-".contains(sign)
}

/// Replaces characters that fio cannot read by `_`, and truncates the name to `MOST_NAME_BYTES`.
fn cleaned(name: &str) -> String {
    name.chars().map(|sign| if plain(sign) { sign } else { '_' }).take(MOST_NAME_BYTES).collect()
}

impl Files {
    /// Creates an empty set of replay files in `directory`; returns an error if fio cannot read this path.
    pub fn new(directory: &str) -> Result<Self, BadDirectory> {
        let known = directory.chars().all(|sign| plain(sign) || sign == '/');
        if !known || directory.is_empty() || directory.len() > MOST_DIRECTORY_BYTES {
            return Err(BadDirectory);
        }
        let directory = if directory.ends_with('/') { directory.to_owned() } else { format!("{directory}/") };
        Ok(Self { directory, by_name: HashMap::new(), taken: HashSet::new(), files: Vec::new() })
    }

    /// Returns all replay files, in order of first use.
    #[must_use]
    pub fn played(&self) -> &[Played] {
        &self.files
    }

    /// Returns the index of the replay file for a traced file; creates it if needed. Its name is the last part of the traced path, with a
    /// number appended if that name is taken.
    fn number(&mut self, original: &str) -> usize {
        if let Some(known) = self.by_name.get(original) {
            return *known;
        }
        let base = cleaned(original.rsplit('/').next().unwrap_or_default());
        let base = if matches!(base.as_str(), "" | "." | "..") { "file".to_owned() } else { base };
        let mut name = base.clone();
        let mut number = 1_u64;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}-{number}");
        }
        let path = format!("{}{name}", self.directory);
        self.files.push(Played { original: original.to_owned(), path, read_bytes: 0 });
        self.by_name.insert(original.to_owned(), self.files.len() - 1);
        self.files.len() - 1
    }

    /// Writes the iolog (fio's input) of one process with the given timing; its calls must be in order of their starts.
    pub fn iolog<'a>(
        &mut self,
        calls: impl Iterator<Item = Call<'a>>,
        timing: Timing,
        out: &mut impl Write,
    ) -> io::Result<Counts> {
        writeln!(out, "fio version {} iolog", if timing == Timing::AsRecorded { 3 } else { 2 })?;
        let mut counts = Counts::default();
        let mut log = Log { timing, at_us: 1, known: HashSet::new(), open: VecDeque::new(), out };
        for call in calls {
            let end = call.offset.checked_add(call.length).filter(|end| *end <= i64::MAX as u64);
            let Some(end) = end.filter(|_| (1..=MOST_BYTES).contains(&call.length)) else {
                counts.left_out += 1;
                continue;
            };
            let number = self.number(call.file);
            if let Some(file) = self.files.get_mut(number).filter(|_| call.op == Op::Read) {
                file.read_bytes = file.read_bytes.max(end);
            }
            let path = self.files.get(number).map_or("", |file| &file.path);
            // A file is opened at the time of the previous call, the first file at 1 µs; otherwise the wait before the first call would be lost.
            log.open(number, path, &self.files)?;
            log.at_us = log.at_us.max((call.start_ns / 1_000).saturating_add(1));
            counts.calls += 1;
            counts.split += u64::from(call.length > MOST_CALL_BYTES);
            let part = if call.length > MOST_CALL_BYTES { PART_BYTES } else { call.length };
            let mut at = call.offset;
            while at < end {
                let length = part.min(end - at);
                let action = if call.op == Op::Read { "read" } else { "write" };
                log.line(path, format_args!("{action} {at} {length}"))?;
                at += length;
            }
        }
        log.close(0, &self.files)?;
        Ok(counts)
    }

    /// Returns the total size of the files that must exist before the replay, bytes. Files get their full length even if few bytes are
    /// read.
    #[must_use]
    pub fn preparation_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.read_bytes).sum::<Sum>().get()
    }

    /// Returns the text of the job file that creates the files to read, with data in them; `None` if no file is read.
    ///
    /// This job replays nothing, and must run first, so that file creation is not a part of the replayed pattern.
    #[must_use]
    pub fn preparation(&self) -> Option<String> {
        let mut text = String::from(
            "; makes the files that are read; run it once, before the replay\n[global]\nioengine=psync\ncreate_only=1\n",
        );
        let read: Vec<&Played> = self.files.iter().filter(|file| file.read_bytes > 0).collect();
        for (number, file) in read.iter().enumerate() {
            let (path, size) = (&file.path, file.read_bytes);
            let block = size.min(1 << 20);
            text += &format!("\n[file-{}]\nrw=read\nfilename={path}\nsize={size}\nbs={block}\n", number + 1);
        }
        (!read.is_empty()).then_some(text)
    }
}

/// Returns the text of the job file that replays iologs concurrently; `iologs` has (job name, path) of each. Returns an error if fio cannot
/// read a path.
pub fn job_file<'a>(iologs: impl Iterator<Item = (&'a str, &'a str)>) -> Result<String, BadDirectory> {
    let mut text =
        String::from("; plays one iolog for each process of the trace, all at once\n[global]\nioengine=psync\n");
    for (name, path) in iologs {
        if path.is_empty() || !path.chars().all(|sign| plain(sign) || sign == '/') {
            return Err(BadDirectory);
        }
        // The prefix keeps a job from being named `global`.
        text += &format!("\n[play-{}]\nread_iolog={path}\n", cleaned(name));
    }
    Ok(text)
}

struct Log<'a, W> {
    timing: Timing,
    at_us: u64,
    /// Indices of replay files already declared in the iolog.
    known: HashSet<usize>,
    /// Indices of the replay files that are open, in order of opening.
    open: VecDeque<usize>,
    out: &'a mut W,
}

impl<W: Write> Log<'_, W> {
    fn line(&mut self, path: &str, action: std::fmt::Arguments<'_>) -> io::Result<()> {
        match self.timing {
            Timing::AsRecorded => writeln!(self.out, "{} {path} {action}", self.at_us),
            Timing::AtOnce => writeln!(self.out, "{path} {action}"),
        }
    }

    fn open(&mut self, number: usize, path: &str, files: &[Played]) -> io::Result<()> {
        if self.open.contains(&number) {
            return Ok(());
        }
        self.close(MOST_OPEN - 1, files)?;
        if self.known.insert(number) {
            self.line(path, format_args!("add"))?;
        }
        self.open.push_back(number);
        self.line(path, format_args!("open"))
    }

    /// Closes replay files, in order of opening, until only `left` are open.
    fn close(&mut self, left: usize, files: &[Played]) -> io::Result<()> {
        while self.open.len() > left {
            let Some(file) = self.open.pop_front().and_then(|number| files.get(number)) else { continue };
            self.line(&file.path, format_args!("close"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
