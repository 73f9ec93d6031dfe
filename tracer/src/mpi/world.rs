//! This process's rank in `MPI_COMM_WORLD` and facts about the MPI job, from MPI_Init to MPI_Finalize.

use super::abi::Abi;
use super::calls::{SUCCESS, api};
use crate::clock;
use crate::config::FlushMode;
use crate::job;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Space for a job key (the text that identifies the job), in bytes, including a NUL; longer keys are cut off.
const KEY_BYTES: usize = 120;

/// Facts about the MPI job, determined when MPI_Init has returned.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) abi: Abi,
    pub(crate) rank: i32,
    pub(crate) size: i32,
    /// MPI library's version: first line of the text that MPI_Get_library_version returns.
    pub(crate) version: String,
    /// True if the MPI library has MPI 4.0's functions with 64-bit counts.
    pub(super) has_large_counts: bool,
    /// Job key (text that identifies the job) received from rank 0; empty if the ranks exchanged nothing.
    key: String,
    /// True if this job is not recorded: decided by rank 0, or by this rank if the ranks exchanged nothing.
    pub(crate) job_is_left_out: bool,
    /// True if all ranks run the same program, according to the launcher.
    one_program: bool,
}

impl World {
    /// True if all ranks run the same program, so that all ranks are expected to be traced.
    pub(crate) fn one_program(&self) -> bool {
        self.one_program
    }
}

/// False if several programs were started together (MPMD): some of them may not be traced, and a collective call would wait for those ranks
/// forever. Only Open MPI reports the number of programs.
fn started_similar() -> bool {
    job::variable(c"OMPI_NUM_APP_CTX").is_none_or(|count| count == b"1")
}

static WORLD: OnceLock<World> = OnceLock::new();
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// True once the program has called MPI_Finalize.
static ENDED: AtomicBool = AtomicBool::new(false);
static SYNC_TICKS: AtomicU64 = AtomicU64::new(0);

/// Returns the facts about the MPI job; `None` before MPI_Init has returned. Still available after MPI_Finalize.
pub(crate) fn world() -> Option<&'static World> {
    WORLD.get()
}

/// Returns the facts about the MPI job while MPI may be called: between MPI_Init and MPI_Finalize, in the process that called MPI_Init.
pub(crate) fn active() -> Option<&'static World> {
    if ACTIVE.load(Ordering::Acquire) { WORLD.get() } else { None }
}

pub(crate) fn job_key() -> Option<&'static str> {
    world().map(|world| world.key.as_str()).filter(|key| !key.is_empty())
}

/// Returns the time, in clock ticks, at which this rank left the barrier that aligns the ranks' clocks.
pub(crate) fn sync_ticks() -> Option<u64> {
    Some(SYNC_TICKS.load(Ordering::Relaxed)).filter(|&ticks| ticks != 0)
}

/// Determines the rank, aligns clocks, and receives rank 0's job key, when MPI_Init has returned. `leaves_out` is true if this process
/// would not record the job; if all ranks write one file together, rank 0's decision applies to all ranks.
pub(crate) fn started(flush: FlushMode, leaves_out: bool) {
    let abi = Abi::detect();
    let (mut rank, mut size): (c_int, c_int) = (-1, 0);
    if api().comm_rank(abi.comm_world, &raw mut rank) != SUCCESS
        || api().comm_size(abi.comm_world, &raw mut size) != SUCCESS
    {
        return;
    }
    let one_program = started_similar();
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

/// Value broadcast by rank 0 if the job is not recorded. 0 means that no decision was received.
const LEFT_OUT: u8 = 1;
/// Value broadcast by rank 0 if the job is recorded.
const RECORDED: u8 = 2;

/// Runs one barrier, which all ranks leave at nearly the same time, and broadcasts rank 0's job key and its decision to record the job.
/// `leaves_out`: true if this process would not record the job. Returns (job key, true if the job is not recorded).
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
    // MPI_MAX_LIBRARY_VERSION_STRING is at most 8192 bytes in the known implementations.
    let (mut text, mut length) = ([0_u8; 8193], 0);
    if api().library_version(text.as_mut_ptr().cast(), &raw mut length) != SUCCESS {
        return String::new();
    }
    let end = text.iter().position(|&byte| byte == 0 || byte == b'\n').unwrap_or(0).min(200);
    String::from_utf8_lossy(&text[..end]).trim().to_owned()
}

/// Forbids further MPI calls by the tracer. Called just before MPI_Finalize.
pub(crate) fn ended() {
    ACTIVE.store(false, Ordering::Release);
    ENDED.store(true, Ordering::Release);
}

/// True in a process that has called MPI_Finalize, but not in a child that it forked before.
pub(crate) fn has_ended() -> bool {
    ENDED.load(Ordering::Acquire)
}

/// Forbids MPI calls by the tracer in a forked child (MPI 4.0, 11.2.1).
pub(crate) fn in_child() {
    ACTIVE.store(false, Ordering::Release);
}
