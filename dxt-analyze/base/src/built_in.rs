//! Parts built into every HTML page: plotting library, style sheet, and a content security policy that allows only the page's own scripts.
//! Pages fetch nothing.

use crate::text::printable::printable;
use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::ser::{CharEscape, Formatter};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::io::Write;

const HEAD: &str = include_str!("../../assets/head.html");
/// Source of the plotting library ECharts, unmodified; the README beside it states version and licence.
pub const ECHARTS: &str = include_str!("../../assets/vendor/echarts/echarts.min.js");
/// Style sheet (CSS) of all HTML pages.
pub const STYLE: &str = include_str!("../../assets/report/style.css");

/// Returns the content security policy of a page with `scripts` and the plotting library.
pub fn policy(scripts: &str) -> String {
    format!(
        "default-src 'none'; script-src '{}' '{}'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'",
        hash(ECHARTS),
        hash(scripts)
    )
}

/// Returns the content security policy of a page with `scripts` and without the plotting library.
pub fn policy_of(scripts: &str) -> String {
    let script = hash(scripts);
    format!(
        "default-src 'none'; script-src '{script}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// Returns the hash of a script in the notation of content security policies.
fn hash(script: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(script.as_bytes())))
}

/// Serializes `data` to JSON that cannot end the HTML element around it: `<` occurs only in strings, where it is escaped. Hidden characters
/// in strings are made visible, because scripts display strings unchanged.
pub fn json(data: &impl serde::Serialize) -> Result<String> {
    let mut out = Vec::new();
    data.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Visible))?;
    Ok(String::from_utf8(out)?.replace('<', "\\u003c"))
}

/// JSON formatter that makes hidden characters in strings visible ([`printable`]).
struct Visible;

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, text: &str) -> std::io::Result<()> {
        match printable(text) {
            Cow::Borrowed(text) => out.write_all(text.as_bytes()),
            // Characters that JSON must escape never reach this branch.
            Cow::Owned(text) => out.write_all(text.replace('\\', "\\\\").as_bytes()),
        }
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, out: &mut W, escape: CharEscape) -> std::io::Result<()> {
        match escape {
            CharEscape::Quote => out.write_all(b"\\\""),
            CharEscape::ReverseSolidus => out.write_all(b"\\\\"),
            CharEscape::Solidus => out.write_all(b"/"),
            CharEscape::LineFeed => out.write_all(b"\\\\n"),
            CharEscape::CarriageReturn => out.write_all(b"\\\\r"),
            CharEscape::Tab => out.write_all(b"\\\\t"),
            CharEscape::Backspace => out.write_all(b"\\\\u{8}"),
            CharEscape::FormFeed => out.write_all(b"\\\\u{c}"),
            CharEscape::AsciiControl(byte) => write!(out, "\\\\u{{{byte:x}}}"),
        }
    }
}

/// Builds a page from the common HTML head, `body`, `scripts` and the content security policy that `policy` returns. `parts` are
/// (placeholder, text), including `title`, and take precedence over common texts with the same placeholder.
pub fn page(body: &str, scripts: &[&str], policy: fn(&str) -> String, parts: Vec<(&str, String)>) -> String {
    // Each script is a function expression that adds members to the object `dxt`.
    let scripts = format!("\"use strict\";\nconst dxt = {{}};\n{}", scripts.concat());
    let mut all = parts;
    all.extend([
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("policy", policy(&scripts)),
        ("style", STYLE.to_owned()),
        ("scripts", scripts),
    ]);
    fill(&[HEAD, body].concat(), &all)
}

/// Replaces each placeholder `{{name}}` by the text that `parts` has for the name. Inserted text is not searched for placeholders.
fn fill(template: &str, parts: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else { break };
        out.push_str(parts.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text));
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plotting_library_is_the_one_that_its_readme_names() {
        let readme = include_str!("../../assets/vendor/echarts/README.md");
        let digest = Sha256::digest(ECHARTS.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(readme.contains(&hex), "{hex}");
    }

    #[test]
    fn what_is_put_in_is_not_filled_again_and_every_place_has_a_part() {
        assert_eq!(fill("a{{x}}b{{y}}", &[("x", "{{y}}".into()), ("y", "1".into())]), "a{{y}}b1");
        assert!(!ECHARTS.contains("</script"), "it would end itself");
        assert!(!STYLE.contains("</style"));
    }

    #[test]
    fn data_cannot_end_its_element() {
        let text = json(&"</script><img onerror=alert(1)>").unwrap();
        assert!(!text.contains('<'), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), "</script><img onerror=alert(1)>");
        let text = json(&["\u{202e}a\n\u{1b}\"\\", "\u{200b}"]).unwrap();
        let read: [String; 2] = serde_json::from_str(&text).unwrap();
        assert_eq!(read, ["\\u{202e}a\\n\\u{1b}\"\\", "\\u{200b}"]);
    }
}
