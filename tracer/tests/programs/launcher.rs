//! Tests of dxt-run: it sets all environment variables, keeps the command's exit status and output, and reports the traces that were written.

use crate::harness::{
    Compiler, Launch, Outcome, Scratch, Traces, analyzer, copy_program, dxt_run, executable, library, skip, workload,
    workload_with,
};
use std::path::{Path, PathBuf};

/// Runs `dxt-run --lib ... -o traces OPTIONS -- COMMAND`.
fn run(scratch: &Scratch, options: &[&str], command: &[&Path]) -> Outcome {
    run_in(scratch, None, options, command)
}

/// Runs dxt-run as [`run`] does, with additional environment variables.
pub(crate) fn run_in<'a>(
    scratch: &Scratch,
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    options: &[&str],
    command: &[&Path],
) -> Outcome {
    let launch =
        Launch::new(scratch, dxt_run()).untraced().without("DXT_ENABLE").without("DXT_OUTPUT_DIR").without("DXT_SPOOL");
    // PATH is the last place in which dxt-run looks for dxt-analyze.
    let beside = analyzer().parent().map_or_else(String::new, |folder| folder.display().to_string());
    let path = format!("{}:{beside}", std::env::var("PATH").unwrap_or_default());
    let launch = launch.env("PATH", path);
    let launch = launch.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let launch = launch.arg("--lib").arg(library()).arg("-o").arg(scratch.traces());
    let launch = variables.into_iter().fold(launch, |launch, (name, value)| launch.env(name, value));
    let launch = options.iter().fold(launch, |launch, option| launch.arg(option)).arg("--");
    command.iter().fold(launch, |launch, argument| launch.arg(argument)).run()
}

/// Returns the paths of the traces that dxt-run reports.
fn said(outcome: &Outcome) -> Vec<PathBuf> {
    outcome.stderr.lines().filter_map(|line| line.strip_prefix("dxt-run: wrote ")).map(PathBuf::from).collect()
}

fn said_by(outcome: &Outcome) -> usize {
    said(outcome).len()
}

#[test]
fn quiet_leaves_what_went_wrong() {
    let scratch = Scratch::new();
    let quiet = |program: &str| run(&scratch, &["-q"], &[program.as_ref(), &*scratch.data().join("made")]);
    let outcome = quiet("touch");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(Traces::read(&scratch.traces()).files.len(), 1);
    let outcome = quiet("false");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (1, ""));
}

#[test]
fn a_program_keeps_its_status_and_the_trace_is_named() {
    let scratch = Scratch::new();
    let data = scratch.data();
    let command = [&*workload("exits"), &*data, "exit".as_ref(), "20".as_ref()];
    let outcome = run(&scratch, &["--buffer-max", "1M"], &command);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (7, ""));
    let traces = Traces::read(&scratch.traces());
    assert_eq!((said(&outcome), traces.segments.len()), (traces.files, 21));
}

#[test]
fn several_processes_are_one_job() {
    let scratch = Scratch::new();
    let outcome = run(&scratch, &[], &[&workload("fork"), &scratch.data()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    assert_eq!((said(&outcome).len(), traces.files.len()), (8, 8));
    assert!(traces.jobs.iter().all(|job| job.info.key == traces.jobs[0].info.key));
}

#[test]
fn both_mpis_get_the_variables_to_their_ranks() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let scratch = Scratch::new();
        let (program, data) = (workload_with("mpiio", mpi, &["-O1"]), scratch.data());
        let launcher: &[&Path] = match mpi {
            Compiler::Mpich => &["mpirun.mpich".as_ref()],
            _ => &["mpirun.openmpi".as_ref(), "--oversubscribe".as_ref()],
        };
        let command = [launcher, &["-n".as_ref(), "2".as_ref(), &*program, &*data]].concat();
        let outcome = run(&scratch, &[], &command);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let traces = Traces::read(&scratch.traces());
        assert_eq!((said(&outcome), traces.processes.len()), (traces.files, 2));
    }
}

/// Copies dd(1) under two names; returns the copies.
fn two_programs(scratch: &Scratch) -> [PathBuf; 2] {
    ["first", "second"].map(|name| {
        let place = scratch.root().join(name);
        copy_program("/bin/dd", &place);
        place
    })
}

/// Returns launcher arguments that run `program` (a copy of dd) on one rank. It writes one byte to a file named like the program.
fn writing(scratch: &Scratch, program: &Path) -> Vec<String> {
    let name = program.file_name().and_then(|name| name.to_str()).expect("a name");
    let file = format!("of={}", scratch.data().join(name).display());
    ["-n", "1", program.to_str().expect("a path"), "if=/dev/zero", &file, "bs=1", "count=1", "status=none"]
        .map(str::to_owned)
        .to_vec()
}

fn launcher(mpi: Compiler) -> Vec<&'static str> {
    match mpi {
        Compiler::Mpich => vec!["mpirun.mpich"],
        _ => vec!["mpirun.openmpi", "--oversubscribe"],
    }
}

fn run_words(scratch: &Scratch, words: &[&str]) -> Outcome {
    run_with(scratch, None, words)
}

fn run_with(scratch: &Scratch, variable: Option<(&str, &str)>, words: &[&str]) -> Outcome {
    run_in(scratch, variable, &[], &words.iter().map(Path::new).collect::<Vec<&Path>>())
}

#[test]
fn each_program_of_several_is_traced() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        // Programs are given as words separated by a colon, or as lines of a file. Open MPI passes variables on in two ways.
        for form in ["words", "file", "words and list", "file and list"] {
            let scratch = Scratch::new();
            let parts = two_programs(&scratch).map(|program| writing(&scratch, &program));
            let file = scratch.root().join("programs of all");
            std::fs::write(&file, format!("# two programs\n{}\n\n{}", parts[0].join(" "), parts[1].join(" "))).unwrap();
            let (file, option) =
                (file.display().to_string(), if mpi == Compiler::Mpich { "-configfile" } else { "--app" });
            let mut words = launcher(mpi);
            if form == "words and list" && mpi == Compiler::OpenMpi {
                words.extend(["--mca", "mca_base_env_list", "A=1"]);
            }
            if form.starts_with("words") {
                words.extend(parts[0].iter().map(|word| &**word));
                words.push(":");
                words.extend(parts[1].iter().map(|word| &**word));
            } else {
                if mpi == Compiler::Mpich {
                    // MPICH's file of programs allows no comments and no empty lines.
                    std::fs::write(&file, parts.each_ref().map(|part| part.join(" ")).join("\n")).unwrap();
                }
                words.extend([option, &file]);
            }
            let list = (form == "file and list").then_some(("OMPI_MCA_mca_base_env_list", "A=1"));
            let outcome = run_with(&scratch, list, &words);
            assert_eq!(outcome.code, 0, "{mpi:?}, {form}: {outcome:?}");
            let traces = Traces::read(&scratch.traces());
            let mut files: Vec<&str> =
                traces.processes.iter().flat_map(|process| &process.paths).map(|path| &**path).collect();
            files.retain(|path| Path::new(path).starts_with(scratch.data()));
            assert_eq!((traces.processes.len(), files.len()), (2, 2), "{mpi:?}, {form}: {outcome:?}");
        }
    }
}

#[test]
fn a_program_that_cannot_be_traced_is_named_wherever_it_stands() {
    let fixed = workload_with("exits", Compiler::Cc, &["-O1", "-static"]);
    let name = fixed.display().to_string();
    let said = |words: &[&str]| {
        let scratch = Scratch::new();
        let outcome = run_words(&scratch, words);
        outcome.stderr.lines().filter(|line| line.contains(&name) && line.contains("statically")).count()
    };
    let scratch = Scratch::new();
    let [data, other] = [scratch.data(), PathBuf::from("/bin/true")].map(|path| path.display().to_string());
    assert_eq!(said(&[&name, &data, "exit"]), 1);
    assert_eq!(said(&["env", "A=1", "timeout", "60", &name, &data, "exit"]), 1);
    // A program named only as an argument does not count.
    assert_eq!(said(&[&other, &name]), 0);
    for mpi in [Compiler::Mpich, Compiler::OpenMpi].into_iter().filter(|mpi| mpi.available()) {
        let words = [&launcher(mpi)[..], &["-n", "1", &other, ":", "-n", "1", &name, &data, "exit"]].concat();
        assert_eq!(said(&words), 1, "{mpi:?}");
    }
}

#[test]
fn what_keeps_the_variables_from_the_ranks_is_said() {
    let scratch = Scratch::new();
    // Stand-in for a launcher that passes on its environment: runs the words after its options.
    let srun = scratch.root().join("srun");
    executable(&srun, "#!/bin/sh\nwhile case $1 in -*) true ;; *) false ;; esac; do shift; done\nexec \"$@\"\n");
    let srun = srun.display().to_string();
    let remarks = |words: &[&str]| {
        let outcome = run_words(&Scratch::new(), &[&[&*srun], words].concat());
        outcome.stderr.lines().filter(|line| line.contains("not traced")).count()
    };
    assert_eq!(remarks(&["--export=NONE", "/bin/true"]), 1);
    assert_eq!(remarks(&["--export=A,B", "/bin/true"]), 1);
    assert_eq!(remarks(&["--export=ALL,A=1", "/bin/true"]), 0);
    assert_eq!(remarks(&["--export=A,LD_PRELOAD", "/bin/true"]), 0);
    assert_eq!(remarks(&["/bin/echo", "--export=NONE"]), 0);
    let list = scratch.root().join("programs");
    let fixed = workload_with("exits", Compiler::Cc, &["-O1", "-static"]);
    std::fs::write(&list, format!("0 /bin/true\n1-3 {} %t\n", fixed.display())).unwrap();
    assert_eq!(remarks(&["--multi-prog", &list.display().to_string()]), 1);
}

#[test]
fn without_a_trace_it_says_so_and_why() {
    let scratch = Scratch::new();
    let outcome = run(&scratch, &[], &["/bin/true".as_ref()]);
    assert_eq!((outcome.code, said(&outcome).len()), (0, 0));
    assert!(outcome.stderr.contains("no trace was written") && outcome.stderr.contains("did no I/O"), "{outcome:?}");
    let outcome = run(&scratch, &[], &["/bin/false".as_ref()]);
    assert!(outcome.stderr.contains("no trace was written; false exited with status 1"), "{outcome:?}");
    let outcome = run(&scratch, &[], &["no-such-program".as_ref()]);
    assert_eq!(outcome.code, 127);
    assert!(outcome.stderr.contains("was not found"), "{outcome:?}");
    let outcome = run(&scratch, &[], &["/etc/passwd".as_ref()]);
    assert_eq!(outcome.code, 126);
    assert!(outcome.stderr.contains("/etc/passwd exists but cannot be run as a program"), "{outcome:?}");
    let outcome = run_in(&scratch, Some(("DXT_INCLUDE", "*.h5")), &[], &["touch".as_ref(), &*scratch.data().join("x")]);
    assert!(outcome.stderr.contains("(DXT_INCLUDE may have excluded all I/O)"), "{outcome:?}");
    let fixed = workload_with("exits", Compiler::Cc, &["-O1", "-static"]);
    let outcome = run(&scratch, &[], &[&fixed, &scratch.data(), "exit".as_ref()]);
    assert_eq!(outcome.code, 7);
    assert!(outcome.stderr.contains("statically"), "{outcome:?}");
    let outcome = run(&scratch, &[], &["/bin/sh".as_ref(), "-c".as_ref(), "kill -9 $$".as_ref()]);
    assert_eq!(outcome.code, 137);
    assert!(outcome.stderr.lines().all(|line| line.starts_with("dxt-run: ")), "{outcome:?}");
}

#[test]
fn a_configuration_file_goes_with_it_and_may_say_where_traces_go() {
    let scratch = Scratch::new();
    let (data, file) = (scratch.data(), scratch.root().join("site.conf"));
    let text = format!("DXT_BUFFER_MAX=1M\nDXT_OUTPUT_DIR = \"{}\" # here\n", scratch.traces().display());
    std::fs::write(&file, text).unwrap();
    let launch = Launch::new(&scratch, dxt_run()).untraced().without("DXT_ENABLE").without("DXT_OUTPUT_DIR");
    let launch = launch.arg("--lib").arg(library()).arg("--config").arg(&file).arg(workload("exits"));
    let outcome = launch.arg(&data).arg("exit").arg("20").run();
    assert_eq!(outcome.code, 7, "{outcome:?}");
    let traces = Traces::read(&scratch.traces());
    assert_eq!((said(&outcome), traces.segments.len()), (traces.files, 21));
    assert!(traces.jobs[0].settings.contains(&("DXT_BUFFER_MAX".into(), "1048576".into())));
}

#[test]
fn a_library_that_is_preloaded_already_stays() {
    let scratch = Scratch::new();
    let command = "sh -c 'echo $LD_PRELOAD'";
    let script = format!("LD_PRELOAD=libm.so.6 {} --lib {} {command}", dxt_run().display(), library().display());
    let outcome = Launch::new(&scratch, "/bin/sh").untraced().arg("-c").arg(script).run();
    assert_eq!(outcome.stdout, format!("{}:libm.so.6\n", library().display()), "{outcome:?}");
}

#[test]
fn wrong_use_is_said() {
    let scratch = Scratch::new();
    let launch = |argument: &str| Launch::new(&scratch, dxt_run()).untraced().arg(argument).run();
    assert_eq!(launch("--bogus").code, 2);
    assert_eq!(launch("--output").code, 2);
    let help = launch("--help");
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    assert!(help.stdout.starts_with("usage: dxt-run") && help.stdout.contains("\nExamples:\n  dxt-run "));
    for line in help.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn settings_that_make_no_sense_are_said_before_anything_starts() {
    let made = |variable, file: &str| {
        let scratch = Scratch::new();
        let mark = scratch.root().join(file);
        let outcome = run_in(&scratch, Some(variable), &[], &["touch".as_ref(), &*mark]);
        (outcome.code, outcome.stderr, mark.exists())
    };
    let (code, said, ran) = made(("DXT_FLUSH", "sometimes"), "mark");
    assert_eq!((code, ran), (2, false), "{said}");
    assert!(said.starts_with("dxt-run: DXT_FLUSH=sometimes is invalid"), "{said}");
    let (code, said, ran) = made(("DXT_BUFER_MAX", "1M"), "mark");
    assert_eq!((code, ran), (0, true), "{said}");
    assert!(said.contains("DXT_BUFER_MAX is not a variable of this tracer: did you mean DXT_BUFFER_MAX?"), "{said}");
    // These settings are invalid in the chosen mode, or would leave the program untraced.
    for variable in [("DXT_CONFIG", "/nowhere.conf"), ("DXT_TIMING", "off"), ("DXT_ANONYMIZE", "/nowhere.key")] {
        let (code, said, ran) = made(variable, "mark");
        assert_eq!((code, ran), (2, false), "{said}");
        assert!(said.contains(variable.0) || said.contains(variable.1), "{said}");
    }
    let (scratch, untimed) = (Scratch::new(), Some(("DXT_TIMING", "off")));
    let outcome = run_in(&scratch, untimed, &["--counters"], &["touch".as_ref(), &*scratch.data().join("mark")]);
    assert_eq!((outcome.code, said_by(&outcome)), (0, 1), "{outcome:?}");
}

#[test]
fn a_dry_run_says_what_a_shell_would_set_and_changes_nothing() {
    let scratch = Scratch::new();
    let outcome = run(&scratch, &["--dry-run", "--counters"], &["touch".as_ref(), &*scratch.root().join("a b")]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    assert!(!scratch.root().join("a b").exists());
    // The output is valid shell syntax.
    let script = format!("{}\nexec touch x/y/z/none", outcome.stdout);
    let shell = Launch::new(&scratch, "/bin/sh").untraced().arg("-c").arg(script).run();
    assert_eq!(shell.code, 1, "{shell:?}");
    assert_eq!(Traces::read(&scratch.traces()).jobs[0].settings[0], ("DXT_ENABLE".into(), "counters".into()));
    // Advised hints are applied regardless of how they are passed on; a value may contain any character.
    let hints = scratch.root().join("hints");
    std::fs::create_dir_all(&hints).expect("a directory");
    std::fs::write(hints.join("ompi_mca.conf"), "# advised\n io_ompio_num_aggregators = 4\nio = romio=x y\n").unwrap();
    std::fs::write(hints.join("environment"), "MPICH_MPIIO_HINTS=*:cb_nodes=4\nOTHER=1").unwrap();
    let hints = format!("--hints={}", hints.display());
    let outcome = run(&scratch, &["--dry-run", &hints], &["true".as_ref()]);
    for line in [
        "export OMPI_MCA_io_ompio_num_aggregators=4",
        "export OMPI_MCA_io=romio=x\\ y",
        "export MPICH_MPIIO_HINTS=\\*:cb_nodes=4",
    ] {
        assert!(outcome.stdout.lines().any(|said| said == line), "{line}: {outcome:?}");
    }
    assert!(outcome.stderr.contains("OTHER is not a variable that advice may set"), "{outcome:?}");
    let preload = Launch::new(&scratch, dxt_run()).untraced().arg("--print-preload").arg("--lib").arg(library()).run();
    assert_eq!(preload.stdout, format!("{}\n", library().display()));
}

#[test]
fn a_dry_run_shows_nothing_that_opens_a_database() {
    let scratch = Scratch::new();
    let wheres = [
        "nats://sekret@host/subject",
        "nats://me:se@kret@host",
        "influx:http://host/write?u=me&p=sekret",
        "postgres:host=h password=sekret",
    ];
    let options: Vec<&str> =
        std::iter::once("--dry-run").chain(wheres.iter().flat_map(|place| ["--live-to", place])).collect();
    let outcome = run(&scratch, &options, &["true".as_ref()]);
    if outcome.code == 2 && outcome.stderr.contains("dxt-analyze") {
        return skip("dxt-analyze is not built beside the tests (cargo build)");
    }
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(!outcome.stdout.contains("kret") && outcome.stdout.contains("--to nats:..."), "{}", outcome.stdout);
}

#[test]
fn it_needs_no_room_for_temporary_files() {
    let scratch = Scratch::new();
    let file = scratch.data().join("a file");
    std::fs::write(&file, "").expect("a file");
    // No directory can be created in either place.
    for place in ["/nonexistent", file.to_str().expect("text")] {
        let made = scratch.data().join("made");
        let outcome = run_in(&scratch, Some(("TMPDIR", place)), &[], &["touch".as_ref(), &*made]);
        assert_eq!((outcome.code, made.exists(), said(&outcome).len()), (0, true, 1), "{outcome:?}");
        let reported = format!("dxt-run: failed to create a directory in {place}");
        assert_eq!(outcome.stderr.lines().filter(|line| line.starts_with(&reported)).count(), 1, "{outcome:?}");
        std::fs::remove_file(made).expect("a file");
    }
}

#[test]
fn what_a_killed_program_had_done_is_recovered() {
    if !analyzer().exists() {
        return crate::harness::skip("dxt-analyze is not built beside the tests (cargo build)");
    }
    let scratch = Scratch::new();
    let data = scratch.data();
    let outcome = run(&scratch, &[], &[&*workload("exits"), &*data, "kill".as_ref(), "200".as_ref()]);
    assert_eq!(outcome.code, 128 + 9);
    let traces = Traces::read(&scratch.traces());
    assert_eq!((said(&outcome), traces.segments.len()), (traces.files, 201));
}

#[test]
fn a_recovered_trace_replaces_only_recovered_ones() {
    let analyze = analyzer();
    if !analyze.exists() {
        return crate::harness::skip("dxt-analyze is not built beside the tests (cargo build)");
    }
    let scratch = Scratch::new();
    let words = [workload("exits"), scratch.data().display().to_string().into(), "kill".into(), "20".into()];
    let launch = words[1..].iter().fold(Launch::new(&scratch, &words[0]), |launch, word| launch.arg(word));
    assert_eq!(launch.run().code, 128 + 9);
    let place = scratch.root().join("out.dxt");
    let recover = |more: &[&str]| {
        let mut command = std::process::Command::new(&analyze);
        let done = command.arg("recover").args(more).arg("-o").arg(&place).arg(scratch.spools()).output().unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    std::fs::write(&place, "mine").unwrap();
    let (done, said) = recover(&[]);
    assert!(!done && said.contains("--force") && std::fs::read(&place).unwrap() == b"mine", "{said}");
    std::fs::remove_file(&place).unwrap();
    for options in [&[][..], &[], &["--force"]] {
        assert!(recover(options).0, "{options:?}: {}", recover(options).1);
    }
}

#[test]
fn a_wrong_line_in_a_file_of_triggers_is_said_before_the_program_starts() {
    let scratch = Scratch::new();
    let triggers = scratch.data().join("triggers");
    std::fs::write(&triggers, "FILE x\nFILE (\n").expect("a file");
    let variable = ("DXT_TRIGGER_CONF_PATH", triggers.to_str().expect("text"));
    let outcome = run_in(&scratch, Some(variable), &[], &[Path::new("true")]);
    let reported = format!("dxt-run: DXT_TRIGGER_CONF_PATH: {} line 2 is ignored: ", triggers.display());
    assert!(outcome.stderr.lines().any(|line| line.starts_with(&reported)), "{outcome:?}");
    assert!(!outcome.stderr.contains("not a variable"), "{outcome:?}");
}

/// Builds a library that, if preloaded, prevents every program from starting, as a library that needs a newer glibc does.
pub(crate) fn unloadable(scratch: &Scratch) -> PathBuf {
    let (source, library) = (scratch.root().join("missing.c"), scratch.root().join("libmissing.so"));
    std::fs::write(&source, "extern int in_no_library;\nint *dxt_missing = &in_no_library;\n").expect("a file");
    let made = std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(made.expect("a compiler").success());
    library
}

#[test]
fn a_library_that_is_not_for_this_system_harms_no_program() {
    let scratch = Scratch::new();
    let library = unloadable(&scratch);
    let preloaded = Launch::new(&scratch, "/bin/true").untraced().env("LD_PRELOAD", &library).run();
    assert_ne!(preloaded.code, 0, "it would have done no harm: {preloaded:?}");
    let run = |options: &[&str]| {
        let launch =
            Launch::new(&scratch, dxt_run()).untraced().arg("--lib").arg(&library).arg("-o").arg(scratch.traces());
        let launch = options.iter().fold(launch, |launch, option| launch.arg(option));
        ["--", "/bin/sh", "-c", "echo ran; exit 7"].iter().fold(launch, |launch, word| launch.arg(word)).run()
    };
    let outcome = run(&[]);
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.lines().count()), (7, "ran\n", 1), "{outcome:?}");
    assert!(
        outcome.stderr.starts_with("dxt-run: /bin/sh runs without the tracer")
            && outcome.stderr.contains("in_no_library")
    );
    // The dynamic linker skips a file that is no library, with a message.
    std::fs::write(&library, b"\x7fELF").expect("room");
    let outcome = run(&[]);
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.lines().count()), (7, "ran\n", 1), "{outcome:?}");
    assert!(outcome.stderr.starts_with("dxt-run: /bin/sh runs without the tracer"), "{outcome:?}");
    let library = unloadable(&scratch);
    assert!(library.exists());
    let outcome = run(&["--dry-run"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "# /bin/sh -c echo\\ ran\\;\\ exit\\ 7\n"), "{outcome:?}");
}

/// Directories made by dxt-run, and traces of killed processes, must have the permissions requested for traces.
#[test]
fn permissions_of_what_it_makes_are_those_that_were_asked_for() {
    use std::os::unix::fs::PermissionsExt;
    for (asked, directory, trace) in [("0640", 0o750, 0o640), ("0644", 0o755, 0o644)] {
        for (umask, end) in [("022", "return"), ("077", "return"), ("077", "kill"), ("0777", "return")] {
            let scratch = Scratch::new();
            let script = format!("umask {umask}; exec \"$0\" \"$@\"");
            let launch = Launch::new(&scratch, "/bin/sh").untraced().arg("-c").arg(script).arg(dxt_run());
            // The folder of the library is the first place in which dxt-run looks for dxt-analyze; another build may lie elsewhere.
            let beside = scratch.root().join("beside");
            std::fs::create_dir(&beside).expect("a directory can be made");
            for file in [library(), &analyzer()] {
                let here = beside.join(file.file_name().expect("a name"));
                if std::fs::hard_link(file, &here).is_err() {
                    copy_program(file, &here);
                }
            }
            let launch = launch.without("DXT_ENABLE").without("DXT_OUTPUT_DIR").without("DXT_SPOOL");
            let output = scratch.traces().join("new/one");
            let launch =
                launch.arg("-q").arg("--lib").arg(beside.join("libdxt_tracer.so")).arg("-o").arg(&output).arg("--");
            let data = scratch.data().join("out");
            std::fs::write(&data, "").expect("a file that is there");
            let launch = launch.arg(workload("exits")).arg(scratch.data()).args([end, "100"]);
            let outcome = launch.env("DXT_TRACE_MODE", asked).run();
            let mode = |path: &Path| path.metadata().expect("it is there").permissions().mode() & 0o7777;
            let made: Vec<u32> = [scratch.traces().join("new"), output.clone()].iter().map(|path| mode(path)).collect();
            assert_eq!(made, [directory; 2], "{asked} {umask} {end}: {outcome:?}");
            let traces = Traces::read(&output).files;
            assert_eq!(traces.iter().map(|file| mode(file)).collect::<Vec<_>>(), [trace], "{asked} {umask} {end}");
        }
    }
}
