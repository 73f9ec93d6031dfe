//! DXT_TRIGGER_CONF_PATH: Darshan's trigger file (darshan-runtime 3.1.8 to 3.3.1, "Using the Darshan eXtended Tracing (DXT) module"), one
//! trigger per line: `FILE regex`, `RANK regex`, `SMALL_IO share`, `UNALIGNED_IO share`.

use super::file::content;
use crate::filters::{Expression, Share, Triggers};

/// Parsed content of Darshan's trigger file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TriggerFile {
    pub(super) triggers: Triggers,
    /// Text of the file's lines that are valid triggers.
    pub(super) lines: Vec<String>,
    /// Lines of the file that are ignored: (line number, reason).
    pub(super) wrong: Vec<(usize, String)>,
}

impl TriggerFile {
    /// Reads the trigger file at `path`; returns `None` if it cannot be read or has no valid trigger.
    pub(super) fn read(path: &[u8]) -> Option<Self> {
        let found = Self::parse(&content(path).ok()?);
        (!found.lines.is_empty()).then_some(found)
    }

    fn parse(text: &[u8]) -> Self {
        let mut found = Self::default();
        for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
            // Strips comments at the end of a line, as used in Darshan's documentation. Darshan itself takes the whole line for the expression.
            let remark = line.windows(2).position(|pair| pair[0].is_ascii_whitespace() && pair[1] == b'#');
            let line = line[..remark.unwrap_or(line.len())].trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            match found.take_in(line) {
                Ok(()) => found.lines.push(String::from_utf8_lossy(line).into_owned()),
                Err(why) => found.wrong.push((index + 1, why)),
            }
        }
        found
    }

    fn take_in(&mut self, line: &[u8]) -> Result<(), String> {
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (kind, value) = (&line[..end], line[end..].trim_ascii());
        let expression = || match value {
            b"" => Err("the regular expression is missing".to_owned()),
            _ => Expression::parse(value).map_err(str::to_owned),
        };
        // Keeps the lower of two shares: a file keeps its segments if either trigger matches.
        let share = |set: Option<Share>| {
            let share = Share::parse(value).ok_or("not a share from 0 to 1, such as .5")?;
            Ok::<_, String>(Some(set.map_or(share, |set| set.min(share))))
        };
        match kind {
            b"FILE" => self.triggers.files.push(expression()?),
            b"RANK" => self.triggers.ranks.push(expression()?),
            b"SMALL_IO" => self.triggers.small = share(self.triggers.small)?,
            b"UNALIGNED_IO" => self.triggers.unaligned = share(self.triggers.unaligned)?,
            other => return Err(format!("{} is not a trigger", String::from_utf8_lossy(other))),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::Accesses;

    #[test]
    fn lines_of_darshans_documentation() {
        let text = "FILE .h5$           # trace all files with a '.h5' extension\n\
            FILE\t^/tmp\r\n\n  # nothing\nRANK [1-2]\nSMALL_IO .5\nUNALIGNED_IO .5 # x\nSMALL_IO .25";
        let found = TriggerFile::parse(text.as_bytes());
        assert_eq!(found.wrong, []);
        let lines = ["FILE .h5$", "FILE\t^/tmp", "RANK [1-2]", "SMALL_IO .5", "UNALIGNED_IO .5", "SMALL_IO .25"];
        assert_eq!(found.lines, lines);
        let keep = |path: &str, rank, all, small, unaligned| {
            found.triggers.keep_all_of(rank)
                || found.triggers.keep(path.as_bytes(), &Accesses { all, small, unaligned })
        };
        assert!(keep("/x/a.h5", 0, 0, 0, 0) && keep("/tmp/a", 0, 0, 0, 0) && !keep("/x/tmp/a", 0, 8, 1, 3));
        assert!(keep("/x", 1, 0, 0, 0) && keep("/x", 20, 0, 0, 0) && !keep("/x", -1, 0, 0, 0));
        assert!(keep("/x", 0, 8, 2, 0) && keep("/x", 0, 8, 0, 4));
    }

    #[test]
    fn wrong_lines_are_reported_and_the_rest_counts() {
        let text = "FILE\nFILE (a\nFILES a\nRANK 0\nSMALL_IO 50%\nUNALIGNED_IO 2\nFILE=a";
        let found = TriggerFile::parse(text.as_bytes());
        assert_eq!(found.lines, ["RANK 0"]);
        let wrong: Vec<(usize, &str)> = found.wrong.iter().map(|(line, why)| (*line, why.as_str())).collect();
        let expected = [
            (1, "the regular expression is missing"),
            (2, "a parenthesis is not closed"),
            (3, "FILES is not a trigger"),
            (5, "not a share from 0 to 1, such as .5"),
            (6, "not a share from 0 to 1, such as .5"),
            (7, "FILE=a is not a trigger"),
        ];
        assert_eq!(wrong, expected);
        assert_eq!(TriggerFile::read(b"/no/such/file"), None);
    }
}
