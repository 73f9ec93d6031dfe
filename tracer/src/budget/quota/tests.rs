//! Tests of quota files used by one process and by many at once, and of malicious files in their place.

use super::*;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lock that serializes the tests, since a process has at most one quota file open.
static ALONE: Mutex<()> = Mutex::new(());

fn place(name: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("dxt-quota-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir(&place).unwrap();
    place
}

impl Quota {
    /// Changes the number of reserved bytes, waiting as long as allowed and creating everything that is missing.
    fn asked(&self, change: impl FnOnce(u64) -> u64) -> Result<(u64, u64), Trouble> {
        self.change(Making::All, Patience::Waits(MOST_WAITS), change)
    }
}

fn quota(place: &Path) -> Quota {
    Quota::new(CString::new(place.to_str().unwrap()).unwrap(), "quota", 7).unwrap()
}

#[test]
fn a_pot_keeps_its_number() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("number");
    let below = place.join("spools");
    let one = quota(&below);
    assert_eq!(one.asked(|reserved| reserved + 5), Ok((0, 5)));
    assert_eq!(one.asked(|reserved| reserved + 6), Ok((5, 11)));
    let about = below.join("quota").metadata().unwrap();
    assert_eq!((about.mode() & 0o777, about.len(), below.metadata().unwrap().mode() & 0o777), (0o600, 32, 0o700));
    // The file is deleted when nothing is reserved.
    assert_eq!(one.asked(|_| 0), Ok((11, 0)));
    assert!(!below.join("quota").exists());
    assert_eq!(one.asked(|reserved| reserved + 3), Ok((0, 3)));
    // A deleted file restarts at 0; a file of another job is rejected.
    std::fs::remove_file(below.join("quota")).unwrap();
    assert_eq!(one.asked(|reserved| reserved), Ok((0, 0)));
    assert_eq!(one.asked(|reserved| reserved + 1), Ok((0, 1)));
    assert_eq!(Quota { job: 8, ..quota(&below) }.asked(|_| 1), Err(Trouble::ForGood));
    assert_eq!(one.asked(|reserved| reserved + 1), Ok((1, 2)));
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
        assert_eq!(quota.asked(|_| 1), Err(Trouble::ForGood), "{planted}");
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
    assert_eq!(quota.asked(|_| 9), Ok((0, 9)));
    let held = Opened::open(&quota.path, 0).unwrap();
    held.wait_for_lock(&mut 0).unwrap();
    errno::set(4711);
    assert_eq!((quota.asked(|_| 10), errno::save().value()), (Err(Trouble::ForNow), 4711));
    // A copy of the descriptor, as in a forked child, does not keep the lock.
    // SAFETY: the descriptor is ours.
    let copy = unsafe { libc::dup(held.file) };
    drop(held);
    assert_eq!(quota.asked(|_| 10), Ok((9, 10)));
    // SAFETY: as above.
    unsafe { libc::close(copy) };
    std::fs::remove_dir_all(place).unwrap();
}

/// Takes the lock, which is held until the returned file is closed.
fn hold(path: &Path) -> std::fs::File {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let lock = whole_file(libc::F_WRLCK);
    // SAFETY: the structure is ours.
    assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }, 0);
    file
}

/// Returns the result and the shortest duration of five calls; the minimum, since this process may not always get a processor.
fn shortest<T: PartialEq + std::fmt::Debug>(call: impl Fn() -> T) -> (T, Duration) {
    let one = || {
        let begun = Instant::now();
        (call(), begun.elapsed())
    };
    (0..5).map(|_| one()).min_by_key(|(_, took)| *took).unwrap()
}

const WAIT: Duration = Duration::from_millis(MOST_WAITS as u64);

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
        let (done, took) = shortest(|| quota.asked(|_| 1));
        assert!(done == Err(Trouble::ForGood) && took < WAIT, "{is_owner} {done:?} {took:?}");
        drop(held);
        std::fs::remove_file(&path).unwrap();
    }
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn who_need_not_have_an_answer_does_not_wait() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("patience");
    let quota = quota(&place);
    assert_eq!(quota.asked(|_| 9), Ok((0, 9)));
    let held = hold(&place.join("quota"));
    let (done, took) = shortest(|| quota.change(Making::All, Patience::Hardly, |_| 1));
    assert!(done == Err(Trouble::ForNow) && took < WAIT, "{done:?} {took:?}");
    let (done, took) = shortest(|| quota.asked(|_| 1));
    assert!(done == Err(Trouble::ForNow) && took >= WAIT, "{done:?} {took:?}");
    drop(held);
    assert_eq!(quota.change(Making::All, Patience::Hardly, |_| 1), Ok((9, 1)));
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_forked_child_has_no_pot_open_that_another_thread_waits_for() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("forked");
    let quota = quota(&place);
    assert_eq!(quota.asked(|_| 9), Ok((0, 9)));
    let held = hold(&place.join("quota"));
    let waits = Opened::open(&quota.path, 0).unwrap();
    // SAFETY: the child calls nothing but system calls.
    let child = unsafe { libc::fork() };
    if child == 0 {
        in_child();
        // SAFETY: no preconditions.
        let is_closed = unsafe { libc::fcntl(waits.file, libc::F_GETFD) } == -1;
        // SAFETY: ends the child, which has nothing to clean up.
        unsafe { libc::_exit(i32::from(!is_closed)) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    drop((waits, held));
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn nothing_is_made_to_give_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("making");
    let quota = quota(&place.join("spools"));
    assert_eq!(
        quota.change(Making::Nothing, Patience::Waits(MOST_WAITS), |reserved| reserved.saturating_sub(5)),
        Ok((0, 0))
    );
    assert_eq!(quota.change(Making::Quota, Patience::Waits(MOST_WAITS), |_| 5), Err(Trouble::ForGood));
    assert!(!place.join("spools").exists());
    std::fs::create_dir(place.join("spools")).unwrap();
    assert_eq!(
        quota.change(Making::Nothing, Patience::Waits(MOST_WAITS), |reserved| reserved.saturating_sub(5)),
        Ok((0, 0))
    );
    assert!(!place.join("spools/quota").exists());
    assert_eq!(quota.change(Making::Quota, Patience::Waits(MOST_WAITS), |_| 5), Ok((0, 5)));
    assert_eq!(
        quota.change(Making::Nothing, Patience::Waits(MOST_WAITS), |reserved| reserved.saturating_sub(5)),
        Ok((5, 0))
    );
    assert!(!place.join("spools/quota").exists());
    std::fs::remove_dir_all(place).unwrap();
}

/// Test: a thread that holds the lock while the program confines itself (seccomp) releases lock and descriptor first.
#[test]
fn who_confines_itself_keeps_no_lock() {
    let name = "budget::quota::tests::who_confines_itself_keeps_no_lock";
    if let Ok(directory) = std::env::var("DXT_TEST_SHUT") {
        let quota = quota(Path::new(&directory));
        let leave = crate::sys::claim().unwrap();
        let opened = Opened::open(&quota.path, 0).unwrap();
        opened.wait_for_lock(&mut 0).unwrap();
        let (file, shuts) = (opened.file, std::thread::spawn(crate::sys::shut));
        while !crate::sys::is_shut() {
            std::thread::yield_now();
        }
        drop(opened);
        drop(leave);
        shuts.join().unwrap();
        // SAFETY: no preconditions.
        assert_eq!(unsafe { libc::fcntl(file, libc::F_GETFD) }, -1);
        drop(hold(&Path::new(&directory).join("quota")));
        assert_eq!(quota.asked(|_| 1), Err(Trouble::ForNow));
        // `finish!` makes no system calls any more.
        // SAFETY: no preconditions.
        assert_eq!(unsafe { crate::sys::finish!(libc::SYS_getpid) }, -1);
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = place("shut");
    assert_eq!(quota(&place).asked(|_| 9), Ok((0, 9)));
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let output = again.args(["--exact", name]).env("DXT_TEST_SHUT", &place).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    std::fs::remove_dir_all(place).unwrap();
}

/// Test: concurrent processes that reserve, use some bytes, and return the rest never exceed the total.
#[test]
fn many_processes_take_no_more_than_there_is() {
    const PART: u64 = 1_000_000;
    let name = "budget::quota::tests::many_processes_take_no_more_than_there_is";
    if let Ok(directory) = std::env::var("DXT_TEST_POT") {
        let quota = quota(Path::new(&directory));
        let (mut seed, mut left) = (u64::from(std::process::id()) | 1, 0);
        let mut number = |most: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % most
        };
        // Transient failures are retried: the sum must be exact.
        let change = |by: &dyn Fn(u64) -> u64| {
            loop {
                match quota.asked(by) {
                    Ok(done) => break done,
                    Err(why) => assert_eq!(why, Trouble::ForNow),
                }
            }
        };
        for round in 0..100 {
            let wanted = number(100_000);
            let (before, after) =
                change(&|reserved| if reserved + wanted <= PART { reserved + wanted } else { reserved });
            assert!(before <= PART && after <= PART, "{before} {after}");
            // In the first 60 rounds nothing stays reserved, so that the file comes and goes.
            let stays = if round < 60 { 0 } else { number(20).min(after - before) };
            change(&|reserved| reserved.checked_sub(after - before - stays).unwrap());
            left += stays;
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
    assert_eq!(quota(&place).asked(|reserved| reserved), Ok((left, left)));
    std::fs::remove_dir_all(place).unwrap();
}
