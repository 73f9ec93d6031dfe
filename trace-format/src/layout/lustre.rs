//! Parser of Lustre's extended attribute `lustre.lov`: `struct lov_user_md` v1 and v3, and `lov_comp_md_v1`, all little-endian and packed.
//! Source: `include/uapi/linux/lustre/lustre_user.h`.

use super::{Component, Layout, Standing, flag, pattern};
use crate::error::{Error, Result};

const V1: u32 = 0x0BD1_0BD0;
const V3: u32 = 0x0BD3_0BD0;
const SPECIFIC: u32 = 0x0BD5_0BD0;
const COMPOSITE: u32 = 0x0BD6_0BD0;
const FOREIGN: u32 = 0x0BD7_0BD0;
const SELF_EXTENDING: u32 = 0x0BD8_0BD0;

const V1_BYTES: usize = 32;
const V3_BYTES: usize = 48;
const OBJECT_BYTES: usize = 24;
const COMPOSITE_BYTES: usize = 32;
const ENTRY_BYTES: usize = 48;
/// Maximum number of stripes of a file, Lustre's own limit (`LOV_MAX_STRIPE_COUNT`).
const MAX_OBJECTS: usize = 2000;

/// Parses the value of a `lustre.lov` attribute.
///
/// # Errors
/// Returns [`Error::Malformed`] with the reason if the value is invalid, or if the layout is foreign (data outside of Lustre) and therefore
/// has no stripes.
pub fn parse_lustre(bytes: &[u8]) -> Result<Layout> {
    let components = match u32_at(bytes, 0)? {
        COMPOSITE | SELF_EXTENDING => composite(bytes)?,
        FOREIGN => return Err(malformed("a foreign layout has no stripes")),
        _ => vec![plain(bytes)?],
    };
    Ok(Layout { components })
}

fn plain(bytes: &[u8]) -> Result<Component> {
    let magic = u32_at(bytes, 0)?;
    let header = match magic {
        V1 => V1_BYTES,
        V3 | SPECIFIC => V3_BYTES,
        // Foreign component of a composite layout: its data is outside of Lustre, so the contents of the component are ignored.
        FOREIGN => return Ok(foreign()),
        other => return Err(malformed(&format!("unknown magic {other:#010x}"))),
    };
    let bits = u32_at(bytes, 4)?;
    let stripe_size = u64::from(u32_at(bytes, 24)?);
    let stated = u16_at(bytes, 28)?;
    let pool = match bytes.get(V1_BYTES..V3_BYTES) {
        Some(name) if header == V3_BYTES => {
            String::from_utf8_lossy(name.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
        }
        _ => String::new(),
    };
    let on_metadata = bits & pattern::METADATA != 0;
    if stripe_size == 0 && !on_metadata {
        return Err(malformed("a stripe size of 0"));
    }
    let objects = bytes.get(header..).unwrap_or_default().chunks_exact(OBJECT_BYTES).take(MAX_OBJECTS);
    let wanted = if stated == u16::MAX { MAX_OBJECTS } else { usize::from(stated) };
    let targets = objects.take(wanted).map(|object| u32_at(object, 20)).collect::<Result<Vec<u32>>>()?;
    let stripe_count = if stated == u16::MAX { targets.len() as u32 } else { u32::from(stated) };
    Ok(Component {
        start: 0,
        end: u64::MAX,
        stripe_size: stripe_size.max(1),
        stripe_count: stripe_count.max(1),
        // The list of objects is missing or incomplete if the component is uninitialized.
        targets: if targets.len() as u32 == stripe_count { targets } else { Vec::new() },
        pool,
        mirror: 0,
        on_metadata,
        active: Standing::of(flag::INIT, bits) == Standing::InUse,
        flags: flag::INIT,
        pattern: bits,
    })
}

fn foreign() -> Component {
    Component {
        start: 0,
        end: u64::MAX,
        stripe_size: 1,
        stripe_count: 1,
        targets: Vec::new(),
        pool: String::new(),
        mirror: 0,
        on_metadata: false,
        active: false,
        flags: flag::INIT,
        pattern: pattern::FOREIGN,
    }
}

fn composite(bytes: &[u8]) -> Result<Vec<Component>> {
    let count = usize::from(u16_at(bytes, 14)?);
    let mut components = Vec::with_capacity(count.min(bytes.len() / ENTRY_BYTES));
    for number in 0..count {
        let at = COMPOSITE_BYTES + number * ENTRY_BYTES;
        let (id, flags) = (u32_at(bytes, at)?, u32_at(bytes, at + 4)?);
        let (start, end) = (u64_at(bytes, at + 8)?, u64_at(bytes, at + 16)?);
        let (offset, size) = (u32_at(bytes, at + 24)? as usize, u32_at(bytes, at + 28)? as usize);
        let body = bytes.get(offset..).and_then(|rest| rest.get(..size));
        let body = body.ok_or_else(|| malformed("a component lies beyond the end of the attribute"))?;
        let body = plain(body)?;
        components.push(Component {
            start,
            end,
            mirror: ((id & 0x7FFF_0000) >> 16) as u16,
            active: Standing::of(flags, body.pattern) == Standing::InUse,
            flags,
            ..body
        });
    }
    Ok(components)
}

/// Returns the stripe size, in bytes, of a non-composite layout, or of the first component in use that is not on the metadata target. Does
/// not allocate.
pub(super) fn stripe_size(bytes: &[u8]) -> Option<u64> {
    let word = |bytes: &[u8], at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let plain = |bytes: &[u8]| {
        let known = matches!(word(bytes, 0)?, V1 | V3 | SPECIFIC);
        let on_targets = word(bytes, 4)? & pattern::METADATA == 0;
        word(bytes, 24).filter(|&size| known && on_targets && size > 0).map(u64::from)
    };
    if !matches!(word(bytes, 0)?, COMPOSITE | SELF_EXTENDING) {
        return plain(bytes);
    }
    let count = usize::from(u16::from_le_bytes(*bytes.get(14..)?.first_chunk()?));
    bytes.get(COMPOSITE_BYTES..)?.chunks_exact(ENTRY_BYTES).take(count).find_map(|entry| {
        let flags = word(entry, 4)?;
        let body = bytes.get(word(entry, 24)? as usize..)?;
        let in_use = Standing::of(flags, word(body, 4)?) == Standing::InUse;
        plain(body).filter(|_| in_use)
    })
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let part = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    part.copied().ok_or_else(|| malformed(&format!("the attribute has {} bytes and needs {}", bytes.len(), at + N)))
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64> {
    array_at(bytes, at).map(u64::from_le_bytes)
}

fn malformed(why: &str) -> Error {
    Error::Malformed { what: "a lustre.lov attribute", offset: 0, why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_bytes(magic: u32, stripe_size: u32, osts: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&magic.to_le_bytes());
        out.extend_from_slice(&1_u32.to_le_bytes());
        out.extend_from_slice(&[0; 16]);
        out.extend_from_slice(&stripe_size.to_le_bytes());
        out.extend_from_slice(&(osts.len() as u16).to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        if magic == V3 {
            out.extend_from_slice(b"flash\0\0\0\0\0\0\0\0\0\0\0");
        }
        for ost in osts {
            out.extend_from_slice(&[0; 20]);
            out.extend_from_slice(&ost.to_le_bytes());
        }
        out
    }

    #[test]
    fn plain_v1_and_v3() {
        let layout = parse_lustre(&plain_bytes(V1, 1 << 20, &[4, 9])).unwrap();
        assert_eq!(layout, Layout::plain(1 << 20, 2, vec![4, 9]));
        let there = layout.locate(3 << 20 | 5).unwrap();
        assert_eq!((there.stripe, there.target, there.stripe_start, there.stripe_end), (3, Some(9), 3 << 20, 4 << 20));
        let v3 = parse_lustre(&plain_bytes(V3, 1 << 20, &[4])).unwrap();
        assert_eq!(v3.components[0].pool, "flash");
        assert_eq!(stripe_size(&plain_bytes(V3, 1 << 20, &[4])), Some(1 << 20));
        assert_eq!(stripe_size(&plain_bytes(FOREIGN, 1 << 20, &[4])), None);
    }

    #[test]
    fn a_composite_layout_counts_stripes_from_the_start_of_the_file() {
        let (first, second) = (plain_bytes(V1, 1 << 20, &[7]), plain_bytes(V1, 4 << 20, &[1, 2]));
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&COMPOSITE.to_le_bytes());
        bytes.extend_from_slice(&264_u32.to_le_bytes());
        bytes.extend_from_slice(&[0; 6]);
        bytes.extend_from_slice(&2_u16.to_le_bytes());
        bytes.extend_from_slice(&[0; 16]);
        let mut offset = 128_u32;
        for (i, (body, start, end)) in [(&first, 0, 8 << 20), (&second, 8 << 20, u64::MAX)].into_iter().enumerate() {
            bytes.extend_from_slice(&(i as u32 + 1).to_le_bytes());
            bytes.extend_from_slice(&flag::INIT.to_le_bytes());
            bytes.extend_from_slice(&(start as u64).to_le_bytes());
            bytes.extend_from_slice(&end.to_le_bytes());
            bytes.extend_from_slice(&offset.to_le_bytes());
            bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&[0; 16]);
            offset += body.len() as u32;
        }
        bytes.extend_from_slice(&first);
        bytes.extend_from_slice(&second);
        assert_eq!(bytes.len(), 264, "the size that LAYOUTS of this shape have");
        let layout = parse_lustre(&bytes).unwrap();
        assert_eq!(layout.locate(3 << 20).unwrap().target, Some(7));
        // Byte 12 MiB is in stripe 3 of 4 MiB stripes, that is in object 3 % 2 = 1.
        assert_eq!(layout.locate(12 << 20).unwrap().target, Some(2));
        assert_eq!(stripe_size(&bytes), Some(1 << 20));
        (0..bytes.len()).for_each(|cut| assert!(matches!(stripe_size(&bytes[..cut]), None | Some(0x10_0000))));
        for cut in 0..bytes.len() {
            assert!(parse_lustre(&bytes[..cut]).is_err());
        }
    }
}
