//! Messages on standard error; `--quiet` suppresses all but errors. All output to standard error goes through [`tell`], which ignores write
//! errors, so that a full disk or a closed pipe does not end the program.

use crate::text::printable::printable;
use std::fmt::Arguments;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses all messages except errors from now on.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints a message to standard error unless quiet; arguments as for `println!`.
#[macro_export]
macro_rules! say {
    ($($word:tt)*) => {
        if !$crate::progress::is_quiet() {
            $crate::progress::tell(format_args!($($word)*));
        }
    };
}
pub use say;

/// Prints a line to standard error, even if quiet. Write errors are ignored, because there is nowhere to report them. Control characters in
/// file names are escaped, so that they do not affect a terminal.
pub fn tell(text: Arguments<'_>) {
    let _ = std::io::stderr().write_all(line(text).as_bytes());
}

fn line(text: Arguments<'_>) -> String {
    // Line breaks of multi-line messages are kept.
    let text = text.to_string();
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    lines.join("\n") + "\n"
}

/// True if all messages except errors are suppressed.
#[must_use]
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_does_nothing_to_a_terminal() {
        assert_eq!(line(format_args!("{}: gone", "/a\x1b[2J\u{9b}b")), "/a\\u{1b}[2J\\u{9b}b: gone\n");
        assert_eq!(line(format_args!("two \"lines\"\nü")), "two \"lines\"\nü\n");
        assert_eq!(printable("a\nb"), "a\\nb");
    }
}
