//! This process's place among the ranks, from MPI_Init to MPI_Finalize.

use super::abi::Abi;
use super::calls::{SUCCESS, api};
use crate::clock;
use crate::config::FlushMode;
use crate::job;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Most bytes of a job key.
const KEY_BYTES: usize = 120;

/// What was found when MPI_Init returned.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Constants of the library.
    pub(crate) abi: Abi,
    /// Rank in `MPI_COMM_WORLD`.
    pub(crate) rank: i32,
    /// Its size.
    pub(crate) size: i32,
    /// First line of MPI_Get_library_version.
    pub(crate) version: String,
    /// Whether the library has the functions of MPI 4.0 with 64-bit counts.
    pub(super) has_large_counts: bool,
    /// Job key of rank 0; empty if nothing was exchanged.
    key: String,
    /// Whether nothing of the job is recorded: rank 0's decision, or this rank's own if nothing was exchanged.
    pub(crate) job_is_left_out: bool,
    /// Whether one program was started on all ranks, as far as the launcher tells.
    one_program: bool,
}

impl World {
    /// Whether all ranks can be expected to be traced alike.
    pub(crate) fn one_program(&self) -> bool {
        self.one_program
    }
}

/// Several programs started together (MPMD) need not all be traced, and a collective call would wait for those that are
/// not. Open MPI tells their number; other launchers do not.
fn started_alike() -> bool {
    job::variable(c"OMPI_NUM_APP_CTX").is_none_or(|count| count == b"1")
}

static WORLD: OnceLock<World> = OnceLock::new();
static ACTIVE: AtomicBool = AtomicBool::new(false);
static SYNC_TICKS: AtomicU64 = AtomicU64::new(0);

/// The place among the ranks, once MPI_Init has returned; kept after MPI_Finalize.
pub(crate) fn world() -> Option<&'static World> {
    WORLD.get()
}

/// Whether MPI may be called now: between MPI_Init and MPI_Finalize, in the process that called MPI_Init.
pub(crate) fn active() -> Option<&'static World> {
    if ACTIVE.load(Ordering::Acquire) { WORLD.get() } else { None }
}

/// Job key that rank 0 gave to all.
pub(crate) fn job_key() -> Option<&'static str> {
    world().map(|world| world.key.as_str()).filter(|key| !key.is_empty())
}

/// Ticks at which this rank left the aligning barrier.
pub(crate) fn sync_ticks() -> Option<u64> {
    Some(SYNC_TICKS.load(Ordering::Relaxed)).filter(|&ticks| ticks != 0)
}

/// MPI_Init has returned: finds out where we are, aligns the clocks and takes rank 0's job key. `leaves_out` tells by the job's key
/// whether this process would record nothing of it; where all ranks write together, they all do what rank 0 does.
pub(crate) fn started(flush: FlushMode, leaves_out: bool) {
    let abi = Abi::detect();
    let (mut rank, mut size): (c_int, c_int) = (-1, 0);
    if api().comm_rank(abi.comm_world, &raw mut rank) != SUCCESS
        || api().comm_size(abi.comm_world, &raw mut size) != SUCCESS
    {
        return;
    }
    let one_program = started_alike();
    let (key, job_is_left_out) = match flush {
        FlushMode::Process => (String::new(), leaves_out),
        _ if !one_program => (String::new(), leaves_out),
        _ => exchange(&abi, leaves_out),
    };
    let has_large_counts = api().has_large_counts();
    super::communicators::prepare();
    let world =
        World { abi, rank, size, version: library_version(), has_large_counts, key, job_is_left_out, one_program };
    if WORLD.set(world).is_ok() {
        ACTIVE.store(true, Ordering::Release);
    }
}

/// Rank 0's word on the job: nothing of it is recorded, or it is. 0: not heard.
const LEFT_OUT: u8 = 1;
const RECORDED: u8 = 2;

/// One barrier, whose end is nearly the same moment on all ranks, and rank 0's job key and decision.
fn exchange(abi: &Abi, leaves_out: bool) -> (String, bool) {
    if api().barrier(abi.comm_world) == SUCCESS {
        SYNC_TICKS.store(clock::now(), Ordering::Relaxed);
    }
    let mut bytes = [0_u8; KEY_BYTES + 1];
    bytes[KEY_BYTES] = if leaves_out { LEFT_OUT } else { RECORDED };
    let own = job::own_key();
    let length = own.len().min(KEY_BYTES - 1);
    bytes[..length].copy_from_slice(&own.as_bytes()[..length]);
    let root = 0;
    if api().bcast(bytes.as_mut_ptr().cast(), bytes.len() as c_int, abi.byte, root, abi.comm_world) != SUCCESS {
        return (String::new(), leaves_out);
    }
    let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(KEY_BYTES).min(KEY_BYTES);
    (String::from_utf8_lossy(&bytes[..length]).into_owned(), bytes[KEY_BYTES] == LEFT_OUT)
}

fn library_version() -> String {
    // MPI_MAX_LIBRARY_VERSION_STRING is at most 8192 in the implementations known.
    let (mut text, mut length) = ([0_u8; 8193], 0);
    if api().library_version(text.as_mut_ptr().cast(), &raw mut length) != SUCCESS {
        return String::new();
    }
    let end = text.iter().position(|&byte| byte == 0 || byte == b'\n').unwrap_or(0).min(200);
    String::from_utf8_lossy(&text[..end]).trim().to_owned()
}

/// MPI_Finalize is about to be called: no more MPI.
pub(crate) fn ended() {
    ACTIVE.store(false, Ordering::Release);
}

/// In a forked child: MPI may not be called (MPI 4.0, 11.2.1).
pub(crate) fn in_child() {
    ACTIVE.store(false, Ordering::Release);
}
