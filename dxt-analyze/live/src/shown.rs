//! Redaction of destinations for messages and state files, whose readers need not know passwords. A mistyped destination may contain a
//! password anywhere, so no text before an `@` is shown.

use std::path::Path;

/// Returns a URL without user, password and query. In PostgreSQL's keyword form, stops before the first word that may be a password.
#[must_use]
pub(crate) fn url(url: &str) -> String {
    let is_scheme = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let (scheme, rest) = match url.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) {
        Some((scheme, rest)) => (format!("{scheme}://"), rest.to_owned()),
        None => {
            let words = url.split_whitespace().take_while(|word| !word.to_ascii_lowercase().contains("pass"));
            (String::new(), words.collect::<Vec<_>>().join(" "))
        }
    };
    let (before, behind) = rest.rsplit_once('@').unwrap_or(("", &rest));
    // Either the password contains a question mark, or the query contains a password with an `@`.
    if before.contains('?') {
        return format!("{scheme}...");
    }
    format!("{scheme}{}", behind.split('?').next().unwrap_or_default())
}

/// Returns a path as display text, redacted in case it is a misplaced URL.
#[must_use]
pub(crate) fn path(path: &Path) -> String {
    let text = path.display().to_string();
    match text.rsplit_once('@') {
        Some((_, behind)) => format!("...@{behind}"),
        None => text,
    }
}

/// Decodes the percent escapes of a URL.
#[cfg(any(feature = "http", feature = "nats"))]
pub(crate) fn plain(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(url("nats://me:secret@host:4222/a.b"), "nats://host:4222/a.b");
        assert_eq!(url("nats://secret@host:4222/a.b"), "nats://host:4222/a.b");
        assert_eq!(url("nats://se?cret@host"), "nats://...");
        assert_eq!(url("nats://me:12?34@host"), "nats://...");
        assert_eq!(url("me:secret@host"), "host");
        assert_eq!(url("me:sec@ret@host"), "host");
        assert_eq!(url("me:se cret@host"), "host");
        assert_eq!(url("me:secret@host://x"), "host://x");
        assert_eq!(url("me:12?34@host"), "...");
        assert_eq!(url("http://me:sec/ret@host/write?db=a"), "http://host/write");
        assert_eq!(url("http://me:sec/r?et@host/write?db=a"), "http://...");
        assert_eq!(url("http://host/write?u=me&p=secret"), "http://host/write");
        assert_eq!(url("http://host:80/write?p=se@cret"), "http://...");
        assert_eq!(url("postgres://host:1/db?password=secret"), "postgres://host:1/db");
        assert_eq!(url("host=a user=me password=secret dbname=b"), "host=a user=me");
        assert_eq!(url("host=a password = 'a secret' dbname=b"), "host=a");
        assert_eq!(path(Path::new("//me:secret@host")), "...@host");
        assert_eq!(path(Path::new("/a/b")), "/a/b");
    }
}
