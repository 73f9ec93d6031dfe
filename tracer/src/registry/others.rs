//! Condensed record: one record for all files beyond a limit (counters mode), or once the job's budget is spent. Its sums are exact, but
//! the individual files are lost; their number is estimated in 4 KiB: Flajolet, Fusy, Gandouet & Meunier, "HyperLogLog", 2007.
#![expect(unsafe_code, reason = "a reference into reserved memory")]

use super::records::File;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};

pub(crate) const PATH: &[u8] = b"<other files>";

/// Path of the file record for calls whose file is unknown (`handles/target.rs`).
pub(super) const UNCERTAIN_PATH: &[u8] = b"<uncertain>";

/// Number of registers of the estimator of the number of files (HyperLogLog): the standard error is 1.04 / sqrt(4096) = 1.6 %.
const REGISTERS: usize = 1 << 12;

static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static CONDENSED: AtomicPtr<File> = AtomicPtr::new(std::ptr::null_mut());
static HIGHEST: [AtomicU8; REGISTERS] = [const { AtomicU8::new(0) }; REGISTERS];

/// Counts all files beyond the first `limit` files on the single record `condensed` from now on.
pub(super) fn begin(limit: usize, condensed: &'static File) {
    CONDENSED.store(std::ptr::from_ref(condensed).cast_mut(), Ordering::Release);
    LIMIT.store(limit, Ordering::Release);
}

/// Returns the maximum number of files that have records of their own; further files share one record.
pub(super) fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Returns the single record that stands for all files without records of their own. `None` in trace mode, unless the job's budget is spent.
pub(crate) fn condensed() -> Option<&'static File> {
    // SAFETY: null or a record of the table of files.
    unsafe { CONDENSED.load(Ordering::Acquire).as_ref() }
}

pub(super) fn is_condensed(file: &File) -> bool {
    std::ptr::eq(file, CONDENSED.load(Ordering::Relaxed))
}

/// Adds the file whose path has this hash to the estimated number of files that share one record.
pub(super) fn seen(hash: u64) {
    let mixed = mix(hash);
    let register = (mixed >> 52) as usize;
    let rank = (mixed << 12 | 1 << 11).leading_zeros() as u8 + 1;
    if let Some(highest) = HIGHEST.get(register) {
        highest.fetch_max(rank, Ordering::Relaxed);
    }
}

/// Mixes the hash with the finalizer of `SplitMix64`, since the high bits of FNV hashes are too similar for similar paths.
const fn mix(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

/// Returns the estimated number of distinct files that share one record, within a few percent.
pub(crate) fn estimate() -> u64 {
    let registers = REGISTERS as f64;
    let (mut sum, mut empty) = (0.0, 0_u32);
    for highest in &HIGHEST {
        let rank = highest.load(Ordering::Relaxed);
        // Add 2^-rank.
        sum += f64::from_bits((1023 - u64::from(rank)) << 52);
        empty += u32::from(rank == 0);
    }
    let estimate = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
    let small = estimate <= 2.5 * registers && empty > 0;
    ((if small { registers * logarithm(registers / f64::from(empty)) } else { estimate }) + 0.5) as u64
}

/// Returns the natural logarithm as exponent * ln 2 + 2 artanh((m - 1) / (m + 1)), m the mantissa, without depending on the math library.
fn logarithm(x: f64) -> f64 {
    let exponent = (x.to_bits() >> 52) as i32 - 1023;
    let rest = f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1023 << 52);
    let t = (rest - 1.0) / (rest + 1.0);
    let (mut power, mut sum) = (t, 0.0);
    for odd in (1..30).step_by(2) {
        sum += power / f64::from(odd);
        power *= t * t;
    }
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_near() {
        assert!([1.0, 1.5, 4096.0, 1e9].iter().all(|&x: &f64| (logarithm(x) - x.ln()).abs() < 1e-9));
        let mut made = 0_u64;
        assert_eq!(estimate(), 0);
        for goal in [10_u64, 1000, 20_000, 300_000] {
            while made < goal {
                seen(trace_format::meta::path_hash(format!("/dev/shm/f{made}").as_bytes()));
                seen(trace_format::meta::path_hash(format!("/dev/shm/f{}", made / 2).as_bytes()));
                made += 1;
            }
            let error = estimate() as f64 / goal as f64 - 1.0;
            assert!(error.abs() < 0.06, "{goal}: {error}");
        }
    }
}
