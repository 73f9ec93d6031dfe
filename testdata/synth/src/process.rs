//! Generator of one rank's process: the rank's accesses as segments, with streams, files and layouts.

use crate::args::{Args, Direction, Interface};
use crate::lustre::Striping;
use crate::ops::{self, OpCode};
use crate::patterns::{Access, Pattern};
use crate::timing::{Timing, random};
use rand_chacha::ChaCha8Rng;
use trace_format::meta::{
    ClockSource, FileDef, FileKind, LayoutDef, LayoutMoment, LayoutSource, Process, ProcessInfo, StreamDef, ThreadDef,
    path_hash, stream_flags,
};
use trace_format::segment::NO_OFFSET;
use trace_format::{Segment, StreamId};

/// Epoch of every process: 2024-01-01 00:00:00 UTC, in ns since 1970.
pub(crate) const EPOCH_UNIX_NS: i64 = 1_704_067_200_000_000_000;
/// Time of the first open, in ns since the process's epoch (time zero).
const FIRST_CALL_NS: u64 = 1_000_000;
/// Typical duration of an open, in ns.
const OPEN_NS: f64 = 300_000.0;
/// Typical duration of a close, in ns.
const CLOSE_NS: f64 = 50_000.0;
/// Typical pause between two calls, in ns.
const PAUSE_NS: f64 = 500.0;
/// Typical time that MPI-IO spends before, and again after, a nested call, in ns.
const WRAP_NS: f64 = 900.0;

/// Returns the process block and the segments of `rank`.
pub(crate) fn simulate(args: &Args, pattern: &dyn Pattern, rank: u32) -> anyhow::Result<(Process, Vec<Segment>)> {
    let striping = args.striping();
    let (path, shared) = pattern.path(rank);
    let mut program = Program {
        timing: Timing::new(args, rank, striping)?,
        random: random(args.seed, rank),
        now: FIRST_CALL_NS,
        streams: Vec::new(),
        segments: Vec::with_capacity(args.segments as usize * 2 + 4),
    };
    match args.layer {
        Interface::Posix => program.run_posix(args, pattern, rank),
        Interface::Mpiio => program.run_mpiio(args, pattern, rank),
    }
    let process = Process {
        info: ProcessInfo {
            rank: rank as i32,
            node: format!("node{:04}", args.node_of(rank)),
            pid: 1000 + rank,
            ppid: 999,
            exe: b"/usr/bin/synthetic".to_vec(),
            epoch_unix_ns: EPOCH_UNIX_NS,
            clock: ClockSource::Counter,
            clock_hz: 1_000_000_000,
            sync_ns: Some(0),
            end_ns: program.now,
            ended_by: "MPI_Finalize".into(),
            ..ProcessInfo::default()
        },
        threads: vec![ThreadDef { index: 0, tid: 1000 + rank }],
        files: vec![FileDef {
            hash: path_hash(path.as_bytes()),
            path: (!shared).then(|| path.into_bytes()),
            kind: FileKind::Regular,
            device: 1,
            inode: if shared { 1 } else { 100 + u64::from(rank) },
            block_size: 4 << 20,
        }],
        streams: program.streams,
        layouts: striping.into_iter().map(layout).collect(),
        ..Process::default()
    };
    Ok((process, program.segments))
}

fn layout(striping: Striping) -> LayoutDef {
    LayoutDef { file: 0, moment: LayoutMoment::Open, source: LayoutSource::Lustre, bytes: striping.attribute() }
}

/// State of a rank while its access pattern is converted to segments.
struct Program {
    timing: Timing,
    random: ChaCha8Rng,
    now: u64,
    streams: Vec<StreamDef>,
    segments: Vec<Segment>,
}

impl Program {
    fn run_posix(&mut self, args: &Args, pattern: &dyn Pattern, rank: u32) {
        let op = if args.op == Direction::Write { ops::POSIX_WRITE } else { ops::POSIX_READ };
        self.fixed(ops::POSIX_OPEN, 0, OPEN_NS);
        for access in pattern.accesses(rank, &mut self.random) {
            self.pause();
            self.access(op, 0, &access);
        }
        self.pause();
        self.fixed(ops::POSIX_CLOSE, 0, CLOSE_NS);
    }

    fn run_mpiio(&mut self, args: &Args, pattern: &dyn Pattern, rank: u32) {
        let (posix, independent, collective) = match args.op {
            Direction::Write => (ops::POSIX_WRITE, ops::MPIIO_WRITE, ops::MPIIO_WRITE_ALL),
            Direction::Read => (ops::POSIX_READ, ops::MPIIO_READ, ops::MPIIO_READ_ALL),
        };
        self.around(ops::MPIIO_OPEN, None, |program| {
            program.fixed(ops::POSIX_OPEN, stream_flags::NESTED, OPEN_NS);
        });
        for (index, access) in pattern.accesses(rank, &mut self.random).into_iter().enumerate() {
            self.pause();
            let parts = pattern.collective(rank, index);
            let op = if parts.is_some() { collective } else { independent };
            self.around(op, Some(&access), |program| {
                for part in parts.unwrap_or_else(|| vec![access]) {
                    program.access(posix, stream_flags::NESTED, &part);
                }
            });
        }
        self.pause();
        self.around(ops::MPIIO_CLOSE, None, |program| {
            program.fixed(ops::POSIX_CLOSE, stream_flags::NESTED, CLOSE_NS);
        });
    }

    /// Adds a call and the nested calls that `inside` adds. As in the tracer, the outer segment follows the nested segments.
    fn around(&mut self, op: OpCode, access: Option<&Access>, inside: impl FnOnce(&mut Self)) {
        let planned = access.and_then(|access| access.at).map_or(0, |(start, _)| start.saturating_sub(WRAP_NS as u64));
        let start = self.now.max(planned);
        self.now = start + self.timing.about_ns(WRAP_NS, &mut self.random);
        inside(self);
        self.now += self.timing.about_ns(WRAP_NS, &mut self.random);
        let (offset, length) = access.map_or((NO_OFFSET, 0), |access| (access.offset as i64, access.length));
        self.push(op, 0, offset, length, start);
    }

    /// Adds a read or write of the byte range `access`.
    fn access(&mut self, op: OpCode, flags: u8, access: &Access) {
        let (start, end) = access.at.unwrap_or_else(|| {
            let took = self.timing.transfer_ns(access.offset, access.length, &mut self.random);
            (self.now, self.now + took)
        });
        self.now = end;
        self.push(op, flags, access.offset as i64, access.length, start);
    }

    /// Adds a call without data, such as an open, with a duration of about `typical_ns`.
    fn fixed(&mut self, op: OpCode, flags: u8, typical_ns: f64) {
        let start = self.now;
        self.now += self.timing.about_ns(typical_ns, &mut self.random);
        self.push(op, flags, NO_OFFSET, 0, start);
    }

    fn pause(&mut self) {
        self.now += self.timing.about_ns(PAUSE_NS, &mut self.random);
    }

    fn push(&mut self, op: OpCode, flags: u8, offset: i64, length: u64, start: u64) {
        let known = self.streams.iter().position(|stream| stream.op == op.0 && stream.flags == flags);
        let id = known.unwrap_or_else(|| {
            let id = self.streams.len() as u32;
            self.streams.push(StreamDef { id, file: 0, op: op.0, flags, errno: 0 });
            id as usize
        });
        self.segments.push(Segment::new(StreamId(id as u32), offset, length, start, self.now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns;
    use clap::Parser;

    #[test]
    fn nested_calls_lie_inside_the_call_around_them() {
        let args = ["dxt-synth", "ior-strided", "-o", "x", "--layer", "mpiio", "-n", "4", "--segments", "10"];
        let args = Args::parse_from(args);
        let (process, segments) = simulate(&args, patterns::named(&args).as_ref(), 0).unwrap();
        let nested = |segment: &Segment| process.streams[segment.stream().0 as usize].flags & stream_flags::NESTED != 0;
        assert_eq!(segments.iter().filter(|segment| nested(segment)).count(), 12);
        assert_eq!(segments.len(), 24);
        for pair in segments.chunks(2) {
            assert!(nested(&pair[0]) && !nested(&pair[1]));
            assert!(pair[1].start < pair[0].start && pair[0].end < pair[1].end);
        }
        assert!(segments.windows(2).all(|pair| pair[0].end < pair[1].end));
    }
}
