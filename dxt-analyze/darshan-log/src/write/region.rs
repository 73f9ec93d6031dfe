//! Writer of one region: compresses bytes into one zlib stream in the file, through two buffers of fixed size.

use super::error::{Result, check};
use flate2::{Compress, Compression, FlushCompress, Status};
use std::io::{self, Write};

/// Size of the buffer of compressed bytes, in bytes.
const OUTPUT_BYTES: usize = 64 << 10;
/// Number of uncompressed bytes that are buffered before they are compressed.
const PENDING_BYTES: usize = 64 << 10;
/// Maximum length of a region, in bytes, because PyDarshan stores that length in a C int.
const REGION_BYTES: u64 = i32::MAX as u64;

pub(super) struct RegionWriter<'w, W> {
    out: &'w mut W,
    compress: Compress,
    output: Vec<u8>,
    pending: Vec<u8>,
    what: &'static str,
    written: u64,
    begun: bool,
}

impl<'w, W: Write> RegionWriter<'w, W> {
    /// Begins a region; error messages name it `what`.
    pub(super) fn new(out: &'w mut W, what: &'static str) -> Self {
        let compress = Compress::new(Compression::default(), true);
        let (output, pending) = (vec![0; OUTPUT_BYTES], Vec::with_capacity(2 * PENDING_BYTES));
        Self { out, compress, output, pending, what, written: 0, begun: false }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(bytes);
        self.drain()
    }

    pub(super) fn put_u64(&mut self, value: u64) -> Result<()> {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn put_i64(&mut self, value: i64) -> Result<()> {
        self.put(&value.to_le_bytes())
    }

    pub(super) fn put_f64(&mut self, value: f64) -> Result<()> {
        self.put(&value.to_le_bytes())
    }

    /// Adds the bytes to the region that `fill` appends to the buffer.
    pub(super) fn put_with(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        fill(&mut self.pending);
        self.drain()
    }

    /// Ends the region and returns its compressed length in the file, in bytes; 0 if nothing was added.
    pub(super) fn finish(mut self) -> Result<u64> {
        if self.begun || !self.pending.is_empty() {
            self.run(FlushCompress::Finish)?;
        }
        Ok(self.written)
    }

    fn drain(&mut self) -> Result<()> {
        if self.pending.len() >= PENDING_BYTES { self.run(FlushCompress::None) } else { Ok(()) }
    }

    fn run(&mut self, flush: FlushCompress) -> Result<()> {
        self.begun = true;
        let mut input = self.pending.as_slice();
        loop {
            let (before_in, before_out) = (self.compress.total_in(), self.compress.total_out());
            let status = self.compress.compress(input, &mut self.output, flush).map_err(io::Error::other)?;
            let consumed = (self.compress.total_in() - before_in) as usize;
            let produced = (self.compress.total_out() - before_out) as usize;
            input = &input[consumed..];
            self.out.write_all(&self.output[..produced])?;
            self.written += produced as u64;
            check(self.what, self.written, REGION_BYTES)?;
            let ended = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => input.is_empty(),
            };
            if ended {
                break;
            }
            if (consumed, produced) == (0, 0) {
                return Err(io::Error::other("the compressor makes no progress").into());
            }
        }
        self.pending.clear();
        Ok(())
    }
}
