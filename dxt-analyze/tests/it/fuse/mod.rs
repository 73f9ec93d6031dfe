//! FUSE mount of a test file system from testdata/workloads.

use crate::harness::{Scratch, have, python, skip, skip_here, workload_source};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Mounted file system, unmounted on drop.
pub(crate) struct Mount {
    daemon: Child,
    pub(crate) at: PathBuf,
}

impl Mount {
    /// Mounts `name` in the scratch directory by running `script` with these arguments and the mount point. On failure, prints a message
    /// and returns `None`.
    pub(crate) fn new(scratch: &Scratch, name: &str, script: &str, args: &[&Path]) -> Option<Self> {
        let python = python()?;
        if !Path::new("/dev/fuse").exists() {
            skip_here("there is no /dev/fuse");
            return None;
        }
        let has_module = Command::new(&python).args(["-c", "import fusepy"]).stderr(Stdio::null()).status();
        if !have("fusermount3") || !has_module.is_ok_and(|status| status.success()) {
            skip("fuse3 or python3-fusepy is not installed");
            return None;
        }
        let at = scratch.root().join(name);
        std::fs::create_dir_all(&at).expect("failed to make a mount point");
        let mut command = Command::new(python);
        command.arg(workload_source(script)).args(args).arg(&at).stdin(Stdio::null()).stderr(Stdio::piped());
        let daemon = command.spawn().expect("failed to start the file system");
        let mut mount = Self { daemon, at };
        let begin = Instant::now();
        while !mount.is_there() {
            let ended = mount.daemon.try_wait().expect("failed to wait for the file system");
            if ended.is_some() || begin.elapsed() > Duration::from_secs(20) {
                let mut why = String::new();
                if let (true, Some(mut text)) = (ended.is_some(), mount.daemon.stderr.take()) {
                    let _ = std::io::Read::read_to_string(&mut text, &mut why);
                }
                skip_here(&format!("mounting by FUSE failed: {}", why.lines().last().unwrap_or("no answer")));
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(mount)
    }

    fn is_there(&self) -> bool {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        mounts.lines().any(|line| line.split(' ').nth(1).is_some_and(|at| Path::new(at) == self.at))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.is_there() {
            let by_fuse = Command::new("fusermount3").arg("-u").arg(&self.at).stderr(Stdio::null()).status();
            if !by_fuse.is_ok_and(|status| status.success()) {
                let _ = Command::new("umount").arg("-l").arg(&self.at).status();
            }
        }
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}
