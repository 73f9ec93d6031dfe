//! Decides which processes and jobs are recorded: by settings, sampling and kill switch.
#![expect(unsafe_code, reason = "access(2)")]

use crate::config::{self, Config, Environment};
use crate::filters::Share;
use crate::{anonymize, job, mpi, random, real, seccomp, secure};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if this process may be recorded. Makes no system call if the environment turns tracing off, and only the calls listed at
/// [`seccomp::may_start`] if a seccomp filter is in force. Privileged (AT_SECURE) programs are checked first; a tracer linked into such a
/// program never records it, just as the dynamic linker ignores LD_PRELOAD for such programs.
pub(crate) fn is_wanted(environment: &impl Environment) -> bool {
    if real::is_secure() {
        return cfg!(not(dxt_static)) && seccomp::may_start(&secure::Site) && secure::may_start();
    }
    !config::is_off(environment) && seccomp::may_start(environment)
}

/// True if the settings select this process with rank `rank`. Does not check if the job as a whole is recorded.
pub(super) fn is_chosen(rank: i32) -> bool {
    let (Some(config), Some(identity)) = (config::current(), job::identity()) else { return false };
    config.filters.chooses(&identity.exe, rank) && !anonymize::lacks_key() && !STANDS_BY.load(Ordering::Relaxed)
}

/// True if settings are invalid or the configuration file disables recording. The rank then records nothing, but takes part in the
/// collective steps of the other ranks.
pub(super) static STANDS_BY: AtomicBool = AtomicBool::new(false);

/// True if this process knows that no process of the job is recorded (kill switch, sampling). The recording state is then Muted, not Off:
/// ranks that see the kill switch must take part in collective steps, or ranks that do not see it would wait for them.
pub(super) static JOB_IS_LEFT_OUT: AtomicBool = AtomicBool::new(false);

/// True if no process of the job is recorded: the kill switch file exists, the job is not in the sample, the anonymization key is missing,
/// or settings are invalid.
pub(super) fn leaves_out_job(config: &Config) -> bool {
    let sampled =
        |share: Share| share.contains(random::scattered(job::identity().map_or("", |job| &job.name).as_bytes()));
    STANDS_BY.load(Ordering::Relaxed)
        || anonymize::lacks_key()
        || exists(&config.site.kill_switch)
        || !config.site.sample.is_none_or(sampled)
}

/// True if a file exists at `path` (symbolic links are followed); false for an empty path.
fn exists(path: &[u8]) -> bool {
    let Ok(name) = CString::new(path) else { return false };
    // SAFETY: the name ends in NUL. Raw system call, since access(2) may be wrapped.
    !path.is_empty()
        && unsafe { crate::sys::syscall!(libc::SYS_faccessat, libc::AT_FDCWD, name.as_ptr(), libc::F_OK) } == 0
}

/// True if this may become an MPI process without loading the MPI library later: a launcher assigned `rank`, or MPI is linked.
pub(super) fn looks_like_mpi(rank: i32) -> bool {
    rank >= 0 || mpi::is_linked()
}
