//! Tests of `live --to ldms`, with a stand-in for the LDMS program that stores its input.

use crate::harness::{Launch, Scratch, executable};
use std::path::Path;
use std::process::{Command, Output};

/// Creates a program `name` in a directory of its own. Returns a `PATH` that begins with that directory.
fn stand_in(scratch: &Scratch, name: &str, body: &str) -> String {
    let folder = scratch.root().join("bin");
    std::fs::create_dir_all(&folder).expect("a directory");
    let file = folder.join(name);
    executable(&file, &format!("#!/bin/sh\n{body}\n"));
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}

/// Runs the agent with further options `more`, while a traced program runs; returns the agent's output.
fn watch(scratch: &Scratch, path: &str, more: &[&str], set: &[(&str, &str)]) -> Output {
    let mut agent = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    for name in ["XPRT", "HOST", "PORT", "AUTH", "STREAM", "ENABLE_ALL", "ENABLE_POSIX", "ENABLE_STDIO", "VERBOSE"] {
        agent.env_remove(format!("DARSHAN_LDMS_{name}"));
    }
    agent.arg("live").arg(scratch.spools()).args(["--until-end", "--for", "20s"]).args(more);
    agent.env("PATH", path).envs(set.iter().copied());
    agent.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let agent = agent.spawn().expect("the agent");
    std::thread::sleep(std::time::Duration::from_secs(1));
    // The program lives long enough for the agent to find it.
    let script = "sleep 0.7; for i in 1 2 3 4 5 6 7 8 9 10; do echo $i >$0/$i; done; sleep 0.7";
    let outcome = Launch::new(scratch, "/bin/sh")
        .args(["-c", script])
        .arg(scratch.data())
        .env("DXT_ENABLE", "trace")
        .env("DXT_SPOOL", scratch.spools())
        .run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    agent.wait_with_output().expect("the agent ends")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn messages_reach_the_program_as_a_file_has_them() {
    for name in ["ldms_msg_publish", "ldmsd_stream_publish"] {
        let scratch = Scratch::new();
        let (got, file) = (scratch.root().join("got"), scratch.root().join("events.json"));
        let path = stand_in(&scratch, name, &format!("echo \"$@\" >{0}.args\nexec cat >{0}", got.display()));
        let to = format!("connector:{}", file.display());
        let set = [("DARSHAN_LDMS_HOST", "n1"), ("DARSHAN_LDMS_PORT", "10444")];
        let output = watch(&scratch, &path, &["--to", "ldms:,,411,none", "--to", &to], &set);
        assert!(output.status.success(), "{output:?}");
        let option = if name == "ldms_msg_publish" { "-m" } else { "-s" };
        let args = format!("-x sock -h n1 -p 411 -a none {option} darshanConnector -t json -f /dev/stdin -l\n");
        assert_eq!(read(&got.with_extension("args")), args);
        assert!(read(&got).lines().count() > 10, "{output:?}");
        assert_eq!(read(&got), read(&file));
    }
}

#[test]
fn variables_choose_modules_and_show_messages() {
    let scratch = Scratch::new();
    let got = scratch.root().join("got");
    let path = stand_in(&scratch, "ldms_msg_publish", &format!("exec cat >{}", got.display()));
    let set = [("DARSHAN_LDMS_ENABLE_STDIO", ""), ("DARSHAN_LDMS_VERBOSE", "")];
    let output = watch(&scratch, &path, &["--to", "ldms"], &set);
    assert!(output.status.success() && !read(&got).contains("\"POSIX\""), "{output:?}");
    let set = [("DARSHAN_LDMS_ENABLE_POSIX", ""), ("DARSHAN_LDMS_VERBOSE", "")];
    let output = watch(&scratch, &path, &["--to", "ldms"], &set);
    let shown = String::from_utf8_lossy(&output.stderr).matches("JSON Message: {").count();
    assert!(shown > 10 && shown == read(&got).lines().count(), "{output:?}");
}

#[test]
fn a_program_that_ends_or_hangs_stops_nothing_and_what_it_leaves_is_counted() {
    for body in ["echo no daemon; exit 111", "exec sleep 100"] {
        let scratch = Scratch::new();
        let path = stand_in(&scratch, "ldms_msg_publish", body);
        let begun = std::time::Instant::now();
        let output = watch(&scratch, &path, &["--to", "ldms"], &[]);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(3) && begun.elapsed().as_secs() < 40, "{err}");
        assert!(err.contains("events were not accepted by a destination"), "{err}");
    }
}

#[test]
fn without_the_program_it_does_not_begin() {
    let scratch = Scratch::new();
    let mut agent = Command::new(env!("CARGO_BIN_EXE_dxt-analyze"));
    let output = agent.arg("live").arg(scratch.root()).args(["--to", "ldms"]).env("PATH", "/nowhere").output();
    let output = output.expect("the agent");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("neither is in PATH"), "{output:?}");
    let output = Command::new(env!("CARGO_BIN_EXE_dxt-analyze")).args(["live", "--to", "ldms:a,b,c,d,e,f"]).output();
    assert_eq!(output.expect("the agent").status.code(), Some(2));
}
