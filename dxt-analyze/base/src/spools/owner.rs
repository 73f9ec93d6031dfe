//! Checks if the owner process of a spool still runs.

use std::path::Path;
use trace_format::spool::Head;

/// True if the spool (file with recorded calls) was created on this machine since its last boot.
pub fn is_of_this_boot(head: &Head) -> bool {
    let Ok(text) = std::fs::read_to_string("/proc/sys/kernel/random/boot_id") else { return false };
    let mut id = [0_u8; 16];
    for (i, digit) in text.chars().filter_map(|c| c.to_digit(16)).take(32).enumerate() {
        id[i / 2] = id[i / 2] << 4 | digit as u8;
    }
    id == head.boot_id() && id != [0; 16]
}

/// True if the spool's owner process is running.
pub fn is_running(head: &Head) -> bool {
    runs(head.pid(), head.started())
}

/// True if the process with id `pid` and start time `started` (proc(5), stat, field 22), which distinguishes it from later processes with
/// that id, is running. A process whose first thread has ended looks like a zombie, but runs while it has other threads (field 20).
pub fn runs(pid: u32, started: u64) -> bool {
    let Ok(text) = std::fs::read(format!("/proc/{pid}/stat")) else { return false };
    let text = String::from_utf8_lossy(&text);
    // The name of the command, in parentheses, may contain any character.
    let mut fields = text.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
    let state = fields.next();
    let mut number = |behind: usize| fields.nth(behind).and_then(|field| field.parse::<u64>().ok());
    let (threads, found) = (number(16), number(1));
    let has_ended = matches!(state, Some("Z" | "X" | "x")) && threads.is_none_or(|threads| threads <= 1);
    found == Some(started) && !has_ended
}

/// Reads a proc(5) file about the memory of the process in `folder` (/proc/pid), through the first thread, or another thread if the first
/// has ended.
pub fn of_memory(folder: &Path, file: &str) -> Vec<u8> {
    let own = std::fs::read(folder.join(file)).unwrap_or_default();
    if !own.is_empty() {
        return own;
    }
    let threads = std::fs::read_dir(folder.join("task")).into_iter().flatten().flatten();
    let mut texts = threads.filter_map(|thread| std::fs::read(thread.path().join(file)).ok());
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}
