//! Classes of I/O calls (reads, writes, opens, ...): calls of one class are compared and summed together.

use super::run::Op;
use crate::text::units as show;
use serde::Serialize;
use trace_format::op::OpClass;

/// Class of I/O calls: calls of one class are compared with each other and summed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Read calls.
    Read,
    /// Write calls.
    Write,
    /// Open calls.
    Open,
    /// Metadata calls other than opens: close, stat, seek, ...
    Metadata,
    /// Sync and flush calls.
    Sync,
    /// Calls that acquire or release file locks.
    Lock,
    /// Waits for the completion of asynchronous I/O.
    Wait,
    /// Calls that submit asynchronous I/O, such as io_submit.
    HandOver,
}

/// All classes of I/O calls.
pub const CLASSES: [Class; 8] =
    [Class::Read, Class::Write, Class::Open, Class::Metadata, Class::Sync, Class::Lock, Class::Wait, Class::HandOver];

/// Operation name of calls that submit asynchronous I/O.
const HANDS_OVER: &str = "submit";

impl Class {
    /// Returns the call class of an operation.
    #[must_use]
    pub fn of(op: &Op) -> Self {
        match op.class {
            Some(OpClass::Read) => Self::Read,
            Some(OpClass::Write) => Self::Write,
            Some(OpClass::Open) => Self::Open,
            Some(OpClass::Sync) => Self::Sync,
            Some(OpClass::Lock | OpClass::Unlock) => Self::Lock,
            Some(OpClass::Wait) if op.name == HANDS_OVER => Self::HandOver,
            Some(OpClass::Wait) => Self::Wait,
            _ => Self::Metadata,
        }
    }

    /// Returns the singular noun for a call of this class, such as `read` or `file lock`.
    #[must_use]
    pub const fn singular(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Open => "open",
            Self::Metadata => "metadata call",
            Self::Sync => "sync",
            Self::Lock => "file lock",
            Self::Wait => "wait for asynchronous I/O",
            Self::HandOver => "call that submits asynchronous I/O",
        }
    }

    /// Returns the noun for `calls` calls of this class, singular or plural.
    #[must_use]
    pub const fn agree(self, calls: u64) -> &'static str {
        show::agree(calls, self.singular(), self.plural())
    }

    /// Formats a number of calls: `1 read`, `2,000 reads`.
    #[must_use]
    pub fn counted(self, calls: u64) -> String {
        format!("{} {}", show::count(calls), self.agree(calls))
    }

    /// Returns the indefinite article of [`Self::singular`].
    #[must_use]
    pub const fn article(self) -> &'static str {
        if matches!(self, Self::Open) { "an" } else { "a" }
    }

    /// Returns the plural noun for calls of this class, such as `reads` or `file locks`.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Open => "opens",
            Self::Metadata => "metadata calls",
            Self::Sync => "syncs",
            Self::Lock => "file locks",
            Self::Wait => "waits for asynchronous I/O",
            Self::HandOver => "calls that submit asynchronous I/O",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_in_their_singular_and_plural() {
        let said = [Class::Read.counted(1), Class::Wait.counted(2), Class::HandOver.counted(1)];
        assert_eq!(said, ["1 read", "2 waits for asynchronous I/O", "1 call that submits asynchronous I/O"]);
    }
}
