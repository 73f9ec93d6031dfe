//! Servers started by the tests, and helpers to query them by HTTP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Timeout for any wait, far longer than waits usually take.
const LONG: Duration = Duration::from_secs(60);

/// Server process, killed on drop.
pub(crate) struct Server(pub(crate) Child);

impl Server {
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(child.unwrap_or_else(|error| panic!("failed to start {command:?}: {error}")))
    }

    /// Kills the server, as a node failure does.
    #[cfg(any(feature = "live-http", feature = "postgres", feature = "nats"))]
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the path of a server program that scripts/setup.sh installs, from `PATH` or from system directories that are only in root's `PATH`.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")]);
    let found = all.map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        crate::harness::skip(&format!("no {name}"));
    }
    found
}

/// Returns a port that no other test of this process gets, and that the kernel assigns to no client (`ip_local_port_range`, ip(7)).
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let ports = std::iter::repeat_with(|| {
        let next = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id());
        15_000 + (next % 15_000) as u16
    });
    ports.take(15_000).find(is_free).expect("a port is free")
}

/// Calls `ask` repeatedly until it returns a value; fails after [`LONG`].
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < LONG, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the body of an HTTP answer from a server on loopback; `None` without an answer or on an error.
pub(crate) fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost:{port}\r\n\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.lines().next()?.contains(" 200 ").then(|| body.to_owned())
}

/// Returns the JSON body of an HTTP answer from a server on loopback.
pub(crate) fn get_json(port: u16, path: &str) -> Option<serde_json::Value> {
    serde_json::from_str(&get(port, path)?).ok()
}

/// Percent-encodes text for the query part of a URL.
pub(crate) fn quoted(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Gives all users access to a folder, since servers run as other users.
#[cfg(feature = "postgres")]
pub(crate) fn open_to_all(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
}
