//! Whose spool it is, and whether that process still runs.

use trace_format::spool::Head;

/// Whether the machine has not been started anew since the spool was made, and is the one it was made on.
pub(crate) fn is_of_this_boot(head: &Head) -> bool {
    let Ok(text) = std::fs::read_to_string("/proc/sys/kernel/random/boot_id") else { return false };
    let mut id = [0_u8; 16];
    for (i, digit) in text.chars().filter_map(|c| c.to_digit(16)).take(32).enumerate() {
        id[i / 2] = id[i / 2] << 4 | digit as u8;
    }
    id == head.boot_id() && id != [0; 16]
}

/// Whether its process runs.
pub(crate) fn is_running(head: &Head) -> bool {
    runs(head.pid(), head.started())
}

/// Whether the process `pid` that was started at `started` runs. The start time tells it from a later one of the same number (proc(5), stat,
/// field 22).
pub(crate) fn runs(pid: u32, started: u64) -> bool {
    let Ok(text) = std::fs::read(format!("/proc/{pid}/stat")) else { return false };
    let text = String::from_utf8_lossy(&text);
    // The command's name, in parentheses, may hold anything.
    let mut fields = text.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
    let state = fields.next();
    let found = fields.nth(18).and_then(|field| field.parse().ok());
    found == Some(started) && !matches!(state, Some("Z" | "X" | "x"))
}
