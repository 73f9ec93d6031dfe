//! Stripe layouts of files on Lustre, and the OSTs that an access touches.

use crate::bytes::{Endian, Text, until_nul};
use crate::error::Result;
use crate::limits;
use crate::stream::{OUTPUT_BYTES, Stream};
use std::io::{Read, Seek};

/// Size of the head of a stripe layout record, in bytes, in versions 1 and 2.
pub(crate) const HEAD_BYTES: [usize; 2] = [56, 32];
/// Size of a layout component in records of version 2, in bytes.
const COMPONENT_BYTES: usize = 72;
/// Maximum number of 8-byte values (such as OST indices) that are read at once.
const PIECE: usize = OUTPUT_BYTES / 8;

/// Stripe layout of one file, as seen by one rank or by all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LustreRecord {
    /// Record id of the file; [`crate::Log::names`] has the file's path.
    pub id: u64,
    /// MPI rank that recorded the layout; -1 if the record stands for all ranks.
    pub rank: i64,
    /// Components of the layout in the order of the log; records of version 1 have one component for the whole file.
    pub components: Vec<Component>,
    /// Number of stripes of all components together, as stored in the record.
    pub stripes: u64,
}

/// Component of a stripe layout: an extent of the file with its own striping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Component {
    /// Stripe size of the component, in bytes.
    pub stripe_size: i64,
    /// Number of OSTs of the component; 0 if the data is on a metadata target.
    pub stripe_count: i64,
    /// Pattern code: 0 striped, 2 on a metadata target, 4 overstriped, 8 foreign; -1 if unknown (version 1).
    pub pattern: i64,
    /// Flag bits: 1 stale, 2 preferred for reads, 4 preferred for writes, 8 offline, 16 initialized, 32 no sync, 64 extension; -1 if unknown.
    pub flags: i64,
    /// File offset of the first byte of the component's extent.
    pub extent_start: i64,
    /// File offset after the last byte of the component's extent; -1 if the extent reaches to the end of the file.
    pub extent_end: i64,
    /// Mirror id of the component; -1 if unknown (version 1).
    pub mirror_id: i64,
    /// Name of the OST pool; empty without a pool.
    pub pool: Text,
    /// Indices of the component's OSTs in stripe order; `stripe_count` indices, or fewer if the log has fewer.
    pub osts: Vec<i64>,
}

impl LustreRecord {
    /// Calls `touch` with the OST of every stripe that overlaps the byte range `[offset, offset + length)`, in the order of the bytes. As
    /// in Darshan's tools, an access has at most as many OSTs as the component, and mirrors are visited in the order of the components.
    pub fn osts(&self, offset: i64, length: i64, mut touch: impl FnMut(i64)) {
        let end = offset.saturating_add(length);
        let mut at = offset;
        let mut reported = 0;
        for component in &self.components {
            let (size, count) = (component.stripe_size, component.stripe_count);
            let inside = |at: i64| component.extent_end == -1 || at < component.extent_end;
            if count <= 0 || size <= 0 || at < component.extent_start || !inside(at) {
                continue;
            }
            let mut stripe = at.saturating_sub(component.extent_start) / size;
            while at < end && inside(at) {
                let Some(&ost) = component.osts.get((stripe % count) as usize) else { break };
                touch(ost);
                stripe += 1;
                at = component.extent_start.saturating_add(stripe.saturating_mul(size));
                reported += 1;
                if reported >= count {
                    at = if component.extent_end == -1 { end } else { component.extent_end };
                    break;
                }
            }
        }
    }
}

/// Iterator over stripe layouts in the order of the log. It ends early if the log is damaged, which [`crate::Log::problems`] then reports.
pub struct Layouts<'a, R> {
    stream: Stream<'a, R>,
    endian: Endian,
    version: u32,
    head_bytes: usize,
}

impl<'a, R: Read + Seek> Layouts<'a, R> {
    pub(crate) fn new(stream: Stream<'a, R>, endian: Endian, version: u32, head_bytes: usize) -> Self {
        Self { stream, endian, version, head_bytes }
    }

    /// Reads a layout record of version 1 (id, rank, five numbers, OSTs) as one component for the whole file.
    fn read_v1(&mut self) -> Option<Result<LustreRecord>> {
        let endian = self.endian;
        let head = self.stream.head("a Lustre record", self.head_bytes)?;
        let (id, rank) = (endian.u64(head), endian.i64(&head[8..]));
        let (stripe_size, stripe_count) = (endian.i64(&head[40..]), endian.i64(&head[48..]));
        let stripes = match self.stripes(stripe_count) {
            Ok(stripes) => stripes,
            Err(error) => return Some(Err(error)),
        };
        let osts = self.numbers(stripes)?;
        let component = Component {
            stripe_size,
            stripe_count,
            pattern: -1,
            flags: -1,
            extent_end: -1,
            mirror_id: -1,
            osts,
            ..Component::default()
        };
        Some(Ok(LustreRecord { id, rank, components: vec![component], stripes }))
    }

    /// Reads a layout record of version 2: id, rank, two counts, the components and the OSTs of all components.
    fn read_v2(&mut self) -> Option<Result<LustreRecord>> {
        let endian = self.endian;
        let head = self.stream.head("a Lustre record", self.head_bytes)?;
        let (id, rank) = (endian.u64(head), endian.i64(&head[8..]));
        let (count, stripes) = (endian.i64(&head[16..]), endian.i64(&head[24..]));
        let offset = self.stream.offset();
        let count = match limits::check_count("the number of Lustre components", count, limits::COMPONENTS, offset) {
            Ok(count) => count,
            Err(error) => return Some(Err(error)),
        };
        let mut stripes = match self.stripes(stripes) {
            Ok(stripes) => stripes,
            Err(error) => return Some(Err(error)),
        };
        let mut components = Vec::new();
        for _ in 0..count {
            let bytes = self.stream.exact("a Lustre component", COMPONENT_BYTES)?;
            components.push(component(bytes, endian));
        }
        let mut osts = self.numbers(stripes)?.into_iter();
        // The Darshan runtime reserves components in advance and may leave the last ones unused.
        let unused = components.iter().position(|component| component.stripe_size == -1);
        components.truncate(unused.unwrap_or(components.len()));
        for component in &mut components {
            component.osts = osts.by_ref().take(usize::try_from(component.stripe_count).unwrap_or(0)).collect();
        }
        if unused.is_some() {
            stripes = components.iter().map(|component| component.osts.len() as u64).sum();
        }
        Some(Ok(LustreRecord { id, rank, components, stripes }))
    }

    fn stripes(&self, count: i64) -> Result<u64> {
        limits::check_count("the number of Lustre stripes", count, limits::STRIPES, self.stream.offset())
    }

    /// Reads `count` 8-byte values in pieces, so that memory grows only with the bytes that exist.
    fn numbers(&mut self, count: u64) -> Option<Vec<i64>> {
        let mut numbers = Vec::new();
        let mut missing = usize::try_from(count).unwrap_or(usize::MAX);
        while missing > 0 {
            let endian = self.endian;
            let piece = self.stream.exact("the OSTs of a Lustre record", 8 * missing.min(PIECE))?;
            numbers.extend(piece.chunks_exact(8).map(|field| endian.i64(field)));
            missing -= piece.len() / 8;
        }
        Some(numbers)
    }
}

fn component(bytes: &[u8], endian: Endian) -> Component {
    let field = |index: usize| endian.i64(&bytes[index * 8..]);
    Component {
        stripe_size: field(0),
        stripe_count: field(1),
        pattern: field(2),
        flags: field(3),
        extent_start: field(4),
        extent_end: field(5),
        mirror_id: field(6),
        pool: until_nul(&bytes[56..72]).into(),
        osts: Vec::new(),
    }
}

impl<R: Read + Seek> Iterator for Layouts<'_, R> {
    type Item = LustreRecord;

    fn next(&mut self) -> Option<LustreRecord> {
        let record = if self.version == 1 { self.read_v1() } else { self.read_v2() };
        match record? {
            Ok(record) => Some(record),
            Err(error) => {
                self.stream.problem(error);
                self.stream.close();
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(parts: &[(i64, i64, i64, i64, &[i64])]) -> LustreRecord {
        let component =
            |&(extent_start, extent_end, stripe_size, stripe_count, osts): &(_, _, _, _, &[i64])| Component {
                extent_start,
                extent_end,
                stripe_size,
                stripe_count,
                osts: osts.to_vec(),
                ..Component::default()
            };
        LustreRecord { components: parts.iter().map(component).collect(), ..LustreRecord::default() }
    }

    fn touched(layout: &LustreRecord, offset: i64, length: i64) -> Vec<i64> {
        let mut osts = Vec::new();
        layout.osts(offset, length, |ost| osts.push(ost));
        osts
    }

    #[test]
    fn an_access_touches_the_osts_of_its_stripes() {
        let plain = layout(&[(0, -1, 100, 3, &[7, 8, 9])]);
        assert_eq!(touched(&plain, 0, 0), []);
        assert_eq!(touched(&plain, 0, 100), [7]);
        assert_eq!(touched(&plain, 150, 100), [8, 9]);
        assert_eq!(touched(&plain, 250, 1000), [9, 7, 8], "each once");
        let parts = layout(&[(0, 100, 100, 0, &[]), (100, 300, 100, 1, &[1]), (300, -1, 100, 2, &[2, 3])]);
        assert_eq!(touched(&parts, 0, 50), [], "on a metadata target");
        assert_eq!(touched(&parts, 350, 60), [2, 3]);
    }

    #[test]
    fn nonsense_is_no_panic_and_ends() {
        let odd = layout(&[(i64::MIN, i64::MAX, 1, i64::MAX, &[1]), (0, -1, -5, 3, &[1]), (0, -1, 1, i64::MAX, &[])]);
        touched(&odd, i64::MIN, i64::MAX);
        touched(&odd, i64::MAX, i64::MAX);
    }
}
