//! Exit codes of the program, and the error type for invalid command lines.

use std::process::ExitCode;

/// Exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success, also if the reader of the program's output closes the pipe early.
    Fine = 0,
    /// Failure: no input could be read, or the output could not be written.
    Failure = 1,
    /// Invalid or contradictory command line.
    Usage = 2,
    /// Success, but the trace is incomplete: data is damaged, truncated or lost, or some calls have only been counted. For commands on many
    /// jobs: a job is incomplete, or a file was skipped.
    Incomplete = 3,
    /// Success, but a finding is at least as severe as `--fail-on`.
    Findings = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Error for a command line that can be parsed but is contradictory or invalid; the exit code is [`Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// True if `error` was caused by writing to a closed pipe.
#[must_use]
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let broken = |io: &std::io::Error| io.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>().is_some_and(broken);
        let csv = cause.downcast_ref::<csv::Error>().is_some_and(|error| match error.kind() {
            csv::ErrorKind::Io(io) => broken(io),
            _ => false,
        });
        let json = cause
            .downcast_ref::<serde_json::Error>()
            .is_some_and(|error| error.io_error_kind() == Some(std::io::ErrorKind::BrokenPipe));
        io || csv || json
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_found_under_its_context() {
        let io = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert!(is_closed_pipe(&anyhow::Error::new(io()).context("failed to write the report")));
        assert!(is_closed_pipe(&anyhow::Error::new(csv::Error::from(io()))));
        assert!(is_closed_pipe(&anyhow::Error::new(serde_json::Error::io(io()))));
        assert!(!is_closed_pipe(&anyhow::anyhow!("something else")));
    }
}
