//! Reads the file systems visible to this process (/proc/self/mountinfo, proc(5)) at flush time, in the process that describes the job.
#![expect(unsafe_code, reason = "openat(2), read(2), close(2), past our own hooks")]

use trace_format::meta::Mount;

/// Maximum number of bytes to read from mountinfo: enough for some thousand mounts.
const LONGEST: usize = 256 << 10;
/// Maximum number of mounted file systems listed in a trace.
const MOST: usize = 64;
/// File system types that hold no program data; left out of the list of mounts.
const WITHOUT_DATA: [&[u8]; 24] = [
    b"proc",
    b"sysfs",
    b"devpts",
    b"cgroup",
    b"cgroup2",
    b"securityfs",
    b"debugfs",
    b"tracefs",
    b"bpf",
    b"pstore",
    b"mqueue",
    b"configfs",
    b"fusectl",
    b"binfmt_misc",
    b"autofs",
    b"rpc_pipefs",
    b"nsfs",
    b"hugetlbfs",
    b"efivarfs",
    b"selinuxfs",
    b"devtmpfs",
    b"fuse.gvfsd-fuse",
    b"fuse.portal",
    b"fuse.lxcfs",
];

/// Returns the mounted file systems in the kernel's order, including mounts hidden by others; empty if mountinfo cannot be read.
pub(crate) fn mounts() -> Vec<Mount> {
    parse(&read().unwrap_or_default())
}

fn read() -> Option<Vec<u8>> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    let name = c"/proc/self/mountinfo";
    // SAFETY: the name ends in NUL.
    let file = unsafe { crate::sys::syscall!(libc::SYS_openat, libc::AT_FDCWD, name.as_ptr(), flags) };
    if file < 0 {
        return None;
    }
    let (mut text, mut used) = (vec![0_u8; 4096], 0);
    loop {
        if used == text.len() {
            text.resize((text.len() * 2).min(LONGEST), 0);
        }
        let room = text.get_mut(used..).unwrap_or_default();
        // SAFETY: the buffer is a local variable of this length.
        let length = unsafe { crate::sys::syscall!(libc::SYS_read, file, room.as_mut_ptr(), room.len()) };
        match usize::try_from(length) {
            Ok(length) if length > 0 => used += length,
            _ => break,
        }
    }
    // SAFETY: the descriptor was opened above.
    unsafe { crate::sys::syscall!(libc::SYS_close, file) };
    text.truncate(used);
    Some(text)
}

fn parse(text: &[u8]) -> Vec<Mount> {
    // The last line may be truncated.
    let end = text.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
    let lines = text.get(..end).unwrap_or_default().split(|&byte| byte == b'\n');
    lines.filter_map(line).take(MOST).collect()
}

/// Parses one line of mountinfo: `36 35 98:0 /root /mount/point options [more ...] - type source options`.
fn line(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|&byte| byte == b' ');
    let path = unescaped(words.nth(4)?);
    let kind = words.skip_while(|word| *word != b"-").nth(1)?;
    let holds_data = !WITHOUT_DATA.contains(&kind);
    holds_data.then(|| Mount { path, kind: String::from_utf8_lossy(kind).into_owned() })
}

/// Decodes the octal escapes of mountinfo: a backslash and three octal digits stand for a space or similar character.
fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&first, behind)) = rest.split_first() {
        let digits =
            behind.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        match digits {
            Some(digits) => {
                out.push(digits.iter().fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')));
                rest = behind.get(3..).unwrap_or_default();
            }
            None => {
                out.push(first);
                rest = behind;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_that_hold_data_are_listed_with_their_types() {
        let text = b"22 27 0:21 / /proc rw - proc proc rw\n\
            27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
            90 27 0:50 / /my\\040data rw shared:7 master:2 - lustre 10.0.0.1@tcp:/fs rw,flock\n\
            91 27 0:51 / /cut rw - tm";
        let found = parse(text);
        let expected = [("/", "ext4"), ("/my data", "lustre")];
        let expected = expected.map(|(path, kind)| Mount { path: path.into(), kind: kind.into() });
        assert_eq!(found, expected);
        assert!(parse(b"").is_empty() && parse(b"\n\nx y\n").is_empty());
    }

    #[test]
    fn this_machine_has_a_root() {
        assert!(mounts().iter().any(|mount| mount.path == b"/"));
    }
}
