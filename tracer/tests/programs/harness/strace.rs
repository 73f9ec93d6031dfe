//! Determines, by strace(1), the number and bytes of the calls on each file as the kernel sees them.

use super::{Launch, Outcome, Scratch, have, library, skip, skip_here};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Number of calls and bytes, by path and by the tracer's name of the operation (`read`, `write`).
pub(crate) type Calls = BTreeMap<(String, String), (u64, u64)>;

/// Returns a launch of `program` under `strace -f` with these options, and the library preloaded into the program only. If strace cannot
/// run here, prints a message and returns `None`.
pub(crate) fn under_strace<'a>(
    scratch: &'a Scratch,
    options: &[&str],
    program: impl AsRef<Path>,
) -> Option<Launch<'a>> {
    if !have("strace") {
        skip("strace is not installed");
        return None;
    }
    let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        skip_here("strace may not trace here");
        return None;
    }
    let launch = Launch::new(scratch, "strace").untraced().arg("-f");
    let launch = options.iter().fold(launch, Launch::arg).arg("-E");
    Some(launch.arg(format!("LD_PRELOAD={}", library().display())).arg(program.as_ref()))
}

/// Runs a command under strace and returns its calls on files under `dir`; `None` if strace cannot run here.
pub(crate) fn strace(scratch: &Scratch, command: &[&Path], dir: &Path) -> Option<(Outcome, Calls)> {
    if !have("strace") {
        skip("strace is not installed");
        return None;
    }
    let out = scratch.root().join("strace.out");
    let calls = "read,pread64,readv,preadv,preadv2,write,pwrite64,writev,pwritev,pwritev2";
    let output = Command::new("timeout")
        .args(["240", "strace", "-f", "-y", "-e", &format!("trace={calls}"), "-e", "signal=none", "-o"])
        .arg(&out)
        .args(command)
        .env("OPLOG", scratch.root().join("strace.log"))
        .current_dir(scratch.root())
        .stdin(Stdio::null())
        .output()
        .expect("failed to run strace");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    if stderr.contains("PTRACE_TRACEME") || stderr.contains("Operation not permitted") {
        skip_here("strace may not trace here");
        return None;
    }
    let outcome = Outcome { code: output.status.code().unwrap_or(-1), stdout, stderr };
    let mut calls = Calls::new();
    let report = std::fs::read_to_string(&out).expect("failed to read strace's report");
    // strace prints a call in two parts if another thread's call interrupts it.
    let mut unfinished: BTreeMap<&str, String> = BTreeMap::new();
    for line in report.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            unfinished.insert(pid, begin.to_owned());
        } else if let Some((_, end)) = rest.split_once(" resumed>") {
            let begin = unfinished.remove(pid).unwrap_or_default();
            count(&mut calls, &format!("{begin}{end}"), dir);
        } else {
            count(&mut calls, rest, dir);
        }
    }
    Some((outcome, calls))
}

/// Adds the call in a line of strace output, such as `pwrite64(3</data/x>, "..."..., 100, 0) = 100`.
fn count(calls: &mut Calls, line: &str, dir: &Path) {
    let parts = line.trim_start().split_once('(').and_then(|(name, rest)| {
        let path = rest.split_once('<')?.1.split_once('>')?.0;
        let result: u64 = rest.rsplit_once(" = ")?.1.split_whitespace().next()?.parse().ok()?;
        Some((name, path, result))
    });
    let Some((name, path, bytes)) = parts else { return };
    let path = path.trim_end_matches(" (deleted)").trim_end_matches("(deleted)");
    if Path::new(path).starts_with(dir) {
        let name = if name.contains("read") { "read" } else { "write" };
        let sum = calls.entry((path.to_owned(), name.to_owned())).or_default();
        sum.0 += 1;
        sum.1 += bytes;
    }
}
