//! Reader of a region as one sequence of bytes. A region is a concatenation of compressed streams, one per rank with data.
//!
//! Memory use is two buffers of fixed size, whatever the region decompresses to, and the number of decompressed bytes is limited. Bytes
//! before damage are delivered, then the damage is reported.

use crate::decoder::Decoder;
use crate::error::{Error, Problem};
use crate::header::{Compression, Region};
use crate::limits;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// Number of compressed bytes per read from the file.
const INPUT_BYTES: usize = 64 << 10;
/// Size of the buffer of decompressed bytes, which is also the largest piece that can be requested.
pub(crate) const OUTPUT_BYTES: usize = 96 << 10;

pub(crate) struct Stream<'a, R> {
    source: &'a mut R,
    problems: &'a mut Vec<Problem>,
    what: &'static str,
    input: Box<[u8]>,
    input_begin: usize,
    input_end: usize,
    /// File offset of the next compressed byte to read into `input`.
    file_offset: u64,
    file_begin: u64,
    file_end: u64,
    output: Box<[u8]>,
    output_begin: usize,
    output_end: usize,
    decoder: Decoder,
    /// Number of bytes to which the region may still decompress.
    unpacked_left: u64,
    /// Reason why the stream delivers no more bytes; `None` again after it was reported.
    failure: Option<Error>,
    ended: bool,
    /// True once the end of the stream, regular or early, has been reported to the caller.
    closed: bool,
}

impl<'a, R: Read + Seek> Stream<'a, R> {
    /// Creates a reader at the first byte of a region. `what` names the region in error messages; `problems` receives problems found.
    pub(crate) fn new(
        source: &'a mut R,
        problems: &'a mut Vec<Problem>,
        compression: Compression,
        what: &'static str,
        region: Region,
    ) -> Self {
        let failure = match source.seek(SeekFrom::Start(region.offset)) {
            Ok(_) => None,
            Err(source) => Some(Error::Io { offset: region.offset, source }),
        };
        Self {
            source,
            problems,
            what,
            input: vec![0; usize::try_from(region.length).unwrap_or(INPUT_BYTES).min(INPUT_BYTES)].into_boxed_slice(),
            input_begin: 0,
            input_end: 0,
            file_offset: region.offset,
            file_begin: region.offset,
            file_end: region.end(),
            output: vec![0; OUTPUT_BYTES].into_boxed_slice(),
            output_begin: 0,
            output_end: 0,
            decoder: Decoder::new(compression),
            unpacked_left: limits::unpacked(region.length),
            ended: failure.is_some(),
            closed: false,
            failure,
        }
    }

    /// Returns the file offset that the decompressor has reached, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.file_offset - (self.input_end - self.input_begin) as u64
    }

    /// Adds a problem that the caller found in the decompressed data, at the current file offset.
    pub(crate) fn problem(&mut self, error: Error) {
        let offset = self.offset();
        self.problems.push(Problem { offset, error });
    }

    /// Returns the first `length` bytes of a record, at most [`OUTPUT_BYTES`]; `None` at the end of the region. If the region ends within
    /// these bytes, adds a problem that names `what`.
    pub(crate) fn head(&mut self, what: &'static str, length: usize) -> Option<&[u8]> {
        self.fill(length);
        if self.output_end == self.output_begin {
            self.tell_end(None);
            return None;
        }
        self.exact(what, length)
    }

    /// Returns the next `length` bytes of a record. If bytes are missing, returns `None` and adds a problem that names `what`.
    pub(crate) fn exact(&mut self, what: &'static str, length: usize) -> Option<&[u8]> {
        self.pieces(what, length, length)
    }

    /// Returns as many structures of `size` bytes as are available: at least one, and at most `most` bytes in total. If no complete
    /// structure is left, returns `None` and adds a problem that names `what`.
    pub(crate) fn pieces(&mut self, what: &'static str, size: usize, most: usize) -> Option<&[u8]> {
        self.fill(size);
        let available = self.output_end - self.output_begin;
        if available < size {
            self.tell_end(Some((what, size as u64, available as u64)));
            return None;
        }
        let length = available.min(most) / size * size;
        let begin = self.output_begin;
        self.output_begin += length;
        Some(&self.output[begin..begin + length])
    }

    /// Skips `length` bytes; returns true if the region has that many bytes.
    pub(crate) fn skip(&mut self, what: &'static str, mut length: u64) -> bool {
        while length > 0 {
            self.fill(1);
            let available = self.output_end - self.output_begin;
            if available == 0 {
                self.tell_end(Some((what, length, 0)));
                return false;
            }
            let step = usize::try_from(length).unwrap_or(usize::MAX).min(available);
            self.output_begin += step;
            length -= step as u64;
        }
        true
    }

    /// Skips the rest of the region and returns its length in bytes.
    pub(crate) fn length(&mut self) -> u64 {
        let mut length = 0;
        loop {
            self.fill(1);
            if self.output_end == self.output_begin {
                self.tell_end(None);
                return length;
            }
            length += (self.output_end - self.output_begin) as u64;
            self.output_begin = self.output_end;
        }
    }

    /// Appends the bytes before the next NUL to `text`. Returns `None` if the region ends first or if `text` would exceed `limit` bytes.
    pub(crate) fn until_nul(&mut self, what: &'static str, text: &mut Vec<u8>, limit: u64) -> Option<()> {
        loop {
            self.fill(1);
            let there = &self.output[self.output_begin..self.output_end];
            if there.is_empty() {
                self.tell_end(Some((what, text.len() as u64 + 1, text.len() as u64)));
                return None;
            }
            let nul = there.iter().position(|&byte| byte == 0);
            let length = nul.unwrap_or(there.len());
            let total = (text.len() + length) as u64;
            if total > limit {
                let offset = self.offset();
                self.problem(Error::Limit { what, value: total, limit, offset });
                self.close();
                return None;
            }
            text.extend_from_slice(&there[..length]);
            self.output_begin += length + usize::from(nul.is_some());
            if nul.is_some() {
                return Some(());
            }
        }
    }

    /// Appends the rest of the region to `bytes`, up to `limit` bytes in total; adds a problem if the region has more.
    pub(crate) fn rest(&mut self, what: &'static str, bytes: &mut Vec<u8>, limit: usize) {
        let mut left = limit;
        loop {
            self.fill(1);
            let there = &self.output[self.output_begin..self.output_end];
            if there.is_empty() {
                return self.tell_end(None);
            }
            if left == 0 {
                let (value, limit, offset) = (limit as u64 + 1, limit as u64, self.offset());
                return self.problem(Error::Limit { what, value, limit, offset });
            }
            let length = there.len().min(left);
            bytes.extend_from_slice(&there[..length]);
            self.output_begin += length;
            left -= length;
        }
    }

    /// Ends the stream permanently, because the following data cannot be interpreted.
    pub(crate) fn close(&mut self) {
        (self.ended, self.closed, self.failure) = (true, true, None);
        (self.output_begin, self.output_end) = (0, 0);
    }

    /// Adds a problem at the end of the region: its cause, or else the missing bytes of a structure. `missing` is (structure, bytes needed,
    /// bytes available).
    fn tell_end(&mut self, missing: Option<(&'static str, u64, u64)>) {
        let offset = self.offset();
        if let Some(error) = self.failure.take() {
            self.problem(error);
        } else if let Some((what, needed, available)) = missing.filter(|_| !self.closed) {
            self.problem(Error::Truncated { what, offset, needed, available });
        }
        self.close();
    }

    /// Decompresses until at least `least` bytes are available or the region ends.
    fn fill(&mut self, least: usize) {
        debug_assert!(least <= OUTPUT_BYTES, "a piece must fit the buffer");
        if self.output_end - self.output_begin >= least || self.ended {
            return;
        }
        self.output.copy_within(self.output_begin..self.output_end, 0);
        (self.output_begin, self.output_end) = (0, self.output_end - self.output_begin);
        while self.output_end < least && !self.ended {
            if let Err(error) = self.step() {
                (self.ended, self.failure) = (true, Some(error));
            }
        }
    }

    /// Decompresses as many bytes as the buffers allow.
    fn step(&mut self) -> Result<(), Error> {
        if self.input_begin == self.input_end {
            self.read()?;
        }
        let input = &self.input[self.input_begin..self.input_end];
        let offset = self.file_offset - input.len() as u64;
        let (what, compression) = (self.what, self.decoder.name());
        let damaged = |why: &str| Error::Stream { what, offset, compression, why: why.into() };
        if input.is_empty() {
            self.ended = true;
            let inside = self.decoder.inside();
            return if inside { Err(damaged("the region ends before the stream does")) } else { Ok(()) };
        }
        let (consumed, produced) =
            self.decoder.step(input, &mut self.output[self.output_end..]).map_err(|why| damaged(&why))?;
        self.input_begin += consumed;
        self.output_end += produced;
        match self.unpacked_left.checked_sub(produced as u64) {
            Some(left) => self.unpacked_left = left,
            None => {
                let limit = limits::unpacked(self.file_end - self.file_begin);
                return Err(Error::Limit { what: "the unpacked length of a region", value: limit + 1, limit, offset });
            }
        }
        if (consumed, produced) == (0, 0) {
            return Err(damaged("the decompressor makes no progress"));
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), Error> {
        let most = usize::try_from(self.file_end - self.file_offset).unwrap_or(usize::MAX).min(self.input.len());
        (self.input_begin, self.input_end) = (0, 0);
        while self.input_end < most {
            match self.source.read(&mut self.input[self.input_end..most]) {
                Ok(0) => break,
                Ok(count) => self.input_end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::Io { offset: self.file_offset, source }),
            }
        }
        self.file_offset += self.input_end as u64;
        Ok(())
    }
}
