//! Tests of `live` against hostile users: eight users put arbitrary files among the spools, and one normal program must still be observed
//! completely. The agent, which serves all users, stays within its bounds of memory and descriptors, answers requests, and keeps up.

use super::{Running, agent_each, trouble::open_spools};
use crate::common;
use crate::harness::{Launch, Scratch, is_root, skip_here, workload};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileExt, MetadataExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use trace_format::meta::{FileDef, StreamDef};
use trace_format::segment::{Segment, StreamId};
use trace_format::spool::{HEADER_BYTES, MAGIC, PART_BYTES, Part, VERSION, chunk, folded, header, journal};

/// Upper bound of the agent's resident memory, bytes; documented in docs/live.md.
const MOST_RESIDENT: u64 = 256 << 20;
/// Limit of the agent's open files (RLIMIT_NOFILE).
const MOST_FILES: &str = "256";
/// Timeout for results that an undisturbed agent gives at once, far longer than they take.
const PATIENCE: Duration = Duration::from_secs(120);
const USERS: u32 = 8;

/// Builder of a fake spool file that claims to belong to a running process, the test itself.
struct Spool {
    header: Vec<u8>,
    journal: Vec<u8>,
}

impl Spool {
    fn new() -> Self {
        let mut header = vec![0; HEADER_BYTES];
        let mut put = |at: usize, some: &[u8]| header[at..at + some.len()].copy_from_slice(some);
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let digits: Vec<u8> = boot.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
        let boot: Vec<u8> = digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect();
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let started: u64 = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap();
        put(header::MAGIC, &MAGIC.to_le_bytes());
        put(header::VERSION, &VERSION.to_le_bytes());
        put(header::PID, &std::process::id().to_le_bytes());
        put(header::BOOT_ID, &boot);
        put(header::STARTED, &started.to_le_bytes());
        Self { header, journal: Vec::new() }
    }

    fn record(&mut self, kind: u32, payload: &[u8]) {
        self.journal.extend_from_slice(&journal::record_header(kind, payload));
        self.journal.extend_from_slice(payload);
        self.journal.resize(self.journal.len().next_multiple_of(8), 0);
    }

    /// Adds the description of job `key`, with the operation table of the tests' traces.
    fn job(&mut self, key: &str) {
        self.record(journal::kind::JOB, &common::job(key, 0).encode());
    }

    /// Adds `count` files named `name` plus a number, and one stream of writes for each.
    fn files(&mut self, count: u32, name: &str) {
        for number in 0..count {
            let path = format!("/hostile/{name}{number}");
            let file = [&journal::file(number, &FileDef::default())[..], path.as_bytes()].concat();
            self.record(journal::kind::FILE, &file);
            let stream = StreamDef { id: number, file: number, op: common::op::POSIX_WRITE, flags: 0, errno: 0 };
            self.record(journal::kind::STREAM, &journal::stream(&stream));
        }
    }

    /// Writes the spool to `path`. Each of `parts` follows the journal, with its content and the length that the header claims for it.
    fn write(mut self, path: &Path, parts: &[(Part, Vec<u8>, u64)]) {
        let file = File::create(path).unwrap();
        let mut at = HEADER_BYTES as u64;
        let mut entry = |part: Part, bytes: &[u8], claim: u64| {
            for (i, value) in [at, claim, claim].into_iter().enumerate() {
                let place = header::PARTS + part as usize * PART_BYTES + i * 8;
                self.header[place..place + 8].copy_from_slice(&value.to_le_bytes());
            }
            file.write_all_at(bytes, at).unwrap();
            at += claim.next_multiple_of(4096);
        };
        entry(Part::Journal, &self.journal, self.journal.len() as u64);
        parts.iter().for_each(|(part, bytes, claim)| entry(*part, bytes, *claim));
        file.set_len(at).unwrap();
        file.write_all_at(&self.header, 0).unwrap();
    }
}

/// Returns the segments area of a spool: full chunks, in which consecutive segments belong to consecutive streams and end 1 s apart.
fn arena(chunks: u32, streams: u32) -> Vec<u8> {
    const CHUNK: usize = 64 << 10;
    let slots = (CHUNK - chunk::HEADER_BYTES) / size_of::<Segment>();
    let mut bytes = Vec::with_capacity(chunks as usize * CHUNK);
    for sequence in 0..chunks {
        let mut one = vec![0; chunk::HEADER_BYTES];
        one[chunk::MAGIC..chunk::MAGIC + 8].copy_from_slice(&chunk::MAGIC_VALUE.to_le_bytes());
        one[chunk::BYTES..chunk::BYTES + 4].copy_from_slice(&(CHUNK as u32).to_le_bytes());
        one[chunk::STATE..chunk::STATE + 4].copy_from_slice(&chunk::FULL.to_le_bytes());
        one[chunk::SEQUENCE..chunk::SEQUENCE + 4].copy_from_slice(&sequence.to_le_bytes());
        for slot in 0..slots {
            let number = u64::from(sequence) * slots as u64 + slot as u64;
            let stream = StreamId((number % u64::from(streams)) as u32);
            let end = (number + 1) * 1_000_000_000;
            one.extend([0, Segment::new(stream, 0, 5, 0, 0).word, end - 5, end].map(u64::to_le_bytes).concat());
        }
        one.resize(CHUNK, 0);
        bytes.extend(one);
    }
    bytes
}

/// Writes one user's hostile files to another directory, then moves them to the spool directory, so that each belongs to the user as soon
/// as it is visible.
fn put_among(scratch: &Scratch, user: u32) {
    let spools = &scratch.root().join(user.to_string());
    std::fs::create_dir(spools).unwrap();
    let path = |what: u32, number: u32| spools.join(format!("dxt-{user}-{what}-1-{number}.spool"));
    let whole = |arena: Vec<u8>| {
        let claim = arena.len() as u64;
        (Part::Arena, arena, claim)
    };
    // This spool is of a process with very many files of long names, used 1 s apart, and has another job name each time.
    for number in 0..3 {
        let mut spool = Spool::new();
        spool.job(&format!("job {number} of {user}{}", "x".repeat(1000)));
        spool.files(4_000, &"n".repeat(3_900));
        spool.write(&path(1, number), &[whole(arena(4, 4_000))]);
    }
    // This spool has very many files with short names.
    let mut spool = Spool::new();
    spool.job(&format!("many of {user}"));
    spool.files(150_000, "");
    spool.write(&path(2, 0), &[whole(arena(16, 150_000))]);
    // This spool has counters of more streams than are allowed.
    let mut spool = Spool::new();
    spool.job(&format!("counters of {user}"));
    let mut entries = vec![0; 50_000 * folded::BYTES];
    for (number, entry) in entries.chunks_exact_mut(folded::BYTES).enumerate() {
        entry[..8].copy_from_slice(&(number as u64 + 1).to_le_bytes());
        entry[folded::SUMS..folded::SUMS + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    }
    let claim = entries.len() as u64;
    spool.write(&path(3, 0), &[(Part::Folded, entries, claim)]);
    // This spool has 8 million lines, and claims lengths without bytes.
    let mut spool = Spool::new();
    spool.record(journal::kind::NOTES, &vec![b'\n'; 8 << 20]);
    spool.write(&path(4, 0), &[(Part::Arena, vec![0; 4096], 5 << 40)]);
    for (number, part) in [Part::Scratch, Part::Folded, Part::Staging, Part::SyncPoints].into_iter().enumerate() {
        Spool::new().write(&path(5, number as u32), &[(part, vec![1; 4096], 1 << 40)]);
    }
    // Garbage, empty files and special files are added.
    for number in 0..300 {
        std::fs::write(path(6, number), vec![number as u8; 8192]).unwrap();
        std::fs::write(path(7, number), "").unwrap();
        let mut spool = Spool::new();
        spool.job(&format!("{number} of {user}"));
        spool.files(20, "a");
        spool.write(&path(8, number), &[whole(arena(1, 20))]);
    }
    for number in 0..100 {
        symlink("/etc/passwd", path(9, number)).unwrap();
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path(10, 0),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    for entry in std::fs::read_dir(spools).unwrap().flatten() {
        lchown(entry.path(), Some(user), None).unwrap();
        std::fs::rename(entry.path(), scratch.spools().join(entry.file_name())).unwrap();
    }
}

/// Starts an agent that may open only a few files.
fn small_agent(scratch: &Scratch, args: &[&str]) -> Running {
    let named = agent_each(scratch, "500ms", args);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("ulimit -n {MOST_FILES}; exec \"$0\" \"$@\"")]);
    command.arg(named.get_program()).args(named.get_args()).current_dir(scratch.data());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(scratch.data().join("said")).unwrap());
    Running::started(command)
}

/// Returns the agent's peak resident memory, bytes.
fn resident(agent: &Running) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", agent.0.id())).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Returns the metrics that an agent serves to Prometheus.
fn metrics(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(format!("GET /metrics HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200").then_some(answer)
}

/// Incremental reader of an agent's interval file, which grows to hundreds of MB. Counts the writes of one job.
#[derive(Default)]
struct Shown {
    lines: Option<BufReader<File>>,
    begun: String,
    calls: u64,
}

impl Shown {
    /// Continues reading where the last call ended; returns the writes counted so far. `is_of` is true for lines of the job.
    fn read(&mut self, scratch: &Scratch, is_of: impl Fn(&str) -> bool) -> u64 {
        if self.lines.is_none() {
            self.lines = File::open(scratch.data().join("intervals")).ok().map(BufReader::new);
        }
        let Some(lines) = &mut self.lines else { return 0 };
        while lines.read_line(&mut self.begun).unwrap() > 0 && self.begun.ends_with('\n') {
            let line = std::mem::take(&mut self.begun);
            if is_of(&line) {
                let sums: serde_json::Value = serde_json::from_str(&line).unwrap();
                let is_write = sums["op"] == "pwrite" || sums["op"] == "write";
                self.calls += if is_write { sums["calls"].as_u64().unwrap() } else { 0 };
            }
        }
        self.calls
    }
}

/// Runs a program until the agent has shown all of its calls. `is_of` is true for output lines of the program's job.
fn watch_one(scratch: &Scratch, agent: &Running, is_of: impl Fn(&str) -> bool + Sync) {
    const EXPECTED: u64 = 20_000;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            let (mut shown, mut seen) = (Shown::default(), 0);
            while seen < EXPECTED && begun.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(200));
                seen = shown.read(scratch, &is_of);
            }
            std::fs::write(scratch.root().join("go"), "").unwrap();
            eprintln!("{seen} calls were shown after {:?}", begun.elapsed());
            assert_eq!(seen, EXPECTED, "{} MiB", resident(agent) >> 20);
        });
        Launch::new(scratch, workload("live")).args(["5000", "4", "go"]).traced();
    });
}

#[test]
fn what_eight_users_put_among_spools_neither_fills_the_memory_nor_hides_anybody() {
    if !is_root() {
        return skip_here("other users' files can only be made by root");
    }
    let scratch = Scratch::new();
    let port = crate::live_sinks::server::free_port();
    let agent =
        small_agent(&scratch, &["--to", "intervals:intervals", "--to", &format!("prometheus:{port}")]).watching();
    std::thread::scope(|scope| {
        for user in 0..USERS {
            let scratch = &scratch;
            scope.spawn(move || put_among(scratch, 20_000 + user));
        }
    });
    // Spools of all users are read at the same time.
    watch_one(&scratch, &agent, |line| !line.contains(" of 200") && !line.contains("\"job\":\"others\""));
    let text = metrics(port).unwrap();
    assert!(text.contains("dxt_calls_total{job="), "{text}");
    // The agent opens some spools of each user, however many wait.
    let mut users: BTreeSet<u32> = (20_000..20_000 + USERS).collect();
    let begun = Instant::now();
    while !users.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "none is open of {users:?}");
        let owners = open_spools(&agent).into_iter().filter_map(|path| Some(path.metadata().ok()?.uid()));
        owners.for_each(|owner| _ = users.remove(&owner));
        std::thread::sleep(Duration::from_millis(50));
    }
    let files = std::fs::read_dir(format!("/proc/{}/fd", agent.0.id())).unwrap().count();
    assert!(files < 256, "{files} files are open");
    // The agent gets time to read everything readable in the spools.
    std::thread::sleep(Duration::from_secs(10));
    let memory = resident(&agent);
    assert!(memory < MOST_RESIDENT, "{} MiB", memory >> 20);
    let said = std::fs::read_to_string(scratch.data().join("said")).unwrap();
    assert!(said.lines().count() < 200, "{said}");
    eprintln!("{} MiB at most, {} files open, {} lines said", memory >> 20, files, said.lines().count());
}

/// A spool directory with 100,000 files, more than there are processes on any node, does not delay the agent.
#[test]
fn a_hundred_thousand_names_are_passed_by() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.spools()).unwrap();
    let name = |number: u32| -> PathBuf { scratch.spools().join(format!("dxt-20000-{number}-1-0.spool")) };
    std::fs::write(name(0), "").unwrap();
    let _ = lchown(name(0), Some(20_000), None);
    // Hard links to one file give as many names, and are made quickly.
    for number in 1..100_000_u32 {
        let from = name(number / 50_000 * 50_000);
        if std::fs::hard_link(&from, name(number)).is_err() {
            std::fs::write(name(number), "").unwrap();
        }
    }
    let agent = small_agent(&scratch, &["--to", "intervals:intervals"]).watching();
    watch_one(&scratch, &agent, |_| true);
    let memory = resident(&agent);
    assert!(memory < MOST_RESIDENT, "{} MiB", memory >> 20);
}
