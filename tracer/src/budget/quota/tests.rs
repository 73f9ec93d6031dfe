//! Tests quota files used by one process and by many at once, and malicious files in their place.

use super::*;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Serializes the tests, since a process has at most one quota file open.
static ALONE: Mutex<()> = Mutex::new(());

fn place(name: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("dxt-quota-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir(&place).unwrap();
    place
}

/// Maximum wait for the lock in these tests, in ms.
const MOST: u32 = 100;
const WAIT: Duration = Duration::from_millis(MOST as u64);

impl Quota {
    /// Sets the bytes reserved by this handle to `own`, creating a missing file. Returns the bytes reserved by all handles as stored in the
    /// file; 0 without a file.
    fn set(&self, own: u64) -> Result<u64, Trouble> {
        self.change(true, &mut { MOST }, |_, _| own).map(|()| self.in_file())
    }

    fn in_file(&self) -> u64 {
        let bytes = std::fs::read(self.path.to_str().unwrap()).unwrap_or_default();
        bytes.get(16..24).map_or(0, |reserved| u64::from_le_bytes(reserved.try_into().unwrap()))
    }
}

/// Returns a quota handle like that of a separate process.
fn quota(place: &Path) -> Quota {
    Quota::new(CString::new(place.to_str().unwrap()).unwrap(), "quota", 7, 100, 100).unwrap()
}

#[test]
fn a_quota_keeps_its_number() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("number");
    let below = place.join("spools");
    let (one, other, path) = (quota(&below), quota(&below), below.join("quota"));
    assert_eq!((one.set(5), other.set(6), one.set(7)), (Ok(5), Ok(11), Ok(13)));
    let about = path.metadata().unwrap();
    assert_eq!((about.mode() & 0o777, about.len(), below.metadata().unwrap().mode() & 0o777), (0o600, 32, 0o700));
    let free = |quota: &Quota| {
        let mut known = (0, 0);
        let done = quota.change(true, &mut 0, |have, free| {
            known = (have, free);
            have
        });
        done.map(|()| known)
    };
    assert_eq!((free(&one), free(&quota(&below))), (Ok((7, 87)), Ok((0, 87))));
    // The file is deleted when nothing is reserved.
    assert_eq!((one.set(0), other.set(0)), (Ok(6), Ok(0)));
    assert!(!path.exists());
    // After its deletion the file restarts with the reservations of its processes; a file of another job is rejected.
    assert_eq!(one.set(3), Ok(3));
    std::fs::remove_file(&path).unwrap();
    assert_eq!((free(&one), one.set(4), other.set(1)), (Ok((3, 97)), Ok(4), Ok(5)));
    assert_eq!(Quota { job: 8, ..quota(&below) }.set(1), Err(Trouble::ForGood));
    assert_eq!(one.set(5), Ok(6));
    // A file with a damaged number is rejected.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[16] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(one.set(4), Err(Trouble::ForGood));
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn what_others_put_there_is_left_alone() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("planted");
    let (path, other) = (place.join("quota"), place.join("other"));
    let quota = quota(&place);
    for planted in ["link", "hard link", "fifo", "directory", "garbage", "long", "open", "owner", "loose link"] {
        std::fs::write(&other, b"").unwrap();
        std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o600)).unwrap();
        let garbage = |length: usize| std::fs::write(&path, vec![0xa5; length]);
        let mode = |mode: u32| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
        match planted {
            "link" => symlink(&other, &path).unwrap(),
            "loose link" => symlink(place.join("nothing"), &path).unwrap(),
            "hard link" => std::fs::hard_link(&other, &path).unwrap(),
            "fifo" => {
                let name = CString::new(path.to_str().unwrap()).unwrap();
                // SAFETY: the name ends in NUL.
                assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
            }
            "directory" => std::fs::create_dir(&path).unwrap(),
            "garbage" => garbage(BYTES).and_then(|()| mode(0o600)).unwrap(),
            "long" => garbage(BYTES + 1).and_then(|()| mode(0o600)).unwrap(),
            "open" => std::fs::write(&path, b"").and_then(|()| mode(0o666)).unwrap(),
            _ if crate::job::effective_user() != 0 => continue,
            _ => {
                std::fs::write(&path, b"").and_then(|()| mode(0o600)).unwrap();
                std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
            }
        }
        let before = path.symlink_metadata().unwrap();
        assert_eq!(quota.set(1), Err(Trouble::ForGood), "{planted}");
        let after = path.symlink_metadata().unwrap();
        assert_eq!((before.len(), before.ino()), (after.len(), after.ino()), "{planted}");
        assert_eq!((other.metadata().unwrap().len(), place.join("nothing").exists()), (0, false), "{planted}");
        if before.is_dir() {
            std::fs::remove_dir(&path).unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
        std::fs::remove_file(&other).unwrap();
    }
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_lock_that_is_never_given_up_is_not_waited_for() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("locked");
    let quota = quota(&place);
    assert_eq!(quota.set(9), Ok(9));
    let held = Opened::open(&quota.path, false).unwrap();
    held.lock(&mut 0).unwrap();
    errno::set(4711);
    assert_eq!((quota.set(10), errno::save().value(), quota.reserved()), (Err(Trouble::ForNow), 4711, 9));
    // A copy of the descriptor, as in a forked child, does not keep the lock.
    // SAFETY: this test owns the descriptor.
    let copy = unsafe { libc::dup(held.0) };
    drop(held);
    assert_eq!(quota.set(10), Ok(10));
    // SAFETY: this test owns the copy.
    unsafe { libc::close(copy) };
    std::fs::remove_dir_all(place).unwrap();
}

/// Locks the quota file at `path` until the returned file is closed.
fn hold(path: &Path) -> std::fs::File {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let lock = whole_file(libc::F_WRLCK);
    // SAFETY: the structure is a local variable.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }, 0);
    file
}

/// Runs `call` five times; returns its result and the shortest duration (not the mean, since this process may not always get a processor).
fn shortest<T: PartialEq + std::fmt::Debug>(call: impl Fn() -> T) -> (T, Duration) {
    let one = || {
        let begun = Instant::now();
        (call(), begun.elapsed())
    };
    (0..5).map(|_| one()).min_by_key(|(_, took)| *took).unwrap()
}

#[test]
fn somebody_elses_lock_is_not_waited_for() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("others");
    let (quota, path) = (quota(&place), place.join("quota"));
    for is_owner in [false, true] {
        std::fs::write(&path, b"").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(if is_owner { 0o600 } else { 0o666 })).unwrap();
        if is_owner && crate::job::effective_user() != 0 {
            eprintln!("skipped: only root can give a file away");
            break;
        } else if is_owner {
            std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        }
        let held = hold(&path);
        let (done, took) = shortest(|| quota.set(1));
        assert!(done == Err(Trouble::ForGood) && took < WAIT, "{is_owner} {done:?} {took:?}");
        drop(held);
        std::fs::remove_file(&path).unwrap();
    }
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn who_need_not_have_an_answer_does_not_wait() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("waits");
    let quota = quota(&place);
    assert_eq!(quota.set(9), Ok(9));
    let held = hold(&place.join("quota"));
    let (done, took) = shortest(|| quota.change(true, &mut 0, |_, _| 1));
    assert!(done == Err(Trouble::ForNow) && took < WAIT, "{done:?} {took:?}");
    let mut waits = MOST;
    let (begun, done) = (Instant::now(), quota.change(true, &mut waits, |_, _| 1));
    assert!(done == Err(Trouble::ForNow) && waits == 0 && begun.elapsed() >= WAIT, "{done:?} {waits}");
    drop(held);
    assert_eq!((quota.change(true, &mut waits, |_, _| 1), quota.in_file()), (Ok(()), 1));
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_forked_child_has_no_quota_open_that_another_thread_waits_for() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("forked");
    let quota = quota(&place);
    assert_eq!(quota.set(9), Ok(9));
    let held = hold(&place.join("quota"));
    let waits = Opened::open(&quota.path, false).unwrap();
    // SAFETY: the child calls nothing but system calls.
    let child = unsafe { libc::fork() };
    if child == 0 {
        quota.in_child();
        // SAFETY: no preconditions.
        let is_closed = unsafe { libc::fcntl(waits.0, libc::F_GETFD) } == -1;
        // SAFETY: ends the child, which has nothing to clean up.
        unsafe { libc::_exit(i32::from(!is_closed || quota.reserved() != 0)) };
    }
    let mut status = 0;
    // SAFETY: `status` is a local variable.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    drop((waits, held));
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn nothing_is_made_to_give_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("making");
    let (quota, path) = (quota(&place.join("spools")), place.join("spools/quota"));
    let give_back = || quota.change(false, &mut { MOST }, |_, _| 0);
    quota.adopt(5);
    assert_eq!((give_back(), quota.reserved()), (Ok(()), 0));
    assert!(!place.join("spools").exists());
    std::fs::create_dir(place.join("spools")).unwrap();
    assert_eq!((give_back(), path.exists()), (Ok(()), false));
    assert_eq!((quota.set(5), path.exists()), (Ok(5), true));
    assert_eq!((give_back(), path.exists()), (Ok(()), false));
    std::fs::remove_dir_all(place).unwrap();
}

/// A thread that holds the lock while the program confines itself (seccomp) must release lock and descriptor first.
#[test]
fn who_confines_itself_keeps_no_lock() {
    let name = "budget::quota::tests::who_confines_itself_keeps_no_lock";
    if let Ok(directory) = std::env::var("DXT_TEST_SHUT") {
        let quota = quota(Path::new(&directory));
        let leave = crate::sys::claim().unwrap();
        let opened = Opened::open(&quota.path, false).unwrap();
        opened.lock(&mut 0).unwrap();
        let (file, shuts) = (opened.0, std::thread::spawn(crate::sys::shut));
        while !crate::sys::is_shut() {
            std::thread::yield_now();
        }
        drop(opened);
        drop(leave);
        shuts.join().unwrap();
        // SAFETY: no preconditions.
        assert_eq!(unsafe { libc::fcntl(file, libc::F_GETFD) }, -1);
        drop(hold(&Path::new(&directory).join("quota")));
        assert_eq!(quota.set(1), Err(Trouble::ForNow));
        // `finish!` makes no more system calls.
        // SAFETY: no preconditions.
        assert_eq!(unsafe { crate::sys::finish!(libc::SYS_getpid) }, -1);
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("shut");
    assert_eq!(quota(&place).set(9), Ok(9));
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let output = again.args(["--exact", name]).env("DXT_TEST_SHUT", &place).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    std::fs::remove_dir_all(place).unwrap();
}

/// Concurrent processes that reserve, use some bytes, and return the rest must never exceed the total.
#[test]
fn many_processes_take_no_more_than_there_is() {
    const PART: u64 = 1_000_000;
    let name = "budget::quota::tests::many_processes_take_no_more_than_there_is";
    if let Ok(directory) = std::env::var("DXT_TEST_POT") {
        let quota = Quota { part: PART, ..quota(Path::new(&directory)) };
        let mut seed = u64::from(std::process::id()) | 1;
        let mut number = |most: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % most
        };
        // Transient failures are retried, since the sum must be exact.
        let change = |own: &dyn Fn(u64, u64) -> u64| {
            while let Err(why) = quota.change(true, &mut { MOST }, own) {
                assert_eq!(why, Trouble::ForNow);
            }
        };
        let mut left = 0;
        for round in 0..100 {
            let wanted = number(100_000);
            change(&|have, free| if wanted <= free { have + wanted } else { have });
            assert!(quota.in_file() <= PART);
            // In the first 60 rounds nothing stays reserved, so that the file is created and deleted repeatedly.
            left += if round < 60 { 0 } else { number(20).min(quota.reserved() - left) };
            change(&|_, _| left);
        }
        println!("left {left} bytes");
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("many");
    let exe = std::env::current_exe().unwrap();
    let start = || {
        let mut again = std::process::Command::new(&exe);
        let again = again.args(["--exact", name, "--nocapture"]).env("DXT_TEST_POT", &place);
        again.stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let processes: Vec<_> = (0..12).map(|_| start()).collect();
    let left: u64 = processes
        .into_iter()
        .map(|process| {
            let output = process.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{text}");
            let number = text.split("left ").nth(1).and_then(|rest| rest.split(' ').next());
            number.and_then(|number| number.parse::<u64>().ok()).unwrap()
        })
        .sum();
    assert!(left > 0);
    assert_eq!(quota(&place).in_file(), left);
    std::fs::remove_dir_all(place).unwrap();
}
