//! Record ids: Bob Jenkins' 64-bit hash "lookup8" of a name, in the public domain (<https://burtleburtle.net/bob/c/lookup8.c>).

/// Start value of the hash, arbitrarily the fractional part of the golden ratio.
const START: u64 = 0x9e37_79b9_7f4a_7c13;

/// Returns the record id of `name`: a path, or one of Darshan's own names such as `<STDOUT>` and `heatmap:POSIX`.
///
/// ```
/// assert_eq!(darshan_log::record_id(b"heatmap:POSIX"), 16_592_106_915_301_738_621);
/// ```
#[must_use]
pub fn record_id(name: &[u8]) -> u64 {
    let (mut a, mut b, mut c) = (0u64, 0u64, START);
    let mut blocks = name.chunks_exact(24);
    for block in &mut blocks {
        a = a.wrapping_add(word(&block[..8]));
        b = b.wrapping_add(word(&block[8..16]));
        c = c.wrapping_add(word(&block[16..]));
        (a, b, c) = mix(a, b, c);
    }
    let rest = blocks.remainder();
    let part = |from: usize, to: usize| word(rest.get(from..to.min(rest.len())).unwrap_or_default());
    a = a.wrapping_add(part(0, 8));
    b = b.wrapping_add(part(8, 16));
    // The lowest byte of the last word is reserved for the length.
    c = c.wrapping_add(name.len() as u64).wrapping_add(part(16, 24) << 8);
    mix(a, b, c).2
}

/// Decodes at most 8 bytes as a little-endian number.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Mixes the hash state in four rounds of three subtractions, each with a shift; the shift counts define the hash.
fn mix(mut a: u64, mut b: u64, mut c: u64) -> (u64, u64, u64) {
    for [right, left, last] in [[43, 9, 8], [38, 23, 5], [35, 49, 11], [12, 18, 22]] {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ (c >> right);
        b = b.wrapping_sub(c).wrapping_sub(a) ^ (a << left);
        c = c.wrapping_sub(a).wrapping_sub(b) ^ (b >> last);
    }
    (a, b, c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_the_heat_maps_are_those_darshan_uses() {
        assert_eq!(record_id(b"heatmap:POSIX"), 16_592_106_915_301_738_621);
        assert_eq!(record_id(b"heatmap:MPIIO"), 3_668_870_418_325_792_824);
        assert_eq!(record_id(b"heatmap:STDIO"), 3_989_511_027_826_779_520);
    }
}
