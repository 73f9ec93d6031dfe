//! Site configuration file (DXT_CONFIG): reads the variables that dxt-run itself uses. The tracer reads the file too.

use crate::texts::os;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Content of the site's configuration file; empty if there is none.
#[derive(Default)]
pub(crate) struct Conf {
    pub(crate) path: Option<PathBuf>,
    text: Vec<u8>,
}

impl Conf {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let failed = |_| format!("failed to read the configuration {}", path.display());
        let text = std::fs::read(path).map_err(failed)?;
        Ok(Self { path: Some(path.canonicalize().map_err(failed)?), text })
    }

    /// Returns the value of a variable in the file, without quotes and comment. The last line that sets the variable counts.
    pub(crate) fn get(&self, name: &str) -> Option<OsString> {
        let mut values = self.text.split(|byte| *byte == b'\n').filter_map(|line| {
            let rest = line.trim_ascii().strip_prefix(name.as_bytes())?.trim_ascii_start();
            Some(value(rest.strip_prefix(b"=")?.trim_ascii_start()))
        });
        values.next_back().filter(|value| !value.is_empty()).map(|value| os(value.to_vec()))
    }

    /// Returns the value of a variable: from the environment if set there, else from the configuration file.
    pub(crate) fn set(&self, name: &str) -> Option<OsString> {
        crate::texts::variable(name).or_else(|| self.get(name))
    }

    /// Returns the file permissions of traces (DXT_TRACE_MODE), if set.
    pub(crate) fn trace_mode(&self) -> Option<u32> {
        let mode = self.set("DXT_TRACE_MODE")?;
        u32::from_str_radix(std::str::from_utf8(mode.as_bytes()).ok()?, 8).ok()
    }
}

fn value(text: &[u8]) -> &[u8] {
    let quote = text.first().copied().filter(|byte| b"\"'".contains(byte));
    if let Some(inside) = quote.and_then(|quote| until(&text[1..], quote)) {
        return inside;
    }
    let is_remark = |at: &usize| text[*at] == b'#' && (*at == 0 || text[*at - 1].is_ascii_whitespace());
    let end = (0..text.len()).find(is_remark).unwrap_or(text.len());
    text[..end].trim_ascii_end()
}

/// Returns the part of `text` before the first `byte`; `None` if `byte` does not occur.
fn until(text: &[u8], byte: u8) -> Option<&[u8]> {
    text.iter().position(|known| *known == byte).map(|at| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_that_the_tracer_reads() {
        let text = b"A = 1\n A=\"x # y\" # said\r\nB='b' c\nC=v # remark\nC2=w#no\n#D=1\nE=# none\nF= a b \nA_B=2";
        let conf = Conf { path: None, text: text.to_vec() };
        for (name, value) in [
            ("A", Some("x # y")),
            ("B", Some("b")),
            ("C", Some("v")),
            ("C2", Some("w#no")),
            ("D", None),
            ("E", None),
            ("F", Some("a b")),
            ("A_B", Some("2")),
        ] {
            assert_eq!(conf.get(name), value.map(OsString::from), "{name}");
        }
    }
}
