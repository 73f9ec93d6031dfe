//! How the ranks' parts come into the file that rank 0 has made.

use super::collective::Mine;
use super::mend::mend;
use super::plan::Plan;
use super::stages;
use super::unfinished::Unfinished;
use crate::mpi::{Handle, SUCCESS, World, api};

/// Most bytes of a rank's part that MPI is given: counts are C ints.
const MOST_BYTES: usize = 1 << 30;

/// Bytes with their place in the file.
type Span = (u64, Vec<u8>);

/// What a rank writes.
#[derive(Default)]
pub(super) struct Spans {
    pub(super) body: Span,
    pub(super) index: Span,
    /// Where the index entry of the last rank does not bring it along.
    pub(super) trailer: Option<Span>,
    /// Number of this rank's last region, and where its flush frame is.
    pub(super) flush: Option<(u32, u64)>,
    /// How long the file is to be, on the rank that sees to it.
    pub(super) length: Option<u64>,
}

/// The file, as a rank writes to it.
pub(super) struct Sink {
    /// As MPI has it, where all ranks write together; else whoever has something writes alone.
    open: Option<Handle>,
    /// As this rank has it: the path that MPI was given leads through it.
    file: Option<Unfinished>,
    /// Whether this rank has made it.
    made_here: bool,
}

impl Sink {
    /// For a rank that has something to write, or made the file.
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

    /// Opened by all ranks. Collective: a rank that cannot have the file opens another one, so that nobody waits for it in
    /// a call that takes an open file.
    pub(super) fn of_all(world: &World, plan: &Plan, made: Option<Unfinished>, mine: &mut Mine) -> Self {
        let made_here = made.is_some();
        let file = match made {
            // Rank 0 has it, unless something went wrong there.
            None if world.rank != 0 => mine.note(plan.open()),
            made => made,
        };
        let path = file.as_ref().and_then(|file| mine.note(file.path_for_libraries()));
        let name = path.as_deref().unwrap_or(c"/dev/null");
        let (abi, mut open) = (&world.abi, world.abi.file_null);
        // A program may have made errors on files fatal by default; in the tracer they are not.
        api().file_set_errhandler(abi.file_null, abi.errors_return);
        let result = api().file_open(abi.comm_world, name.as_ptr(), abi.write_only, abi.info_null, &raw mut open);
        // One that there is although it failed is closed with the others'.
        let open = (open != abi.file_null).then_some(open);
        if result != SUCCESS || open.is_none() {
            let path = file.as_ref().map(Unfinished::path).unwrap_or_default();
            mine.note::<()>(Err(format!("MPI could not open {}", String::from_utf8_lossy(&path))));
        }
        Self { open, file, made_here }
    }

    /// Writes what this rank has, alone.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub(super) fn write(&self, spans: &Spans) -> Result<(), String> {
        let all = [Some(&spans.body), Some(&spans.index), spans.trailer.as_ref()];
        let mut wanted = all.into_iter().flatten().filter(|(_, bytes)| !bytes.is_empty());
        // Who has nothing to write has not opened it.
        let file = self.file.as_ref().ok_or("the file is not open");
        wanted.try_for_each(|(at, bytes)| file?.write_at(bytes, *at))
    }

    /// Has MPI write the parts of all ranks, and gives the file back to it. Whether the write went well is not asked of MPI: when
    /// all ranks have done it, each looks for itself ([`Self::mend`]). Collective.
    ///
    /// # Errors
    /// MPI could not close the file: what is there to be seen now may not reach the disk.
    pub(super) fn write_together(&mut self, world: &World, spans: &Spans) -> Result<(), String> {
        let mut file = self.open.take().ok_or("the file is not open")?;
        let mut status = [0_u64; 16];
        let (at, bytes) = (spans.body.0 as i64, &spans.body.1);
        let (count, status) = (bytes.len().min(MOST_BYTES) as i32, status.as_mut_ptr().cast());
        let _ = api().file_write_at_all(file, at, bytes.as_ptr().cast(), count, world.abi.byte, status);
        if api().file_close(&raw mut file) == SUCCESS { Ok(()) } else { Err("MPI could not close the file".into()) }
    }

    /// Puts in place what MPI has not, and this rank's index entries; returns how many bytes were not as MPI was given them. For
    /// when no rank's MPI writes to the file any more.
    ///
    /// # Errors
    /// Why they cannot be written.
    pub(super) fn mend(&self, spans: &Spans) -> Result<u64, String> {
        let file = self.file.as_ref().ok_or("the file is not open")?;
        file.share_between_nodes();
        mend(file, spans, MOST_BYTES)
    }

    /// Writes this rank's flush frame again, with the times by now. For when nobody else writes there any more.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub(super) fn describe(&self, spans: &Spans) -> Result<(), String> {
        match (&self.file, spans.flush) {
            (Some(file), Some((region, at))) => file.write_at(&stages::times().frame(region), at),
            _ => Ok(()),
        }
    }

    /// Nothing more is written. Collective where all ranks have the file open by MPI.
    ///
    /// # Errors
    /// What was written is not there.
    pub(super) fn close(&mut self) -> Result<(), String> {
        if let Some(mut file) = self.open.take() {
            // Nothing was written by it.
            let _ = api().file_close(&raw mut file);
        }
        let close = if self.made_here { Unfinished::settle } else { Unfinished::close };
        self.file.as_mut().map_or(Ok(()), close)
    }

    /// There will be no trace of all ranks: closes the file and takes it away. Collective where they were to write together.
    pub(super) fn give_up(mut self) {
        // It goes away, whether all of it was written or not.
        let _ = self.close();
        if let Some(made) = self.file.filter(|_| self.made_here) {
            made.abandon();
        }
    }

    /// All is there: gives the file its name. `None` on ranks that did not make it.
    pub(super) fn finish(self, stem: &str) -> Option<Result<Vec<u8>, String>> {
        self.file.filter(|_| self.made_here).map(|mut made| made.finish(stem))
    }
}
