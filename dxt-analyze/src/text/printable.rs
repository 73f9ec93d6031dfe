//! Names as text: what a program calls its files, hosts and arguments may hold characters that steer a terminal, end a line of a table, or
//! show another order than is there. Each table, page and line of text has them by their number; JSON and Parquet have names as they are.

use std::borrow::Cow;

/// Text whose hidden characters are shown, as `\n` or `\u{202e}`. In one that has any, a backslash is two.
#[must_use]
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    // Most names are of ASCII, and there are many.
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

/// True for characters that are not seen, or that change how others are: control characters, ends of lines, what sets the direction of
/// text, and what has no width (Unicode 16: Cc, Zl, Zp, `Bidi_Control`, and `Default_Ignorable_Code_Point` but for variation selectors).
pub(crate) fn is_hidden(c: char) -> bool {
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
