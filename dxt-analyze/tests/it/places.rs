//! Tests of existing files at output paths: a command replaces its own earlier output, and leaves all other files alone without `--force`.
//! The decision is tested in `base/src/written`; these tests show that every command applies it.

use crate::common::{put, run, small, stdout, trace};
use std::os::unix::fs::symlink;
use std::path::Path;

fn sample(folder: &Path, name: &str) -> String {
    let (job, processes) = small();
    put(folder, name, &trace(&job, processes))
}

fn log() -> String {
    format!("{}/../testdata/darshan/gen-threads-rtmain.darshan", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the command lines that write their output to `place`.
fn commands<'a>(trace: &'a str, log: &'a str, place: &'a str) -> Vec<Vec<&'a str>> {
    let mut all = vec![vec!["report", trace, "-o", place], vec!["convert", log, "-o", place]];
    for form in ["csv", "json", "perfetto", "darshan", "dxt-parser"] {
        all.push(vec!["export", "--to", form, "-o", place, trace]);
    }
    all
}

#[test]
fn no_command_replaces_what_it_did_not_make() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, log) = (sample(folder.path(), "t.dxt"), log());
    let behind = put(folder.path(), "behind", b"behind");
    let link = folder.path().join("link");
    symlink(&behind, &link).unwrap();
    // Other things at the path are another file, a recorded trace, and a link.
    let others =
        [put(folder.path(), "mine", b"mine"), sample(folder.path(), "u.dxt"), link.to_str().unwrap().to_owned()];
    for place in &others {
        let before = std::fs::read(place).unwrap();
        for command in commands(&trace, &log, place) {
            let output = run(&command);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{command:?}: {said}");
            assert!(said.contains("failed to write") && said.contains("--force"), "{command:?}: {said}");
            assert_eq!(std::fs::read(place).unwrap(), before, "{command:?}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5, "nothing is left beside them");
    for command in commands(&trace, &log, &others[2]) {
        let output = run(&[&command[..], &["--force"]].concat());
        assert!(matches!(output.status.code(), Some(0 | 3)), "{command:?}: {output:?}");
        assert!(!link.is_symlink(), "the link was replaced");
        assert_eq!(std::fs::read(&behind).unwrap(), b"behind", "{command:?}");
        std::fs::remove_file(&link).unwrap();
        symlink(&behind, &link).unwrap();
    }
}

#[test]
fn what_a_command_made_it_may_make_again() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, log) = (sample(folder.path(), "t.dxt"), log());
    let [page, converted] = ["p.html", "c.dxt"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    for _ in 0..2 {
        stdout(&["report", &trace, "-o", &page], 0);
        assert!(matches!(run(&["convert", &log, "-o", &converted]).status.code(), Some(0 | 3)));
    }
    // A command does not replace the output of another command.
    assert_eq!(run(&["report", &trace, "-o", &converted]).status.code(), Some(1));
    assert_eq!(run(&["convert", &log, "-o", &page]).status.code(), Some(1));
}

#[test]
fn devices_and_standard_output_are_written_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let trace = sample(folder.path(), "t.dxt");
    let page = stdout(&["report", &trace, "-o", "/dev/stdout"], 0);
    assert!(page.starts_with("<!doctype html>") && page.contains("</html>"));
    stdout(&["report", &trace, "-o", "/dev/null"], 0);
    assert!(stdout(&["export", "--to", "csv", "-o", "/dev/stdout", &trace], 0).starts_with("job,rank,"));
    // If standard output is a file, earlier text in it is kept.
    let file = put(folder.path(), "log", b"");
    let script = "exec >\"$1\"; echo before; \"$2\" export --to csv -o /dev/stdout \"$3\"; echo after";
    let words = ["-c", script, "sh", &file, env!("CARGO_BIN_EXE_dxt-analyze"), &trace];
    assert!(std::process::Command::new("sh").args(words).status().unwrap().success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("before\njob,rank,") && text.ends_with("\nafter\n"), "{text}");
}

#[test]
fn a_directory_of_tables_keeps_what_is_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    let trace = sample(folder.path(), "t.dxt");
    let place = folder.path().join("data");
    let export = |more: &[&str]| {
        run(&[&["export", "--to", "parquet", "-o", place.to_str().unwrap(), &trace], more].concat()).status.code()
    };
    assert_eq!((export(&[]), export(&[])), (Some(0), Some(0)), "a job is added again");
    let part = std::fs::read_dir(place.join("files")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(part.join("notes.txt"), "mine").unwrap();
    assert_eq!(export(&[]), Some(1));
    assert_eq!(std::fs::read(part.join("notes.txt")).unwrap(), b"mine");
    assert_eq!(export(&["--force"]), Some(0));
    // A link at the path of the job's directory is not followed.
    let elsewhere = folder.path().join("elsewhere");
    std::fs::rename(&part, &elsewhere).unwrap();
    symlink(&elsewhere, &part).unwrap();
    assert_eq!(export(&[]), Some(1));
    assert_eq!(export(&["--force"]), Some(0));
    assert!(elsewhere.is_dir() && !part.is_symlink() && std::fs::read_dir(&elsewhere).unwrap().count() > 0);
}
