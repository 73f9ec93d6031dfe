//! Parser of CephFS's extended attribute `ceph.file.layout`: text `stripe_unit=%u stripe_count=%u object_size=%u pool=%s`, optionally
//! followed by `pool_namespace=%s`. Source: the Linux kernel's `fs/ceph/xattr.c`.

use super::{Component, Layout};
use crate::error::{Error, Result};

/// Parses the value of a `ceph.file.layout` attribute. Storage targets stay unknown, because CRUSH determines the target of each object.
///
/// # Errors
/// Returns [`Error::Malformed`] with the reason if the value is invalid.
pub fn parse_ceph(bytes: &[u8]) -> Result<Layout> {
    let text = std::str::from_utf8(bytes).map_err(|_| malformed("the attribute is not text"))?;
    let text = text.trim_end_matches('\0');
    let value = |name: &str| {
        let mut fields = text.split_ascii_whitespace().filter_map(|field| field.split_once('='));
        fields.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let number = |name: &str| {
        let stated = value(name).ok_or_else(|| malformed(&format!("{name} is missing")))?;
        stated.parse::<u32>().map_err(|_| malformed(&format!("{name} is '{stated}'")))
    };
    let (unit, count) = (number("stripe_unit")?, number("stripe_count")?);
    if unit == 0 || count == 0 {
        return Err(malformed("a stripe unit or count of 0"));
    }
    let plain = Layout::plain(u64::from(unit), count, Vec::new());
    let pool = value("pool").unwrap_or_default();
    let named = |component: Component| Component { pool: pool.to_owned(), ..component };
    Ok(Layout { components: plain.components.into_iter().map(named).collect() })
}

/// Returns the attribute's `stripe_unit`, in bytes. Does not allocate.
pub(super) fn stripe_size(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end_matches('\0');
    let unit = text.split_ascii_whitespace().find_map(|field| field.strip_prefix("stripe_unit="))?;
    unit.parse().ok().filter(|&unit| unit > 0)
}

fn malformed(why: &str) -> Error {
    Error::Malformed { what: "a ceph.file.layout attribute", offset: 0, why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_text_is_read() {
        let layout = parse_ceph(b"stripe_unit=4194304 stripe_count=2 object_size=8388608 pool=data").unwrap();
        let component = &layout.components[0];
        assert_eq!((component.stripe_size, component.stripe_count), (4 << 20, 2));
        assert_eq!(component.pool, "data");
        assert_eq!(stripe_size(b"stripe_unit=4194304 stripe_count=2\0"), Some(4 << 20));
        assert_eq!(stripe_size(b"stripe_unit=0 stripe_count=2"), None);
        assert_eq!(layout.locate(9 << 20).unwrap().stripe, 2);
    }

    #[test]
    fn anything_else_is_an_error() {
        for bad in [&b"\xff"[..], b"", b"stripe_unit=0 stripe_count=1", b"stripe_unit=x stripe_count=1"] {
            assert!(parse_ceph(bad).is_err());
        }
    }
}
