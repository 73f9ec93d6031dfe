//! Tests of `recover`, which makes traces from the spools of killed processes, with a missing spool, with files that are no spools, and
//! with unfinished spools.

#[path = "../../../../trace-format/tests/common/spool.rs"]
mod built;
mod stale;

use crate::common::{put, python, run, stdout};

#[test]
fn what_is_no_spool_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("traces");
    let recover = |path: &str| run(&["recover", path, "-o", output.to_str().unwrap()]);
    let empty = put(folder.path(), "dxt-0-1-2-0.spool", &[0; 4096]);
    let found = stdout(&["recover", &empty, "-o", output.to_str().unwrap()], 0);
    assert!(found.contains("1 spool had no calls, or only calls that are in a trace already"), "{found}");
    assert!(!output.exists());
    for (name, bytes) in [("short.spool", vec![0; 10]), ("other.spool", b"something else ".repeat(400))] {
        let path = put(folder.path(), name, &bytes);
        let outcome = recover(&path);
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.status.code(), Some(1), "{said}");
        assert!(said.contains(name) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(recover("/no/such/spool").status.code(), Some(1));
    // An unreadable spool does not keep the others from being recovered.
    let both = run(&["recover", folder.path().to_str().unwrap()]);
    assert_eq!(both.status.code(), Some(3));
}

#[test]
fn what_others_put_among_spools_is_neither_followed_nor_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("traces");
    let (good, elsewhere) = ("dxt-0-1-2-0.spool", folder.path().join("elsewhere"));
    put(folder.path(), "elsewhere", &[0; 4096]);
    let at = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink(&elsewhere, at("link.spool")).unwrap();
    std::os::unix::fs::symlink("nowhere", at("dangling.spool")).unwrap();
    std::fs::create_dir(at("folder.spool")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe.spool")).status().unwrap().success());
    put(folder.path(), good, &[0; 4096]);
    // A link beside a spool is not taken for its spill file.
    std::os::unix::fs::symlink(&elsewhere, at("dxt-0-1-2.spill")).unwrap();
    put(folder.path(), "dxt-0-1-3-0.spool", &[0; 4096]);
    let outcome = run(&["recover", "--remove", folder.path().to_str().unwrap(), "-o", output.to_str().unwrap()]);
    assert_eq!(outcome.status.code(), Some(3));
    let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
    for (name, why) in [
        ("link.spool", "symbolic link"),
        ("dangling.spool", "symbolic link"),
        ("folder.spool", "not a regular file"),
        ("pipe.spool", "not a regular file"),
        (good, "the spill file beside the spool"),
    ] {
        assert!(said.lines().any(|line| line.contains(name) && line.contains(why)), "{name}: {said}");
        assert!(at(name).symlink_metadata().is_ok(), "{name} is still there");
    }
    assert!(!at("dxt-0-1-3-0.spool").exists(), "what is fine is dealt with");
    assert!(elsewhere.exists());
}

#[test]
fn another_users_file_beside_a_spool_keeps_nobody_from_reading_that() {
    let folder = tempfile::tempdir().unwrap();
    let spool = put(folder.path(), "dxt-0-1-2-0.spool", &[0; 4096]);
    let spill = put(folder.path(), "dxt-0-1-2.spill", b"anything");
    if std::os::unix::fs::chown(&spill, Some(12345), None).is_err() {
        eprintln!("skipped: another user's file can only be made by root");
        return;
    }
    let found = stdout(&["recover", "--remove", &spool, "-o", folder.path().join("out").to_str().unwrap()], 3);
    assert!(
        found.contains("1 spool had no calls, or only calls that are in a trace already")
            && found.contains("belongs to user 12345"),
        "{found}"
    );
    assert!(!std::path::Path::new(&spool).exists());
}

#[test]
fn another_users_spool_is_for_that_user_or_root() {
    let root = std::fs::metadata("/proc/self").map(|about| std::os::unix::fs::MetadataExt::uid(&about)).unwrap() == 0;
    let folder = tempfile::tempdir().unwrap();
    let spool = put(folder.path(), "dxt-0-1-2-0.spool", &[0; 4096]);
    if !root || std::os::unix::fs::chown(&spool, Some(12345), None).is_err() {
        eprintln!("skipped: another user's file can only be made by root");
        return;
    }
    // Root can read the spool: it is empty.
    assert!(
        stdout(&["recover", &spool], 0).contains("1 spool had no calls, or only calls that are in a trace already")
    );
    let bin = folder.path().join("dxt-analyze");
    crate::harness::copy_program(env!("CARGO_BIN_EXE_dxt-analyze"), &bin);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    let as_user = |user: u32| {
        use std::os::unix::process::CommandExt;
        let mut command = std::process::Command::new(&bin);
        command.args(["recover", &spool]).uid(user).gid(user).current_dir("/").output().unwrap()
    };
    let (owner, other) = (as_user(12345), as_user(12346));
    assert_eq!(owner.status.code(), Some(0), "{owner:?}");
    assert_eq!(other.status.code(), Some(1), "{other:?}");
    assert!(String::from_utf8_lossy(&other.stderr).contains("belongs to user 12345"), "{other:?}");
}

#[test]
fn no_bytes_make_it_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut header = vec![0_u8; 8192];
    header[..8].copy_from_slice(b"DXTSPOOL");
    header[8] = 1;
    let mut state = 1_u64;
    for round in 0..60 {
        let mut bytes = header.clone();
        for at in (128..8192).step_by(1 + round) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Sizes and offsets of parts lie within the file, and contents are random.
            bytes[at] = if at < 512 && at % 8 > 1 { 0 } else { (state >> 56) as u8 };
        }
        let path = put(folder.path(), &format!("{round}.spool"), &bytes);
        let output = folder.path().join(format!("{round}.dxt"));
        let code = run(&["recover", &path, "-o", output.to_str().unwrap()]).status.code();
        assert!(matches!(code, Some(0 | 1 | 3)), "{round}: {code:?}");
    }
}

/// Returns the bytes of a spool: header, journal, and two chunks of segments.
fn spool() -> Vec<u8> {
    let chunk = |number: u32| (number, (0..100).map(|slot| u64::from(number * 100 + slot) * 10 + 20).collect());
    built::spool(&[chunk(0), chunk(1)])
}

#[test]
fn a_spool_that_was_cut_is_no_whole_one_and_stays() {
    let whole = spool();
    for (length, recovered, missing) in [
        (64 << 10, Some(200), None),
        (8192 + 8192, Some(200), None),
        (8192 + 5000, Some(100), Some(3192)),
        (8192 + 96, None, Some(8096)),
        (4200, None, Some(8192)),
        (0, None, None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = put(folder.path(), "dxt-0-1-1-0.spool", &whole[..length]);
        let output = folder.path().join("out.dxt");
        let is_whole = length >= 8192 + 8192;
        let words = ["recover", "--format", "json", "-o", output.to_str().unwrap(), "--remove", &path];
        let said = stdout(&words, if is_whole { 0 } else { 3 });
        assert_eq!(std::path::Path::new(&path).exists(), !is_whole, "{length}: {said}");
        let report: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(report["spools"][0]["segments"].as_u64(), recovered, "{said}");
        assert_eq!(output.exists(), recovered.is_some(), "{said}");
        if let Some(missing) = missing {
            assert!(said.contains(&missing.to_string()), "{missing}: {said}");
            let people = stdout(&["recover", "-o", output.to_str().unwrap(), &path], 3);
            assert!(people.contains(&format!("lacks {missing} bytes that were in use")), "{people}");
        }
        if recovered.is_some() {
            // A trace, if there is one, reports the missing bytes.
            let report = stdout(&["summary", output.to_str().unwrap()], if is_whole { 0 } else { 3 });
            assert_eq!(report.contains("bytes of the spool that are missing"), !is_whole, "{report}");
        }
    }
}

/// A process whose first thread has ended looks like a zombie, but runs until its other threads end.
#[test]
fn a_process_whose_first_thread_has_ended_runs_as_long_as_others_do() {
    let Some(python) = python(&["ctypes"], "a process without its first thread") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (user, ..) = of_this_process();
    let spool = folder.path().join(format!("dxt-{}-1-1-0.spool", user));
    old(folder.path(), spool.file_name().unwrap().to_str().unwrap());
    let code = "import ctypes, mmap, sys, threading, time\nfile = open(sys.argv[1], 'r+b')\nspool = mmap.mmap(file.fileno(), 4096)\nthreading.Thread(target=time.sleep, args=(600,)).start()\nctypes.CDLL(None).pthread_exit(None)";
    let mut process = std::process::Command::new(&python).args(["-c", code]).arg(&spool).spawn().unwrap();
    let pid = process.id();
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let wait = || std::thread::sleep(std::time::Duration::from_millis(1));
    let waits = (0..10_000).take_while(|_| !stat().contains(") Z ")).inspect(|_| wait()).count();
    let started = stat().rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned();
    let named = format!("dxt-{user}-{pid}-{started}-0.spool");
    old(folder.path(), &named);
    let output = folder.path().join("traces");
    let words = ["recover", "--stale", "--delete", folder.path().to_str().unwrap(), "-o", output.to_str().unwrap()];
    let kept = stdout(&words, 0);
    let there = (spool.exists(), folder.path().join(&named).exists());
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(waits < 10_000, "its first thread has not ended");
    assert_eq!(there, (true, true), "one has it mapped, the other its name: {kept}");
    let gone = stdout(&words, 0);
    assert!(!spool.exists() && !folder.path().join(&named).exists(), "{gone}");
}

/// Large lengths in a spool's header cost no memory while the range is a hole in the file.
#[test]
fn claims_without_bytes_take_no_memory() {
    let Some(python) = python(&["resource"], "memory") else { return };
    let folder = tempfile::tempdir().unwrap();
    for (number, part) in ["journal", "arena", "scratches"].iter().enumerate() {
        let mut bytes = spool()[..8192].to_vec();
        bytes[128..272].fill(0);
        for (i, value) in [65536_u64, 2 << 30, 2 << 30].into_iter().enumerate() {
            bytes[128 + number * 24 + i * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        let path = put(folder.path(), &format!("{part}.spool"), &bytes);
        std::fs::File::options().write(true).open(&path).unwrap().set_len(4 << 30).unwrap();
        let code = "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\nprint(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)";
        let output = std::process::Command::new(&python)
            .args(["-c", code, env!("CARGO_BIN_EXE_dxt-analyze"), "recover", &path])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let mebibytes: u64 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
        assert!(mebibytes < 300, "{part}: {mebibytes} MiB");
    }
}

/// Many spools become one trace. Each spool is read twice: to find its job, and to write the trace.
#[test]
fn many_spools_are_one_trace() {
    let folder = tempfile::tempdir().unwrap();
    let spools = folder.path().join("spools");
    std::fs::create_dir(&spools).unwrap();
    for pid in 1..=50_u32 {
        let mut bytes = spool();
        bytes[12..16].copy_from_slice(&pid.to_le_bytes());
        put(&spools, &format!("dxt-0-{pid}-1-0.spool"), &bytes);
    }
    put(&spools, "dxt-0-99-1-0.spool", &[0; 4096]);
    let output = folder.path().join("out.dxt");
    let words = ["recover", "--format", "json", "-o", output.to_str().unwrap(), "--remove", spools.to_str().unwrap()];
    let report: serde_json::Value = serde_json::from_str(&stdout(&words, 0)).unwrap();
    let all = report["spools"].as_array().unwrap();
    assert!(all.len() == 50 && all.iter().all(|one| one["segments"] == 200), "{report}");
    assert_eq!((report["empty"].as_array().unwrap().len(), std::fs::read_dir(&spools).unwrap().count()), (1, 0));
    assert_eq!(run(&["check", output.to_str().unwrap()]).status.code(), Some(0));
}

#[test]
fn a_spill_full_of_holes_is_not_read() {
    let (user, ..) = of_this_process();
    let folder = tempfile::tempdir().unwrap();
    let at = |end: &str| folder.path().join(format!("dxt-{user}-1-1{end}"));
    old(folder.path(), &format!("dxt-{user}-1-1-0.spool"));
    let spill = std::fs::File::create(at(".spill")).unwrap();
    spill.set_len(1 << 40).unwrap();
    spill.set_modified(std::time::UNIX_EPOCH).unwrap();
    let output = folder.path().join("traces");
    let said = run(&["recover", "--stale", folder.path().to_str().unwrap(), "-o", output.to_str().unwrap()]);
    let error = String::from_utf8_lossy(&said.stderr).into_owned() + &String::from_utf8_lossy(&said.stdout);
    let words: Vec<&str> = error.split_whitespace().collect();
    assert!(words.join(" ").contains("only 0 of its 1099511627776 bytes on the disk"), "{error}");
    assert!(at("-0.spool").exists() && at(".spill").exists(), "{error}");
    assert_eq!(said.status.code(), Some(3), "{error}");
}

/// Writes a file `name` that was last modified a week ago.
fn old(folder: &std::path::Path, name: &str) {
    put(folder, name, &[0; 4096]);
    let week_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7 * 86_400);
    std::fs::File::options().write(true).open(folder.join(name)).unwrap().set_modified(week_ago).unwrap();
}

/// Returns the parts of a spool's name for this process: user ID, pid, start time.
fn of_this_process() -> (u32, u32, String) {
    use std::os::unix::fs::MetadataExt;
    let user = std::fs::metadata("/proc/self").unwrap().uid();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let started = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned();
    (user, std::process::id(), started)
}
