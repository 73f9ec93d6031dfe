//! Identity of this process: executable, arguments, host, job. Determined once, when the library is loaded.
#![expect(unsafe_code, reason = "environment, readlink(2), getsid(2) and their peers")]

use crate::environment::{Environment, strings};
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

/// Environment variables of each scheduler: the job id, and the id of the job step if there is one.
const SCHEDULERS: [(&CStr, Option<&CStr>); 11] = [
    (c"SLURM_JOB_ID", Some(c"SLURM_STEP_ID")),
    (c"PBS_JOBID", None),
    (c"LSB_JOBID", None),
    (c"FLUX_JOB_ID", None),
    (c"COBALT_JOBID", None),
    (c"PJM_JOBID", None),
    (c"OAR_JOB_ID", None),
    (c"OAR_JOBID", None),
    (c"LOADL_STEP_ID", None),
    (c"LOAD_STEP_ID", None),
    (c"JOB_ID", None),
];

/// Environment variables in which launchers store a process's rank, for parallel programs without MPI. `RANK` (torchrun) is used only if
/// `WORLD_SIZE` is set. `SLURM_PROCID` is used only if `SLURM_STEP_ID` is set: batch scripts, and all that they start without srun, have
/// `SLURM_PROCID` too.
const RANKS: [&CStr; 8] = [
    c"PMIX_RANK",
    c"PMI_RANK",
    c"OMPI_COMM_WORLD_RANK",
    c"MV2_COMM_WORLD_RANK",
    c"PALS_RANKID",
    c"FLUX_TASK_RANK",
    c"SLURM_PROCID",
    c"RANK",
];

/// Basenames of launchers (MPI's and others): programs that start other programs and do no I/O of interest.
const LAUNCHERS: [&[u8]; 26] = [
    b"dxt-run",
    b"timeout",
    b"env",
    b"nice",
    b"nohup",
    b"setsid",
    b"stdbuf",
    b"taskset",
    b"numactl",
    b"time",
    b"mpirun",
    b"mpiexec",
    b"mpiexec.hydra",
    b"mpiexec.mpich",
    b"orterun",
    b"orted",
    b"prte",
    b"prted",
    b"prterun",
    b"hydra_pmi_proxy",
    b"hydra_bstrap_proxy",
    b"srun",
    b"slurmstepd",
    b"aprun",
    b"jsrun",
    b"palsd",
];

pub(crate) struct Identity {
    pub(crate) exe: Vec<u8>,
    /// Command line arguments of this process, program name first.
    pub(crate) args: Vec<Vec<u8>>,
    /// Working directory at the start of this process.
    pub(crate) cwd: Vec<u8>,
    pub(crate) host: String,
    /// Variable and value of the scheduler's job id, such as `SLURM_JOB_ID=123`; empty without a scheduler.
    pub(crate) scheduler: String,
    /// Text that identifies the job, equal in all processes of the job; determined without communication with other ranks.
    pub(crate) key: String,
    /// Name of the whole job, including all job steps. Equal in all processes of a job that a scheduler or user has named.
    pub(crate) name: String,
    /// Name of the job whose processes share a byte budget (DXT_JOB_BYTES): the scheduler's job id, else DXT_JOB_ID. `None` without either.
    pub(crate) whole: Option<String>,
    /// Rank that a launcher assigned to this process, or -1.
    pub(crate) rank: i32,
    /// Start time of the process, in ns since 1970-01-01 UTC.
    pub(crate) start_unix_ns: i64,
}

static IDENTITY: OnceLock<Identity> = OnceLock::new();

/// Returns the identity of this process; `None` before the library has started.
pub(crate) fn identity() -> Option<&'static Identity> {
    IDENTITY.get()
}

/// Returns the text that identifies the job, determined without communication with other ranks; empty before the library has started.
pub(crate) fn own_key() -> &'static str {
    identity().map_or("", |identity| &identity.key)
}

/// Returns the process ids of this process and of its parent, in that order.
pub(crate) fn process_ids() -> (u32, u32) {
    // SAFETY: no preconditions.
    let pid = unsafe { crate::sys::syscall!(libc::SYS_getpid) } as u32;
    // SAFETY: no preconditions.
    (pid, unsafe { crate::sys::syscall!(libc::SYS_getppid) } as u32)
}

/// Returns the value of the environment variable `name`; `None` if unset or if the program is privileged (AT_SECURE).
pub(crate) fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: the name ends in NUL. The result is null in a privileged (AT_SECURE) program.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    // SAFETY: `value` is a string that stays until the program changes the variable, and is only read during MPI_Init.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes())
}

unsafe extern "C" {
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

pub(crate) fn user() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::getuid() }
}

/// Returns the effective user id, which the kernel uses to check access to files.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::geteuid() }
}

pub(crate) fn basename(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

pub(crate) fn is_launcher(exe: &[u8]) -> bool {
    LAUNCHERS.contains(&basename(exe))
}

pub(crate) fn executable() -> Vec<u8> {
    let mut path = [0_u8; libc::PATH_MAX as usize];
    // SAFETY: the buffer is a local variable. Raw system call, since readlink(2) may be wrapped.
    let length = unsafe {
        crate::sys::syscall!(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            c"/proc/self/exe".as_ptr(),
            path.as_mut_ptr(),
            path.len()
        )
    };
    path[..usize::try_from(length).unwrap_or(0)].to_vec()
}

/// Determines and stores the identity of this process. `exe`: path of the executable; `argv`: the program's arguments, `argc` in number.
pub(crate) fn remember(environment: &impl Environment, exe: Vec<u8>, argc: c_int, argv: *const *const c_char) {
    let count = usize::try_from(argc).unwrap_or(0).min(4096);
    let args = strings(argv).take(count).map(|arg| arg.to_bytes().to_vec()).collect();
    let mut cwd = vec![0_u8; libc::PATH_MAX as usize];
    // SAFETY: the buffer is a local variable.
    let length = unsafe { crate::sys::syscall!(libc::SYS_getcwd, cwd.as_mut_ptr(), cwd.len()) };
    cwd.truncate(usize::try_from(length - 1).unwrap_or(0));
    let host = hostname::get().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let scheduler = scheduler(environment);
    let given = environment.get(c"DXT_JOB_ID").filter(|id| !id.is_empty());
    let key = match given {
        Some(id) => String::from_utf8_lossy(id).into_owned(),
        _ if !scheduler.is_empty() => scheduler.clone(),
        _ => group_key(environment, &host),
    };
    let batch = || SCHEDULERS.iter().find_map(|(id, _)| environment.get(id).filter(|id| !id.is_empty()));
    let whole = batch().or(given).map(|id| String::from_utf8_lossy(id).into_owned());
    let name = given.or_else(batch).map_or_else(|| key.clone(), |id| String::from_utf8_lossy(id).into_owned());
    let rank = launcher_rank(environment);
    let identity =
        Identity { exe, args, cwd, host, scheduler, key, name, whole, rank, start_unix_ns: crate::clock::unix_ns() };
    let _ = IDENTITY.set(identity);
}

/// Returns the rank that a launcher assigned to this process; -1 without one.
pub(crate) fn launcher_rank(environment: &impl Environment) -> i32 {
    let number = |name: &&CStr| {
        let believed = match name.to_bytes() {
            b"RANK" => environment.get(c"WORLD_SIZE").is_some(),
            b"SLURM_PROCID" => environment.get(c"SLURM_STEP_ID").is_some(),
            _ => true,
        };
        let text = environment.get(name).filter(|_| believed)?;
        std::str::from_utf8(text).ok()?.parse::<i32>().ok().filter(|&rank| rank >= 0)
    };
    RANKS.iter().find_map(number).unwrap_or(-1)
}

fn scheduler(environment: &impl Environment) -> String {
    for (id, step) in SCHEDULERS {
        let Some(value) = environment.get(id).filter(|value| !value.is_empty()) else { continue };
        let mut text = format!("{}={}", id.to_string_lossy(), String::from_utf8_lossy(value));
        if let Some(step) = step.and_then(|step| environment.get(step)) {
            text.push('.');
            text.push_str(&String::from_utf8_lossy(step));
        }
        return text;
    }
    String::new()
}

/// Returns the key of a job without a scheduler: node name (`host`), process id and start time. Processes that were started together get
/// equal keys: under an MPI launcher, all children of the launcher's local daemon; else a process group, such as a shell script or a
/// pipeline. The start time distinguishes a process from a later one with the same id.
fn group_key(environment: &impl Environment, host: &str) -> String {
    if let Some(name) = environment.get(c"PMIX_NAMESPACE") {
        return format!("{host}.pmix.{}", String::from_utf8_lossy(name));
    }
    // SAFETY: no preconditions.
    let group = unsafe { libc::getpgrp() };
    let starter = match environment.get(c"PMI_RANK") {
        // SAFETY: no preconditions. MPICH's daemon gives every rank a session of its own, so the session leader's parent is the daemon.
        Some(_) => Proc::of(unsafe { libc::getsid(0) }).map_or(group, |leader| leader.parent),
        None => group,
    };
    format!("{host}.{starter}.{}", Proc::of(starter).map_or(0, |process| process.start))
}

/// Returns the start time of process `pid` in clock ticks since boot; 0 if unknown.
pub(crate) fn started(pid: u32) -> u64 {
    libc::pid_t::try_from(pid).ok().and_then(Proc::of).map_or(0, |process| process.start)
}

/// Returns the machine's boot id (random(4)) as bytes; zeros if unknown.
pub(crate) fn boot_id() -> [u8; 16] {
    let mut text = [0_u8; 64];
    id_of(read_file(c"/proc/sys/kernel/random/boot_id".to_bytes_with_nul(), &mut text).unwrap_or_default())
}

/// Parses an id of 32 hexadecimal digits; missing digits count as zeros.
pub(crate) fn id_of(text: &[u8]) -> [u8; 16] {
    let mut id = [0; 16];
    let digits = text.iter().filter_map(|&byte| char::from(byte).to_digit(16));
    for (i, digit) in digits.take(32).enumerate() {
        id[i / 2] = id[i / 2] << 4 | digit as u8;
    }
    id
}

/// Reads the start of file `name`, which ends in NUL, into the buffer; returns `None` on failure.
pub(crate) fn read_file<'a>(name: &[u8], into: &'a mut [u8]) -> Option<&'a [u8]> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    let _inside = crate::sys::claim()?;
    // SAFETY: the name ends in NUL.
    let file = unsafe { crate::sys::syscall!(libc::SYS_openat, libc::AT_FDCWD, name.as_ptr(), flags) };
    if file < 0 {
        return None;
    }
    // SAFETY: the buffer belongs to the caller.
    let length = unsafe { crate::sys::syscall!(libc::SYS_read, file, into.as_mut_ptr(), into.len()) };
    // SAFETY: the descriptor was opened above.
    unsafe { crate::sys::finish!(libc::SYS_close, file) };
    into.get(..usize::try_from(length).ok()?)
}

/// Fields of /proc/pid/stat (proc(5)).
struct Proc {
    /// Process id of the process's parent: field 4.
    parent: libc::pid_t,
    /// Start time of the process in clock ticks since boot: field 22.
    start: u64,
}

impl Proc {
    /// Reads the fields for process `process`; returns `None` if the process no longer exists.
    fn of(process: libc::pid_t) -> Option<Self> {
        let name = format!("/proc/{process}/stat\0");
        let mut text = [0_u8; 1024];
        let text = read_file(name.as_bytes(), &mut text)?;
        // The command name, in parentheses, may contain any character; the fields after it, from the third on, contain no spaces.
        let behind = text.iter().rposition(|&byte| byte == b')').and_then(|at| text.get(at + 2..))?;
        let field = |number: usize| std::str::from_utf8(behind.split(|&byte| byte == b' ').nth(number - 3)?).ok();
        Some(Self { parent: field(4)?.parse().ok()?, start: field(22)?.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_number_processes() {
        let rank = |variables: &[(&CStr, &str)]| launcher_rank(&variables);
        assert_eq!(rank(&[]), -1);
        assert_eq!(rank(&[(c"PMI_RANK", "3")]), 3);
        assert_eq!(rank(&[(c"SLURM_PROCID", "x"), (c"RANK", "2")]), -1);
        assert_eq!(rank(&[(c"WORLD_SIZE", "4"), (c"RANK", "2")]), 2);
    }

    #[test]
    fn launchers_are_known_by_their_last_name() {
        assert!(is_launcher(b"/usr/bin/mpirun") && is_launcher(b"orted"));
        assert!(!is_launcher(b"/home/me/mpirun/app"));
    }

    #[test]
    fn processes_have_parents_and_start_times() {
        let (pid, ppid) = process_ids();
        let this = Proc::of(pid as libc::pid_t).unwrap();
        assert_eq!(this.parent as u32, ppid);
        assert!(this.start > 0 && Proc::of(-1).is_none());
    }
}
