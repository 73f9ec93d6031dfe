//! Operation table of synthetic traces: four operation names in the layers POSIX and MPI-IO.

use trace_format::op::{Layer, OpClass, OpDef, OpMode};

/// Operation code: key of an operation in the job's operation table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OpCode(pub(crate) u16);

pub(crate) const POSIX_OPEN: OpCode = OpCode(1);
pub(crate) const POSIX_CLOSE: OpCode = OpCode(2);
pub(crate) const POSIX_READ: OpCode = OpCode(3);
pub(crate) const POSIX_WRITE: OpCode = OpCode(4);
pub(crate) const MPIIO_OPEN: OpCode = OpCode(11);
pub(crate) const MPIIO_CLOSE: OpCode = OpCode(12);
pub(crate) const MPIIO_READ: OpCode = OpCode(13);
pub(crate) const MPIIO_WRITE: OpCode = OpCode(14);
pub(crate) const MPIIO_READ_ALL: OpCode = OpCode(15);
pub(crate) const MPIIO_WRITE_ALL: OpCode = OpCode(16);

/// Returns the operation table for the job block of a trace.
pub(crate) fn table() -> Vec<OpDef> {
    let posix = |code: OpCode, class, name| entry(code, Layer::Posix, class, OpMode::Plain, name);
    let mpiio = |code: OpCode, class, mode, name| entry(code, Layer::Mpiio, class, mode, name);
    vec![
        posix(POSIX_OPEN, OpClass::Open, "open"),
        posix(POSIX_CLOSE, OpClass::Close, "close"),
        posix(POSIX_READ, OpClass::Read, "read"),
        posix(POSIX_WRITE, OpClass::Write, "write"),
        mpiio(MPIIO_OPEN, OpClass::Open, OpMode::Collective, "open"),
        mpiio(MPIIO_CLOSE, OpClass::Close, OpMode::Collective, "close"),
        mpiio(MPIIO_READ, OpClass::Read, OpMode::Plain, "read"),
        mpiio(MPIIO_WRITE, OpClass::Write, OpMode::Plain, "write"),
        mpiio(MPIIO_READ_ALL, OpClass::Read, OpMode::Collective, "read"),
        mpiio(MPIIO_WRITE_ALL, OpClass::Write, OpMode::Collective, "write"),
    ]
}

fn entry(code: OpCode, layer: Layer, class: OpClass, mode: OpMode, name: &str) -> OpDef {
    OpDef { code: code.0, layer, class, mode, name: name.into() }
}
