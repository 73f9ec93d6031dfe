//! DXT_OUTPUT_DIR: a directory, or a pattern of one for each user, job and day.

/// Where traces are written, with places to fill in: `%u` user, `%j` job, `%d` day, `%%` a percent sign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputDir(Vec<u8>);

/// What is filled in.
pub(crate) struct Filling<'a> {
    /// Number of the user.
    pub(crate) user: u32,
    /// Name of the job.
    pub(crate) job: &'a str,
    /// Day, as YYYY-MM-DD.
    pub(crate) day: &'a str,
}

/// A directory whose places are filled in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Its path.
    pub(crate) path: Vec<u8>,
    /// How much of the path comes before the first directory that is to be the user's own: all of it if none is.
    pub(crate) shared_bytes: usize,
}

impl OutputDir {
    /// Of a variable's value; `None` if it makes no sense. Behind a directory of a user's own (`%u`) others may follow that are made anew
    /// for each job or day; in front of it none can be, since whoever made it would shut out everybody else.
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

    /// The directory where nothing is to be filled in.
    pub(crate) fn as_it_is(&self) -> Option<&[u8]> {
        (!self.0.contains(&b'%')).then_some(self.0.as_slice())
    }

    /// With what is to be filled in. What a job is called leads nowhere else.
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

/// What stands for a byte of a job's name: dots too could lead out of the directory.
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
