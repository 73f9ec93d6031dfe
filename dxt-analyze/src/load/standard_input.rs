//! Inputs that can be read only once: `-` and pipes by name, as in `ssh node cat job.dxt | dxt-analyze report -` or `dxt-analyze summary
//! <(unzstd <job.dxt.zst)`. FIFOs in a directory are excluded: opening one blocks until its other end is open.

use crate::exit::UsageError;
use crate::input;
use crate::text::paths::{WITHOUT_NAME, call};
use anyhow::{Context, Result};
use rustix::fs::{FileType, Mode, OFlags, fcntl_setfl, fstat, open, tell};
use std::fs::File;
use std::io::{IsTerminal as _, Read};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;

/// Copies of pipes in unnamed temporary files, open until the process ends. Reading a trace needs random access, which pipes lack.
static COPIES: Mutex<Vec<(String, File)>> = Mutex::new(Vec::new());

/// Returns the path from which `name` is read: of a copy for `-` and pipes, else `name` itself. Fails if `name` is `-` and stdin is a terminal.
pub(crate) fn or_path(name: &Path) -> Result<PathBuf> {
    if name == Path::new("-") {
        return standard_input();
    }
    // Missing files and other file types are reported elsewhere.
    let flows = std::fs::metadata(name).is_ok_and(|about| {
        let kind = about.file_type();
        kind.is_fifo() || kind.is_socket()
    });
    match descriptor(name).filter(|_| flows) {
        None => Ok(name.to_owned()),
        Some(0) => standard_input(),
        // With O_NONBLOCK, opening does not wait for a writer; reading waits for bytes.
        Some(_) => copied(&name.display().to_string(), || {
            let file = open(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
            fcntl_setfl(&file, OFlags::empty())?;
            Ok(Box::new(File::from(file)))
        }),
    }
}

/// Returns a path to standard input: to its own file if positioned at the beginning; otherwise to a copy.
fn standard_input() -> Result<PathBuf> {
    const NAME: &str = "standard input";
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(UsageError("- reads a trace from standard input, which is a terminal here".into()).into());
    }
    let path = PathBuf::from(format!("{WITHOUT_NAME}0"));
    match FileType::from_raw_mode(fstat(&stdin)?.st_mode) {
        FileType::Fifo | FileType::Socket => {}
        FileType::RegularFile => {
            if tell(&stdin) == Ok(0) && input::open(&path).is_ok() {
                return Ok(path);
            }
        }
        _ => drop(input::open(&path).with_context(|| format!("failed to read {NAME}"))?),
    }
    copied(NAME, || Ok(Box::new(stdin.lock())))
}

/// Returns the descriptor number if `name` stands for a file descriptor of this process, as in a shell's `<(...)`; `None` otherwise.
fn descriptor(name: &Path) -> Option<u32> {
    if name == Path::new("/dev/stdin") {
        return Some(0);
    }
    let number = ["/dev/fd/", WITHOUT_NAME].iter().find_map(|folder| name.strip_prefix(folder).ok())?;
    number.to_str()?.parse().ok()
}

/// Copies the bytes that `open` yields to an unnamed file, and returns a path to it; a second call with the same name returns the same copy.
fn copied(name: &str, open: impl FnOnce() -> std::io::Result<Box<dyn Read>>) -> Result<PathBuf> {
    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    // Opening a file by this path starts at its beginning each time, see proc(5).
    let path = |file: &File| PathBuf::from(format!("{WITHOUT_NAME}{}", file.as_raw_fd()));
    if let Some((_, file)) = copies.iter().find(|(known, _)| known == name) {
        return Ok(path(file));
    }
    let failed = || format!("failed to copy {name} to {}", std::env::temp_dir().display());
    let mut file = tempfile::tempfile().with_context(failed)?;
    std::io::copy(&mut open().with_context(failed)?, &mut file).with_context(failed)?;
    let path = path(&file);
    call(&path, name.to_owned());
    copies.push((name.to_owned(), file));
    Ok(path)
}
