//! Paths that are not recorded: files that the system and the MPI library open for themselves. The list is short and documented in
//! docs/configuration.md; the trace counts how often the list applied. The user's own filters apply afterwards.

use crate::config;
use crate::filters::{Choice, Paths};
use crate::job;

/// Decision if calls on a path are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Recorded,
    /// Not recorded: file of the operating system.
    System,
    /// Not recorded: shared memory, session files or configuration files of the MPI library.
    MpiInternal,
    /// Not recorded: matches DXT_EXCLUDE or DARSHAN_EXCLUDE_DIRS.
    Excluded,
    /// Not recorded: does not match DXT_INCLUDE.
    NotIncluded,
}

/// Directories of the operating system, whose files are not recorded: programs, libraries, settings, kernel interfaces.
const SYSTEM: [&[u8]; 14] = [
    b"/usr/",
    b"/lib/",
    b"/lib32/",
    b"/lib64/",
    b"/bin/",
    b"/sbin/",
    b"/etc/",
    b"/proc/",
    b"/sys/",
    b"/boot/",
    b"/run/",
    b"/dev/pts/",
    b"/dev/infiniband/",
    b"/dev/dri/",
];

/// Devices that hold no data and are not recorded.
const DEVICES: [&[u8]; 7] =
    [b"/dev/null", b"/dev/tty", b"/dev/console", b"/dev/ptmx", b"/dev/random", b"/dev/urandom", b"/dev/log"];

/// Prefixes of the paths of files that MPI libraries keep in shared memory.
const MPI_INTERNAL: [&[u8]; 7] = [
    b"/dev/shm/mpich_",
    b"/dev/shm/vader_segment",
    b"/dev/shm/sm_segment",
    b"/dev/shm/osc",
    b"/dev/shm/ucx_shm",
    b"/dev/shm/psm2_shm",
    b"/dev/shm/ompi",
];

/// Prefixes of the session directories of Open MPI (`ompi.HOST.UID`) and PRRTE (`prte.` and, as a part of Open MPI 5,
/// `prterun.HOST.PID.UID`), in any directory for temporary files.
const MPI_SESSIONS: [&[u8]; 3] = [b"ompi.", b"prte.", b"prterun."];

/// Configuration files that MPI libraries look for, also in the working directory and the user's home.
const MPI_SETTINGS: [&[u8]; 3] = [b"/ucx.conf", b"/.openmpi/mca-params.conf", b"/.pmix/mca-params.conf"];

/// Decides if a file is recorded, by its canonical absolute path. The user's patterns are compared only for files that are not yet recorded.
pub(crate) fn judge(path: &[u8]) -> Verdict {
    judge_by(path, config::filters().map(|filters| &filters.paths), |path| super::file::find(path).is_some())
}

fn judge_by(path: &[u8], paths: Option<&Paths>, is_recorded: impl Fn(&[u8]) -> bool) -> Verdict {
    let verdict = if paths.is_some_and(|paths| paths.no_defaults) { Verdict::Recorded } else { by_default(path) };
    let Some(paths) = paths.filter(|paths| verdict == Verdict::Recorded && !paths.are_all()) else { return verdict };
    if is_recorded(path) {
        return Verdict::Recorded;
    }
    match paths.choose(path) {
        Choice::Recorded => Verdict::Recorded,
        Choice::Excluded => Verdict::Excluded,
        Choice::NotIncluded => Verdict::NotIncluded,
    }
}

fn by_default(path: &[u8]) -> Verdict {
    let under =
        |list: &[&[u8]]| list.iter().any(|prefix| path.starts_with(prefix) || prefix.strip_suffix(b"/") == Some(path));
    if under(&SYSTEM) || DEVICES.contains(&path) {
        Verdict::System
    } else if under(&MPI_INTERNAL)
        || is_in_session(path, job::identity().map_or("", |job| &job.host))
        || MPI_SETTINGS.iter().any(|name| path.ends_with(name))
    {
        Verdict::MpiInternal
    } else {
        Verdict::Recorded
    }
}

/// True if `path` is the directory for session files of an MPI library on `host`, or lies in one. Host names may appear without their
/// domain.
fn is_in_session(path: &[u8], host: &str) -> bool {
    let host = host.split('.').next().unwrap_or_default().as_bytes();
    let is = |name: &[u8]| {
        let of_host = |begin: &&[u8]| name.strip_prefix(*begin).and_then(|rest| rest.strip_prefix(host));
        let rest = MPI_SESSIONS.iter().find_map(of_host).and_then(|rest| rest.strip_prefix(b"."));
        let number = rest.and_then(|rest| rest.rsplit(|&byte| byte == b'.').next());
        number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
    };
    !host.is_empty() && path.split(|&byte| byte == b'/').any(is)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filters::Pattern;

    #[test]
    fn data_is_recorded_and_the_system_is_not() {
        for path in ["/scratch/out.h5", "/dev/shm/x", "/dev/zero", "/dev/sda", "/tmp/x", "/home/a/usr/x", "/usrdata/x"]
        {
            assert_eq!(judge(path.as_bytes()), Verdict::Recorded, "{path}");
        }
        for path in ["/usr/lib/x.so", "/etc/passwd", "/proc/self/maps", "/dev/null", "/etc", "/dev/pts/0", "/dev/tty"] {
            assert_eq!(judge(path.as_bytes()), Verdict::System, "{path}");
        }
        assert_eq!(judge(b"/dev/shm/vader_segment.node.1"), Verdict::MpiInternal);
        let sessions = [
            "/tmp/prterun.n1.77.1000/1/pmix-gds-shmem2",
            "/local/x/ompi.n1.0/pid.7/contact.txt",
            "/tmp/prte.n1.1.0",
            "/x/ompi.n1.site.0",
        ];
        for path in sessions {
            assert!(is_in_session(path.as_bytes(), "n1.site"), "{path}");
            assert!(!is_in_session(path.as_bytes(), "n2") && !is_in_session(path.as_bytes(), ""), "{path}");
        }
        for name in ["ompi.log", "ompi.n1", "ompi.n1.log", "ompi.n10.1", "my.ompi.n1.1/x"] {
            assert!(!is_in_session(format!("/scratch/{name}").as_bytes(), "n1"), "{name}");
        }
        assert_eq!(judge(b"/scratch/run/ucx.conf"), Verdict::MpiInternal);
        assert_eq!(judge(b"/scratch/run/my-ucx.conf"), Verdict::Recorded);
    }

    #[test]
    fn the_user_decides_behind_the_defaults() {
        let mut paths = Paths { include: Pattern::list(b"/data,/etc").unwrap(), ..Paths::default() };
        let judged = |paths: &Paths, path: &[u8]| judge_by(path, Some(paths), |path| path == b"/seen");
        assert_eq!(judged(&paths, b"/data/x"), Verdict::Recorded);
        assert_eq!(judged(&paths, b"/seen"), Verdict::Recorded);
        assert_eq!(judged(&paths, b"/x"), Verdict::NotIncluded);
        assert_eq!(judged(&paths, b"/etc/passwd"), Verdict::System);
        paths.no_defaults = true;
        assert_eq!(judged(&paths, b"/etc/passwd"), Verdict::Recorded);
    }
}
