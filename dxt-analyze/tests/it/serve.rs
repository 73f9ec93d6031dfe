//! Tests of `serve`, the server of the report page: answers, refused requests, and termination.

use crate::common::{command, put, small, trace};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

struct Server {
    child: Child,
    port: u16,
    word: String,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (job, processes) = small();
        let path = put(folder.path(), "a.dxt", &trace(&job, processes));
        Self::of(folder, &path)
    }

    fn of(folder: tempfile::TempDir, path: &str) -> Self {
        let mut child =
            command(&["serve", path]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a server");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        Self::at(child, line.trim(), folder)
    }

    fn at(child: Child, address: &str, folder: tempfile::TempDir) -> Self {
        let rest = address.strip_prefix("http://127.0.0.1:").expect("an address").to_owned();
        let (port, word) = rest.split_once('/').expect("a path");
        Self { child, port: port.parse().expect("a port"), word: word.trim_end_matches('/').into(), _folder: folder }
    }

    /// Returns status and body of the answer to an HTTP request with this first line and `Host` header.
    fn ask(&self, request: &str, host: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        let text = format!("{request} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).expect("to ask");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        (status, answer.split_once("\r\n\r\n").map_or_else(String::new, |(_, body)| body.into()))
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.ask(&format!("GET /{}/{path}", self.word), &format!("127.0.0.1:{}", self.port))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_and_its_tiles_are_served() {
    let server = Server::start();
    let (status, page) = server.get("");
    assert!(status == 200 && page.contains("\"tiles\":true"));
    let (status, body) = server.get("tile?rows=ranks&from=9000&until=26000");
    assert_eq!(status, 200, "{body}");
    let tile: Value = serde_json::from_str(&body).expect("JSON");
    // Per rank, the tile has the first write, of MPI-IO and of POSIX, and the second, which begins inside the time range.
    assert_eq!(tile["calls"]["start_ns"].as_array().map(Vec::len), Some(4 * 4));
    assert_eq!(tile["grid"]["rows"].as_array().map(Vec::len), Some(4));
    let (_, body) = server.get("tile?rows=ranks&from=9000&until=26000&first=1&end=3");
    let tile: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((&tile["grid"]["first"], &tile["grid"]["rows"][0]["label"]), (&1.into(), &"rank 1".into()));
    assert_eq!(tile["calls"]["process"], serde_json::json!([1, 1, 1, 1, 2, 2, 2, 2]));
    for rows in ["nodes", "files", "targets"] {
        let (status, body) = server.get(&format!("tile?rows={rows}&from=0&until=18446744073709551615"));
        let tile: Value = serde_json::from_str(&body).expect("JSON");
        assert!(status == 200 && tile["calls"].is_null());
    }
}

/// If output goes to files, as for a server in the background, the address is printed at once, and progress messages precede it.
#[test]
fn the_address_is_printed_at_once_also_into_files_with_progress_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (job, processes) = small();
    let path = put(folder.path(), "a.dxt", &trace(&job, processes));
    let (out, err) = (folder.path().join("out"), folder.path().join("err"));
    let file = |path: &std::path::Path| std::fs::File::create(path).expect("a file");
    let child = command(&["serve", &path]).stdout(file(&out)).stderr(file(&err)).spawn().expect("a server");
    let read = |path: &std::path::Path| std::fs::read_to_string(path).expect("what it said");
    let mut said = String::new();
    while !read(&out).ends_with('\n') {
        // All messages so far precede the address.
        said = read(&err);
        std::thread::yield_now();
    }
    let after = read(&err);
    let mut server = Server::at(child, read(&out).trim(), folder);
    assert!(
        after.starts_with("opening 1 input\nreading 28 segments of 4 processes\n") && after.starts_with(&said),
        "{after}"
    );
    assert!(server.child.try_wait().expect("its state").is_none(), "it ended: {after}");
    // Requests before the page is ready wait for it.
    assert!(server.get("").1.contains("\"tiles\":true"));
}

/// A browser that connects while the trace is still being read is shown the progress.
#[test]
fn the_page_that_waits_says_how_much_has_been_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.dxt");
    let args = ["dxt-synth", "file-per-process", "-n", "64", "--segments", "20000", "-o"];
    dxt_synth::run(args.iter().map(std::ffi::OsStr::new).chain([path.as_os_str()])).expect("a trace");
    let server = Server::of(folder, path.to_str().expect("a path"));
    let host = format!("127.0.0.1:{}\r\nAccept: text/html", server.port);
    let mut seen: Vec<(String, u64)> = Vec::new();
    loop {
        let (status, page) = server.ask(&format!("GET /{}/", server.word), &host);
        assert_eq!(status, 200);
        if page.contains("\"tiles\":true") {
            break;
        }
        assert!(page.contains("Reading 1,280,128 segments of 64 processes"), "{page}");
        if let Some((_, rest)) = page.split_once("</progress> ") {
            let said = rest.split_once(" %").and_then(|(said, _)| said.rsplit_once(": ")).expect("a percentage");
            seen.push((said.0.to_owned(), said.1.parse().expect("a number")));
        }
    }
    let grows = |pair: &[(String, u64)]| pair[0].0 != pair[1].0 || pair[0].1 <= pair[1].1;
    assert!(seen.iter().all(|(_, percent)| *percent <= 100) && seen.windows(2).all(grows), "{seen:?}");
    assert!(seen.iter().any(|(work, percent)| work == "reading" && (1..=99).contains(percent)), "{seen:?}");
}

/// Input that cannot be read gives an error message and no address.
#[test]
fn there_is_no_address_of_what_cannot_be_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let (job, processes) = small();
    let path = put(folder.path(), "a.dxt", &trace(&job, processes));
    let layout = put(folder.path(), "layout", b"nonsense here\n");
    for args in [vec!["serve", "/nowhere/a.dxt"], vec!["serve", &path, "--layout", &layout]] {
        let output = command(&args).output().expect("it ends");
        assert!(output.stdout.is_empty() && output.status.code() != Some(0), "{args:?}: {output:?}");
    }
}

/// If a request is cancelled, the server stops reading the trace for it.
#[test]
fn a_scan_that_nobody_waits_for_reads_no_more() {
    use dxt_analyze::model::Run;
    use dxt_analyze::scan::{Analysis, Block, Progress, scan};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Consumer of a scan that counts the segments passed to it.
    struct Count;

    impl Analysis for Count {
        type Partial = u64;

        fn start(&self) -> u64 {
            0
        }

        fn block(&self, partial: &mut u64, block: &Block<'_>) {
            *partial += block.rows().count() as u64;
        }

        fn merge(&self, into: &mut u64, other: u64) {
            *into += other;
        }
    }

    /// Progress that stops the scan after the given number of segments.
    struct Until(u64, AtomicU64);

    impl Progress for Until {
        fn advance(&self, segments: u64) {
            self.1.fetch_add(segments, Ordering::Relaxed);
        }

        fn stopped(&self) -> bool {
            self.1.load(Ordering::Relaxed) >= self.0
        }
    }

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.dxt");
    let args = ["dxt-synth", "file-per-process", "-n", "512", "--segments", "20", "-o"];
    dxt_synth::run(args.iter().map(std::ffi::OsStr::new).chain([path.as_os_str()])).expect("a trace");
    let run: Run = dxt_analyze::load::load_paths(&[path], None).expect("a run");
    let read = |most| scan(&run, &Count, &Until(most, AtomicU64::new(0))).0;
    assert_eq!((read(u64::MAX), read(0)), (run.segments(), 0));
    let some = read(100);
    assert!((1..run.segments() / 2).contains(&some), "{some} of {}", run.segments());
}

#[test]
fn what_makes_no_sense_is_refused_and_the_server_goes_on() {
    let server = Server::start();
    let wrong = [
        "tile",
        "tile?rows=ranks",
        "tile?rows=cats&from=0&until=1",
        "tile?rows=ranks&from=5&until=5",
        "tile?rows=ranks&from=-1&until=5",
        "tile?rows=ranks&from=0&until=99999999999999999999",
        "tile?rows=ranks&from=0&until=9&first=3&end=2",
        "tile?rows=ranks&from=0&until=9&more=1",
    ];
    for query in wrong {
        assert_eq!(server.get(query).0, 400, "{query}");
    }
    assert_eq!(server.get("../../etc/passwd").0, 404);
    assert_eq!(server.get("other").0, 404);
    let own = format!("127.0.0.1:{}", server.port);
    assert_eq!(server.ask("GET /", &own).0, 404);
    assert_eq!(server.ask(&format!("POST /{}/", server.word), &own).0, 405);
    // A page under a foreign host name that resolves to this address learns nothing.
    for host in ["evil.example", &format!("evil.example:{}", server.port), "127.0.0.1", "127.0.0.1:1"] {
        assert_eq!(server.ask(&format!("GET /{}/", server.word), host).0, 421, "{host}");
    }
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    stream.write_all(b"\0\xff nonsense\r\n\r\n").expect("to write");
    let _ = stream.read(&mut [0; 100]);
    let far = "tile?rows=ranks&from=18446744073709551614&until=18446744073709551615&first=4294967295";
    assert_eq!(server.get(far).0, 200);
    assert_eq!(server.get("").0, 200);
}

#[test]
fn an_interrupt_ends_it_well() {
    let mut server = Server::start();
    let status = Command::new("kill").args(["-INT", &server.child.id().to_string()]).status().expect("kill");
    assert!(status.success());
    assert_eq!(server.child.wait().expect("its end").code(), Some(0));
}

/// Incomplete requests and unread answers do not delay others: 500 such connections are opened before a normal request.
#[test]
fn connections_that_wait_keep_nobody_from_an_answer() {
    let server = Server::start();
    assert_eq!(server.get("").0, 200);
    let begins = [
        String::new(),
        "GET / HT".to_owned(),
        format!("GET /{}/ HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX: ", server.word, server.port),
        // The client never reads several answers of some MB.
        format!("GET /{}/ HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", server.word, server.port),
    ];
    for begin in begins {
        let idle: Vec<TcpStream> = (0..500)
            .map(|_| {
                let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
                // The server may have closed the connection by now.
                let _ = stream.write_all(begin.as_bytes());
                stream
            })
            .collect();
        let (status, page) = server.get("");
        assert!(status == 200 && page.contains("\"tiles\":true"), "{begin:?}");
        let files = std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).expect("its files").count();
        assert!(files < 80, "{files} files are open after {begin:?}");
        drop(idle);
    }
}

/// Requests sent a byte at a time, or without an end, are cut off at limits of time and size.
#[test]
fn a_request_has_so_much_time_and_so_many_bytes() {
    let server = Server::start();
    let connect = || {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("a time");
        stream
    };
    let mut slow = connect();
    let begun = std::time::Instant::now();
    for byte in format!("GET /{}/ HTTP/1.1\r\nX: {}", server.word, "x".repeat(100)).bytes() {
        if slow.write_all(&[byte]).is_err() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    assert!(begun.elapsed().as_secs() < 40, "it was heard for {:?}", begun.elapsed());
    let mut silent = connect();
    let mut rest = Vec::new();
    assert!(!matches!(silent.read_to_end(&mut rest), Ok(1..)), "silence was answered");
    let mut long = connect();
    let head = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX: {}\r\n\r\n", server.port, "x".repeat(1 << 20));
    let _ = long.write_all(head.as_bytes());
    let mut answer = [0; 12];
    let read = long.read(&mut answer).unwrap_or(0);
    assert!(!answer[..read].ends_with(b"200") && !answer[..read].ends_with(b"404"), "a head of 1 MiB was taken");
    let _ = answer;
}
