//! Sums since the agent began, for Prometheus or anything else that reads its text format by HTTP.

use super::Sink;
use super::exposition::Exposition;
use crate::exit::UsageError;
use crate::live::agent::unix_ns;
use crate::live::interval::Interval;
use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most bytes of a request.
const MOST_REQUEST: usize = 8 << 10;
/// How long one may take to ask, and to read what is answered.
const PATIENCE: Duration = Duration::from_secs(2);

/// A server that answers each question with everything.
pub(crate) struct Prometheus {
    address: String,
    shown: Arc<Mutex<Exposition>>,
}

impl Prometheus {
    /// `ADDR:PORT`; of a port alone, the address is loopback's.
    ///
    /// # Errors
    /// If a user is in it: whoever can reach the address can read it.
    pub(crate) fn new(address: &str) -> Result<Self> {
        if address.contains('@') {
            bail!(UsageError("prometheus takes an address to listen at, ADDRESS:PORT, and no user".into()));
        }
        let port = address.trim_start_matches(':');
        let loopback = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let address = if loopback { format!("127.0.0.1:{port}") } else { address.to_owned() };
        Ok(Self { address, shown: Arc::default() })
    }
}

impl Sink for Prometheus {
    fn wants_events(&self) -> bool {
        false
    }

    fn begin(&mut self, _position: Option<u64>) -> Result<()> {
        let failed = || format!("failed to listen at {}", self.address);
        let addresses: Vec<SocketAddr> = self.address.to_socket_addrs().with_context(failed)?.collect();
        let listener = TcpListener::bind(&addresses[..]).with_context(failed)?;
        let shown = Arc::clone(&self.shown);
        let name = std::thread::Builder::new().name("prometheus".into());
        name.spawn(move || serve(&listener, &shown)).context("failed to begin a thread")?;
        Ok(())
    }

    fn interval(&mut self, interval: &Interval) -> Result<()> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).add(interval);
        Ok(())
    }
}

/// Answers one after the other: each has so much time only.
fn serve(listener: &TcpListener, shown: &Mutex<Exposition>) {
    for stream in listener.incoming() {
        match stream {
            // Who goes away has no answer.
            Ok(stream) => drop(answer(stream, shown)),
            // No room for another connection: some may be closed soon.
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn answer(mut stream: TcpStream, shown: &Mutex<Exposition>) -> std::io::Result<()> {
    let request = request(&mut stream)?;
    let mut words = request.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, text) = match (method, path) {
        (b"GET" | b"HEAD", b"/metrics" | b"/") => {
            ("200 OK", shown.lock().unwrap_or_else(PoisonError::into_inner).text(unix_ns()))
        }
        (b"GET" | b"HEAD", _) => ("404 Not Found", "there is /metrics only\n".to_owned()),
        _ => ("405 Method Not Allowed", "there is GET only\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        text.len()
    );
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(head.as_bytes())?;
    if method == b"GET" {
        stream.write_all(text.as_bytes())?;
    }
    stream.flush()
}

/// A request's head.
fn request(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || request.len() > MOST_REQUEST {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => request.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_loopbacks() {
        for (given, expected) in [
            ("9101", "127.0.0.1:9101"),
            (":9101", "127.0.0.1:9101"),
            ("0.0.0.0:9101", "0.0.0.0:9101"),
            ("[::1]:9101", "[::1]:9101"),
        ] {
            assert_eq!(Prometheus::new(given).unwrap().address, expected);
        }
    }
}
