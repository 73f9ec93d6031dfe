//! Tests of command-line inputs: standard input, files that are no traces, filters that select nothing, `--quiet`, `generate`.

use crate::common::{command, job, process, put, run, small, trace};
use std::io::Write;
use std::process::{Output, Stdio};

fn small_in(folder: &std::path::Path) -> String {
    let (job, processes) = small();
    put(folder, "a.dxt", &trace(&job, processes))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs dxt-analyze with `bytes` on standard input, through a pipe.
fn piped(args: &[&str], bytes: &[u8]) -> Output {
    let mut child = command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().ok();
    output
}

#[test]
fn a_trace_or_a_log_may_come_through_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = small_in(folder.path());
    let log = crate::common::logs().into_iter().find(|log| log.metadata().unwrap().len() > 0).unwrap();
    for file in [std::path::Path::new(&path), &log] {
        let file_text = file.to_str().unwrap();
        let bytes = std::fs::read(file).unwrap();
        for subcommand in ["summary", "checks", "dump"] {
            let (named, came) = (run(&[subcommand, file_text]), piped(&[subcommand, "-"], &bytes));
            assert_eq!(named.status.code(), came.status.code(), "{subcommand} {file_text}: {}", said(&came));
            assert!(named.stdout == came.stdout, "{subcommand} {file_text}");
        }
    }
    // Standard input that is named twice is read once.
    let twice = piped(&["summary", "-", "-"], &std::fs::read(&path).unwrap());
    assert_eq!(twice.status.code(), Some(0), "{}", said(&twice));
    let nothing = piped(&["summary", "-"], b"");
    assert_eq!(nothing.status.code(), Some(1));
    assert!(said(&nothing).contains("failed to read standard input: it is empty"), "{}", said(&nothing));
    // Damage is reported with standard input's name as well.
    let whole = std::fs::read(&log).unwrap();
    let half = piped(&["check", "-"], &whole[..whole.len() / 2]);
    let words = said(&half) + &String::from_utf8_lossy(&half.stdout);
    assert!(words.contains("standard input") && !words.contains("/proc/"), "{words}");
    let many = piped(&["corpus", "-"], &whole);
    assert_eq!(many.status.code(), Some(2));
    assert!(said(&many).contains("this command reads files and directories"), "{}", said(&many));
    // Standard input can be named by its descriptor, and be converted. (`files.rs` tests a named pipe.)
    let came = piped(&["summary", "/dev/stdin"], &whole);
    assert_eq!((came.status.code(), said(&came).contains("unknown type")), (Some(0), false), "{}", said(&came));
    let made = folder.path().join("made.dxt").display().to_string();
    let converted = piped(&["convert", "-o", &made, "-"], &whole);
    assert_eq!(converted.status.code(), Some(0), "{}", said(&converted));
    assert_eq!(run(&["summary", &made]).status.code(), Some(0));
}

#[test]
fn what_is_no_trace_is_called_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let spool = [b"DXTSPOOL".as_slice(), &[0; 4096]].concat();
    let files: [(&str, &[u8], &str); 6] = [
        ("a.txt", b"hello\n", "it is text"),
        ("b.dxt", b"", "it is empty"),
        ("c.dxt", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n", "git lfs pull"),
        ("d.dxt", b"\x1f\x8b\x08\0\0\0\0\0", "gunzip"),
        ("e.spool", &spool, "dxt-analyze recover"),
        ("f.dxt", &[0; 100], "all zeros"),
    ];
    for (name, bytes, expected) in files {
        let path = put(folder.path(), name, bytes);
        let output = run(&["summary", &path]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        let said = said(&output);
        assert!(said.contains(expected) && said.contains(&path) && said.lines().count() == 1, "{said}");
        // Every command uses this message.
        let out = folder.path().join("out.dxt").display().to_string();
        for args in [&["convert", "-o", out.as_str(), &path][..], &["corpus", &path], &["scaling", &path]] {
            let output = run(args);
            let words = self::said(&output) + &String::from_utf8_lossy(&output.stdout);
            assert_ne!(output.status.code(), Some(0), "{args:?}");
            assert!(words.contains(expected), "{args:?}: {words}");
        }
    }
    let gone = run(&["convert", "-o", "x.dxt", "no-such.darshan"]);
    assert_eq!(said(&gone).matches("No such file").count(), 1, "{}", said(&gone));
    let place = folder.path().display().to_string();
    let directory = run(&["convert", "-o", "x.dxt", &place]);
    assert_eq!(directory.status.code(), Some(2));
}

#[test]
fn a_choice_that_nothing_is_in_says_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = small_in(folder.path());
    let choices = [
        (["--ranks", "4:"], "there are 4 ranks from 0 to 3"),
        (["--files", "*.none"], "quote wildcards"),
        (["--layer", "hdf5"], "the calls are of POSIX"),
        (["--time", "1000:2000"], "calls are recorded from "),
    ];
    for (choice, expected) in choices {
        for subcommand in ["summary", "dump", "report", "outliers"] {
            let output =
                command(&[subcommand, choice[0], choice[1], &path]).current_dir(folder.path()).output().unwrap();
            let said = said(&output);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{subcommand} {choice:?}: {said}");
            assert!(said.contains(choice[0]) && said.contains(expected), "{said}");
        }
    }
    // Two filters each select something, but nothing together; and a time range lies between two calls.
    let mut two = [process(0, "n"), process(1, "n")];
    two[0].write("/a.h5", 0, 1, 0, 1_000_000_000);
    two[0].write("/a.h5", 1, 1, 3_000_000_000, 4_000_000_000);
    two[1].write("/b", 0, 1, 0, 1_000_000_000);
    let path = put(folder.path(), "two.dxt", &trace(&job("two", 2), two.into()));
    let choices = [
        (&["--files", "*.h5", "--ranks", "1"][..], "together select no calls"),
        (&["--time", "2:2.5"], "--time 2:2.5 selects no calls"),
    ];
    for (choice, expected) in choices {
        for subcommand in ["summary", "dump", "report"] {
            let words = [&[subcommand][..], choice, &[path.as_str()]].concat();
            let output = command(&words).current_dir(folder.path()).output().unwrap();
            let said = said(&output);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{subcommand} {choice:?}: {said}");
            assert!(said.contains(expected), "{said}");
        }
    }
    assert_eq!(run(&["summary", "--time", "0.5:2.5", &path]).status.code(), Some(0));
    assert!(!folder.path().join("report.html").exists());
}

#[test]
fn a_choice_of_ranks_or_times_says_why_there_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut late = process(0, "n");
    late.write("/f", 0, 1, 2_000_000_000, 3_000_000_000);
    let late = put(folder.path(), "late.dxt", &trace(&job("late", 1), vec![late]));
    let early = said(&run(&["summary", "--time", ":1", &late]));
    assert!(early.contains("calls are recorded from 2 s to 3 s"), "{early}");
    // Sums over all ranks form one process without a rank.
    let mut shared = process(-1, "n");
    shared.write("/f", 0, 1, 0, 1);
    shared.process.reduction.ranks = 4;
    let shared = put(folder.path(), "shared.dxt", &trace(&job("shared", 4), vec![shared]));
    let ranks = said(&run(&["summary", "--ranks", "0", &shared]));
    assert!(ranks.contains("has sums over all ranks, not single ranks"), "{ranks}");
}

#[test]
fn quiet_leaves_errors_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = small_in(folder.path());
    let page = folder.path().join("page.html");
    let output = run(&["report", "--quiet", "-o", page.to_str().unwrap(), &path]);
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));
    let dash = command(&["report", "-o", "-", &path]).current_dir(folder.path()).output().unwrap();
    assert!(dash.status.code() == Some(1) && said(&dash).contains("/dev/stdout"), "{}", said(&dash));
    assert!(!folder.path().join("-").exists());
    assert!(page.exists() && said(&run(&["-q", "summary", "nothing"])).contains("failed to find"));
}

#[test]
fn man_pages_and_completions_are_written_for_both_programs() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["generate", folder.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let share = folder.path().join("share");
    let subcommands = String::from_utf8(run(&["--help"]).stdout).unwrap();
    let names = subcommands.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = names.filter(|line| line.starts_with("  ") && !line.starts_with("   ")).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names.iter().filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        let page = share.join(format!("man/man1/dxt-analyze-{name}.1"));
        let text = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert!(text.contains(".SH EXAMPLES\n.nf\n"), "{name}");
    }
    // Installed shells accept the completions.
    let bash = share.join("bash-completion/completions/dxt-analyze");
    for (shell, file) in [("bash", bash), ("zsh", share.join("zsh/site-functions/_dxt-run"))] {
        match std::process::Command::new(shell).arg("-n").arg(&file).output() {
            Ok(checked) => assert!(checked.status.success(), "{shell}: {}", said(&checked)),
            Err(_) => crate::common::skip_here(&format!("{shell} is not here to read its completions")),
        }
    }
}

#[test]
fn the_newest_of_several_jobs_in_a_directory_is_chosen_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let of = |key: &str, ranks: u32, late_s: i64| {
        let mut job = job(key, ranks);
        job.info.start_unix_ns += late_s * 1_000_000_000;
        let mut one = process(if ranks > 0 { 0 } else { -1 }, "n");
        one.write(&format!("/data/{key}"), 0, 4096, 0, 1000);
        put(folder.path(), &format!("{key}.dxt"), &trace(&job, vec![one]))
    };
    let all = [of("old", 1, 0), of("wrapper", 0, 60), of("new", 1, 60)];
    let chosen = |args: &[&str]| {
        let output = run(&[&["dump"], args].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), said(&output))
    };
    let name = folder.path().to_str().unwrap();
    // A launcher's wrapper starts with the ranks.
    let (code, rows, err) = chosen(&[name]);
    assert!(code == Some(0) && rows.contains("/data/new") && !rows.contains("/data/old"), "{rows}");
    assert!(err.contains("of 3 jobs") && err.contains("newest, new:") && err.contains("--job KEY"), "{err}");
    let (_, rows, err) = chosen(&[name, "--job", "old"]);
    assert!(rows.contains("/data/old") && !err.contains("newest"), "{err}");
    // Files that are named are meant to be one job.
    assert_eq!(chosen(&[&all[0], &all[2]]).0, Some(2));
}
