//! Tests of input and output files. Special files are refused with a message that names them, without waiting; sparse files cost no memory;
//! links are not followed. Outputs get the access rights of their trace, and control characters in names are escaped.

use crate::common::{command, hdf5, job, op, process, put, small, text, trace};
use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use trace_format::meta::path_hash;

/// Commands that read traces and print findings, with the options that each needs.
const SUBCOMMANDS: [&[&str]; 17] = [
    &["summary"],
    &["ledger"],
    &["counters"],
    &["layers"],
    &["checks", "--all"],
    &["timeline"],
    &["signatures"],
    &["stripes"],
    &["outliers", "--by", "file"],
    &["outliers", "--by", "node"],
    &["outliers", "--by", "rank"],
    &["check"],
    &["dump"],
    &["corpus"],
    &["scaling"],
    &["report"],
    &["explain"],
];

fn bytes() -> Vec<u8> {
    let (job, processes) = small();
    trace(&job, processes)
}

/// Runs dxt-analyze with at most 20 s of processor time and 3 GB of address space.
fn bounded(folder: &Path, args: &[&str]) -> Output {
    let mut shell = Command::new("bash");
    shell.args(["-c", "ulimit -v 3000000; ulimit -t 20; exec timeout 120 \"$0\" \"$@\""]);
    shell.arg(env!("CARGO_BIN_EXE_dxt-analyze")).args(args).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn rights(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o777
}

#[test]
fn what_is_no_regular_file_is_called_by_its_name_and_nobody_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let good = put(folder.path(), "good.dxt", &bytes());
    fifo(&at("pipe.dxt"));
    symlink("pipe.dxt", at("link.dxt")).unwrap();
    symlink("/dev/zero", at("zero.darshan")).unwrap();
    let _listener = UnixListener::bind(at("socket.csv")).unwrap();
    let odd =
        [("pipe.dxt", "FIFO"), ("link.dxt", "FIFO"), ("zero.darshan", "character device"), ("socket.csv", "socket")];
    let reads: [&[&str]; 10] = [
        &["summary"],
        &["check"],
        &["dump"],
        &["report", "-o", "page.html"],
        &["convert", "-o", "made.dxt"],
        &["export", "--to", "csv", "-o", "-"],
        &["advise"],
        &["corpus"],
        &["scaling"],
        &["serve"],
    ];
    for (name, what) in odd {
        for subcommand in reads {
            let output = bounded(folder.path(), &[subcommand, &[name]].concat());
            let words = words(&output);
            assert_ne!(output.status.code(), Some(0), "{subcommand:?} {name}: {words}");
            assert!(words.contains(what) && words.contains(name), "{subcommand:?} {name}: {words}");
        }
        // Options beside a trace also name files.
        for option in ["--thresholds", "--layout"] {
            let output = bounded(folder.path(), &["stripes", &good, option, name]);
            let words = words(&output);
            assert_ne!(output.status.code(), Some(0), "{option} {name}");
            assert!(words.contains(what) && words.contains(name), "{option} {name}: {words}");
        }
        for args in [&["recover", "-o", "out.dxt", name][..], &["live", "--for", "100ms", "--state", name]] {
            let output = bounded(folder.path(), args);
            let words = words(&output);
            let is_said = words.contains("regular file") || words.contains("symbolic link");
            assert!(output.status.code() != Some(0) && is_said && words.contains(name), "{args:?}: {words}");
        }
    }
    // Special files in a directory do not keep the other files from being read.
    let all = bounded(folder.path(), &["summary", "."]);
    let said = words(&all);
    assert_eq!(all.status.code(), Some(3), "{said}");
    assert!(said.contains("FIFO") && said.contains("job-1"), "{said}");
    let corpus = bounded(folder.path(), &["corpus", "."]);
    assert_eq!(corpus.status.code(), Some(3), "{}", words(&corpus));
}

#[test]
fn open_pipes_and_files_on_standard_input_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let good = put(folder.path(), "good.dxt", &bytes());
    let named = command(&["summary", &good]).output().unwrap();
    let program = env!("CARGO_BIN_EXE_dxt-analyze");
    for script in [
        "\"$0\" summary <(cat \"$1\")",
        "\"$0\" summary - <\"$1\"",
        "\"$0\" summary /dev/stdin <\"$1\"",
        "cat \"$1\" | \"$0\" summary -",
        "cat \"$1\" | \"$0\" summary /proc/self/fd/0",
        // The pipe's writer has exited before reading starts.
        "exec 7< <(cat \"$1\"); sleep 0.3; \"$0\" summary /dev/fd/7",
        // Reading starts at the current offset of the descriptor.
        "(printf xx; cat \"$1\") >both; { dd bs=1 count=2 status=none >/dev/null; \"$0\" summary -; } <both",
    ] {
        let output = Command::new("timeout")
            .args(["60", "bash", "-c", script, program, &good])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{script}: {}", words(&output));
        assert_eq!(output.stdout, named.stdout, "{script}");
    }
    for (stdin, what) in [("/dev/zero", "character device"), ("/", "directory")] {
        let output = command(&["summary", "-"]).stdin(File::open(stdin).unwrap()).output().unwrap();
        let words = words(&output);
        assert!(output.status.code() == Some(1) && words.contains(what), "{words}");
    }
}

#[test]
fn a_hole_of_terabytes_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let long = |name: &str, bytes: &[u8]| {
        let path = put(folder.path(), name, bytes);
        let done = File::options().write(true).open(&path).and_then(|file| file.set_len(5 << 40));
        done.is_ok().then_some(path)
    };
    let Some(cut) = long("a.dxt", &bytes()) else {
        return crate::common::skip_here("holes: this file system has no files of 5 TiB");
    };
    let log = std::fs::read(crate::common::logs().into_iter().find(|log| log.metadata().unwrap().len() > 0).unwrap())
        .unwrap();
    let log = long("b.darshan", &log).unwrap();
    let whole = put(folder.path(), "whole.dxt", &bytes());
    let rows = command(&["export", &whole, "--to", "csv", "-o", "-"]).output().unwrap();
    assert!(rows.status.success());
    let connector = "uid,exe,job_id,rank,ProducerName,file,record_id,module,type,max_byte,switches,flushes,cnt,op,pt_sel,irreg_hslab,\
                     reg_hslab,ndims,npoints,off,len,start,dur,total,timestamp\n\
                     1000,/bin/a,7,0,n1,/x,9,POSIX,MOD,9,0,-1,1,write,-1,-1,-1,-1,-1,0,10,0.1,0.1,0.1,1700000000.5\n";
    let rows = long("c.csv", connector.as_bytes()).unwrap();
    let empty = long("d.dxt", b"").unwrap();
    let uses: [&[&str]; 9] = [
        &["summary"],
        &["check"],
        &["dump"],
        &["checks"],
        &["outliers", "--by", "rank"],
        &["report", "-o", "page.html"],
        &["export", "--force", "--to", "csv", "-o", "x.csv"],
        &["export", "--force", "--to", "parquet", "-o", "parquet"],
        &["corpus"],
    ];
    for (path, code) in [(&cut, 3), (&log, 0), (&rows, 3), (&empty, 1)] {
        for subcommand in uses {
            let output = bounded(folder.path(), &[subcommand, &[path.as_str()]].concat());
            let code = if subcommand == ["corpus"] { output.status.code().unwrap_or(9) } else { code };
            // Some logs are incomplete by themselves.
            let may = output.status.code() == Some(code) || path == &log && output.status.code() == Some(3);
            assert!(
                may && output.status.code().is_some_and(|code| code < 4),
                "{subcommand:?} {path}: {}",
                words(&output)
            );
        }
    }
    // Data behind a hole in the middle of a file is found.
    let whole_bytes = bytes();
    let middle = folder.path().join("middle.dxt");
    let file = File::create_new(&middle).unwrap();
    let (before, behind) = whole_bytes.split_at(whole_bytes.len() / 2);
    file.write_all_at(before, 0).and_then(|()| file.write_all_at(behind, 1 << 40)).unwrap();
    let output = bounded(folder.path(), &["check", text(&middle), "--format", "json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &found["files"][0]["state"]), (Some(3), &"damaged".into()), "{found}");
    assert!(found["files"][0]["segments"].as_u64().unwrap() > 0, "{found}");
    let piped = command(&["summary", "-"]).stdin(File::open(&cut).unwrap()).output().unwrap();
    assert_eq!(piped.status.code(), Some(3), "{}", words(&piped));
    for (name, bytes, option) in
        [("layout", "*.h5 size=1M count=2\n", "--layout"), ("thresholds", "random_min = 3\n", "--thresholds")]
    {
        let path = long(name, bytes.as_bytes()).unwrap();
        let output = bounded(folder.path(), &["stripes", &whole, option, &path]);
        assert!(words(&output).contains("longer than 16 MiB"), "{}", words(&output));
    }
}

#[test]
fn nothing_is_written_through_a_link_and_nothing_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("spools")).unwrap();
    let live = |args: &[&str]| bounded(folder.path(), &[&["live", "spools", "--for", "300ms"], args].concat());
    for (option, before) in
        [("--ready", ""), ("--to", "events:"), ("--to", "csv:"), ("--to", "intervals:"), ("--state", "")]
    {
        std::fs::write(at("mine"), "mine\n").unwrap();
        let _ = std::fs::remove_file(at("link"));
        symlink(at("mine"), at("link")).unwrap();
        symlink(at("absent"), at("dangling")).unwrap();
        for name in ["mine", "link", "dangling"] {
            let output = live(&[option, &format!("{before}{}", text(&at(name)))]);
            // An existing file signals that the agent is ready, regardless of its contents.
            let may = option == "--ready" && name == "mine";
            assert_eq!(output.status.code() == Some(0), may, "{option} {before}{name}: {}", words(&output));
            assert_eq!(std::fs::read(at("mine")).unwrap(), b"mine\n", "{option} {before}{name}");
            assert!(at("dangling").is_symlink() && at("link").is_symlink() && !at("absent").exists());
        }
        std::fs::remove_file(at("dangling")).unwrap();
    }
    // Output of an earlier agent is continued; any other file of that name is refused.
    let (state, events) = (at("state"), at("events"));
    let to = format!("intervals:{}", text(&events));
    let args = ["--state", text(&state), "--to", &to, "--interval", "100ms", "--ready", "is-ready"];
    for _ in 0..2 {
        let output = live(&args);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    }
    assert!(events.metadata().unwrap().len() > 0 && at("is-ready").exists());
    assert_eq!((rights(&events), rights(&state)), (0o600, 0o600));
    for others in ["mine, all of it, and more than the agent has ever written here\n".repeat(100), "{\"a\":1}\n".into()]
    {
        std::fs::write(&events, &others).unwrap();
        let output = live(&args);
        assert_ne!(output.status.code(), Some(0), "{}", words(&output));
        assert_eq!(std::fs::read_to_string(&events).unwrap(), others);
    }
    // Manual pages and completions replace a link, not its target.
    std::fs::create_dir_all(at("made/share/man/man1")).unwrap();
    symlink(at("mine"), at("made/share/man/man1/dxt-analyze.1")).unwrap();
    let made = bounded(folder.path(), &["generate", "made"]);
    assert_eq!(made.status.code(), Some(0), "{}", words(&made));
    assert_eq!(std::fs::read(at("mine")).unwrap(), b"mine\n");
    put(folder.path(), "good.dxt", &bytes());
    std::fs::create_dir(at("corpus")).unwrap();
    symlink(at("mine"), at("corpus/.lock")).unwrap();
    let grown = bounded(folder.path(), &["corpus", "good.dxt", "--incremental", "-o", "corpus"]);
    assert_ne!(grown.status.code(), Some(0), "{}", words(&grown));
    assert_eq!(std::fs::read(at("mine")).unwrap(), b"mine\n");
}

/// Appends all files below a folder to `out`, recursively.
fn below(folder: &Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { below(&path, out) } else { out.push(path) }
    }
}

#[test]
fn what_is_made_of_a_trace_has_its_access_rights() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let log = std::fs::read(crate::common::logs().into_iter().find(|log| log.metadata().unwrap().len() > 0).unwrap())
        .unwrap();
    let (one, two) = (at("one.dxt"), at("two.dxt"));
    let log_path = at("log.darshan");
    std::fs::write(&one, hdf5()).unwrap();
    std::fs::write(&two, bytes()).unwrap();
    std::fs::write(&log_path, log).unwrap();
    let makes: [&[&str]; 14] = [
        &["report", "-o", "OUT/page.html", "ONE"],
        &["export", "--to", "csv", "-o", "OUT/csv", "ONE"],
        &["export", "--to", "json", "-o", "OUT/json", "ONE"],
        &["export", "--to", "perfetto", "-o", "OUT/perfetto", "ONE"],
        &["export", "--to", "dxt-parser", "-o", "OUT/text", "ONE"],
        &["export", "--to", "darshan", "-o", "OUT/log", "ONE"],
        &["export", "--to", "parquet", "-o", "OUT/parquet", "ONE"],
        &["export", "--to", "fio", "-o", "OUT/fio", "ONE"],
        &["convert", "-o", "OUT/made.dxt", "LOG"],
        &["corpus", "-o", "OUT/corpus", "ONE"],
        &["corpus", "--incremental", "-o", "OUT/days", "ONE"],
        &["advise", "-o", "OUT/hints", "ONE"],
        &["signatures", "--svg", "OUT/svg", "ONE"],
        &["compare", "-o", "OUT/compared.html", "TWO", "ONE"],
    ];
    let make = |args: &[&str], out: &str, more: &[&str]| {
        std::fs::create_dir_all(at(out)).unwrap();
        let full: Vec<String> = args
            .iter()
            .map(|arg| match *arg {
                "ONE" => text(&one).to_owned(),
                "TWO" => text(&two).to_owned(),
                "LOG" => text(&log_path).to_owned(),
                other => other.replace("OUT", out),
            })
            .collect();
        let full: Vec<&str> = more.iter().copied().chain(full.iter().map(String::as_str)).collect();
        let output = bounded(folder.path(), &full);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{full:?}: {}", words(&output));
        let mut made = Vec::new();
        below(&at(out), &mut made);
        made
    };
    for (number, (mode, more, expected)) in [
        (0o600, &[][..], 0o600),
        (0o640, &[], 0o640),
        (0o644, &[], 0o644),
        (0o600, &["--mode", "0644"], 0o644),
        (0o644, &["--mode", "0600"], 0o600),
    ]
    .into_iter()
    .enumerate()
    {
        std::fs::set_permissions(&one, Permissions::from_mode(mode)).unwrap();
        std::fs::set_permissions(&log_path, Permissions::from_mode(mode)).unwrap();
        for (place, args) in makes.iter().enumerate() {
            let made = make(args, &format!("out-{number}-{place}"), more);
            assert!(args[0] == "advise" || !made.is_empty(), "{args:?} made nothing");
            // The lock file of a corpus is empty.
            for path in made.iter().filter(|path| !path.ends_with(".lock")) {
                assert_eq!(rights(path), expected, "{args:?} {more:?} of {mode:o}: {}", path.display());
            }
        }
    }
    // A replaced file gets these rights as well; an output that no one could read gets rights for its user.
    let page = at("page.html");
    let report = |mode: u32, before: u32, expected: u32| {
        std::fs::set_permissions(&one, Permissions::from_mode(mode)).unwrap();
        if page.exists() {
            std::fs::set_permissions(&page, Permissions::from_mode(before)).unwrap();
        }
        make(&["report", "-o", "page.html", "ONE"], "none", &[]);
        assert_eq!(rights(&page), expected, "{mode:o} {before:o}");
    };
    report(0o444, 0, 0o644);
    report(0o600, 0o664, 0o600);
    report(0o644, 0o600, 0o600);
    // For a file of another group, only rights that everybody has are kept.
    std::fs::set_permissions(&one, Permissions::from_mode(0o640)).unwrap();
    if std::os::unix::fs::chown(&one, None, Some(12_345)).is_ok() {
        let made = make(makes[0], "other-group", &[]);
        assert_eq!(rights(&made[0]), 0o600);
    } else {
        crate::common::skip_here("a trace of another group: this user may not make one");
    }
    let bad = bounded(folder.path(), &["--mode", "0999", "summary", text(&one)]);
    assert_eq!(bad.status.code(), Some(2));
}

/// Characters in a file name that must have no effect in a terminal or page: control characters, escape sequences, direction marks,
/// zero-width characters.
const HIDDEN: &str = "a\nb\tc\x1b[31m\u{9b}1m\u{202e}gpj\u{200b}\u{2066}\u{200f}\u{61c}\u{feff}\u{2028}\u{ad}";

fn is_hidden(c: char) -> bool {
    c != '\n' && HIDDEN.contains(c) && !c.is_ascii_graphic()
}

/// Returns a trace in which every name contains [`HIDDEN`].
fn hostile() -> Vec<u8> {
    let mut of_job = job(&format!("job{HIDDEN}"), 2);
    of_job.info.exe = format!("/opt/{HIDDEN}/app{HIDDEN}").into_bytes();
    of_job.info.args = vec![[HIDDEN.as_bytes(), b"\xff\xfe"].concat(), b"--in".to_vec(), HIDDEN.into()];
    of_job.info.cwd = format!("/home/{HIDDEN}").into_bytes();
    of_job.info.scheduler = format!("SLURM_JOB_ID={HIDDEN}");
    let mut processes: Vec<_> = (0..2).map(|rank| process(rank, &format!("node{rank}{HIDDEN}"))).collect();
    for (rank, process) in processes.iter_mut().enumerate() {
        for number in 0..3 {
            let path = format!("/scratch/{HIDDEN}/{number}{HIDDEN}");
            for step in 0..40 {
                let (from, length) = (step * 1_000_000, 900_000 * (1 + rank as u64 * 20));
                process.write(&path, step as i64 * 100, 100, from, from + length);
                process.add(
                    &path,
                    op::POSIX_READ,
                    0,
                    step as i64 * 7919 % 4000,
                    100,
                    from + length,
                    from + length + 50_000,
                );
            }
            process.fail(&path, op::POSIX_OPEN, 2, 90_000_000, 90_100_000);
        }
        for file in &mut process.process.files {
            let mut path = file.path.take().unwrap();
            path.extend_from_slice(b"\xff\xc3(");
            file.hash = path_hash(&path);
            file.path = Some(path);
        }
    }
    trace(&of_job, processes)
}

#[test]
fn names_show_all_their_characters_in_tables_csv_and_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "hostile.dxt", &hostile());
    let shown = |what: &str, out: &[u8]| -> String {
        let out = String::from_utf8_lossy(out).into_owned();
        let bad: Vec<char> = out.chars().filter(|c| is_hidden(*c)).collect();
        assert!(bad.is_empty(), "{what}: {bad:?}\n{out}");
        out
    };
    let two: [&[&str]; 1] = [&["compare"]];
    for subcommand in SUBCOMMANDS.iter().chain(&two) {
        for form in ["table", "json", "csv"] {
            let form = if subcommand == &["dump"] && form == "table" { "text" } else { form };
            let inputs: &[&str] = match subcommand[0] {
                "explain" => &[],
                "compare" => &[&path, &path],
                _ => &[&path],
            };
            let mut args = [subcommand, inputs, &["--format", form]].concat();
            if form != "json" && !matches!(subcommand[0], "explain" | "dump") {
                args.extend(["--color", "never"]);
            }
            let output = bounded(folder.path(), &args);
            assert!(matches!(output.status.code(), Some(0 | 3)), "{args:?}: {}", words(&output));
            shown(&format!("{args:?}"), &output.stderr);
            if form == "json" {
                continue;
            }
            let text = shown(&format!("{args:?}"), &output.stdout);
            if form == "csv" {
                // Each row is a single line.
                let odd = text.lines().find(|line| line.matches('"').count() % 2 == 1);
                assert_eq!(odd, None, "{args:?}");
            }
        }
    }
    let summary = command(&["summary", &path, "--format", "csv", "--table", "files"]).output().unwrap();
    let dump = command(&["dump", &path, "--format", "csv"]).output().unwrap();
    for output in [&dump, &summary] {
        let text = String::from_utf8_lossy(&output.stdout);
        let name = "a\\nb\\tc\\u{1b}[31m\\u{9b}1m\\u{202e}gpj\\u{200b}";
        assert!(text.contains(name) || !output.status.success(), "{text}");
    }
    // JSON keeps names unchanged.
    let json = String::from_utf8(command(&["dump", &path, "--format", "json"]).output().unwrap().stdout).unwrap();
    let row: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert!(row["file"].as_str().unwrap().contains(HIDDEN), "{row}");
    // Hidden characters must not appear in outputs for people or for scripts that read lines.
    for (args, name) in [
        (&["export", "--to", "csv", "-o", "rows.csv", &path][..], "rows.csv"),
        (&["report", "-o", "page.html", &path], "page.html"),
        (&["compare", "-o", "two.html", &path, &path], "two.html"),
        (&["advise", "-o", "hints", &path], "hints/README.txt"),
        (&["signatures", "--svg", "svg", &path], "svg"),
    ] {
        let output = bounded(folder.path(), args);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{args:?}: {}", words(&output));
        let mut made = vec![folder.path().join(name)];
        if made[0].is_dir() {
            below(&made.remove(0), &mut made);
        }
        for path in made.iter().filter(|path| path.exists()) {
            let mut text = std::fs::read_to_string(path).unwrap();
            if name.ends_with("html") {
                // Tabs and similar characters occur in the page's own scripts and styles, but not in names.
                text = text.replace(['\t', '\u{feff}', '\u{ad}', '\u{2028}'], "");
            }
            shown(name, text.as_bytes());
        }
    }
    let rows = std::fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    assert!(rows.lines().all(|line| line.matches('"').count() % 2 == 0));
}
