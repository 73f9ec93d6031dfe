//! Tests of `recover --stale`, which also removes old leftovers: files removed, files kept, and owners of the traces.

use super::*;

#[test]
fn what_is_stale_and_was_cut_stays_and_no_trace_is_made_of_it_each_night() {
    let (user, ..) = of_this_process();
    let folder = tempfile::tempdir().unwrap();
    let names =
        [format!("dxt-{user}-1-1-0.spool"), format!("dxt-{user}-1-2-0.spool"), format!("dxt-{user}-1-3-0.spool")];
    for (name, length) in names.iter().zip([8192 + 5000, 8192 + 96, 4200]) {
        put(folder.path(), name, &spool()[..length]);
    }
    let output = folder.path().join("traces");
    let words =
        ["recover", "--stale", "--older-than", "0s", folder.path().to_str().unwrap(), "-o", output.to_str().unwrap()];
    for _ in 0..2 {
        let said = stdout(&words, 3);
        assert!(names.iter().all(|name| folder.path().join(name).exists() && said.contains(name)), "{said}");
        assert!(!said.contains("wrote "), "{said}");
    }
}

/// A stale spool without a valid header contains nothing to recover: it is reported once, then removed.
#[test]
fn what_is_stale_and_has_no_header_is_named_once_and_goes() {
    let (user, pid, started) = of_this_process();
    let folder = tempfile::tempdir().unwrap();
    let of = |pid: u32, started: &str| format!("dxt-{user}-{pid}-{started}-0.spool");
    let lengths = [0, 1, 4095];
    lengths.iter().zip(1..).for_each(|(length, pid)| drop(put(folder.path(), &of(pid, "1"), &spool()[..*length])));
    // The first file belongs to a running process that is about to fill it; the second has no spool's name and belongs to another program.
    let stay = [of(pid, &started), "notes.spool".to_owned()];
    stay.iter().for_each(|name| drop(put(folder.path(), name, b"")));
    let there = |name: &str| folder.path().join(name).exists();
    let clean = |older_than: &str, code: i32| {
        stdout(&["recover", "--stale", "--older-than", older_than, folder.path().to_str().unwrap()], code)
    };
    clean("1d", 0);
    assert!((1..4).all(|pid| there(&of(pid, "1"))), "they are young");
    let said = clean("0s", 3);
    for (pid, has) in (1..4).zip(["no bytes", "1 byte,", "4095 bytes"]) {
        let is_named = |line: &str| line.starts_with("removed ") && line.contains(&of(pid, "1")) && line.contains(has);
        assert!(!there(&of(pid, "1")) && said.lines().filter(|line| is_named(line)).count() == 1, "{said}");
    }
    clean("0s", 0);
    assert!(stay.iter().all(|name| there(name)));
}

/// The spools of two users swap their names repeatedly while root makes traces of them. Each trace belongs to the owner of the spool that was read.
#[test]
fn a_trace_is_the_users_whose_spool_was_read_whatever_names_change() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::os::unix::fs::{MetadataExt, chown};
    use std::sync::mpsc::{TryRecvError, channel};
    let folder = tempfile::tempdir().unwrap();
    let [spools, output, beside] = ["spools", "traces", "beside"].map(|name| folder.path().join(name));
    for place in [&spools, &beside] {
        std::fs::create_dir(place).unwrap();
    }
    let users = [12345_u32, 12346];
    let path = |user: u32| spools.join(format!("dxt-{user}-1-1-0.spool"));
    // Each file belongs to its user before it gets a name that the other thread uses.
    let make = |user: u32| {
        let mut bytes = spool();
        bytes[12..16].copy_from_slice(&user.to_le_bytes());
        let new = beside.join(user.to_string());
        std::fs::write(&new, bytes).unwrap();
        chown(&new, Some(user), None)?;
        std::fs::rename(new, path(user))
    };
    if make(users[0]).is_err() {
        eprintln!("skipped: another user's file can only be made by root");
        return;
    }
    let mut traces = 0;
    std::thread::scope(|scope| {
        // The channel's end is dropped with the scope, also if an assertion fails.
        let (_ends, ended) = channel::<()>();
        scope.spawn(move || {
            while ended.try_recv() == Err(TryRecvError::Empty) {
                let _ = renameat_with(CWD, path(users[0]), CWD, path(users[1]), RenameFlags::EXCHANGE);
            }
        });
        for _ in 0..30 {
            users.iter().for_each(|user| drop(std::fs::remove_file(path(*user))));
            users.iter().for_each(|user| make(*user).unwrap());
            let place = spools.to_str().unwrap();
            run(&["recover", "--stale", "--older-than", "0s", place, "-o", output.to_str().unwrap()]);
            for user in users {
                for entry in std::fs::read_dir(output.join(user.to_string())).into_iter().flatten() {
                    let trace = entry.unwrap().path();
                    let said = stdout(&["summary", "--format", "json", trace.to_str().unwrap()], 0);
                    let owner = trace.metadata().unwrap().uid();
                    let name = trace.file_name().unwrap().to_str().unwrap().to_owned();
                    assert!(owner == user && name.contains(&format!("_{user}_")), "{user}: {owner} {name} {said}");
                    std::fs::remove_file(trace).unwrap();
                    traces += 1;
                }
            }
        }
    });
    assert!(traces > 0, "no spool was where it belongs when it was looked at and read");
}

/// Root writes traces only below directories that no other user can replace.
#[test]
fn root_makes_traces_only_below_directories_that_are_its_own() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    let (user, ..) = of_this_process();
    let folder = tempfile::tempdir().unwrap();
    let [spools, own, theirs, open, sticky] =
        ["spools", "own", "theirs", "open", "sticky"].map(|name| folder.path().join(name));
    for (place, mode) in [(&spools, 0o755), (&own, 0o755), (&theirs, 0o755), (&open, 0o777), (&sticky, 0o1777)] {
        std::fs::create_dir_all(place.join("below")).unwrap();
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    if user != 0 || chown(&theirs, Some(12345), None).is_err() {
        eprintln!("skipped: another user's file can only be made by root");
        return;
    }
    symlink(own.join("below"), theirs.join("link")).unwrap();
    put(&spools, "dxt-0-1-1-0.spool", &spool());
    for (output, code) in [
        (theirs.join("below"), 2),
        (theirs.join("below/new"), 2),
        (theirs.join("new"), 2),
        (open.join("below"), 2),
        (open.join("new/er"), 2),
        (sticky.clone(), 2),
        // The target of the link may change at any time.
        (own.join("below/../new"), 0),
        (sticky.join("below"), 0),
        (sticky.join("new/er"), 0),
    ] {
        put(&spools, "dxt-0-1-1-0.spool", &spool());
        let words =
            ["recover", "--stale", "--older-than", "0s", spools.to_str().unwrap(), "-o", output.to_str().unwrap()];
        let outcome = run(&words);
        let said = [outcome.stdout, outcome.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let refused = said.contains("can be changed by other users than root");
        assert_eq!((outcome.status.success(), refused), (code == 0, code != 0), "{}: {said}", output.display());
        assert_eq!(output.join("0").exists(), code == 0, "{}", output.display());
    }
}

/// A process creates its spool in several steps. A spool that is still being created is kept.
#[test]
fn a_spool_that_a_process_is_about_to_fill_stays() {
    let (user, pid, started) = of_this_process();
    for length in [0, 4096] {
        let folder = tempfile::tempdir().unwrap();
        let path = put(folder.path(), &format!("dxt-{user}-{pid}-{started}-0.spool"), &vec![0; length]);
        let said = run(&["recover", "--remove", &path, "-o", folder.path().join("out").to_str().unwrap()]);
        let error = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.code() == Some(1) && error.contains("runs and has recorded nothing"), "{said:?}");
        assert!(std::path::Path::new(&path).exists());
    }
}

#[test]
fn what_is_stale_goes_and_nothing_else() {
    let (user, pid, started) = of_this_process();
    for delete in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("traces");
        let stale =
            [format!("dxt-{user}-1-1-0.spool"), format!("dxt-{user}-1-1.spill"), format!("dxt-{user}-1-2.done")];
        stale.iter().for_each(|name| old(folder.path(), name));
        let running = format!("dxt-{user}-{pid}-{started}-0.spool");
        let others = [running.as_str(), "notes.spool", "dxt-1.txt", &format!("dxt-{}-1-1-0.spool", user + 1)];
        others.iter().for_each(|name| old(folder.path(), name));
        let young = format!("dxt-{user}-1-3-0.spool");
        put(folder.path(), &young, &[0; 4096]);
        std::os::unix::fs::symlink("dxt-1.txt", folder.path().join(format!("dxt-{user}-1-4-0.spool"))).unwrap();
        let before = std::fs::read_dir(folder.path()).unwrap().count();
        let mut words = vec!["recover", "--stale", folder.path().to_str().unwrap(), "-o", output.to_str().unwrap()];
        if delete {
            words.push("--delete");
        }
        let said = stdout(&words, 0);
        let reported =
            if delete { "deleted 3 files" } else { "1 spool had no calls, or only calls that are in a trace already" };
        assert!(
            said.contains(reported) && said.contains("kept 2 spools: their processes run or ended less than 1d ago"),
            "{said}"
        );
        assert!(!output.join(user.to_string()).exists(), "there was nothing to write");
        let there = |name: &str| folder.path().join(name).symlink_metadata().is_ok();
        assert!(stale.iter().all(|name| !there(name)), "{said}");
        assert!(others.iter().all(|name| there(name)) && there(&young), "{said}");
        let made = usize::from(output.exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before - 3 + made);
        let said = stdout(&[&words[..], &["--older-than", "0s"]].concat(), 0);
        assert!(!there(&young) && there(&running), "{said}");
        assert!(said.contains("kept 1 spool: its process runs\n"), "{said}");
    }
}

/// A stale node quota file (shared byte count of DXT_JOB_BYTES) is removed if no traced process of its user runs.
#[test]
fn what_is_left_of_a_jobs_budget_goes_when_it_is_stale() {
    let (user, pid, started) = of_this_process();
    let budget = format!("dxt-{user}-0123456789abcdef.budget");
    let others = [format!("dxt-{}-0123456789abcdef.budget", user + 1), format!("dxt-{user}-0123456789abcde.budget")];
    for delete in [&[][..], &["--delete"]] {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("traces");
        let there = |name: &str| folder.path().join(name).symlink_metadata().is_ok();
        let words = ["recover", "--stale", folder.path().to_str().unwrap(), "-o", output.to_str().unwrap()];
        let clean = || stdout(&[&words, delete].concat(), 0);
        others.iter().chain([&budget]).for_each(|name| old(folder.path(), name));
        let running = format!("dxt-{user}-{pid}-{started}-0.spool");
        old(folder.path(), &running);
        clean();
        assert!(there(&budget), "a process runs");
        std::fs::remove_file(folder.path().join(&running)).unwrap();
        // A traced process may have its spool elsewhere, or none: other processes only see that it maps the library.
        let library = folder.path().join("libdxt_tracer_sleep");
        crate::harness::copy_program("/bin/sleep", &library);
        let mut traced = std::process::Command::new(&library).arg("60").spawn().unwrap();
        let maps = format!("/proc/{}/maps", traced.id());
        let begun = || std::fs::read_to_string(&maps).unwrap().contains("libdxt_tracer_sleep");
        let wait = || std::thread::sleep(std::time::Duration::from_millis(1));
        let waits = (0..10_000).take_while(|_| !begun()).inspect(|_| wait());
        assert!(waits.count() < 10_000, "{} has not begun", library.display());
        clean();
        assert!(there(&budget), "a traced process runs");
        traced.kill().unwrap();
        traced.wait().unwrap();
        // Other processes on this machine may be traced at the time: in a PID namespace of its own, `recover` sees none of them.
        let alone = std::process::Command::new("unshare")
            .args(["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_dxt-analyze")])
            .args(words)
            .args(delete)
            .output();
        if !alone.is_ok_and(|output| output.status.success()) {
            for _ in 0..100 {
                clean();
                if !there(&budget) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
        }
        assert!(!there(&budget) && others.iter().all(|name| there(name)));
        put(folder.path(), &budget, &[0; 32]);
        clean();
        assert!(there(&budget), "it is young");
    }
}

#[test]
fn all_files_of_a_process_stay_if_one_of_them_is_in_use() {
    let (user, ..) = of_this_process();
    let name = |pid: u32, end: &str| format!("dxt-{user}-{pid}-1{end}");
    for delete in [&[][..], &["--delete"]] {
        let folder = tempfile::tempdir().unwrap();
        // The first case is a spill file written last week with a spool of today; the second the reverse; the third a second spool of the process.
        for (old_one, young) in [(".spill", "-0.spool"), ("-0.spool", ".spill"), ("-0.spool", "-1.spool")] {
            old(folder.path(), &name(1, old_one));
            put(folder.path(), &name(1, young), &[0; 4096]);
            let output = folder.path().join("traces");
            let words = ["recover", "--stale", folder.path().to_str().unwrap(), "-o", output.to_str().unwrap()];
            let said = stdout(&[&words[..], delete].concat(), 0);
            for end in [old_one, young] {
                let path = folder.path().join(name(1, end));
                assert!(path.exists(), "{end} of {old_one} and {young}: {said}");
                std::fs::remove_file(path).unwrap();
            }
        }
    }
}

#[test]
fn a_spill_that_a_process_elsewhere_has_mapped_stays() {
    let Some(python) = python(&["mmap"], "mapped spills") else { return };
    let (user, ..) = of_this_process();
    let folder = tempfile::tempdir().unwrap();
    let spill = format!("dxt-{user}-1-1.spill");
    old(folder.path(), &spill);
    let path = folder.path().join(&spill);
    let code = "import mmap, sys\nfile = open(sys.argv[1], 'rb')\nview = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\nprint('mapped', flush=True)\nsys.stdin.read()";
    let mut other = std::process::Command::new(python)
        .args(["-c", code, path.to_str().unwrap()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(other.stdout.as_mut().unwrap()), &mut line).unwrap();
    let words = ["recover", "--stale", "--delete", folder.path().to_str().unwrap()];
    let (said, stayed) = (stdout(&words, 0), path.exists());
    drop(other.stdin.take());
    other.wait().unwrap();
    assert!(stayed, "{said}");
    let said = stdout(&words, 0);
    assert!(!path.exists(), "{said}");
}

#[test]
fn root_writes_only_where_nobody_else_may() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    let (user, ..) = of_this_process();
    if user != 0 {
        crate::common::skip_here("where root writes: not root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let spool = format!("dxt-{user}-1-1-0.spool");
    old(folder.path(), &spool);
    let output = folder.path().join("traces");
    std::fs::create_dir(&output).unwrap();
    let link = folder.path().join("link");
    symlink(&output, &link).unwrap();
    let refused = |output: &std::path::Path| {
        let said = run(&["recover", "--stale", folder.path().to_str().unwrap(), "-o", output.to_str().unwrap()]);
        let error = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.code() == Some(2) && error.contains("name another --output"), "{said:?}");
        assert!(folder.path().join(&spool).exists() && std::fs::read_dir(output).unwrap().count() == 0);
    };
    chown(&output, Some(12_345), None).unwrap();
    refused(&output);
    chown(&output, Some(0), None).unwrap();
    std::fs::set_permissions(&output, PermissionsExt::from_mode(0o1777)).unwrap();
    refused(&output);
    std::fs::set_permissions(&output, PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::lchown(&link, Some(12_345), None).unwrap();
    refused(&link);
    stdout(&["recover", "--stale", folder.path().to_str().unwrap(), "-o", output.to_str().unwrap()], 0);
    assert!(!folder.path().join(&spool).exists());
}

#[test]
fn stale_needs_a_place_and_a_time_that_make_sense() {
    for (words, code) in [
        (&["recover", "--stale", "/no/such/place"][..], 1),
        (&["recover", "--stale", "--older-than", "soon", "/tmp"], 2),
        (&["recover", "--delete", "x.spool"], 2),
        (&["recover"], 2),
    ] {
        assert_eq!(run(words).status.code(), Some(code), "{words:?}");
    }
}
