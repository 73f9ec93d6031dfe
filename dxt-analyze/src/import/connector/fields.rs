//! Parser of a CSV line or a JSON object; both result in [`Fields`].

use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Maximum number of segments (calls) in a JSON object; the connector sends one.
const MOST_SEGMENTS: usize = 16;

/// Values of one row. The buffers are reused from row to row.
#[derive(Debug, Default)]
pub(super) struct Fields {
    text: Vec<u8>,
    /// End offset of each value in `text`, in bytes.
    ends: Vec<usize>,
}

/// JSON object of the connector, whose values are not parsed yet.
type Object<'a> = BTreeMap<std::borrow::Cow<'a, str>, &'a RawValue>;

impl Fields {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&[u8]> {
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start..*self.ends.get(at)?)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    /// Splits a CSV line into its values; `None` if a quoted value does not end in the line.
    pub(super) fn split(&mut self, line: &[u8]) -> Option<()> {
        self.clear();
        let mut rest = line;
        loop {
            if let Some(mut quoted) = rest.strip_prefix(b"\"") {
                loop {
                    let at = quoted.iter().position(|byte| *byte == b'"')?;
                    let (value, behind) = quoted.split_at(at);
                    self.text.extend_from_slice(value);
                    match behind.strip_prefix(b"\"\"") {
                        Some(more) => {
                            self.text.push(b'"');
                            quoted = more;
                        }
                        None => {
                            rest = behind.get(1..).unwrap_or_default();
                            break;
                        }
                    }
                }
            }
            let at = rest.iter().position(|byte| *byte == b',').unwrap_or(rest.len());
            let (value, behind) = rest.split_at(at);
            self.text.extend_from_slice(value);
            self.end();
            match behind.split_first() {
                Some((_, more)) => rest = more,
                None => return Some(()),
            }
        }
    }

    /// Reads the values of segment `number` of a JSON object, in the order of `columns`; false without such a segment. Fails on JSON of
    /// other formats.
    pub(super) fn take_json(&mut self, line: &[u8], number: usize, columns: &[&str]) -> serde_json::Result<bool> {
        let object: Object<'_> = serde_json::from_slice(line)?;
        let segments: Vec<Object<'_>> = match object.get("seg") {
            Some(segments) => serde_json::from_str(segments.get())?,
            None => vec![Object::new()],
        };
        if segments.len() > MOST_SEGMENTS {
            return Err(serde::de::Error::custom(format!(
                "it has {} segments, more than the connector writes into a line",
                segments.len()
            )));
        }
        let Some(segment) = segments.get(number) else { return Ok(false) };
        self.clear();
        for column in columns {
            if let Some(value) = object.get(*column).or_else(|| segment.get(*column)).map(|value| value.get()) {
                if value.starts_with('"') {
                    self.text.extend_from_slice(serde_json::from_str::<String>(value)?.as_bytes());
                } else if value != "null" {
                    self.text.extend_from_slice(value.as_bytes());
                }
            }
            self.end();
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Option<Vec<String>> {
        let mut fields = Fields::default();
        fields.split(line.as_bytes())?;
        Some(fields.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect())
    }

    #[test]
    fn quoted_values_hold_commas_quotes_and_lines() {
        assert_eq!(split("a,,\"b,\"\"c\"\"\",d").unwrap(), ["a", "", "b,\"c\"", "d"]);
        assert_eq!(split("\"a\nb\",").unwrap(), ["a\nb", ""]);
        assert_eq!(split("").unwrap(), [""]);
        assert_eq!(split("a,\"b"), None);
        assert_eq!(split("\""), None);
    }

    #[test]
    fn json_has_the_same_values() {
        let mut fields = Fields::default();
        let columns = ["uid", "exe", "rank", "off", "dur"];
        let line = br#"{"uid":7,"exe":"a \"b\"","rank":null,"seg":[{"off":1,"dur":0.000001},{"off":2}]}"#;
        assert!(fields.take_json(line, 0, &columns).unwrap());
        let values: Vec<&[u8]> = fields.iter().collect();
        assert_eq!(
            (values[0], values[1], values[2], values[3], values[4]),
            (&b"7"[..], &b"a \"b\""[..], &b""[..], &b"1"[..], &b"0.000001"[..])
        );
        assert!(fields.take_json(line, 1, &columns).unwrap() && !fields.take_json(line, 2, &columns).unwrap());
        assert!(fields.take_json(b"{\"uid\":N/A}", 0, &columns).is_err());
        assert!(fields.take_json(b"{\"seg\":3}", 0, &columns).is_err());
    }
}
