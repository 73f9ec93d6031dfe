//! Unpredictable numbers for file names, and hashes that are equal in all processes.
#![expect(unsafe_code, reason = "getrandom(2)")]

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of random values generated so far without the kernel's random source.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Returns 64 bits that other processes cannot predict. If the kernel provides none (before Linux 3.17, or if a filter refuses the call),
/// they come from the clock and from memory addresses. Files are created in such a way that a guessed name costs only another try.
pub(crate) fn number() -> u64 {
    let mut bytes = [0_u8; 8];
    // SAFETY: the buffer is a local variable of the length given. Non-blocking: must not wait for entropy during boot.
    let got =
        unsafe { crate::sys::syscall!(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), libc::GRND_NONBLOCK) };
    if got == bytes.len() as i64 { u64::from_le_bytes(bytes) } else { from_what_is_here() }
}

fn from_what_is_here() -> u64 {
    let here = 0_u8;
    let (pid, _) = crate::job::process_ids();
    let places = (&raw const here).addr() as u64 ^ ((&raw const ASKED).addr() as u64).rotate_left(32);
    let times = crate::clock::unix_ns() as u64 ^ u64::from(pid).rotate_left(48);
    mixed(places ^ mixed(times.wrapping_add(ASKED.fetch_add(1, Ordering::Relaxed))))
}

/// Mixes the bits of `seed` with SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators").
const fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a 64-bit hash that is equal for equal texts in every process, and evenly distributed even over similar texts.
pub(crate) const fn scattered(text: &[u8]) -> u64 {
    mixed(trace_format::meta::path_hash(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_differ() {
        let all: BTreeSet<u64> = (0..1000).map(|i| if i % 2 == 0 { number() } else { from_what_is_here() }).collect();
        assert_eq!(all.len(), 1000);
    }

    #[test]
    fn texts_that_are_similar_are_scattered() {
        let low =
            (0..10_000).filter(|job| scattered(format!("{}", 4_000_000 + job).as_bytes()) < u64::MAX / 10).count();
        assert!((900..1100).contains(&low), "{low} of 10,000 job ids in the lowest tenth");
    }
}
