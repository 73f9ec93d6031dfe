//! What a thread of the job does, step by step, and the operations that a trace shows of it.

use trace_format::op::{Layer, OpClass, OpDef, OpMode};

/// A call that a trace shows; its number in [`TABLE`] is the operation's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Op {
    Open,
    Close,
    Read,
    Write,
    Sync,
    Stat,
    Lock,
    Unlock,
    StreamOpen,
    StreamClose,
    StreamRead,
    StreamWrite,
    StreamFlush,
    FileOpen,
    FileClose,
    FileRead,
    FileWrite,
    FileReadAll,
    FileWriteAll,
    FileSync,
    Barrier,
    Broadcast,
}

/// Operations in the order of their codes, as the tracer writes them.
const TABLE: [(Op, u16, Layer, OpClass, OpMode, &str); 22] = [
    (Op::Open, 1, Layer::Posix, OpClass::Open, OpMode::Plain, "open"),
    (Op::Close, 2, Layer::Posix, OpClass::Close, OpMode::Plain, "close"),
    (Op::Read, 3, Layer::Posix, OpClass::Read, OpMode::Plain, "read"),
    (Op::Write, 4, Layer::Posix, OpClass::Write, OpMode::Plain, "write"),
    (Op::Sync, 8, Layer::Posix, OpClass::Sync, OpMode::Plain, "sync"),
    (Op::Stat, 10, Layer::Posix, OpClass::Metadata, OpMode::Plain, "stat"),
    (Op::Lock, 22, Layer::Posix, OpClass::Lock, OpMode::Plain, "lock"),
    (Op::Unlock, 23, Layer::Posix, OpClass::Unlock, OpMode::Plain, "unlock"),
    (Op::StreamOpen, 40, Layer::Stdio, OpClass::Open, OpMode::Plain, "open"),
    (Op::StreamClose, 41, Layer::Stdio, OpClass::Close, OpMode::Plain, "close"),
    (Op::StreamRead, 42, Layer::Stdio, OpClass::Read, OpMode::Plain, "read"),
    (Op::StreamWrite, 43, Layer::Stdio, OpClass::Write, OpMode::Plain, "write"),
    (Op::StreamFlush, 45, Layer::Stdio, OpClass::Sync, OpMode::Plain, "sync"),
    (Op::FileOpen, 80, Layer::Mpiio, OpClass::Open, OpMode::Plain, "open"),
    (Op::FileClose, 81, Layer::Mpiio, OpClass::Close, OpMode::Plain, "close"),
    (Op::FileRead, 82, Layer::Mpiio, OpClass::Read, OpMode::Plain, "read"),
    (Op::FileWrite, 83, Layer::Mpiio, OpClass::Write, OpMode::Plain, "write"),
    (Op::FileReadAll, 84, Layer::Mpiio, OpClass::Read, OpMode::Collective, "read"),
    (Op::FileWriteAll, 85, Layer::Mpiio, OpClass::Write, OpMode::Collective, "write"),
    (Op::FileSync, 91, Layer::Mpiio, OpClass::Sync, OpMode::Plain, "sync"),
    (Op::Barrier, 139, Layer::Mpi, OpClass::Communication, OpMode::Plain, "barrier"),
    (Op::Broadcast, 140, Layer::Mpi, OpClass::Communication, OpMode::Plain, "bcast"),
];

impl Op {
    /// The operation's code.
    pub(super) fn code(self) -> u16 {
        TABLE[self as usize].1
    }

    /// Whether it moves bytes.
    pub(super) fn moves(self) -> bool {
        matches!(TABLE[self as usize].3, OpClass::Read | OpClass::Write)
    }

    /// Whether it moves bytes to the file.
    pub(super) fn writes(self) -> bool {
        TABLE[self as usize].3 == OpClass::Write
    }
}

/// The table as it stands in the job block.
pub(super) fn table() -> Vec<OpDef> {
    let entry = |&(_, code, layer, class, mode, name): &(Op, u16, Layer, OpClass, OpMode, &str)| OpDef {
        code,
        layer,
        class,
        mode,
        name: name.into(),
    };
    TABLE.iter().map(entry).collect()
}

/// A call and what it is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) op: Op,
    /// Number of the file in the job.
    pub(super) file: u32,
    /// First byte; `None` if it is about no bytes.
    pub(super) offset: Option<u64>,
    pub(super) length: u64,
}

impl Call {
    /// A call on a whole file.
    pub(super) fn on(op: Op, file: u32) -> Self {
        Self { op, file, offset: None, length: 0 }
    }

    /// A call on bytes of a file.
    pub(super) fn at(op: Op, file: u32, offset: u64, length: u64) -> Self {
        Self { op, file, offset: Some(offset), length }
    }
}

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Nothing that a trace shows, for so many ns.
    Pass(f64),
    /// A call that is served by the file system.
    Call(Call),
    /// A read of the block that all read.
    Header(Call),
    /// Begins a call of MPI-IO; [`Step::Leave`] ends it.
    Enter(Call),
    /// Ends the innermost call that was begun.
    Leave,
    /// Waits for all threads of the job, in this call of MPI's, or in what no trace shows.
    Meet(Option<Op>),
    /// Waits for the lock with this key, on these bytes.
    Take { key: u64, call: Call },
    /// Gives it back.
    Give { key: u64, call: Call },
    /// Waits until it is this number's turn.
    Await(u32),
    /// Makes it the next number's turn.
    Next,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_operations() {
        assert!(TABLE.iter().enumerate().all(|(place, row)| row.0 as usize == place));
        assert!(TABLE.windows(2).all(|pair| pair[0].1 < pair[1].1));
    }
}
