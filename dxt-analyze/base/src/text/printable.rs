//! Makes names printable. Names of files and hosts, and arguments, may contain characters that control a terminal, end a table row, or
//! change the display order. Tables, pages and text lines escape these characters; JSON and Parquet keep names unchanged.

use std::borrow::Cow;

/// Escapes hidden characters, as in `\n` or `\u{202e}`. If `text` has hidden characters, backslashes are doubled.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    // Fast path: most names consist of printable ASCII.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\\' | '\n' | '\r' | '\t' | '\0' => out.extend(c.escape_debug()),
            c if is_hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// True for characters that are invisible or change the display of other characters: control characters, line ends, text direction, zero
/// width (Unicode 16: Cc, Zl, Zp, `Bidi_Control`, and `Default_Ignorable_Code_Point` except variation selectors).
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_shown_and_all_else_stays() {
        for (text, shown) in [
            ("/a/b c.h5", "/a/b c.h5"),
            ("C:\\a", "C:\\a"),
            ("größe-日本-e\u{301}-☃\u{fe0f}", "größe-日本-e\u{301}-☃\u{fe0f}"),
            ("a\nb\tc\\n\r", "a\\nb\\tc\\\\n\\r"),
            ("\u{1b}[31m\u{9b}0m", "\\u{1b}[31m\\u{9b}0m"),
            ("x\u{202e}gpj.exe\u{200b}", "x\\u{202e}gpj.exe\\u{200b}"),
            ("\u{61c}\u{200e}\u{2066}\u{feff}\u{2028}", "\\u{61c}\\u{200e}\\u{2066}\\u{feff}\\u{2028}"),
            ("\"quoted\"\u{7f}", "\"quoted\"\\u{7f}"),
        ] {
            assert_eq!(printable(text), shown);
            assert!(!printable(text).contains(is_hidden));
        }
    }
}
