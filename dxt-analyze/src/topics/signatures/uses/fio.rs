//! Accesses as input of fio: an iolog for each process, a job file that plays them all at once, and one that makes the files first.
//!
//! The formats are those of fio's HOWTO, "Trace file format", and were tried with fio 3.33. What its reader does is not all in there:
//! * Version 3 (fio 3.31 and newer) has a time in µs on each line. A difference counts only from a line with a time above 0 on, so times begin
//!   at 1. Version 2 is used without waits, whose unit the manual and the reader do not agree on: calls follow one another, and any fio plays it.
//! * A name ends at the first white space and has at most 256 bytes; lengths have 32 bits; a read behind the end of a file is an error.
//!
//! Files are never those of the trace, which a replayed write would destroy: each gets a file of its own in a directory that the user names.
//! fio 3.33 runs at most 4,088 jobs at once. It moves data with one pread or pwrite each, so a call that moved less than it asked for, and one with
//! no offset, is the caller's to leave out.

use crate::sum::Sum;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Write};

/// The longest directory, so that with a name it is within fio's 256 bytes.
const MOST_DIRECTORY_BYTES: usize = 150;

/// The longest name in it, without the number that keeps two apart.
const MOST_NAME_BYTES: usize = 80;

/// What Linux moves in one call at most; a longer one is split.
const MOST_CALL_BYTES: u64 = 0x7fff_f000;

/// The longest call that a segment can tell of; more is no call.
const MOST_BYTES: u64 = 1 << 40;

/// Parts of a call that is too long.
const PART_BYTES: u64 = 1 << 30;

/// Files that a process has open at once while it plays.
const MOST_OPEN: usize = 64;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// What it does.
    pub op: Op,
    /// The file's name in the trace.
    pub file: &'a str,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Start of the call, ns after the start of the job.
    pub start_ns: u64,
}

/// When calls are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// At the times on record (iolog version 3, fio 3.31 or newer).
    AsRecorded,
    /// One after the other (iolog version 2, any fio).
    AtOnce,
}

/// What an iolog holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls of the trace in it.
    pub calls: u64,
    /// Calls among these that are split, as they are longer than Linux moves at once.
    pub split: u64,
    /// Calls left out: they move nothing, or more than 1 TiB, or end behind the last offset that a file can have.
    pub left_out: u64,
}

/// A directory whose name fio cannot read: it has white space or signs of fio's own, or is empty or too long.
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

/// A file that is played on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Its name in the trace.
    pub original: String,
    /// Its name in the iologs.
    pub path: String,
    /// Where the last read ends, or 0: so long it must be before.
    pub read_bytes: u64,
}

/// The files of all processes.
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

/// As fio can read it: signs that it cannot become `_`.
fn cleaned(name: &str) -> String {
    name.chars().map(|sign| if plain(sign) { sign } else { '_' }).take(MOST_NAME_BYTES).collect()
}

impl Files {
    /// None yet, to lie in this directory.
    pub fn new(directory: &str) -> Result<Self, BadDirectory> {
        let known = directory.chars().all(|sign| plain(sign) || sign == '/');
        if !known || directory.is_empty() || directory.len() > MOST_DIRECTORY_BYTES {
            return Err(BadDirectory);
        }
        let directory = if directory.ends_with('/') { directory.to_owned() } else { format!("{directory}/") };
        Ok(Self { directory, by_name: HashMap::new(), taken: HashSet::new(), files: Vec::new() })
    }

    /// All that came by, in the order in which they did.
    #[must_use]
    pub fn played(&self) -> &[Played] {
        &self.files
    }

    /// The number of a file: the last part of its name, with a number if another file has that already.
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

    /// Writes the iolog of one process. Its calls are in the order of their starts.
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
            // A file is opened at the time of the call before, the first one at 1: else the time up to the first call would not count.
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

    /// Bytes of the files that the preparation makes: so much room it takes, also where only a few of them are read.
    #[must_use]
    pub fn preparation_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.read_bytes).sum::<Sum>().get()
    }

    /// The job file that makes the files which are read, with data in them, and plays nothing. fio is to run it first, as it is no part of the
    /// pattern. None if no file is read.
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

/// The job file that plays iologs, of (name of the job, path of its iolog), side by side. A path that fio cannot read is an error.
pub fn job_file<'a>(iologs: impl Iterator<Item = (&'a str, &'a str)>) -> Result<String, BadDirectory> {
    let mut text =
        String::from("; plays one iolog for each process of the trace, all at once\n[global]\nioengine=psync\n");
    for (name, path) in iologs {
        if path.is_empty() || !path.chars().all(|sign| plain(sign) || sign == '/') {
            return Err(BadDirectory);
        }
        // [global] is no job.
        text += &format!("\n[play-{}]\nread_iolog={path}\n", cleaned(name));
    }
    Ok(text)
}

struct Log<'a, W> {
    timing: Timing,
    at_us: u64,
    /// Files that fio knows of, and those that are open, the one opened first in front.
    known: HashSet<usize>,
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

    /// Closes files until so many are open.
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
