//! DXT_OUTPUT_DIR: an output directory, or a pattern that yields one directory per user, job or day.

/// Output directory pattern with placeholders: `%u` (user ID), `%j` (job name), `%d` (day), `%%` (a percent sign).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputDir(Vec<u8>);

/// Values to substitute for the placeholders of an output directory pattern.
pub(crate) struct Filling<'a> {
    pub(crate) user: u32,
    pub(crate) job: &'a str,
    /// Day that replaces `%d`, as YYYY-MM-DD.
    pub(crate) day: &'a str,
}

/// Output directory after substitution of the placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Path of the output directory.
    pub(crate) path: Vec<u8>,
    /// Length, in bytes, of the leading part of the path that users share; the whole path if the user has no directory of their own.
    /// Directories after the shared part must belong to the user.
    pub(crate) shared_bytes: usize,
}

impl OutputDir {
    /// Parses DXT_OUTPUT_DIR; returns `None` if invalid. A directory per user (`%u`) may contain directories per job or day, but not the
    /// reverse: the user who creates a job's or day's directory would lock out all other users.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let (mut own, mut made_anew, mut rest) = (false, false, value.iter());
        while let Some(&byte) = rest.next() {
            match (byte, if byte == b'%' { Some(rest.next()?) } else { None }) {
                (b'%', Some(b'u')) if made_anew && !own => return None,
                (b'%', Some(b'u')) => own = true,
                (b'%', Some(b'j' | b'd')) => made_anew = true,
                (b'%', Some(b'%')) => {}
                (b'%', _) | (0, _) => return None,
                _ => {}
            }
        }
        Some(Self(value.to_vec()))
    }

    /// Returns the directory if the pattern has no placeholders, else `None`.
    pub(crate) fn as_it_is(&self) -> Option<&[u8]> {
        (!self.0.contains(&b'%')).then_some(self.0.as_slice())
    }

    /// Substitutes the placeholders. Job names are sanitized, so that they cannot lead out of the directory.
    pub(crate) fn fill(&self, with: &Filling<'_>) -> Filled {
        let (mut path, mut own, mut rest) = (Vec::new(), None, self.0.iter());
        while let Some(&byte) = rest.next() {
            if byte != b'%' {
                path.push(byte);
                continue;
            }
            match rest.next() {
                Some(b'u') => {
                    own.get_or_insert_with(|| path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1));
                    path.extend_from_slice(with.user.to_string().as_bytes());
                }
                Some(b'j') => path.extend(with.job.bytes().take(64).map(harmless)),
                Some(b'd') => path.extend_from_slice(with.day.as_bytes()),
                _ => path.push(b'%'),
            }
        }
        let shared_bytes = own.unwrap_or(path.len());
        Filled { path, shared_bytes }
    }
}

/// Returns `byte` of a job name, or `_` if it is unsafe in a path. Dots are replaced too, since `..` leads out of the directory.
const fn harmless(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') { byte } else { b'_' }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(pattern: &str) -> (String, usize) {
        let filling = Filling { user: 1000, job: "../x.1", day: "2026-11-23" };
        let Filled { path, shared_bytes } = OutputDir::parse(pattern.as_bytes()).unwrap().fill(&filling);
        (String::from_utf8(path).unwrap(), shared_bytes)
    }

    #[test]
    fn places_are_filled_in_and_what_is_the_users_own_is_known() {
        assert_eq!(filled("/a/b"), ("/a/b".into(), 4));
        assert_eq!(filled(""), (String::new(), 0));
        assert_eq!(filled("/s/%u/%d/%j"), ("/s/1000/2026-11-23/___x_1".into(), 3));
        assert_eq!(filled("/s/dxt-%u"), ("/s/dxt-1000".into(), 3));
        assert_eq!(filled("out%%/%j"), ("out%/___x_1".into(), 11));
        assert_eq!(filled("%u"), ("1000".into(), 0));
    }

    #[test]
    fn nobody_can_shut_out_others() {
        for wrong in ["/s/%d/%u", "/s/%j-%u", "/s/%x", "/s/100%", "a\0b"] {
            assert_eq!(OutputDir::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
