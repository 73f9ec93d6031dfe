//! Messages on standard error; `--quiet` suppresses all but errors. All output to standard error goes through [`tell`], which ignores
//! errors: a full disk or closed pipe does not end the program.

use crate::text::printable::printable;
use std::fmt::Arguments;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses everything but errors from now on.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints to standard error unless quiet; arguments as for `println!`.
#[macro_export]
macro_rules! say {
    ($($word:tt)*) => {
        if !$crate::progress::is_quiet() {
            $crate::progress::tell(format_args!($($word)*));
        }
    };
}
pub use say;

/// Prints a line to standard error, even if quiet. Errors are ignored: there is nowhere to report them. Control characters in file names
/// are escaped, so that they have no effect on a terminal.
pub fn tell(text: Arguments<'_>) {
    let _ = std::io::stderr().write_all(line(text).as_bytes());
}

fn line(text: Arguments<'_>) -> String {
    // Line breaks of multi-line messages are kept.
    let text = text.to_string();
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    lines.join("\n") + "\n"
}

/// True if only errors are printed.
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
