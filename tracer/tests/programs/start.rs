//! Tests of programs at whose start the tracer could do harm: under system call filters, with elevated privileges, with little memory, or
//! under tools that inspect each call. Each program must end as it would without the tracer.

use crate::harness::{
    Compiler, Launch, Outcome, Scratch, Traces, have, is_root, library, recover, skip, skip_here, spools, workload,
    workload_with,
};
use crate::site::left;
use std::path::Path;
use std::process::{Command, Stdio};

fn writes(scratch: &Scratch) -> u64 {
    Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data()).0
}

/// Configures the launch so that the untraced launcher restricts its system calls by seccomp, then executes a traced program. `action`:
/// action of the filter.
fn sandboxed<'a>(scratch: &'a Scratch, launch: Launch<'a>, action: &str) -> Launch<'a> {
    let launch = launch.arg("run").arg(action).arg(scratch.data()).arg("20000");
    launch.untraced().env("SANDBOX_PRELOAD", library())
}

fn in_sandbox<'a>(scratch: &'a Scratch, action: &str) -> Launch<'a> {
    sandboxed(scratch, Launch::new(scratch, workload("sandbox")), action)
}

/// Asserts that the program ran as without the tracer, and that the tracer left no files. Returns the lines on standard error. `what`: text
/// of the failure message.
fn untouched(scratch: &Scratch, outcome: &Outcome, what: &str) -> Vec<String> {
    assert_eq!(outcome.code, 5, "{what}: {outcome:?}");
    let written = std::fs::metadata(scratch.data().join("file")).expect("the program has made it").len();
    assert_eq!((written, left(scratch)), (160_000, Vec::new()), "{what}");
    outcome.stderr.lines().map(str::to_owned).collect()
}

#[test]
fn a_filter_that_a_launcher_has_installed() {
    for action in ["kill", "trap", "errno", "allow"] {
        for mode in ["trace", "counters", "off", ""] {
            let (scratch, what) = (Scratch::new(), format!("{action} {mode}"));
            let said = untouched(&scratch, &in_sandbox(&scratch, action).env("DXT_ENABLE", mode).run(), &what);
            let lines = usize::from(matches!(mode, "trace" | "counters"));
            assert_eq!(said.len(), lines, "{what}: {said:?}");
            assert!(said.iter().all(|line| line.starts_with("dxt: ") && line.contains("seccomp")), "{what}: {said:?}");
        }
    }
}

#[test]
fn a_filter_that_is_known_to_be_harmless() {
    let scratch = Scratch::new();
    let outcome = in_sandbox(&scratch, "allow").env("DXT_SECCOMP", "trust").run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (5, ""), "{outcome:?}");
    assert_eq!(writes(&scratch), 20_000);
}

/// Tests a system call filter as in a container, which also applies to the container's first process.
#[test]
fn a_filter_that_the_first_process_of_the_container_has() {
    if !is_root() || !have("unshare") {
        return skip_here("needs root and unshare(1)");
    }
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, "unshare").args(["--pid", "--fork", "--mount-proc"]).arg(workload("sandbox"));
    let outcome = sandboxed(&scratch, launch, "allow").run();
    if outcome.code == 1 && outcome.stderr.starts_with("unshare") {
        return skip_here("namespaces cannot be made here");
    }
    assert_eq!((outcome.code, outcome.stderr.as_str()), (5, ""), "{outcome:?}");
    assert_eq!(writes(&scratch), 20_000);
}

#[test]
fn a_filter_of_bubblewrap() {
    if !have("bwrap") {
        return skip("bubblewrap is not installed");
    }
    for mode in ["trace", "off"] {
        let scratch = Scratch::new();
        let script = "$0 filter kill > filter || exit 90; LD_PRELOAD=$SANDBOX_PRELOAD; export LD_PRELOAD; \
                      exec 9< filter; exec bwrap --dev-bind / / --seccomp 9 \"$0\" writes \"$1\" 20000";
        let launch =
            Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).arg(workload("sandbox")).arg(scratch.data());
        let launch = launch.untraced().env("DXT_SPOOL", "off").env("DXT_ENABLE", mode);
        let outcome = launch.env("DXT_APPS", "sandbox").env("SANDBOX_PRELOAD", library()).run();
        if outcome.stderr.contains("bwrap:") {
            return skip_here("bubblewrap cannot confine here");
        }
        let said = untouched(&scratch, &outcome, mode);
        assert_eq!(said.iter().filter(|line| line.contains("seccomp filter")).count(), usize::from(mode == "trace"));
    }
}

/// The calls that a traced program made before it restricted its own system calls and executed another program must be recorded.
#[test]
fn a_traced_program_that_confines_itself_and_becomes_another() {
    let scratch = Scratch::new();
    let launch = Launch::new(&scratch, workload("sandbox")).arg("run").arg("kill").arg(scratch.data()).arg("20000");
    let outcome = launch.run();
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (5, 2), "{outcome:?}");
    assert_eq!(spools(&scratch).len(), 1, "{outcome:?}");
    recover(&scratch);
    assert_eq!(writes(&scratch), 0);
}

/// A traced process that executes a program with tracing off leaves no spool to recover.
#[test]
fn nothing_is_left_for_a_program_that_is_off() {
    for program in ["/bin/true", "true"] {
        for spool in [true, false] {
            let scratch = Scratch::new();
            let script = format!("echo x > {}/file; DXT_ENABLE=off exec {program}", scratch.data().display());
            let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script);
            let outcome = if spool { launch } else { launch.without("DXT_SPOOL") }.run();
            assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{program}: {outcome:?}");
            assert!(spools(&scratch).is_empty() && writes(&scratch) == 1, "{program}");
        }
    }
    // An exec(3) that fails (program missing or not executable) changes nothing.
    let scratch = Scratch::new();
    let file = scratch.data().join("file");
    std::fs::write(&file, "no program").expect("failed to write a file");
    let script = format!(
        "import os\nfile = open({file:?}, 'w', 0)\nfor program in ['/no/such/program', {file:?}]:\n \
         file.write('x')\n try: os.execve(program, ['x'], {{'DXT_ENABLE': 'off'}})\n except OSError: pass\nfile.write('x')"
    );
    let Some(python) = crate::harness::python() else { return skip("there is no Python") };
    let script = script
        .replace("'w', 0", "'wb', 0")
        .replace("'x')\n try", "b'x')\n try")
        .replace("file.write('x')", "file.write(b'x')");
    let outcome = Launch::new(&scratch, python).arg("-c").arg(script).run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    assert_eq!((writes(&scratch), spools(&scratch).len()), (3, 0));
}

#[test]
fn a_program_that_is_off_starts_as_with_an_empty_library() {
    let scratch = Scratch::new();
    if !have("cc") || !have("strace") {
        return skip("cc or strace is not installed");
    }
    let (empty, said) = (scratch.root().join("empty.so"), scratch.root().join("calls"));
    let made = Command::new("cc").args(["-shared", "-x", "c", "/dev/null", "-o"]).arg(&empty).status();
    assert!(made.is_ok_and(|made| made.success()), "failed to link an empty library");
    let calls = |library: &Path| {
        let preload = format!("LD_PRELOAD={}", library.display());
        let mut command = Command::new("strace");
        command.arg("-o").arg(&said).args(["-E", &preload, "-E", "DXT_ENABLE=off", "true"]);
        // Each directory in which libraries are looked for first adds calls.
        let ran = command
            .env_remove("LD_LIBRARY_PATH")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|ran| ran.success());
        ran.then(|| std::fs::read_to_string(&said).expect("strace's report").lines().count())
    };
    let Some((mine, least)) = calls(library()).zip(calls(&empty)) else {
        return skip_here("strace may not trace here");
    };
    // A library that unwinds at a panic loads libgcc_s (build.rs).
    let needed = std::fs::read(library()).expect("the library");
    let unwinds = needed.windows(11).any(|name| name == b"libgcc_s.so");
    assert!(!unwinds || library().components().all(|part| part.as_os_str() != "release"), "it loads libgcc_s");
    let most = if unwinds { 12 } else { 3 };
    assert!(mine <= least + most, "{mine} system calls, {least} with an empty library");
}

#[test]
fn limits_that_leave_no_room() {
    let limits = [
        "-v 12000", "-v 16000", "-v 30000", "-d 2000", "-d 3000", "-d 9000", "-s 64", "-s 128", "-n 4", "-n 5", "-f 1",
        "-l 0", "-u 1",
    ];
    for limit in limits {
        for mode in ["trace", "counters"] {
            let scratch = Scratch::new();
            let script = format!(
                "ulimit {limit}; [ -z \"$PRELOAD\" ] || export LD_PRELOAD=\"$PRELOAD\"; \
                                  sh -c 'echo hi > file; exec cat file'"
            );
            let run = |preload: bool| {
                let launch = Launch::new(&scratch, "/bin/bash").untraced().arg("-c").arg(&script).in_data();
                let launch = launch.env("DXT_ENABLE", mode);
                if preload { launch.env("PRELOAD", library()) } else { launch }.run()
            };
            let (without, with) = (run(false), run(true));
            let others = with.stderr.lines().filter(|line| !line.starts_with("dxt: ")).collect::<Vec<_>>();
            let expected = without.stderr.lines().collect::<Vec<_>>();
            assert_eq!((with.code, &with.stdout, others), (without.code, &without.stdout, expected), "{limit} {mode}");
            let own = with.stderr.lines().count() - without.stderr.lines().count();
            assert!(own <= 5, "{limit} {mode}: {with:?}");
            assert!(own > 0 || !left(&scratch).is_empty(), "{limit} {mode}: neither recorded nor said why");
        }
    }
}

#[test]
fn valgrind_knows_each_system_call() {
    if !have("valgrind") {
        return skip("valgrind is not installed");
    }
    let scratch = Scratch::new();
    let file = scratch.data().join("file");
    let outcome = Launch::new(&scratch, "valgrind")
        .args(["--tool=none", "/bin/dd", "if=/dev/zero", "count=3"])
        .arg(format!("of={}", file.display()))
        .run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(!outcome.stderr.contains("unhandled"), "{outcome:?}");
    assert_eq!(writes(&scratch), 3);
}

#[test]
fn thread_sanitizer_finds_no_races() {
    let works =
        Command::new("cc").args(["-fsanitize=thread", "-shared", "-o", "/dev/null", "-x", "c", "/dev/null"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        return skip_here("the compiler has no ThreadSanitizer");
    }
    let program = workload_with("short_threads", Compiler::Cc, &["-O1", "-g", "-fsanitize=thread"]);
    let scratch = Scratch::new();
    let without = Launch::new(&scratch, &program).arg(scratch.data()).untraced().run();
    if without.code != 0 {
        return skip_here("ThreadSanitizer does not run here");
    }
    for mode in ["trace", "counters"] {
        for round in 0..10 {
            let scratch = Scratch::new();
            let outcome = Launch::new(&scratch, &program).arg(scratch.data()).env("DXT_ENABLE", mode).run();
            assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{mode} {round}: {outcome:?}");
            let all = Traces::read(&scratch.traces()).totals(&["POSIX"], "write", &scratch.data());
            assert_eq!(all, (320 * 20, 320 * 160), "{mode} {round}");
        }
    }
}

/// Runs a program with more privileges (`how`: setuid, setgid or a capability) than user 12345, who starts it, in a mount namespace with
/// its own /etc. /etc/ld.so.preload preloads the library. Returns the remaining traces and spools and the program's exit code, as the
/// script prints them.
fn privileged(how: &str, configuration: &str, variables: &str) -> Option<String> {
    let open = std::env::temp_dir().join(format!(
        "dxt-rights-{}-{how}-{}",
        std::process::id(),
        fingerprint(configuration, variables)
    ));
    let rights = match how {
        "setuid" => "chmod 4755 $here/bin/program",
        "setgid" => "chgrp 65534 $here/bin/program; chmod 2755 $here/bin/program",
        _ => "setcap cap_net_raw+ep $here/bin/program",
    };
    let script = format!(
        "here={0}; mkdir -m 755 $here $here/bin $here/etc $here/etc/dxt $here/out && mkdir -m 1777 $here/data $here/open && \
         cp {1} $here/bin/program && cp {2} $here/bin/library && chmod 755 $here/bin/* && {rights} && \
         cp /etc/passwd /etc/group /etc/ld.so.cache $here/etc && {configuration} \
         unshare -m sh -c 'mount --make-rprivate / && mount --bind '$here'/etc /etc && echo '$here'/bin/library > /etc/ld.so.preload && \
             cd '$here'/data && exec setpriv --reuid=12345 --regid=12345 --clear-groups \
             env TMPDIR='$here'/data {variables} '$here'/bin/program '$here'/data return 100' > /dev/null; \
         echo code $?; cd /; find $here/data $here/open $here/out /tmp /dev/shm -maxdepth 1 -type f -name '*dxt*' -newer $here/bin/library \
             -printf '%m %U %h %f\\n' | grep -e $here -e dxt-12345 | cut -d' ' -f1-3; rm -r $here",
        open.display(),
        workload("exits").display(),
        library().display()
    );
    let output = Command::new("sh").arg("-c").arg(&script).current_dir("/").output().expect("failed to run a shell");
    let (said, why) = (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr));
    if why.contains("Operation not permitted") || why.contains("setcap") {
        skip_here(&format!("{how}: {why}"));
        return None;
    }
    assert_eq!(why, "", "{how}: {said}");
    Some(said.replace(&open.display().to_string(), "HERE"))
}

/// Returns a number, derived from the arguments, that distinguishes the directories of a test's runs.
fn fingerprint(configuration: &str, variables: &str) -> usize {
    configuration.len() * 1000 + variables.len()
}

#[test]
fn programs_with_more_rights_obey_the_sites_file_alone() {
    if !is_root() || !have("setpriv") || !have("unshare") {
        return skip_here("needs root, setpriv(1) and unshare(1)");
    }
    let users =
        "DXT_ENABLE=trace DXT_OUTPUT_DIR=. DXT_SPOOL=. DXT_TRACE_MODE=0666 DXT_VERBOSE=2 DXT_JOB_BYTES=1G DXT_JOB_ID=7";
    let of = |lines: &str| format!("printf '{lines}' > $here/etc/dxt/dxt.conf;");
    let good = "DXT_ENABLE=trace\\nDXT_OUTPUT_DIR='$here'/out\\nDXT_TRACE_MODE=0666\\nDXT_JOB_BYTES=1G\\nDXT_JOB_ID=9\\nDXT_SPOOL='$here'/open\\n";
    let none = "code 7\n";
    let cases = [
        ("setuid", String::new(), users, none),
        ("setgid", String::new(), users, none),
        ("capability", String::new(), users, none),
        ("setuid", of(good), users, "code 7\n600 0 HERE/out\n"),
        ("setuid", of(good), "DXT_ENABLE=off", "code 7\n600 0 HERE/out\n"),
        // User 12345 cannot write to the output directory.
        ("setgid", of(good), users, none),
        ("setuid", of(good) + "chmod 666 $here/etc/dxt/dxt.conf;", users, none),
        ("setuid", of(good) + "chown 12345 $here/etc/dxt/dxt.conf;", users, none),
        ("setuid", of(good) + "chmod 777 $here/etc/dxt;", users, none),
        ("setuid", of(good) + "chmod 777 $here/out;", users, none),
        ("setuid", of(good) + "chmod 1777 $here/out;", users, none),
        ("setuid", of(good) + "chmod 777 $here;", users, none),
        ("setuid", of("DXT_ENABLE=trace\\n"), users, none),
        ("setuid", of("DXT_ENABLE=trace\\nDXT_OUTPUT_DIR='$here'/out/%%u\\n"), users, none),
        ("setuid", of("DXT_ENABLE=nonsense\\n"), users, none),
    ];
    for (how, configuration, variables, expected) in cases {
        if let Some(found) = privileged(how, &configuration, variables) {
            assert_eq!(found, expected, "{how} {configuration} {variables}");
        }
    }
}
