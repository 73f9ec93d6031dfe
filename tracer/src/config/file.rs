//! DXT_CONFIG: site-wide configuration file that sets variables, one `NAME=value` per line. Read in the library's constructor by direct
//! system calls, since the C functions may be interposed.
#![expect(unsafe_code, reason = "open(2), read(2), close(2)")]

use super::check::nearest;
use super::source::{Environment, VARIABLES};
use std::ffi::{CStr, CString};

/// Maximum size of a file read by [`content`], such as the configuration file, in bytes.
const MOST_BYTES: usize = 64 << 10;

/// Variables set by a configuration file, with its path and line numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct File {
    path: Vec<u8>,
    lines: Vec<Line>,
}

#[derive(Debug, PartialEq, Eq)]
struct Line {
    number: usize,
    name: &'static CStr,
    value: Vec<u8>,
}

/// First error found in a configuration file, with its place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadFile {
    pub(crate) path: Vec<u8>,
    /// Line number, from 1; 0 if the error concerns the file as a whole.
    pub(crate) line: usize,
    pub(crate) why: String,
}

impl File {
    /// Reads the configuration file named by DXT_CONFIG. Returns the file's valid lines (none if DXT_CONFIG is not set) and its first error.
    pub(crate) fn named_in(environment: &impl Environment) -> (Self, Option<BadFile>) {
        match environment.get(c"DXT_CONFIG") {
            None | Some(b"") => (Self::default(), None),
            Some(path) => {
                let (lines, wrong) = match content(path) {
                    Ok(text) => parse(&text),
                    Err(why) => (Vec::new(), Some((0, why))),
                };
                let bad = wrong.map(|(line, why)| BadFile { path: path.to_vec(), line, why });
                (Self { path: path.to_vec(), lines }, bad)
            }
        }
    }

    pub(crate) fn is_named(&self) -> bool {
        !self.path.is_empty()
    }
}

/// Environment variables, with the variables of a configuration file as fallback. A variable set in the environment takes precedence, even if empty.
pub(crate) struct Layered<'a, E> {
    pub(crate) environment: &'a E,
    pub(crate) file: &'a File,
}

impl<E: Environment> Layered<'_, E> {
    /// Returns path and line of the configuration file that set the variable `name`; `None` if the environment sets it.
    pub(crate) fn place_of(&self, name: &str) -> Option<(&[u8], usize)> {
        let line = self.file.lines.iter().rfind(|line| line.name.to_bytes() == name.as_bytes())?;
        self.environment.get(line.name).is_none().then_some((&self.file.path, line.number))
    }
}

impl<E: Environment> Environment for Layered<'_, E> {
    fn get(&self, name: &CStr) -> Option<&[u8]> {
        let set = || self.file.lines.iter().rfind(|line| line.name == name).map(|line| line.value.as_slice());
        self.environment.get(name).or_else(set)
    }

    fn each_name(&self, see: &mut dyn FnMut(&[u8])) {
        self.environment.each_name(see);
    }
}

/// Returns the content of the file at `path`, such as a configuration or trigger file. A file of more than 64 KiB is an error.
pub(crate) fn content(path: &[u8]) -> Result<Vec<u8>, String> {
    let path = CString::new(path).map_err(|error| error.to_string())?;
    // O_NONBLOCK: does not wait for a writer if the path is a FIFO.
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: the name ends in NUL.
    let file = unsafe { crate::sys::syscall!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
    if file < 0 {
        return Err(last_error());
    }
    let mut bytes = vec![0; MOST_BYTES + 1];
    let mut length = 0;
    let result = loop {
        let room = &mut bytes[length..];
        // SAFETY: the buffer is the tracer's own and has the given length.
        let got = unsafe { crate::sys::syscall!(libc::SYS_read, file, room.as_mut_ptr(), room.len()) };
        match usize::try_from(got) {
            Ok(0) => break Ok(()),
            Ok(got) => length += got,
            Err(_) if crate::errno::save().value() == libc::EINTR => {}
            Err(_) => break Err(last_error()),
        }
        if length > MOST_BYTES {
            break Err(format!("the file has more than {MOST_BYTES} bytes"));
        }
    };
    // SAFETY: the descriptor was opened above.
    unsafe { crate::sys::syscall!(libc::SYS_close, file) };
    bytes.truncate(length);
    result.map(|()| bytes)
}

fn last_error() -> String {
    std::io::Error::from_raw_os_error(crate::errno::save().value()).to_string()
}

/// Parses the lines of the file. Returns the lines that set a variable, and the first invalid line (number, reason).
fn parse(text: &[u8]) -> (Vec<Line>, Option<(usize, String)>) {
    let (mut lines, mut wrong) = (Vec::new(), None);
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        match setting(line) {
            Ok((name, value)) => lines.push(Line { number: index + 1, name, value: value.to_vec() }),
            Err(why) => wrong = wrong.or(Some((index + 1, why))),
        }
    }
    (lines, wrong)
}

fn setting(line: &[u8]) -> Result<(&'static CStr, &[u8]), String> {
    let equals = line.iter().position(|&byte| byte == b'=').ok_or("not of the form NAME=value")?;
    let (name, value) = (line[..equals].trim_ascii(), line[equals + 1..].trim_ascii());
    let unknown = || {
        let name = String::from_utf8_lossy(name);
        let meant = nearest(&name).map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
        format!("{name} is not a variable of this tracer{meant}")
    };
    let name = VARIABLES.iter().find(|known| known.to_bytes() == name).ok_or_else(unknown)?;
    Ok((name, unquoted(value)?))
}

/// Returns a value of the configuration file without its quotes and without a trailing comment.
fn unquoted(value: &[u8]) -> Result<&[u8], String> {
    if value.contains(&0) {
        return Err("the value contains a NUL byte".into());
    }
    let Some((quote, rest)) = value.split_first().filter(|(first, _)| matches!(first, b'"' | b'\'')) else {
        let remark = value.windows(2).position(|pair| pair[0].is_ascii_whitespace() && pair[1] == b'#');
        let remark = if value.starts_with(b"#") { Some(0) } else { remark };
        return Ok(value[..remark.unwrap_or(value.len())].trim_ascii());
    };
    let end = rest.iter().position(|byte| byte == quote).ok_or("a quote is not closed")?;
    let behind = rest[end + 1..].trim_ascii();
    if behind.is_empty() || behind.starts_with(b"#") { Ok(&rest[..end]) } else { Err("text after a quote".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Result<Vec<(String, String)>, (usize, String)> {
        let pair = |line: Line| (line.name.to_str().unwrap().to_owned(), String::from_utf8(line.value).unwrap());
        match parse(text.as_bytes()) {
            (lines, None) => Ok(lines.into_iter().map(pair).collect()),
            (_, Some(wrong)) => Err(wrong),
        }
    }

    #[test]
    fn names_values_remarks_and_quotes() {
        let text = "# site\n\n DXT_ENABLE = trace \r\nDXT_JOB_ID=\"a # b\" # why\nDXT_OUTPUT_DIR='/x/\"y\"'\nDXT_FLUSH=auto # x\nDXT_VERBOSE=#\n";
        let expected = [
            ("DXT_ENABLE", "trace"),
            ("DXT_JOB_ID", "a # b"),
            ("DXT_OUTPUT_DIR", "/x/\"y\""),
            ("DXT_FLUSH", "auto"),
            ("DXT_VERBOSE", ""),
        ];
        assert_eq!(set(text), Ok(expected.map(|(name, value)| (name.into(), value.into())).to_vec()));
        assert_eq!(set("DXT_OUTPUT_DIR=/a#b"), Ok(vec![("DXT_OUTPUT_DIR".into(), "/a#b".into())]));
    }

    #[test]
    fn what_makes_no_sense_names_its_line() {
        let wrong =
            ["DXT_ENABLE", "PATH=/x", "DXT_ENABEL=trace", "DXT_CONFIG=/x", "DXT_FLUSH='auto", "DXT_FLUSH='a' b", "=x"];
        for line in wrong {
            assert_eq!(set(&format!("# x\n{line}\n")).unwrap_err().0, 2, "{line}");
        }
    }

    #[test]
    fn the_environment_counts_and_the_last_line_does() {
        let (lines, wrong) = parse(b"DXT_FLUSH=auto\nDXT_NEW=1\nDXT_FLUSH=process\nDXT_VERBOSE=2");
        assert_eq!(wrong.unwrap().0, 2);
        let file = File { path: b"/site".to_vec(), lines };
        let variables: &[(&CStr, &str)] = &[(c"DXT_VERBOSE", "")];
        let both = Layered { environment: &variables, file: &file };
        assert_eq!(both.get(c"DXT_FLUSH"), Some(b"process".as_slice()));
        assert_eq!(both.get(c"DXT_VERBOSE"), Some(b"".as_slice()));
        assert_eq!(both.place_of("DXT_FLUSH"), Some((b"/site".as_slice(), 3)));
        assert_eq!(both.place_of("DXT_VERBOSE"), None);
    }
}
