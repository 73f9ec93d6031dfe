//! DXT_ANONYMIZE: what names something of a user's is told by a hash with the site's key. The key never leaves the process.
//!
//! Nothing is hashed later than it is kept outside of the process, in a trace or a spool, and there are three doors on the way: a file
//! gets the name that it is told by when it is first seen (`registry`), what is said of job and process comes from `describe`, and what a process
//! block says besides goes through [`process`] when it is encoded. The last two name every field of what passes, so that a new
//! one does not compile before somebody has decided what becomes of it.

mod blocks;
mod paths;

pub(crate) use blocks::{job, process, process_info};
pub(crate) use paths::{path, path_bytes, path_into};

use crate::{config, random};
use siphasher::sip::SipHasher24;
use siphasher::sip128;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fewest bytes of a key.
const LEAST_KEY_BYTES: usize = 16;
/// Bytes of a hash as it is told: 64 bits in hexadecimal.
const DIGITS: usize = 16;

/// The hash: SipHash-2-4 (Aumasson, Bernstein 2012), a pseudorandom function as long as its key is secret. Needs neither memory nor more than 100
/// bytes of stack, and some 30 ns for a name.
static HASH: OnceLock<SipHasher24> = OnceLock::new();
/// The key could not be read: hashes are of a random one.
static WITHOUT_KEY: AtomicBool = AtomicBool::new(false);

/// From now on names are hashed with the key in the file at `path`. For the constructor.
///
/// # Errors
/// Why it cannot be read; then names are hashed with a key that nobody knows.
pub(crate) fn begin(path: &[u8]) -> Result<(), String> {
    let key = config::content(path).and_then(|key| match key.len() {
        LEAST_KEY_BYTES.. => Ok(key),
        few => Err(format!("it has {few} bytes, and a key at least {LEAST_KEY_BYTES}")),
    });
    WITHOUT_KEY.store(key.is_err(), Ordering::Relaxed);
    match key {
        Ok(key) => {
            let (left, right) = sip128::SipHasher24::new_with_keys(0, 0).hash(&key).as_u64();
            let _ = HASH.set(SipHasher24::new_with_keys(left, right));
            Ok(())
        }
        Err(why) => {
            begin_without_key();
            Err(why)
        }
    }
}

/// From now on names are hashed with a key that nobody knows: whether they may be told cannot be found out.
pub(crate) fn begin_without_key() {
    let _ = HASH.set(SipHasher24::new_with_keys(random::number(), random::number()));
}

/// Whether names are hashed.
pub(crate) fn is_on() -> bool {
    HASH.get().is_some()
}

/// Whether there is no key though there should be: then nothing is to be told.
pub(crate) fn lacks_key() -> bool {
    WITHOUT_KEY.load(Ordering::Relaxed)
}

/// Tells keys apart, and no more of them.
fn fingerprint() -> String {
    word(b"the key of this trace")
}

fn hash(text: &[u8]) -> u64 {
    HASH.get().map_or(0, |hash| hash.hash(text))
}

/// The hash of a text as it is told; nothing of nothing.
fn word(text: &[u8]) -> String {
    if text.is_empty() { String::new() } else { String::from_utf8_lossy(&digits(text)).into_owned() }
}

fn digits(text: &[u8]) -> [u8; DIGITS] {
    let hash = hash(text);
    std::array::from_fn(|i| b"0123456789abcdef"[(hash >> (60 - 4 * i) & 15) as usize])
}

/// A name of a program's file in the name of a trace.
pub(crate) fn in_file_name(name: &[u8]) -> Vec<u8> {
    if is_on() { digits(name).to_vec() } else { name.to_vec() }
}

/// For tests, which run side by side: a key.
#[cfg(test)]
fn begin_for_tests() {
    let _ = HASH.set(SipHasher24::new_with_keys(1, 2));
}
