//! Tests of the live page (`serve --live`) in a real browser, while a program runs.

use super::Running;
use crate::browser::driver;
use crate::common;
use crate::harness::{Scratch, library, workload};
use driver::{Browser, available};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[tokio::test]
async fn the_page_shows_a_program_that_runs_at_every_width() {
    if !available() {
        return;
    }
    let scratch = Scratch::new();
    let mut command = common::command(&["serve", "--live"]);
    command.arg(scratch.spools()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Running(command.spawn().unwrap());
    let mut address = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let mut command = Command::new(workload("live"));
    command.args(["5000", "2", "go"]).current_dir(scratch.root());
    command.env("DXT_ENABLE", "trace").env("DXT_SPOOL", scratch.spools()).env("DXT_OUTPUT_DIR", scratch.traces());
    command.env("LD_PRELOAD", library()).stdin(Stdio::null()).stdout(Stdio::null());
    let program = Running(command.spawn().unwrap());
    let browser = Browser::start(1280, 900).await;
    browser.open(address.trim()).await;
    // The file is closed once both threads have written.
    browser
        .until(
            "const board = dxt.live.board(); if (!board) return false; const calls = board.points.flatMap((point) => \
             Object.entries(point.rates)).filter(([name]) => name === 'POSIX write').reduce((all, [, rate]) => all + rate.calls, 0); \
             return calls === 10000 && document.querySelectorAll('#processes tr').length === 1",
        )
        .await;
    let shown = browser
        .js("return [document.querySelectorAll('#numbers li').length, document.querySelector('#named td').textContent, document.getElementById('out').hidden]")
        .await;
    assert_eq!(shown[0], 6);
    assert!(shown[1].as_str().unwrap().ends_with("live.dat"), "{shown}");
    for width in [400, 800, 1200, 1600] {
        browser.resize(width, 900).await;
        // Charts are redrawn shortly after a change of the window.
        browser.until("return document.documentElement.scrollWidth <= innerWidth").await;
    }
    browser.picture("live").await;
    browser.media("print").await;
    assert_eq!(browser.js("return getComputedStyle(document.querySelector('nav')).display").await, "none");
    assert_eq!(browser.console().await, Vec::<serde_json::Value>::new());
    for request in browser.requests().await {
        assert!(request.starts_with(address.trim()) || request.starts_with("data:"), "asked for {request}");
    }
    browser.end().await;
    drop((program, server));
}
