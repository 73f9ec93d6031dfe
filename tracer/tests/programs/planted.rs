//! Tests of output directories that other users may write to: whatever objects they create under names that the tracer might choose, the
//! tracer overwrites no file of the user. The program is not affected, and its calls are recorded.

use crate::harness::{
    Compiler, Launch, Order, Outcome, Scratch, Traces, assert_same, have, is_root, library, read_log, recover, spools,
    workload, workload_with,
};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Objects that an attacker creates, as (description, shell command); `$1` is the path.
const PLANTS: [(&str, &str); 5] = [
    ("a symbolic link", "ln -s $VICTIM $1"),
    ("a hard link", "ln $VICTIM $1"),
    ("a link to nothing", "ln -s $VICTIM.new $1"),
    ("a pipe", "mkfifo $1"),
    ("a directory", "mkdir $1"),
];

/// File of the user that the tracer must not change.
struct Victim(PathBuf);

impl Victim {
    fn new(folder: &Path) -> Self {
        let path = folder.join("victim");
        std::fs::write(&path, "precious").expect("failed to write a file");
        Self(path)
    }

    fn is_unharmed(&self, what: &str) {
        assert_eq!(std::fs::read(&self.0).expect("the file is there"), b"precious", "{what}");
        assert!(!self.0.with_extension("new").exists(), "{what}");
        let mode = self.0.metadata().expect("the file is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "{what}");
    }
}

/// Runs the program `exits` in a process whose pid and start time the attacker knows. `settings`: further environment variables. `plant` is
/// shell code that creates an object at `$name`: a trace's file name for one of the next seconds, in the old form without a random part.
fn run_among(scratch: &Scratch, victim: &Victim, plant: &str, settings: &[(&str, &str)]) -> Outcome {
    let program = workload("exits");
    let script = format!(
        "plant() {{ {plant}; }}
         started=$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20)
         now=$(date +%s)
         for second in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
             stamp=$(date -u -d @$((now + second)) +%Y%m%dT%H%M%SZ)
             name=$DXT_OUTPUT_DIR/{name}_${{stamp}}_$(uname -n)_$$
             plant || exit 99
             [ -n \"$EVERY_SECOND\" ] || break
         done
         export LD_PRELOAD={library}
         exec {program} {data} return 20000",
        name = program.file_name().expect("a name").to_string_lossy(),
        library = library().display(),
        program = program.display(),
        data = scratch.data().display(),
    );
    let launch = Launch::new(scratch, "/bin/sh").untraced().arg("-c").arg(script).env("VICTIM", &victim.0);
    settings.iter().fold(launch, |launch, (name, value)| launch.env(name, value)).run()
}

/// Moves the traces that the tracer has written to a separate directory, and reads them.
fn sorted_out(scratch: &Scratch) -> Traces {
    let clean = scratch.root().join("clean");
    std::fs::create_dir(&clean).expect("failed to make a directory");
    for entry in std::fs::read_dir(scratch.traces()).expect("failed to list the traces") {
        let path = entry.expect("failed to list the traces").path();
        let about = path.symlink_metadata().expect("it is there");
        if about.is_file() && about.nlink() == 1 && path.extension().is_some_and(|end| end == "dxt") {
            assert_eq!(about.permissions().mode() & 0o777, 0o600, "{}", path.display());
            std::fs::rename(&path, clean.join(path.file_name().expect("a name"))).expect("failed to move a trace");
        }
    }
    Traces::read(&clean)
}

#[test]
fn what_lies_under_a_traces_name_is_left_alone() {
    for (what, make) in PLANTS {
        for end in [".dxt.partial", ".dxt"] {
            let scratch = Scratch::new();
            let victim = Victim::new(scratch.root());
            let plant = format!("set -- $name{end}; {make}");
            let outcome = run_among(&scratch, &victim, &plant, &[("EVERY_SECOND", "1")]);
            assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""), "{what} {end}");
            victim.is_unharmed(what);
            let (log, traces) = (read_log(&scratch), sorted_out(&scratch));
            assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX"], &scratch.data()));
            let left = std::fs::read_dir(scratch.traces()).expect("a directory").count();
            assert_eq!(left, 20, "{what} {end}: all that was planted is still there");
        }
    }
}

#[test]
fn what_lies_under_a_spills_or_spools_name_is_left_alone() {
    for (what, make) in PLANTS {
        let scratch = Scratch::new();
        let victim = Victim::new(scratch.root());
        std::fs::create_dir(scratch.spools()).expect("failed to make a directory");
        let spools = scratch.spools().display().to_string();
        let plant = format!(
            "stem={spools}/dxt-$(id -u)-$$-$started; for number in 0 1 2 3 4 5 6 7 8 9; do set -- $stem-$number.spool; {make}; done; \
             set -- $stem.spill; {make}; set -- $stem.done; {make}"
        );
        let settings = [("DXT_OVERFLOW", "spill"), ("DXT_BUFFER_MAX", "64K"), ("EVERY_SECOND", "")];
        let outcome = run_among(&scratch, &victim, &plant, &settings);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (7, ""), "{what}");
        victim.is_unharmed(what);
        // Calls that find no room even when packed are counted.
        let (log, traces) = (read_log(&scratch), sorted_out(&scratch));
        let writes = log.iter().filter(|op| op.name == "write");
        let did = writes.fold((0, 0), |sum, op| (sum.0 + 1, sum.1 + op.length));
        assert_eq!(traces.totals(&["POSIX"], "write", &scratch.data()), did, "{what}");
    }
}

#[test]
fn what_lies_under_the_name_of_a_spool_set_aside_stays() {
    for exec in ["/bin/true", "timeout 5 true", "/no/such/program"] {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.spools()).expect("failed to make a directory");
        let (spools, data) = (scratch.spools().display().to_string(), scratch.data().display().to_string());
        let script = format!(
            "set -- $(cat /proc/$$/stat); shift 21; echo precious > {spools}/dxt-$(id -u)-$$-$1.done; echo x > {data}/f; exec {exec}"
        );
        let outcome = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).run();
        assert_eq!(outcome.code, if exec.starts_with("/no") { 127 } else { 0 }, "{outcome:?}");
        let names = std::fs::read_dir(scratch.spools()).expect("it is there").map(|entry| entry.unwrap().path());
        let (kept, others): (Vec<_>, Vec<_>) =
            names.partition(|path| path.extension().is_some_and(|end| end == "done"));
        assert_eq!(kept.len(), 1, "{exec}: {others:?}");
        assert_eq!(std::fs::read(&kept[0]).unwrap(), b"precious\n", "{exec}");
    }
}

#[test]
fn launchers_sweep_up_what_the_script_left_that_became_them() {
    for exec in ["timeout 5 true", "env true", "true"] {
        let scratch = Scratch::new();
        let script = format!("echo x > {}/f; exec {exec}", scratch.data().display());
        let outcome = Launch::new(&scratch, "/bin/sh").arg("-c").arg(script).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let left = std::fs::read_dir(scratch.spools()).map_or(0, |names| names.count());
        assert_eq!(left, 0, "{exec}");
    }
}

#[test]
fn a_spool_is_made_beside_what_was_planted() {
    let scratch = Scratch::new();
    let victim = Victim::new(scratch.root());
    std::fs::create_dir(scratch.spools()).expect("failed to make a directory");
    let directory = scratch.spools().display().to_string();
    let plant = format!("for n in $(seq 0 120); do ln -s $VICTIM {directory}/dxt-$(id -u)-$$-$started-$n.spool; done");
    let settings = [("DXT_OUTPUT_DIR", "/proc/no/such/place"), ("EVERY_SECOND", "")];
    assert_eq!(run_among(&scratch, &victim, &plant, &settings).code, 7);
    for path in spools(&scratch).into_iter().filter(|path| path.is_symlink()) {
        std::fs::remove_file(path).expect("failed to remove a link");
    }
    assert_eq!(recover(&scratch), 0);
    victim.is_unharmed("the trace");
    let (log, traces) = (read_log(&scratch), Traces::read(&scratch.traces()));
    assert_same(Order::Thread, &log, &traces.own_ops(&["POSIX"], &scratch.data()));
}

#[test]
fn another_user_in_a_directory_of_everybody() {
    if !is_root() || !have("setpriv") {
        return crate::harness::skip_here("needs root and setpriv(1)");
    }
    for mode in ["777", "1777"] {
        let scratch = Scratch::new();
        let open = std::env::temp_dir().join(format!("dxt-everybody-{mode}-{}", std::process::id()));
        // User 65534 owns the directory and places the files; user 12345 is traced.
        let script = format!(
            "mkdir -m {mode} {0} && chown 65534 {0} && mkdir -m 755 {0}/bin && mkdir {0}/home {0}/data && cp {1} {0}/bin/program && \
             cp {2} {0}/bin/library && chmod 755 {0}/bin/* && echo precious > {0}/home/victim && chown -R 12345 {0}/home {0}/data && cd / && \
             setpriv --reuid=12345 --regid=12345 --clear-groups sh -c '
                 for second in 0 1 2 3 4 5 6 7 8 9; do
                     stamp=$(date -u -d @$(($(date +%s) + second)) +%Y%m%dT%H%M%SZ)
                     ln -s {0}/home/victim {0}/program_${{stamp}}_$(uname -n)_$$.dxt.partial
                 done
                 OPLOG={0}/home/log DXT_SPOOL=off DXT_OUTPUT_DIR={0} LD_PRELOAD={0}/bin/library exec {0}/bin/program {0}/data return 100'
             echo $?; cat {0}/home/victim; find {0} -maxdepth 1 -type f -name '*.dxt' -printf '%m %U\\n'; rm -r {0}",
            open.display(),
            workload("exits").display(),
            library().display()
        );
        let outcome = Launch::new(&scratch, "/bin/sh").untraced().arg("-c").arg(script).run();
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("7\nprecious\n600 12345\n", ""), "{mode}");
    }
}

#[test]
fn a_trace_of_all_ranks_is_taken_away_while_they_write_it() {
    let shim = workload_with("counting_calls", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        for (mode, moment) in [
            ("trace", "Exscan"),
            ("trace", "File_open"),
            ("trace", "File_write_at_all"),
            ("counters", "Exscan"),
            ("counters", "Allreduce"),
        ] {
            let scratch = Scratch::new();
            let victim = Victim::new(scratch.root());
            let everybody = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(scratch.traces(), everybody).expect("failed to open a directory to all");
            let program = workload_with("counters_mpi", mpi, &["-O1"]);
            let launch = Launch::new(&scratch, "/bin/sh").arg("-c").arg("LD_PRELOAD=$LD_PRELOAD:$0 exec \"$@\"");
            let launch = launch.arg(&shim).arg(program).arg(scratch.data()).arg("mixed").ranks(mpi, 3);
            let launch = launch.env("DXT_INCLUDE", scratch.data()).env("OMPI_MCA_io", "^ompio").env("DXT_ENABLE", mode);
            let outcome = launch.env("SWAP", moment).env("VICTIM", &victim.0).run();
            assert_eq!(outcome.code, 0, "{mpi:?} {mode} {moment}: {outcome:?}");
            victim.is_unharmed(moment);
            let traces = sorted_out(&scratch);
            let posix = scratch.data().join("posix.0");
            assert_eq!(traces.totals(&["POSIX"], "write", &posix), (63, 6300), "{mpi:?} {mode} {moment}: {outcome:?}");
        }
    }
}

#[test]
fn a_trace_of_all_ranks_in_a_directory_of_everybody() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        for (directory, io) in [(0o777, ""), (0o777, "^ompio"), (0o1777, ""), (0o700, "")] {
            let scratch = Scratch::new();
            let mode = std::fs::Permissions::from_mode(directory);
            std::fs::set_permissions(scratch.traces(), mode).expect("failed to change a directory");
            let program = workload_with("counters_mpi", mpi, &["-O1"]);
            let launch = Launch::new(&scratch, program).arg(scratch.data()).arg("mixed").ranks(mpi, 3);
            let launch =
                launch.env("DXT_FLUSH", "collective").env("DXT_TRACE_MODE", "0640").env("DXT_INCLUDE", scratch.data());
            let outcome = if io.is_empty() { launch.run() } else { launch.env("OMPI_MCA_io", io).run() };
            assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{mpi:?} {directory:o}");
            let traces = Traces::read(&scratch.traces());
            assert_eq!(traces.files.len(), 1, "{mpi:?} {directory:o}: {:?}", traces.files);
            let mode = traces.files[0].metadata().expect("the trace is there").permissions().mode();
            assert_eq!(mode & 0o7777, 0o640, "{mpi:?} {directory:o}");
        }
    }
}
