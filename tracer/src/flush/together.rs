//! How the ranks' parts come into the file that rank 0 has made.

use super::collective::Mine;
use super::plan::Plan;
use super::unfinished::Unfinished;
use crate::mpi::{Handle, SUCCESS, World, api};

/// Most bytes of one write of MPI: counts are C ints.
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
}

/// The file, as a rank writes to it.
pub(super) struct Sink {
    /// Whether all ranks write together, by MPI-IO; else whoever has something writes alone.
    together: bool,
    /// As MPI has it.
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
        Self { together: false, open: None, file, made_here }
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
        Self { together: true, open, file, made_here }
    }

    /// Writes. Collective for all ranks where they write together.
    pub(super) fn write(&self, world: &World, spans: &Spans) -> Result<(), String> {
        if !self.together {
            let all = [Some(&spans.body), Some(&spans.index), spans.trailer.as_ref()];
            let mut wanted = all.into_iter().flatten().filter(|(_, bytes)| !bytes.is_empty());
            let file = self.file.as_ref().ok_or("the file is not open");
            return wanted.try_for_each(|(at, bytes)| file?.write_at(bytes, *at));
        }
        let file = self.open.ok_or("the file is not open")?;
        // What is more than one call takes is written alone: then there is nothing to gain from others' bytes.
        let (mut at, mut rest, mut fine) = (spans.body.0, spans.body.1.as_slice(), true);
        while rest.len() > MOST_BYTES {
            let (now, later) = rest.split_at(MOST_BYTES);
            fine &= write_at(world, file, at, now, false);
            (at, rest) = (at + MOST_BYTES as u64, later);
        }
        fine &= write_at(world, file, at, rest, true);
        fine &= write_at(world, file, spans.index.0, &spans.index.1, true);
        if fine { Ok(()) } else { Err("MPI could not write the file".into()) }
    }

    /// Nothing more is written. Collective for all ranks where they write together.
    pub(super) fn close(&mut self) -> Result<(), String> {
        let closed = self.open.take().is_none_or(|mut file| api().file_close(&raw mut file) == SUCCESS);
        let close = if self.made_here { Unfinished::settle } else { Unfinished::close };
        let own = self.file.as_mut().map_or(Ok(()), close);
        if closed { own } else { Err("MPI could not close the file".into()) }
    }

    /// There will be no trace of all ranks: closes the file and takes it away. Collective where they write together.
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

fn write_at(world: &World, file: Handle, at: u64, bytes: &[u8], together: bool) -> bool {
    let mut status = [0_u64; 16];
    let (offset, count, byte) = (at as i64, bytes.len() as i32, world.abi.byte);
    let status = status.as_mut_ptr().cast::<std::ffi::c_void>();
    let result = match together {
        true => api().file_write_at_all(file, offset, bytes.as_ptr().cast(), count, byte, status),
        false => api().file_write_at(file, offset, bytes.as_ptr().cast(), count, byte, status),
    };
    let mut transferred = 0;
    let known = api().get_elements(status, byte, &raw mut transferred) == SUCCESS;
    result == SUCCESS && (!known || transferred == i64::from(count))
}
