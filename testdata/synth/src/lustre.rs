//! Lustre stripes: encoder of the `lustre.lov` attribute, and stripe arithmetic. Source: `struct lov_user_md_v1` in Lustre's
//! `include/uapi/linux/lustre/lustre_user.h`, little-endian and packed.

const LOV_USER_MAGIC_V1: u32 = 0x0BD1_0BD0;
const LOV_PATTERN_RAID0: u32 = 1;

/// Encodes the `lustre.lov` attribute of a plain layout with stripes of `size` bytes, round-robin over `osts`.
#[must_use]
pub fn attribute(size: u32, osts: &[u32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32 + 24 * osts.len());
    out.extend_from_slice(&LOV_USER_MAGIC_V1.to_le_bytes());
    out.extend_from_slice(&LOV_PATTERN_RAID0.to_le_bytes());
    out.extend_from_slice(&[0; 16]); // lmm_oi: id of the first object
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(&(osts.len() as u16).to_le_bytes());
    out.extend_from_slice(&0_u16.to_le_bytes()); // lmm_layout_gen
    for ost in osts {
        out.extend_from_slice(&(u64::from(*ost) + 1).to_le_bytes()); // l_ost_oi: object id, then sequence
        out.extend_from_slice(&0_u64.to_le_bytes());
        out.extend_from_slice(&0_u32.to_le_bytes()); // l_ost_gen
        out.extend_from_slice(&ost.to_le_bytes()); // l_ost_idx
    }
    out
}

/// Plain layout in which stripe k is on OST `k mod count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Striping {
    /// Stripe size in bytes; at least 1.
    pub(crate) size: u64,
    /// Number of OSTs over which a file is striped; at least 1.
    pub(crate) count: u16,
}

impl Striping {
    pub(crate) fn attribute(self) -> Vec<u8> {
        attribute(self.size as u32, &(0..u32::from(self.count)).collect::<Vec<u32>>())
    }

    /// Returns an iterator over the OSTs that store the `length` bytes at `offset`, without duplicates.
    pub(crate) fn osts(self, offset: u64, length: u64) -> impl Iterator<Item = u32> {
        let (first, last) = (offset / self.size, (offset + length.max(1) - 1) / self.size);
        (first..=last).take(usize::from(self.count)).map(move |stripe| (stripe % u64::from(self.count)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::layout::parse_lustre;

    #[test]
    fn the_attribute_reads_back_as_the_same_layout() {
        let striping = Striping { size: 4 << 20, count: 52 };
        let layout = parse_lustre(&striping.attribute()).unwrap();
        for stripe in [0, 1, 51, 52, 260, 520, 780] {
            let there = layout.locate(stripe * (4 << 20) + 5).unwrap();
            assert_eq!((there.stripe, there.target), (stripe, Some((stripe % 52) as u32)));
            assert_eq!(striping.osts(stripe * (4 << 20) + 5, 40).collect::<Vec<_>>(), [(stripe % 52) as u32]);
        }
        assert_eq!(striping.osts(0, 1 << 40).count(), 52);
        assert_eq!(striping.osts((4 << 20) - 1, 2).collect::<Vec<_>>(), [0, 1]);
    }
}
