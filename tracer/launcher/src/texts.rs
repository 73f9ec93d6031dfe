//! Helpers for bytes and text: messages, shell quoting, and placeholders of patterns.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Prints a message that begins with `dxt-run: ` to standard error in one write. Ignores errors such as a closed standard error.
macro_rules! say {
    ($($words:tt)*) => { $crate::texts::print_error(&format!($($words)*)) };
}
pub(crate) use say;

pub(crate) fn print_error(words: &str) {
    let _ = std::io::stderr().write_all(format!("dxt-run: {words}\n").as_bytes());
}

/// Prints `bytes` to standard output. Ignores errors, since the reader may have closed the output.
pub(crate) fn print(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Returns `word`, quoted or escaped for a shell if necessary.
pub(crate) fn quoted(word: &OsStr) -> Vec<u8> {
    let bytes = word.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:./-".contains(byte);
    if bytes.is_empty() {
        return b"''".to_vec();
    }
    if bytes.iter().any(|byte| byte.is_ascii_control()) {
        let inner: Vec<u8> =
            bytes.iter().flat_map(|byte| if *byte == b'\'' { b"'\\''".to_vec() } else { vec![*byte] }).collect();
        return [b"'".as_slice(), &inner, b"'"].concat();
    }
    let escaped = |byte: &u8| if plain(byte) || !byte.is_ascii() { vec![*byte] } else { vec![b'\\', *byte] };
    bytes.iter().flat_map(escaped).collect()
}

pub(crate) fn joined(name: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(name);
    word.push("=");
    word.push(value);
    word
}

/// Returns the pattern with each placeholder `%x` replaced by the result of `with(x)`; a placeholder for which `with` returns `None` stays.
pub(crate) fn expanded(pattern: &[u8], mut with: impl FnMut(u8) -> Option<Vec<u8>>) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), pattern);
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match behind.first() {
            Some(letter) if *byte == b'%' => {
                out.extend(with(*letter).unwrap_or_else(|| vec![b'%', *letter]));
                rest = &behind[1..];
            }
            _ => out.push(*byte),
        }
    }
    out
}

/// Returns the text with percent signs doubled, so that a pattern treats them literally.
pub(crate) fn doubled(text: &OsStr) -> Vec<u8> {
    text.as_bytes()
        .iter()
        .flat_map(|byte| if *byte == b'%' { &b"%%"[..] } else { std::slice::from_ref(byte) })
        .copied()
        .collect()
}

pub(crate) fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|known| known == part)
}

pub(crate) fn os(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

/// Returns the value of an environment variable, if set and not empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_once() {
        let expand = |pattern: &str| {
            let out = expanded(pattern.as_bytes(), |letter| (letter == b'u').then(|| b"%j".to_vec()));
            String::from_utf8(out).unwrap()
        };
        assert_eq!(["a%u", "%%u", "%d%", "%"].map(expand), ["a%j", "%%u", "%d%", "%"]);
        assert_eq!(doubled("50%".as_ref()), b"50%%");
    }

    #[test]
    fn a_shell_reads_back_what_is_quoted() {
        for word in ["", "a b", "x'y\"$z", "*;&|<>~#!{}()[]^?`\\", "two\nlines and 'quotes'", "päth"] {
            let script = [b"printf %s ".to_vec(), quoted(word.as_ref())].concat();
            let said = std::process::Command::new("sh").arg("-c").arg(os(script)).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
    }
}
