//! Stripe layouts of a log, encoded in Lustre's binary format: `struct lov_user_md` and `lov_comp_md_v1`.

use crate::import::budget::Budget;
use darshan_log::lustre::Component;
use darshan_log::{Log, LustreRecord};
use rustc_hash::FxHashMap;
use std::io::{Read, Seek};
use trace_format::layout::pattern;

/// Estimated memory of a layout in addition to its binary form, in bytes.
const ENTRY_BYTES: u64 = 128;

/// Stripe layouts, by record id, that are not assigned to a file yet.
#[derive(Debug, Default)]
pub(crate) struct Layouts(FxHashMap<u64, Vec<u8>>);

impl Layouts {
    pub(crate) fn take(&mut self, id: u64) -> Option<Vec<u8>> {
        self.0.remove(&id)
    }
}

/// Reads the stripe layouts of the files in the log, within `budget`.
pub(crate) fn read<R: Read + Seek>(log: &mut Log<R>, budget: &mut Budget) -> Layouts {
    let mut out = Layouts::default();
    for record in log.lustre().into_iter().flatten() {
        let bytes = bytes(&record);
        if let Some(bytes) = bytes.filter(|bytes| budget.take(ENTRY_BYTES + bytes.len() as u64)) {
            out.0.insert(record.id, bytes);
        }
    }
    out
}

/// Returns the extended attribute `lustre.lov` that a file with this layout has; `None` if the layout has no stripes.
fn bytes(record: &LustreRecord) -> Option<Vec<u8>> {
    let components = &record.components;
    if let [only] = components.as_slice()
        && only.extent_start == 0
        && only.extent_end == -1
    {
        return plain(only, true);
    }
    let bodies: Vec<Vec<u8>> = components.iter().filter_map(|component| plain(component, false)).collect();
    if bodies.len() != components.len() || bodies.is_empty() {
        return None;
    }
    let mut offset = 32 + 48 * components.len();
    let mut out = vec![0; 32];
    out[..4].copy_from_slice(&0x0BD6_0BD0_u32.to_le_bytes());
    out[14..16].copy_from_slice(&(components.len() as u16).to_le_bytes());
    for ((number, component), body) in components.iter().enumerate().zip(&bodies) {
        let mut entry = [0; 48];
        let id = (component.mirror_id.clamp(0, 0x7fff) as u32) << 16 | (number as u32 + 1);
        let end = u64::try_from(component.extent_end).unwrap_or(u64::MAX);
        entry[..4].copy_from_slice(&id.to_le_bytes());
        entry[4..8].copy_from_slice(&(component.flags.max(0) as u32).to_le_bytes());
        entry[8..16].copy_from_slice(&component.extent_start.max(0).to_le_bytes());
        entry[16..24].copy_from_slice(&end.to_le_bytes());
        entry[24..28].copy_from_slice(&(offset as u32).to_le_bytes());
        entry[28..32].copy_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&entry);
        offset += body.len();
    }
    out.extend(bodies.into_iter().flatten());
    Some(out)
}

/// Encodes a noncomposite layout (`alone` is true), or one component of a composite layout; `None` for patterns without stripes, and for
/// invalid sizes.
fn plain(component: &Component, alone: bool) -> Option<Vec<u8>> {
    let bits = match component.pattern {
        2 => pattern::METADATA,
        4 => pattern::RAID0 | pattern::OVERSTRIPED,
        8 => return None,
        _ => pattern::RAID0,
    };
    let size = u32::try_from(component.stripe_size).ok().filter(|size| *size > 0 || bits == pattern::METADATA)?;
    // The log lacks objects that do not exist yet; a noncomposite layout has all its objects.
    let count = if alone { component.osts.len() as i64 } else { component.stripe_count.max(0) };
    let mut out = vec![0; 48];
    out[..4].copy_from_slice(&0x0BD3_0BD0_u32.to_le_bytes());
    out[4..8].copy_from_slice(&bits.to_le_bytes());
    out[24..28].copy_from_slice(&size.to_le_bytes());
    out[28..30].copy_from_slice(&u16::try_from(count).ok()?.to_le_bytes());
    let pool = component.pool.as_bytes();
    let room = pool.len().min(15);
    out[32..32 + room].copy_from_slice(&pool[..room]);
    for ost in &component.osts {
        out.extend_from_slice(&[0; 20]);
        out.extend_from_slice(&u32::try_from(*ost).ok()?.to_le_bytes());
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::layout::parse_lustre;

    fn component(start: i64, end: i64, size: i64, osts: &[i64]) -> Component {
        Component {
            stripe_size: size,
            stripe_count: osts.len() as i64,
            flags: 0x10,
            extent_start: start,
            extent_end: end,
            osts: osts.to_vec(),
            ..Component::default()
        }
    }

    #[test]
    fn lustre_would_give_the_same() {
        let one = component(0, -1, 1 << 20, &[3, 9]);
        let layout =
            parse_lustre(&bytes(&LustreRecord { components: vec![one], ..Default::default() }).unwrap()).unwrap();
        assert_eq!((layout.components[0].stripe_size, &layout.components[0].targets), (1 << 20, &vec![3, 9]));

        let mdt = Component { pattern: 2, stripe_count: 0, ..component(0, 65536, 65536, &[]) };
        let over = Component { pattern: 4, mirror_id: 2, ..component(65536, -1, 4 << 20, &[5, 5, 6]) };
        let record = LustreRecord { components: vec![mdt, over], ..Default::default() };
        let layout = parse_lustre(&bytes(&record).unwrap()).unwrap();
        assert!(layout.components[0].on_metadata && layout.components[1].is_overstriped());
        assert_eq!(
            (layout.components[1].start, layout.components[1].end, layout.components[1].mirror),
            (65536, u64::MAX, 2)
        );
        assert_eq!(layout.locate(65536).and_then(|place| place.target), Some(5));
    }
}
