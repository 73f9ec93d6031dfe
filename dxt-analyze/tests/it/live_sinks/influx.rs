//! Tests of the destination `--to influx:...`, with a VictoriaMetrics server.

use crate::live_sinks::program::{BLOCK, Traced};
use crate::live_sinks::server::{Server, free_port, get, program, quoted, until};
use crate::live_sinks::values::{interval, now_unix_ns, outlet};
use std::path::Path;
use std::process::Command;

/// VictoriaMetrics server with its ports for HTTP and for UDP.
struct Victoria {
    port: u16,
    datagrams: u16,
}

impl Victoria {
    fn new() -> Self {
        Self { port: free_port(), datagrams: free_port() }
    }

    fn start(&self, folder: &Path) -> Option<Server> {
        Some(Server::start(
            Command::new(program("victoria-metrics")?)
                .arg(format!("-storageDataPath={}", folder.display()))
                .arg(format!("-httpListenAddr=127.0.0.1:{}", self.port))
                .arg(format!("-influxListenAddr=127.0.0.1:{}", self.datagrams)),
        ))
    }

    /// Returns all values of a time series, over the whole stored time.
    fn values(&self, series: &str) -> Vec<f64> {
        get(self.port, "/internal/force_flush");
        let text = get(self.port, &format!("/api/v1/export?match[]={}", quoted(series))).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines
            .flat_map(|line| {
                line["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect::<Vec<_>>()
            })
            .collect()
    }

    fn sum(&self, series: &str) -> f64 {
        self.values(series).iter().sum()
    }

    fn post(&self) -> String {
        format!("influx:http://127.0.0.1:{}/write?db=dxt", self.port)
    }

    fn udp(&self) -> String {
        format!("influx:udp://127.0.0.1:{}", self.datagrams)
    }
}

#[test]
fn sums_arrive_also_at_a_server_that_comes_later_and_goes_for_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let victoria = Victoria::new();
    let mut outlet = outlet(&victoria.post());
    let now = now_unix_ns();
    // There is no server yet; the problem is reported once.
    outlet.interval(&interval(now, 3));
    let said = until("what is said", || outlet.messages().pop());
    assert!(said.contains("retrying"), "{said}");
    let Some(server) = victoria.start(folder.path()) else { return };
    let group = r#"{job="a job, \"of\" x=y",file_system="/scratch lustre",ranks="0-31",op="write",nested="false"}"#;
    until("the first", || (victoria.sum(&format!("dxt_calls{group}")) == 3.0).then_some(()));
    server.kill();
    (1..5).for_each(|second| outlet.interval(&interval(now - second * 1_000_000_000, 10)));
    // A repeated interval adds to the earlier one.
    outlet.interval(&interval(now - 1_000_000_000, 10));
    let _server = victoria.start(folder.path()).unwrap();
    outlet.end();
    until("the others", || (victoria.values(&format!("dxt_calls{group}")).len() >= 5).then_some(()));
    // The killed server loses data that it had not written to disk yet.
    let ours = victoria.values(&format!("dxt_calls{group}")).iter().filter(|calls| **calls == 10.0).count();
    assert_eq!(ours, 5);
    assert!(victoria.values(&format!("dxt_bytes{group}")).contains(&40960.0));
    assert!(victoria.values(&format!("dxt_longest_ns{group}")).iter().all(|ns| *ns == 1_000_000.0));
    assert_eq!((victoria.sum("dxt_not_seen_lines"), outlet.is_behind()), (0.0, false));
}

#[test]
fn the_sums_of_a_real_program_arrive_by_http_and_by_udp() {
    let folder = tempfile::tempdir().unwrap();
    for by_http in [true, false] {
        let victoria = Victoria::new();
        let folder = folder.path().join(by_http.to_string());
        let Some(_server) = victoria.start(&folder) else { return };
        until("the server", || get(victoria.port, "/health"));
        let mut traced = Traced::watched(&[&if by_http { victoria.post() } else { victoria.udp() }]);
        traced.write(100);
        let series = |name: &str| format!(r#"{name}{{job="job, \"of\" test",op="write",layer="POSIX"}}"#);
        until("the first writes", || (victoria.sum(&series("dxt_calls")) == 100.0).then_some(()));
        traced.write(50);
        let said = traced.end();
        until("the last writes", || (victoria.sum(&series("dxt_calls")) == 150.0).then_some(()));
        assert_eq!(victoria.sum(&series("dxt_bytes")), 150.0 * BLOCK as f64);
        assert!(said.is_empty(), "{said}");
    }
}
