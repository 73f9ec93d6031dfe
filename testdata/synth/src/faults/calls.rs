//! Steps of a simulated thread, and the operations with which a trace records them.

use trace_format::op::{Layer, OpClass, OpDef, OpMode};

/// Operation in the traces of simulated jobs; the discriminant is the operation's index in [`TABLE`].
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

/// Operations as (operation, the tracer's code, layer, class, variant, name), in the order of [`Op`].
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
    pub(super) fn code(self) -> u16 {
        TABLE[self as usize].1
    }

    /// True for operations that transfer data (reads and writes).
    pub(super) fn moves(self) -> bool {
        matches!(TABLE[self as usize].3, OpClass::Read | OpClass::Write)
    }

    pub(super) fn writes(self) -> bool {
        TABLE[self as usize].3 == OpClass::Write
    }
}

/// Returns the operation table for the job block of a trace.
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

#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) op: Op,
    /// Number (id) of the accessed file within the job.
    pub(super) file: u32,
    /// File offset of the first byte; `None` for calls without a byte range.
    pub(super) offset: Option<u64>,
    pub(super) length: u64,
}

impl Call {
    /// Creates a call without a byte range, such as an open.
    pub(super) fn on(op: Op, file: u32) -> Self {
        Self { op, file, offset: None, length: 0 }
    }

    /// Creates a call on a byte range of a file.
    pub(super) fn at(op: Op, file: u32, offset: u64, length: u64) -> Self {
        Self { op, file, offset: Some(offset), length }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Passes the given number of ns without I/O, such as computing; traces do not record this step.
    Pass(f64),
    /// Makes a call that the simulated file system serves.
    Call(Call),
    /// Reads the header block, a small block that all ranks, or only rank 0, read in each phase.
    Header(Call),
    /// Begins an MPI-IO call, which [`Step::Leave`] ends.
    Enter(Call),
    /// Ends the innermost MPI-IO call.
    Leave,
    /// Waits until all threads of the job have arrived here. Traces record the wait as the given MPI call, or not at all if `None`.
    Meet(Option<Op>),
    /// Acquires the lock `key`; traces record this as the lock call `call`.
    Take { key: u64, call: Call },
    /// Releases the lock `key`; traces record this as the unlock call `call`.
    Give { key: u64, call: Call },
    /// Waits until the job's turn counter, which makes ranks do their I/O one after another, reaches the given number.
    Await(u32),
    /// Increments the job's turn counter, so that the next waiting thread continues.
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
