//! Tests of the HTTP answers of `serve --live`: they contain the recorded calls.

use super::Running;
use crate::common;
use crate::harness::{Launch, Scratch, workload};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

/// Returns the server's answer to a GET request for the page's path followed by `what`.
fn get(address: &str, what: &str) -> String {
    let (host, path) = address.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path}{what} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_board_has_every_call_of_a_program_that_runs() {
    let scratch = Scratch::new();
    let mut command = common::command(&["serve", "--live"]);
    command.arg(scratch.spools()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Running(command.spawn().unwrap());
    let mut address = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    assert!(get(&address, "").contains("<title>I/O now</title>"));
    std::fs::write(scratch.root().join("go"), "").unwrap();
    Launch::new(&scratch, workload("live")).args(["5000", "2", "go"]).traced();
    let mut calls = 0;
    while calls < 10_002 {
        let answer = get(&address, "board");
        let board: serde_json::Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        let rates = board["points"].as_array().unwrap().iter().flat_map(|point| point["rates"].as_object().unwrap());
        calls = rates.map(|(_, rate)| rate["calls"].as_u64().unwrap()).sum();
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(calls, 10_002);
    // The server does not accept a foreign host name as its own.
    let (host, _) = address.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 421"), "{text}");
}
