//! What calls do, as far as they are judged together.

use serde::Serialize;
use trace_format::op::OpClass;

/// What calls do, as far as they are judged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Opens.
    Open,
    /// Other metadata calls: close, stat, seek, ...
    Metadata,
    /// Syncs and flushes.
    Sync,
    /// Locks.
    Lock,
    /// Handing over operations that go on meanwhile, and waiting for them.
    Wait,
}

/// All of them.
pub const CLASSES: [Class; 7] =
    [Class::Read, Class::Write, Class::Open, Class::Metadata, Class::Sync, Class::Lock, Class::Wait];

impl Class {
    /// Of an operation's class.
    #[must_use]
    pub fn of(class: Option<OpClass>) -> Self {
        match class {
            Some(OpClass::Read) => Self::Read,
            Some(OpClass::Write) => Self::Write,
            Some(OpClass::Open) => Self::Open,
            Some(OpClass::Sync) => Self::Sync,
            Some(OpClass::Lock | OpClass::Unlock) => Self::Lock,
            Some(OpClass::Wait) => Self::Wait,
            _ => Self::Metadata,
        }
    }

    /// In the singular.
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
        }
    }

    /// The article of the singular.
    #[must_use]
    pub const fn article(self) -> &'static str {
        if matches!(self, Self::Open) { "an" } else { "a" }
    }

    /// In the plural.
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
        }
    }
}
