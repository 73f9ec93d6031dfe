//! DXT_ANONYMIZE: records identifying strings as keyed hashes. The key belongs to the site and never leaves the process.
//!
//! Identifying strings leave the process, in a trace or a spool, only through three functions, which hash them first:
//! - `registry` names a file when it is first seen
//! - `describe` supplies the job and process information
//! - [`process`] filters the rest of a process block when it is encoded
//!
//! `describe` and [`process`] destructure all fields, so that a new field does not compile until a developer has decided on its treatment.

mod blocks;
mod paths;

pub(crate) use blocks::{job, process, process_info};
pub(crate) use paths::{path, path_bytes, path_into};

use crate::{config, random};
use siphasher::sip::SipHasher24;
use siphasher::sip128;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Minimum length of the key for hashing names, in bytes.
const LEAST_KEY_BYTES: usize = 16;
/// Length of the hash that replaces a name, in characters: 64 bits in hexadecimal.
const DIGITS: usize = 16;

/// Hash function SipHash-2-4 (Aumasson, Bernstein 2012), pseudorandom as long as its key is secret. Uses no heap memory, at most 100 bytes
/// of stack, and some 30 ns per name.
static HASH: OnceLock<SipHasher24> = OnceLock::new();
/// True if the key for hashing names could not be read; names are then hashed with a random key.
static WITHOUT_KEY: AtomicBool = AtomicBool::new(false);

/// Starts hashing names with the key in the file at `path`. Called by the library's constructor.
///
/// # Errors
/// Returns the reason why the key cannot be read; names are then hashed with a random key.
pub(crate) fn begin(path: &[u8]) -> Result<(), String> {
    let key = config::content(path).and_then(|key| match key.len() {
        LEAST_KEY_BYTES.. => Ok(key),
        few => Err(format!("the file has {few} bytes, but a key needs at least {LEAST_KEY_BYTES}")),
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

/// Starts hashing names with a random key, for a process that does not know if anonymization is required.
pub(crate) fn begin_without_key() {
    let _ = HASH.set(SipHasher24::new_with_keys(random::number(), random::number()));
}

/// True if names are hashed in what this process records (DXT_ANONYMIZE).
pub(crate) fn is_on() -> bool {
    HASH.get().is_some()
}

/// True if a key for hashing names is required but could not be read; nothing may be recorded then.
pub(crate) fn lacks_key() -> bool {
    WITHOUT_KEY.load(Ordering::Relaxed)
}

/// Returns a fingerprint of the key for hashing names, which distinguishes keys and reveals nothing else.
fn fingerprint() -> String {
    word(b"the key of this trace")
}

fn hash(text: &[u8]) -> u64 {
    HASH.get().map_or(0, |hash| hash.hash(text))
}

/// Returns the keyed hash of `text` in hexadecimal; empty for an empty text.
fn word(text: &[u8]) -> String {
    if text.is_empty() { String::new() } else { String::from_utf8_lossy(&digits(text)).into_owned() }
}

fn digits(text: &[u8]) -> [u8; DIGITS] {
    let hash = hash(text);
    std::array::from_fn(|i| b"0123456789abcdef"[(hash >> (60 - 4 * i) & 15) as usize])
}

/// Returns `name`, a name given by the program, for use in a trace's file name; hashed if anonymization is on.
pub(crate) fn in_file_name(name: &[u8]) -> Vec<u8> {
    if is_on() { digits(name).to_vec() } else { name.to_vec() }
}

/// Sets a fixed key for hashing names. Tests run concurrently and share it.
#[cfg(test)]
fn begin_for_tests() {
    let _ = HASH.set(SipHasher24::new_with_keys(1, 2));
}
