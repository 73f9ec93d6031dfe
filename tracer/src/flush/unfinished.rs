//! Creates and renames a trace file while it is being written. The file is created under an unpredictable name with O_EXCL, which follows
//! no symbolic link (open(2)). It gets its final name once it is complete, and renaming never replaces an existing file.
#![expect(unsafe_code, reason = "read(2), write(2), truncate(2), fchmod(2), rename(2), link(2)")]

use crate::directory::{Directory, Handle, failed};
use crate::{errno, random, threads};
use std::ffi::{CStr, CString};

/// Maximum number of file names to try for a trace.
const TRIES: u32 = 1000;

/// Trace file that is still being written. Its creator must call `finish` or `abandon`.
#[derive(Debug)]
pub(super) struct Unfinished {
    directory: Directory,
    /// Open trace file; `None` after it was closed.
    file: Option<Handle>,
    name: CString,
}

impl Unfinished {
    /// Creates an empty file in `directory` that will become `<stem>.dxt`, with exactly the permissions `mode`, regardless of the umask.
    ///
    /// # Errors
    /// Returns a message with the path and the errno if the file cannot be created.
    pub(super) fn new(directory: Directory, stem: &str, mode: u32) -> Result<Self, String> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        let mut last = (Vec::new(), libc::EEXIST);
        for _ in 0..TRIES {
            let name = c_string(format!("{stem}.{:016x}.dxt.partial", random::number()))?;
            match Handle::open(directory.number(), &name, flags, 0o600) {
                Ok(file) => {
                    // Fails on file systems without permissions; the file is then as accessible as all other files there.
                    // SAFETY: the descriptor is owned by `file`.
                    unsafe { crate::sys::syscall!(libc::SYS_fchmod, file.number(), mode) };
                    let made = Self { directory, file: Some(file), name };
                    in_work::begin(&made);
                    return Ok(made);
                }
                Err(errno) => last = (directory.path_of(&name), errno),
            }
            if last.1 != libc::EEXIST {
                break;
            }
        }
        Err(failed("create", &last.0, last.1))
    }

    /// Opens file `name` in `directory`, created by another process, provided that its inode number is still `inode`.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or is not the file that the other process created.
    pub(super) fn of_another(directory: Directory, name: &CStr, inode: u64) -> Result<Self, String> {
        let path = directory.path_of(name);
        // O_NONBLOCK: does not wait for a peer if the name is a FIFO.
        let flags = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = Handle::open(directory.number(), name, flags, 0).map_err(|errno| failed("open", &path, errno))?;
        let about = file.about().map_err(|errno| failed("look at", &path, errno))?;
        // Device numbers differ between nodes. A name with 64 random bits plus the inode number identifies the file on all nodes.
        let same = about.st_ino == inode && about.st_mode & libc::S_IFMT == libc::S_IFREG && about.st_nlink == 1;
        if !same {
            return Err(format!("{} is not the file that was created", String::from_utf8_lossy(&path)));
        }
        Ok(Self { directory, file: Some(file), name: name.to_owned() })
    }

    pub(super) fn inode(&self) -> Result<u64, String> {
        let about = self.file.as_ref().map_or(Err(libc::EBADF), Handle::about);
        about.map(|about| about.st_ino).map_err(|errno| failed("look at", &self.path(), errno))
    }

    /// Returns the descriptor of the open trace file, or -1 after it was closed.
    fn number(&self) -> libc::c_int {
        self.file.as_ref().map_or(-1, Handle::number)
    }

    /// Returns the path of the directory and the current name of the trace file.
    pub(super) fn place(&self) -> (&[u8], &CStr) {
        (self.directory.path(), &self.name)
    }

    /// Returns the current path of the trace file, for messages.
    pub(super) fn path(&self) -> Vec<u8> {
        self.directory.path_of(&self.name)
    }

    /// Returns a path by which a library in this process opens this very file, whatever other users rename meanwhile. Libraries create
    /// files of their own beside it. So the path goes through the directory's descriptor if other users cannot change names in the
    /// directory, else through the open file's descriptor (/proc/pid/fd, proc(5)).
    pub(super) fn path_for_libraries(&self) -> Result<CString, String> {
        let name = self.name.to_string_lossy();
        c_string(match self.directory.is_private() {
            true => format!("/proc/self/fd/{}/{name}", self.directory.number()),
            false => format!("/proc/self/fd/{}", self.number()),
        })
    }

    /// Writes all of `bytes` at `offset` of the trace file.
    ///
    /// # Errors
    /// Returns a message with the path and the errno if writing fails.
    pub(super) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), String> {
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            let (at, file) = (offset + done as u64, self.number());
            // SAFETY: the buffer has the given length.
            let written = unsafe { crate::sys::syscall!(libc::SYS_pwrite64, file, rest.as_ptr(), rest.len(), at) };
            match usize::try_from(written) {
                Ok(0) => return Err(failed("write", &self.path(), libc::ENOSPC)),
                Ok(written) => done += written,
                Err(_) => match errno::save().value() {
                    libc::EINTR => {}
                    errno => return Err(failed("write", &self.path(), errno)),
                },
            }
        }
        Ok(())
    }

    /// Fills `bytes` with the file's content at `offset`; returns false if reading fails or the file is too short.
    pub(super) fn read_at(&self, bytes: &mut [u8], offset: u64) -> bool {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let (at, file) = (offset + done as u64, self.number());
            // SAFETY: the buffer belongs to the caller and has the given length.
            let read = unsafe { crate::sys::syscall!(libc::SYS_pread64, file, rest.as_mut_ptr(), rest.len(), at) };
            match usize::try_from(read) {
                Ok(0) => return false,
                Ok(read) => done += read,
                Err(_) if errno::save().value() == libc::EINTR => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Truncates the trace file to `length` if it is longer, since readers start from the end of the file.
    ///
    /// # Errors
    /// Returns a message with the path and the errno if truncation fails.
    pub(super) fn end_at(&self, length: u64) -> Result<(), String> {
        let file = self.number();
        let longer = self.file.as_ref().is_some_and(|file| file.about().is_ok_and(|it| it.st_size as u64 > length));
        // SAFETY: the descriptor is owned by `self`.
        if longer && unsafe { crate::sys::syscall!(libc::SYS_ftruncate, file, length) } != 0 {
            return Err(failed("cut", &self.path(), errno::save().value()));
        }
        Ok(())
    }

    /// Switches the file to O_DIRECT on NFS, for writes from several nodes: the NFS client caches whole pages, so one node's page would
    /// overwrite another node's bytes. Direct I/O on NFS takes any offset and length (Linux, fs/nfs/direct.c). Other file systems keep
    /// nodes consistent.
    pub(super) fn share_between_nodes(&self) {
        const NFS: u32 = 0x6969;
        // SAFETY: an all-zero statfs is valid.
        let mut about: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is a local variable.
        let known = unsafe { crate::sys::syscall!(libc::SYS_fstatfs, self.number(), &raw mut about) } == 0;
        if known && about.f_type as u32 == NFS {
            // SAFETY: changes a flag of a descriptor owned by `self`.
            unsafe { crate::sys::syscall!(libc::SYS_fcntl, self.number(), libc::F_SETFL, libc::O_DIRECT) };
        }
    }

    /// Closes the trace file without removing or renaming it.
    ///
    /// # Errors
    /// Fails if close(2) fails: written data may be lost.
    pub(super) fn close(&mut self) -> Result<(), String> {
        in_work::closed(self.number());
        let closed = self.file.take().map_or(Ok(()), Handle::close);
        closed.map_err(|errno| failed("close", &self.path(), errno))
    }

    /// Closes the file like [`Self::close`]; the caller then gives the file its final name.
    ///
    /// # Errors
    /// Fails like [`Self::close`], or if another user with write permission to the directory has replaced the file under its name.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let named = Handle::open(self.directory.number(), &self.name, libc::O_PATH | libc::O_NOFOLLOW, 0);
        let identity = |handle: &Handle| handle.about().map(|about| (about.st_dev, about.st_ino));
        let same = named.and_then(|named| identity(&named)) == identity(file);
        self.close()?;
        match same {
            true => Ok(()),
            false => Err(format!("{} was replaced during writing", String::from_utf8_lossy(&self.path()))),
        }
    }

    /// Removes the unfinished file by its name (also a file that another user put in its place).
    pub(super) fn abandon(self) {
        in_work::end();
        self.directory.remove(&self.name);
    }

    /// Closes the complete file and renames it to `<stem>.dxt`, or to `<stem>.<number>.dxt` if that name is taken; returns the path.
    ///
    /// # Errors
    /// Fails if no final name could be given; the file then keeps its current name.
    pub(super) fn finish(&mut self, stem: &str) -> Result<Vec<u8>, String> {
        self.settle()?;
        let named = named(&self.directory, &self.name, stem);
        in_work::end();
        named
    }
}

/// File that this process is writing, to be removed if the work on it is abandoned for lack of memory (`stack::abandon`). A process writes
/// one trace at a time.
pub(super) mod in_work {
    use super::Unfinished;
    use std::ffi::{CStr, c_char};
    use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

    static DIRECTORY: AtomicI32 = AtomicI32::new(-1);
    static FILE: AtomicI32 = AtomicI32::new(-1);
    /// Name of the trace file being written; null if there is none.
    static NAME: AtomicPtr<c_char> = AtomicPtr::new(std::ptr::null_mut());

    pub(super) fn begin(file: &Unfinished) {
        DIRECTORY.store(file.directory.number(), Ordering::Relaxed);
        FILE.store(file.number(), Ordering::Relaxed);
        NAME.store(file.name.as_ptr().cast_mut(), Ordering::Release);
    }

    /// Forgets the trace file's descriptor if it is `number`, a descriptor that is about to be closed.
    pub(super) fn closed(number: i32) {
        let _ = FILE.compare_exchange(number, -1, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn end() {
        NAME.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// Removes the unfinished file and closes its descriptors, after the work on the file was abandoned.
    pub(in super::super) fn given_up() {
        let name = NAME.swap(std::ptr::null_mut(), Ordering::Acquire);
        if name.is_null() {
            return;
        }
        // SAFETY: the name is owned by an `Unfinished` that was abandoned along with its stack and is never dropped.
        let name = unsafe { CStr::from_ptr(name) };
        let directory = DIRECTORY.load(Ordering::Relaxed);
        // SAFETY: the name is NUL-terminated; the descriptor belongs to the tracer and is still open.
        unsafe { crate::sys::syscall!(libc::SYS_unlinkat, directory, name.as_ptr(), 0) };
        for number in [FILE.load(Ordering::Relaxed), directory].into_iter().filter(|number| *number >= 0) {
            // SAFETY: the descriptor belongs to the tracer and is still open.
            unsafe { crate::sys::syscall!(libc::SYS_close, number) };
        }
    }
}

/// Returns the `number`-th candidate (from 1) for the final file name of a trace: `stem`, from the second on with the number.
fn final_name(stem: &str, number: u32) -> Result<CString, String> {
    let number = if number == 1 { String::new() } else { format!(".{number}") };
    c_string(format!("{stem}{number}.dxt"))
}

/// Maximum number of checks, 1 ms apart, if another process has given its file the final name.
const MOST_WAITS: u32 = 2_000;

/// True if file `inode`, which another process writes under `name`, has its final name, which begins with `stem`; waits at most
/// [`MOST_WAITS`] ms for it.
pub(super) fn got_its_name(directory: &Directory, name: &CStr, inode: u64, stem: &str) -> bool {
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    let number_of = |name: &CStr| {
        let about = Handle::open(directory.number(), name, flags, 0).and_then(|file| file.about());
        about.map(|about| about.st_ino)
    };
    for _ in 0..MOST_WAITS {
        if number_of(name) != Ok(inode) {
            break;
        }
        threads::pause(1_000_000);
    }
    // Final names are taken in ascending order.
    let names = (1..=TRIES).map_while(|number| number_of(&final_name(stem, number).ok()?).ok());
    names.into_iter().any(|found| found == inode)
}

fn named(directory: &Directory, name: &CStr, stem: &str) -> Result<Vec<u8>, String> {
    for number in 1..=TRIES {
        let target = final_name(stem, number)?;
        // Allocates before renaming: if memory ran out afterwards, a failure would be reported although the file has its final name.
        let path = directory.path_of(&target);
        match WAYS.iter().find_map(|way| way(directory.number(), name, &target)) {
            Some(Ok(())) => return Ok(path),
            Some(Err(libc::EEXIST)) => {}
            Some(Err(errno)) => return Err(failed("rename", &directory.path_of(name), errno)),
            None => return Err(failed("rename", &directory.path_of(name), libc::EOPNOTSUPP)),
        }
    }
    Err(format!("found no unused name for {}", String::from_utf8_lossy(&directory.path_of(name))))
}

/// Method to rename a file without replacing another file; returns `None` if the file system does not support the method.
type Way = fn(libc::c_int, &CStr, &CStr) -> Option<Result<(), libc::c_int>>;

/// Rename methods, preferred first. Some file systems lack the first (Linux 3.15, rename(2)) or the second, and a sandbox may deny either.
const WAYS: [Way; 3] = [rename_unless_there, link, reserve];

fn rename_with(at: libc::c_int, from: &CStr, to: &CStr, flags: libc::c_uint) -> Result<(), libc::c_int> {
    // SAFETY: both names are NUL-terminated.
    match unsafe { crate::sys::syscall!(libc::SYS_renameat2, at, from.as_ptr(), at, to.as_ptr(), flags) } {
        0 => Ok(()),
        _ => Err(errno::save().value()),
    }
}

fn rename_unless_there(at: libc::c_int, from: &CStr, to: &CStr) -> Option<Result<(), libc::c_int>> {
    let result = rename_with(at, from, to, libc::RENAME_NOREPLACE);
    (!matches!(result, Err(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | libc::EPERM))).then_some(result)
}

/// Renames a file by adding the new name as a hard link and then removing the old name.
fn link(at: libc::c_int, from: &CStr, to: &CStr) -> Option<Result<(), libc::c_int>> {
    // SAFETY: both names are NUL-terminated; flags 0 follow no symbolic link.
    if unsafe { crate::sys::syscall!(libc::SYS_linkat, at, from.as_ptr(), at, to.as_ptr(), 0) } != 0 {
        let errno = errno::save().value();
        return (errno == libc::EEXIST).then_some(Err(errno));
    }
    // SAFETY: the name is NUL-terminated. If unlinking fails, the file has two names.
    unsafe { crate::sys::syscall!(libc::SYS_unlinkat, at, from.as_ptr(), 0) };
    Some(Ok(()))
}

/// Renames a file by reserving the new name with an empty file and then renaming over that file.
fn reserve(at: libc::c_int, from: &CStr, to: &CStr) -> Option<Result<(), libc::c_int>> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    Some(Handle::open(at, to, flags, 0o600).and_then(|_ours| rename_with(at, from, to, 0)))
}

fn c_string(text: String) -> Result<CString, String> {
    CString::new(text).map_err(|_| "a name contains a NUL byte".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    fn scratch(name: &str) -> PathBuf {
        let place = std::env::temp_dir().join(format!("dxt-unfinished-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir(&place).unwrap();
        place
    }

    fn directory(place: &Path) -> Directory {
        Directory::open(place.to_str().unwrap().as_bytes()).unwrap()
    }

    #[test]
    fn a_final_name_replaces_nothing_in_any_way() {
        for (i, way) in WAYS.iter().enumerate() {
            let place = scratch(&format!("way{i}"));
            let victim = place.join("victim");
            std::fs::write(&victim, "precious").unwrap();
            symlink(&victim, place.join("link")).unwrap();
            symlink("nowhere", place.join("dangling")).unwrap();
            std::fs::create_dir(place.join("folder")).unwrap();
            std::fs::write(place.join("new"), "new").unwrap();
            let (at, all) = (directory(&place), [c"victim", c"link", c"dangling", c"folder"]);
            for taken in all {
                assert_eq!(way(at.number(), c"new", taken), Some(Err(libc::EEXIST)), "{i} {taken:?}");
            }
            assert_eq!(way(at.number(), c"new", c"free"), Some(Ok(())), "{i}");
            assert_eq!(std::fs::read(place.join("free")).unwrap(), b"new");
            assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
            assert!(!place.join("new").exists());
            std::fs::remove_dir_all(place).unwrap();
        }
    }

    #[test]
    fn a_file_is_new_and_has_its_mode_whatever_the_umask() {
        let place = scratch("mode");
        for mode in [0o600, 0o640, 0o666] {
            let mut file = Unfinished::new(directory(&place), "x", mode).unwrap();
            file.write_at(b"trace", 2).unwrap();
            let path = file.finish("x").unwrap();
            let path = Path::new(std::str::from_utf8(&path).unwrap());
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o7777, mode);
            assert_eq!(std::fs::read(path).unwrap(), b"\0\0trace");
        }
        let mut names: Vec<_> = std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["x.2.dxt", "x.3.dxt", "x.dxt"]);
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn what_was_put_in_its_place_gets_no_final_name() {
        let place = scratch("place");
        let victim = place.join("victim");
        std::fs::write(&victim, "precious").unwrap();
        let mut file = Unfinished::new(directory(&place), "x", 0o600).unwrap();
        let path = PathBuf::from(String::from_utf8(file.path()).unwrap());
        std::fs::rename(&path, place.join("stolen")).unwrap();
        symlink(&victim, &path).unwrap();
        file.write_at(b"trace", 0).unwrap();
        assert!(file.finish("x").unwrap_err().contains("was replaced"));
        file.abandon();
        assert!(!path.exists() && !place.join("x.dxt").exists());
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn another_sees_whether_a_file_got_its_name() {
        let place = scratch("named");
        for (number, expected) in ["x.dxt", "x.2.dxt", "x.3.dxt"].into_iter().enumerate() {
            let mut made = Unfinished::new(directory(&place), "x", 0o600).unwrap();
            let (name, inode) = (made.place().1.to_owned(), made.inode().unwrap());
            let path = made.finish("x").unwrap();
            assert!(String::from_utf8(path).unwrap().ends_with(expected), "{number}");
            assert!(got_its_name(&directory(&place), &name, inode, "x"));
            // No file has this inode number; number + 1 may belong to a file created earlier.
            assert!(!got_its_name(&directory(&place), &name, !inode, "x"));
            assert!(!got_its_name(&directory(&place), &name, inode, "y"));
        }
        let given_up = Unfinished::new(directory(&place), "x", 0o600).unwrap();
        let (name, inode) = (given_up.place().1.to_owned(), given_up.inode().unwrap());
        given_up.abandon();
        assert!(!got_its_name(&directory(&place), &name, inode, "x"));
        std::fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn what_another_made_is_reported_from_what_was_put_in_its_place() {
        let place = scratch("other");
        let made = Unfinished::new(directory(&place), "x", 0o600).unwrap();
        let (name, inode) = (made.place().1.to_owned(), made.inode().unwrap());
        let open = || Unfinished::of_another(directory(&place), &name, inode);
        assert_eq!(open().unwrap().inode().unwrap(), inode);
        let path = place.join(name.to_str().unwrap());
        let aside = place.join("aside");
        std::fs::hard_link(&path, &aside).unwrap();
        assert!(open().unwrap_err().contains("not the file"), "a hard link");
        std::fs::remove_file(&path).unwrap();
        symlink(&aside, &path).unwrap();
        assert!(open().unwrap_err().contains("failed to open"), "a symbolic link");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "other").unwrap();
        assert!(open().unwrap_err().contains("not the file"), "another file");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(open().is_err(), "a directory");
        std::fs::remove_dir_all(place).unwrap();
    }
}
