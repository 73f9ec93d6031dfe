//! Tests of builds without the cargo feature of a destination: the error message names the missing feature and how to get it.

use crate::live_sinks::program::agent;

#[test]
fn what_a_build_lacks_is_said() {
    let all = [
        (cfg!(feature = "live-http"), "--to", "influx:http://127.0.0.1:1/write", "live-http"),
        (cfg!(feature = "postgres"), "--to", "postgres://127.0.0.1:1/none", "postgres"),
        (cfg!(feature = "nats"), "--to", "nats://127.0.0.1:1", "nats"),
        (cfg!(feature = "nats"), "--from", "nats://127.0.0.1:1", "nats"),
    ];
    for (_, option, url, feature) in all.iter().filter(|(is_here, ..)| !is_here) {
        let output = agent().args([option, url]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("build it with --features {feature}")), "{said}");
    }
}

#[test]
fn what_is_no_destination_is_refused() {
    for to in ["prometheus", "prometheus:", "nonsense:x", "influx:file:///x", "nats://127.0.0.1/a..b"] {
        let output = agent().args(["--for", "1s", "--to", to]).output().unwrap();
        assert!(!output.status.success(), "{to}");
    }
}
