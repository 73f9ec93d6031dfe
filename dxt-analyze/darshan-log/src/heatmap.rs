//! Heat maps: bytes that each rank read and wrote per time bin of the run, by API.

use crate::bytes::Endian;
use crate::limits;
use crate::stream::Stream;
use std::io::{Read, Seek};

pub(crate) const HEAD_BYTES: usize = 48;

/// Heat map of one rank and one API: bytes read and written per time bin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatmapRecord {
    /// Record id: hash of the name `heatmap:POSIX`, `heatmap:MPIIO` or `heatmap:STDIO`, which states the API.
    pub id: u64,
    /// MPI rank that read and wrote the bytes.
    pub rank: i64,
    /// Width of a time bin, in seconds; the first bin begins when the process starts.
    pub bin_width_seconds: f64,
    /// Bytes that the rank wrote per time bin.
    pub write_bytes: Vec<i64>,
    /// Bytes that the rank read per time bin; has as many bins as `write_bytes`.
    pub read_bytes: Vec<i64>,
}

/// Iterator over heat maps in the order of the log. It ends early if the log is damaged, which [`crate::Log::problems`] then reports.
pub struct Heatmaps<'a, R> {
    stream: Stream<'a, R>,
    endian: Endian,
    head_bytes: usize,
    /// Width (in seconds) and number of the time bins in the log's first heat map; later heat maps with one bin more or less are adapted to
    /// it.
    first: Option<(f64, usize)>,
}

impl<'a, R: Read + Seek> Heatmaps<'a, R> {
    pub(crate) fn new(stream: Stream<'a, R>, endian: Endian, head_bytes: usize) -> Self {
        Self { stream, endian, head_bytes, first: None }
    }

    fn numbers(&mut self, count: u64) -> Option<Vec<i64>> {
        let mut numbers = Vec::new();
        for _ in 0..count {
            numbers.push(self.endian.i64(self.stream.exact("a bin of a heat map", 8)?));
        }
        Some(numbers)
    }
}

impl<R: Read + Seek> Iterator for Heatmaps<'_, R> {
    type Item = HeatmapRecord;

    fn next(&mut self) -> Option<HeatmapRecord> {
        let endian = self.endian;
        // The last 16 of the 48 bytes are pointers of the process that wrote the record.
        let head = self.stream.head("a heat map record", self.head_bytes)?;
        let (id, rank) = (endian.u64(head), endian.i64(&head[8..]));
        let (bin_width_seconds, bins) = (endian.f64(&head[16..]), endian.i64(&head[24..]));
        let offset = self.stream.offset();
        let bins = match limits::check_count("the number of bins of a heat map", bins, limits::BINS, offset) {
            Ok(bins) => bins,
            Err(error) => {
                self.stream.problem(error);
                self.stream.close();
                return None;
            }
        };
        let (mut write_bytes, mut read_bytes) = (self.numbers(bins)?, self.numbers(bins)?);
        let (first_width, first_bins) = *self.first.get_or_insert((bin_width_seconds, write_bytes.len()));
        // Releases 3.4.0 to 3.4.3 may give ranks of one job one bin more or less, which is corrected here as in Darshan's tools.
        if bin_width_seconds == first_width && write_bytes.len().abs_diff(first_bins) == 1 {
            write_bytes.resize(first_bins, 0);
            read_bytes.resize(first_bins, 0);
        }
        Some(HeatmapRecord { id, rank, bin_width_seconds, write_bytes, read_bytes })
    }
}
