//! Tests of `live --to prometheus:...`, which answers the requests of a Prometheus server.

use crate::live_sinks::program::{BLOCK, Traced};
use crate::live_sinks::server::{Server, free_port, get, get_json, program, quoted, until};
use crate::live_sinks::values::{interval, now_unix_ns, outlet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

/// Prometheus sample: name, labels and value.
type Sample = (String, Vec<(String, String)>, f64);

/// Parses a line of the Prometheus text format: `name{label="value",...} number`.
fn sample(line: &str) -> Sample {
    let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{line}");
    let mut labels = Vec::new();
    let mut rest = rest.strip_prefix('{').unwrap_or(rest);
    while let Some((label, behind)) = rest.split_once("=\"") {
        let (mut value, mut chars) = (String::new(), behind.chars());
        loop {
            match chars.next().unwrap() {
                '"' => break,
                '\\' => value.push(match chars.next().unwrap() {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    c => panic!("\\{c} in {line}"),
                }),
                c => value.push(c),
            }
        }
        labels.push((label.trim_start_matches(',').to_owned(), value));
        rest = chars.as_str();
    }
    (name.to_owned(), labels, rest.trim_start_matches('}').trim().parse().unwrap())
}

/// Parses all samples; asserts that each has the type declared for its metric family.
fn samples(text: &str) -> Vec<Sample> {
    let mut families: Vec<(String, String)> = Vec::new();
    let mut all = Vec::new();
    for line in text.lines() {
        if let Some(about) = line.strip_prefix("# TYPE ") {
            let (name, kind) = about.split_once(' ').unwrap();
            assert!(!families.iter().any(|(other, _)| other == name), "{name} comes twice");
            families.push((name.to_owned(), kind.to_owned()));
        } else if !line.starts_with('#') {
            let sample = sample(line);
            let (name, kind) = families.last().unwrap();
            let ends: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(ends.iter().any(|end| sample.0 == format!("{name}{end}")), "{line} below {name}");
            all.push(sample);
        }
    }
    all
}

/// Idle connections, slow requests and unread answers do not prevent answers to other clients.
#[test]
fn connections_that_wait_keep_no_question_from_its_answer() {
    let port = free_port();
    let mut outlet = outlet(&format!("prometheus:{port}"));
    outlet.interval(&interval(now_unix_ns(), 7));
    assert!(get(port, "/metrics").is_some());
    for begin in
        ["", "G", "GET /metrics HTTP/1.1\r\nX: ", &format!("GET /metrics HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n")]
    {
        let idle: Vec<TcpStream> = (0..500)
            .map(|_| {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                // The server may have closed the connection by now.
                let _ = stream.write_all(begin.as_bytes());
                stream
            })
            .collect();
        let begun = Instant::now();
        let text = get(port, "/metrics").unwrap_or_else(|| panic!("no answer beside {begin:?}"));
        assert!(text.contains("dxt_calls_total{") && begun.elapsed() < Duration::from_secs(10), "{begin:?}");
        drop(idle);
    }
}

/// The server refuses requests that name a foreign host (DNS rebinding), no host, another port or another path.
#[test]
fn only_who_asks_it_by_its_own_name_is_answered() {
    let port = free_port();
    let mut outlet = outlet(&format!("prometheus:{port}"));
    outlet.interval(&interval(now_unix_ns(), 7));
    let status = |request: String| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok()).unwrap_or(0)
    };
    let of = |host: &str| status(format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    for name in ["localhost", "127.0.0.1", "[::1]"] {
        assert_eq!(of(&format!("{name}:{port}")), 200, "{name}");
    }
    for host in [format!("evil.example:{port}"), "localhost".to_owned(), "localhost:1".to_owned(), String::new()] {
        assert_eq!(of(&host), 421, "{host}");
    }
    assert_eq!(status("GET /metrics HTTP/1.0\r\n\r\n".to_owned()), 421);
    let own = format!("Host: localhost:{port}\r\n");
    assert_eq!(status(format!("GET /other HTTP/1.1\r\n{own}\r\n")), 404);
    assert_eq!(status(format!("POST /metrics HTTP/1.1\r\n{own}Content-Length: 0\r\n\r\n")), 405);
    assert_eq!(status(format!("GET /metrics HTTP/1.1\r\n{own}X: {}\r\n\r\n", "x".repeat(40_000))), 431);
    assert_eq!(status("nonsense\r\n\r\n".to_owned()), 400);
}

#[test]
fn the_text_follows_the_format() {
    let port = free_port();
    let mut outlet = outlet(&format!("prometheus:{port}"));
    outlet.interval(&interval(now_unix_ns(), 7));
    outlet.interval(&interval(now_unix_ns(), 5));
    let samples = samples(&get(port, "/metrics").unwrap());
    let value = |name: &str| samples.iter().find(|sample| sample.0 == name).unwrap().2;
    assert_eq!((value("dxt_calls_total"), value("dxt_bytes_total")), (12.0, 12.0 * 4096.0));
    assert_eq!((value("dxt_seconds_total"), value("dxt_longest_seconds")), (0.012, 0.001));
    let labels = &samples.iter().find(|sample| sample.0 == "dxt_calls_total").unwrap().1;
    assert_eq!(labels[0], ("job".to_owned(), "a job, \"of\" x=y".to_owned()));
    // Buckets are cumulative, and the last equals the count.
    for name in ["dxt_call_bytes", "dxt_call_seconds"] {
        let buckets: Vec<&Sample> = samples.iter().filter(|sample| sample.0 == format!("{name}_bucket")).collect();
        assert!(buckets.is_sorted_by_key(|sample| sample.2));
        let ends: Vec<f64> = buckets.iter().map(|sample| sample.1.last().unwrap().1.parse().unwrap()).collect();
        assert!(ends.is_sorted() && ends.last().unwrap().is_infinite(), "{ends:?}");
        assert_eq!((buckets.last().unwrap().2, value(&format!("{name}_count"))), (12.0, 12.0));
    }
    assert!(get(port, "/other").is_none());
}

#[test]
fn prometheus_reads_the_sums_of_a_real_program() {
    let Some(prometheus) = program("prometheus") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (port, here) = (free_port(), free_port());
    let jobs = format!(
        "scrape_configs: [{{job_name: dxt, scrape_interval: 500ms, scrape_timeout: 500ms, honor_labels: true, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]"
    );
    let _server = started(&prometheus, folder.path(), &jobs, here);
    let ask = |query: &str| asked(here, query);
    let mut traced = Traced::watched(&[&format!("prometheus:127.0.0.1:{port}")]);
    let group = r#"job="job, \"of\" test",layer="POSIX",op="write",nested="false",ranks="-""#;
    for blocks in [100.0, 250.0] {
        traced.write(if blocks == 100.0 { 100 } else { 150 });
        until("the writes", || (ask(&format!("sum(dxt_calls_total{{{group}}})")) == Some(blocks)).then_some(()));
    }
    assert_eq!(ask(&format!("sum(dxt_bytes_total{{{group}}})")), Some(250.0 * BLOCK as f64));
    // The median lies between 4096 and 8191 bytes, at the resolution of classic histograms.
    let median = ask(&format!("histogram_quantile(0.5, sum by (le) (dxt_call_bytes_bucket{{{group}}}))")).unwrap();
    assert!((4095.0..=8191.0).contains(&median), "{median}");
    assert_eq!(ask(&format!("sum(dxt_call_seconds_count{{{group}}})")), Some(250.0));
    assert_eq!(ask("up"), Some(1.0));
    // Every dashboard query with data to show gets an answer.
    for (title, query) in crate::live_sinks::grafana::promql(false)
        .into_iter()
        .filter(|(title, _)| title != "Data missing here, by cause")
    {
        until(&title, || ask(&query));
    }
    traced.end();
}

/// Starts a Prometheus server on port `here` with the scrape configuration `jobs` and its data in `folder`.
fn started(prometheus: &std::path::Path, folder: &std::path::Path, jobs: &str, here: u16) -> Server {
    let config = folder.join("prometheus.yml");
    std::fs::write(&config, jobs).unwrap();
    Server::start(
        Command::new(prometheus)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{here}")),
    )
}

/// Returns the first number in the answer to a query to the Prometheus server on port `here`.
fn asked(here: u16, query: &str) -> Option<f64> {
    let answer = get_json(here, &format!("/api/v1/query?query={}", quoted(query)))?;
    answer.pointer("/data/result/0/value/1")?.as_str()?.parse::<f64>().ok()
}

/// Returns the number of sectors written to this machine's disks (Documentation/admin-guide/iostats.rst of Linux).
fn written() -> u64 {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    text.lines().filter_map(|line| line.split_whitespace().nth(9)?.parse::<u64>().ok()).sum()
}

/// The dashboard's row on nodes works with a real node_exporter, and shows writes of other programs.
#[test]
fn node_exporter_shows_what_others_write() {
    let (Some(prometheus), Some(exporter)) = (program("prometheus"), program("prometheus-node-exporter")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (port, here) = (free_port(), free_port());
    let jobs = format!(
        "scrape_configs: [{{job_name: nodes, scrape_interval: 500ms, scrape_timeout: 500ms, static_configs: [{{targets: ['127.0.0.1:{port}'], labels: {{cluster: here}}}}]}}]"
    );
    let _exporter = Server::start(Command::new(exporter).arg(format!("--web.listen-address=127.0.0.1:{port}")));
    let _server = started(&prometheus, folder.path(), &jobs, here);
    let ask = |query: &str| asked(here, query);
    let queries = crate::live_sinks::grafana::promql(true);
    assert!(queries.len() >= 6, "{queries:?}");
    let has_pressure = stalled("io").is_some();
    for (title, query) in queries.iter().filter(|(_, query)| has_pressure || !query.contains("pressure")) {
        until(title, || ask(query));
    }
    let of = |what: &str| &queries.iter().find(|(_, query)| query.contains(what)).unwrap().1;
    // Runs dd and returns kernel statistics of its duration: disk writes, and stalls.
    let dd = |little: Option<&LittleMemory>| {
        let before = [Some(written()), stalled("io"), stalled("memory")];
        let to = format!("of={}", folder.path().join("file").display());
        let args = ["if=/dev/zero", &to, "bs=1M", "count=64", "conv=fsync", "status=none"];
        let mut command = Command::new("sh");
        match little {
            Some(little) => command.args(["-c", "echo $$ >\"$0\" && exec dd \"$@\""]).arg(little.processes()),
            None => command.args(["-c", "exec dd \"$@\"", "dd"]),
        };
        assert!(command.args(args).status().unwrap().success());
        let after = [Some(written()), stalled("io"), stalled("memory")];
        [0, 1, 2].map(|what| after[what] > before[what])
    };
    if !dd(None)[0] {
        return crate::harness::skip_here("what is written here gets to no disk, so that nothing waits for it");
    }
    // The writes must be limited to little free memory.
    let little = LittleMemory::new();
    let [_, io, memory] = dd(little.as_ref());
    let why = [
        "",
        "I/O: this kernel tells none",
        "memory: this kernel tells none, or this user may have no group of little memory",
    ];
    let what = ["node_disk_written", "pressure_io_waiting", "pressure_memory_waiting"];
    for ((query, why), reported) in what.into_iter().zip(why).zip([true, io, memory]) {
        if !reported {
            crate::harness::skip_here(&format!("stalls for want of {why}"));
            continue;
        }
        until(query, || {
            dd(little.as_ref());
            ask(of(query)).filter(|rate| *rate > 0.0)
        });
    }
}

/// Returns the time for which some programs stalled on `what`, µs since boot (Documentation/accounting/psi.rst of Linux).
fn stalled(what: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/pressure/{what}")).ok()?;
    text.lines().next()?.rsplit_once("total=")?.1.trim().parse().ok()
}

/// Control group with 24 MiB of memory, including page cache, which forces writeback. `new` returns `None` if this user may not create one.
struct LittleMemory(std::path::PathBuf);

impl LittleMemory {
    fn new() -> Option<Self> {
        let name = format!("dxt-test-{}", std::process::id());
        let all = [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];
        all.into_iter().find_map(|(parent, limit)| {
            let group = Self(std::path::Path::new(parent).join(&name));
            std::fs::create_dir(&group.0).ok()?;
            std::fs::OpenOptions::new().write(true).open(group.0.join(limit)).ok()?;
            std::fs::write(group.0.join(limit), (24 << 20).to_string()).ok()?;
            let joins = Command::new("sh").args(["-c", "echo $$ >\"$0\""]).arg(group.processes()).status();
            joins.is_ok_and(|status| status.success()).then_some(group)
        })
    }

    /// Path of `cgroup.procs`, to which a process writes its pid to join the group.
    fn processes(&self) -> std::path::PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for LittleMemory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}
