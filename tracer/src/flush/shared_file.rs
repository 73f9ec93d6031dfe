//! Writes the ranks' parts, each at its own offset, to the trace file that rank 0 has created.

use super::collective::Mine;
use super::plan::Plan;
use super::repair::repair;
use super::stages;
use super::unfinished::Unfinished;
use crate::mpi::{Handle, SUCCESS, World, api};

/// Maximum number of bytes of a rank's part that are written through MPI, whose counts are C ints.
const MOST_BYTES: usize = 1 << 30;

/// Bytes to write, with their file offset.
type Span = (u64, Vec<u8>);

#[derive(Default)]
pub(super) struct Spans {
    pub(super) body: Span,
    pub(super) index: Span,
    /// Trailer of the file, if written separately: by rank 0 in counters mode. In trace mode the trailer is at the end of the last rank's `index`.
    pub(super) trailer: Option<Span>,
    /// Number of this rank's last region (encoded data of one process), and file offset of the flush frame (times of writing this trace) in
    /// it.
    pub(super) flush: Option<(u32, u64)>,
    /// Length to which the complete file is truncated, in bytes; only on the rank that truncates the file.
    pub(super) length: Option<u64>,
}

/// Trace file that all ranks write together, as opened by this rank.
pub(super) struct Sink {
    /// MPI's file handle if all ranks write collectively; `None` if ranks write independently.
    open: Option<Handle>,
    /// This rank's own descriptor of the trace file. The path given to MPI leads through this descriptor.
    file: Option<Unfinished>,
    made_here: bool,
}

impl Sink {
    /// Opens the file for independent writes by this rank if `wanted`. `made`: the open file, on the rank that created it.
    pub(super) fn of_few(plan: &Plan, made: Option<Unfinished>, wanted: bool, mine: &mut Mine) -> Self {
        let made_here = made.is_some();
        let file = match made {
            None if wanted => mine.note(plan.open()),
            made => made,
        };
        if let Some(file) = &file {
            file.share_between_nodes();
        }
        Self { open: None, file, made_here }
    }

    /// Opens the file through MPI on all ranks. Collective: a rank without access opens /dev/null instead, so that no other rank waits for
    /// it in a call on the open file.
    pub(super) fn of_all(world: &World, plan: &Plan, made: Option<Unfinished>, mine: &mut Mine) -> Self {
        let made_here = made.is_some();
        let file = match made {
            // Rank 0 has opened the file already, unless it failed to create it.
            None if world.rank != 0 => mine.note(plan.open()),
            made => made,
        };
        let path = file.as_ref().and_then(|file| mine.note(file.path_for_libraries()));
        let name = path.as_deref().unwrap_or(c"/dev/null");
        let (abi, mut open) = (&world.abi, world.abi.file_null);
        // The program may have made file errors fatal by default; file errors of the tracer must not be fatal.
        api().file_set_errhandler(abi.file_null, abi.errors_return);
        let result = api().file_open(abi.comm_world, name.as_ptr(), abi.write_only, abi.info_null, &raw mut open);
        // A handle that exists despite a failure is closed with the others.
        let open = (open != abi.file_null).then_some(open);
        if result != SUCCESS || open.is_none() {
            let path = file.as_ref().map(Unfinished::path).unwrap_or_default();
            mine.note::<()>(Err(format!("MPI could not open {}", String::from_utf8_lossy(&path))));
        }
        Self { open, file, made_here }
    }

    /// Writes this rank's bytes without MPI, independently of other ranks.
    ///
    /// # Errors
    /// Fails if the file is not open or cannot be written.
    pub(super) fn write(&self, spans: &Spans) -> Result<(), String> {
        let all = [Some(&spans.body), Some(&spans.index), spans.trailer.as_ref()];
        let mut wanted = all.into_iter().flatten().filter(|(_, bytes)| !bytes.is_empty());
        // A rank that has no bytes to write has not opened the file.
        let file = self.file.as_ref().ok_or("the file is not open");
        wanted.try_for_each(|(at, bytes)| file?.write_at(bytes, *at))
    }

    /// Writes the parts of all ranks through MPI and closes MPI's handle. Ignores MPI's result: once all ranks are done, each rank checks
    /// its own part ([`Self::repair`]). Collective.
    ///
    /// # Errors
    /// Fails if MPI could not close the file: bytes visible now may not reach the disk.
    pub(super) fn write_together(&mut self, world: &World, spans: &Spans) -> Result<(), String> {
        let mut file = self.open.take().ok_or("the file is not open")?;
        let mut status = [0_u64; 16];
        let (at, bytes) = (spans.body.0 as i64, &spans.body.1);
        let (count, status) = (bytes.len().min(MOST_BYTES) as i32, status.as_mut_ptr().cast());
        let _ = api().file_write_at_all(file, at, bytes.as_ptr().cast(), count, world.abi.byte, status);
        if api().file_close(&raw mut file) == SUCCESS { Ok(()) } else { Err("MPI could not close the file".into()) }
    }

    /// Repairs this rank's part of the file and writes its index entries. Returns an upper bound of the bytes that differed from those
    /// given to MPI: the bytes rewritten, in whole pieces of 8 KiB. Call only after MPI has finished writing to the file on all ranks.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn repair(&self, spans: &Spans) -> Result<u64, String> {
        let file = self.file.as_ref().ok_or("the file is not open")?;
        file.share_between_nodes();
        repair(file, spans, MOST_BYTES)
    }

    /// Rewrites this rank's flush frame (times of writing this trace) with the current times. Call only while no other rank writes to this
    /// range.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn describe(&self, spans: &Spans) -> Result<(), String> {
        match (&self.file, spans.flush) {
            (Some(file), Some((region, at))) => file.write_at(&stages::times().frame(region), at),
            _ => Ok(()),
        }
    }

    /// Closes the file. Collective if all ranks have opened the file through MPI.
    ///
    /// # Errors
    /// Fails if closing fails: written bytes may be lost.
    pub(super) fn close(&mut self) -> Result<(), String> {
        if let Some(mut file) = self.open.take() {
            // No bytes were written through this handle.
            let _ = api().file_close(&raw mut file);
        }
        let close = if self.made_here { Unfinished::settle } else { Unfinished::close };
        self.file.as_mut().map_or(Ok(()), close)
    }

    /// Closes and removes the file, since no trace of all ranks can be written. Collective if the ranks were to write together.
    pub(super) fn give_up(mut self) {
        // A failure to close does not matter, since the file is removed.
        let _ = self.close();
        if let Some(made) = self.file.filter(|_| self.made_here) {
            made.abandon();
        }
    }

    /// Renames the complete file to its final name. Returns `None` on ranks that did not create the file.
    pub(super) fn finish(self, stem: &str) -> Option<Result<Vec<u8>, String>> {
        self.file.filter(|_| self.made_here).map(|mut made| made.finish(stem))
    }
}
