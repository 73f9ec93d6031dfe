//! Tests of servers that require tokens, passwords or certificates: secrets reach the server and no one else.

use crate::harness::{have, skip, skip_here};
use crate::live_sinks::program::{Traced, agent};
use crate::live_sinks::server::{Server, free_port, program, until};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Secret that must not appear in messages, command lines or state files.
const SECRET: &str = "s3cret-Wort";

/// Test certificate authority, and a server certificate issued by it for 127.0.0.1.
pub(crate) struct Certificates(tempfile::TempDir);

impl Certificates {
    pub(crate) fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let openssl = |args: &str| {
            let output = Command::new("openssl").args(args.split(' ')).current_dir(folder.path()).output().ok()?;
            assert!(output.status.success(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
            Some(())
        };
        let names = "subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n";
        std::fs::write(folder.path().join("names"), names).unwrap();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        let made = openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=authority -days 2"))
            .and_then(|()| openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=server")))
            .and_then(|()| {
                openssl("x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem")
            });
        if made.is_none() {
            skip("no openssl");
        }
        made.map(|()| Self(folder))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn authority(&self) -> String {
        self.file("ca.pem").display().to_string()
    }
}

/// Lets a traced program write until `arrived` returns true (data has reached the server); asserts that the secret was never visible.
fn passes(to: &str, env: &[(&str, &str)], arrived: impl Fn() -> bool) {
    let mut traced = Traced::watched_with(&[to], env);
    traced.write(20);
    until(to, || arrived().then_some(()));
    let seen = traced.seen_by_others();
    assert_eq!(seen.contains(SECRET), to.contains(SECRET), "{seen}");
    let (_, state) = seen.split_once('{').unwrap();
    assert!(!state.contains(SECRET), "{state}");
    let said = traced.end();
    assert!(said.is_empty(), "{said}");
}

/// Returns the messages of an agent that cannot pass on events to `to`, or that fails to start, up to the message that contains one of
/// `reasons`; fails if none does.
fn refused(to: &str, env: &[(&str, &str)], reasons: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut agent = agent();
    agent.arg(folder.path()).args(["--interval", "100ms", "--for", "1min", "--to", to, "--state"]).arg(&state);
    // An agent without events contacts no server.
    let mut traced = Traced::watched(&[]);
    traced.write(5);
    agent.arg(traced.folder()).envs(env.iter().copied());
    let mut agent = agent.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut said, mut lines) = (String::new(), BufReader::new(agent.stderr.take().unwrap()));
    let mut is_refused = false;
    while !is_refused && lines.read_line(&mut said).unwrap() > 0 {
        is_refused = reasons.iter().any(|reason| said.contains(reason));
    }
    assert!(is_refused, "{to}: {said}");
    kill_process(Pid::from_child(&agent), Signal::INT).unwrap();
    lines.read_to_string(&mut said).unwrap();
    let output = agent.wait_with_output().unwrap();
    drop(traced);
    let kept = std::fs::read_to_string(state).unwrap_or_default();
    let all = format!("{} {said} {kept}", String::from_utf8_lossy(&output.stdout));
    assert!(!all.contains(SECRET) && !all.contains("s3cret"), "{to}: {all}");
    said
}

#[test]
fn no_password_is_said_whatever_is_wrong() {
    let wrong = [
        "nats://me:SECRET@127.0.0.1:1/a.b",
        "nats://SECRET@127.0.0.1:1/a.b",
        "nats://me:SECRET@127.0.0.1:1/a..b",
        "nats-tls://me:SECRET@127.0.0.1:1/a.b",
        "tls://me:SECRET@127.0.0.1:1",
        "nats:http://me:SECRET@127.0.0.1:1/a.b",
        "influx:http://me:SECRET@127.0.0.1:1/write?db=x&p=SECRET",
        "influx:https://127.0.0.1:1/write?u=me&p=SECRET",
        "influx:ftp://me:SECRET@127.0.0.1:1/write",
        "influx:http://me:SECRET@:x/write",
        "influx:udp://me:SECRET@127.0.0.1:1",
        "postgres://me:SECRET@127.0.0.1:1/db?application_name=x",
        "postgres://me@127.0.0.1:1/db?password=SECRET",
        "postgres://me:SECRET@127.0.0.1:1/db?sslmode=never",
        "postgres:host=127.0.0.1 port=1 user=me password=SECRET dbname=x",
        "postgres:host=127.0.0.1 user=me password='SECRET dbname=x",
        "postgre://me:SECRET@127.0.0.1/db",
        // The URLs lack a slash, contain characters with another meaning, or name a destination without users.
        "nats:me:SECRET@127.0.0.1",
        "nats://SECRET?x@127.0.0.1:1",
        "nats://x?SECRET@127.0.0.1:1",
        "nats://me:12?SECRET@127.0.0.1:1",
        "SECRET@127.0.0.1:1",
        "prometheus:me:SECRET@127.0.0.1",
        "parquet://me:SECRET@127.0.0.1",
        "events:nats://me:SECRET@127.0.0.1",
        "influx:me:SECRET@127.0.0.1",
        "influx:http://me:x/SECRET@127.0.0.1:1/w",
        "influx:http://me:SECRET?x@127.0.0.1:1/w",
        "influx:http://me@127.0.0.1:1/SECRET@h/w",
        "postgres:me:SECRET@127.0.0.1",
        "postgres://me:12?SECRET@127.0.0.1/db",
        "ldms:sock,me:SECRET@127.0.0.1,1,none,s",
        "ldms:sock,me:SECRET@127.0.0.1,1,none,s,t",
    ];
    // An agent waits some seconds for a missing server.
    std::thread::scope(|scope| {
        for to in wrong {
            scope.spawn(move || refused(&to.replace("SECRET", SECRET), &[], &[""]));
        }
    });
    let output = agent().arg(format!("/nonexistent/me:{SECRET}@h")).args(["--for", "100ms"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("...@h does not exist") && !said.contains(SECRET), "{said}");
    let output = agent().args(["--for", "1s", "--from", &format!("http://me:{SECRET}@127.0.0.1/a")]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && !said.contains(SECRET), "{said}");
    let variables = ["NATS_TOKEN", "INFLUX_TOKEN", "PGPASSWORD", "NATS_PASSWORD", "INFLUX_PASSWORD"];
    let env: Vec<(&str, &str)> = variables
        .map(|name| (name, SECRET))
        .into_iter()
        .chain([("NATS_USER", "me"), ("INFLUX_USERNAME", "me")])
        .collect();
    std::thread::scope(|scope| {
        for to in ["nats://127.0.0.1:1/a.b", "influx:http://127.0.0.1:1/write", "postgres://me@127.0.0.1:1/db"] {
            let env = &env;
            scope.spawn(move || refused(to, env, &[""]));
        }
    });
}

/// Returns the number of events in a NATS message stream, as read by dxt-analyze.
fn in_stream(url: &str, env: &[(&str, &str)]) -> usize {
    let mut agent = agent();
    let output =
        agent.envs(env.iter().copied()).args(["--from", url, "--until-end", "--for", "3s", "--to", "events"]).output();
    output.unwrap().stdout.iter().filter(|byte| **byte == b'\n').count()
}

#[test]
fn nats_with_tls_tokens_and_users() {
    let Some(certificates) = Certificates::new() else { return };
    let Some(server) = program("nats-server") else { return };
    let path = |name: &str| certificates.file(name).display().to_string();
    let authority = certificates.authority();
    let trusted = ("SSL_CERT_FILE", authority.as_str());
    let user = format!("users: [{{user: me, password: \"{SECRET}\"}}]");
    let token = format!("token: \"{SECRET}\"");
    let one = |who: &str, in_url: &str, env: &[(&str, &str)]| {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        // By default a server closes connections that take 2 s to encrypt or log in: too little on a busy machine.
        let tls =
            format!("tls {{cert_file: \"{}\", key_file: \"{}\", timeout: 60}}", path("server.pem"), path("server.key"));
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\njetstream {{store_dir: \"{}\"}}\nauthorization {{timeout: 60, {who}}}\n{tls}\n",
            folder.path().display()
        );
        let file = folder.path().join("server.conf");
        std::fs::write(&file, text).unwrap();
        let _server = Server::start(Command::new(&server).arg("-c").arg(&file));
        until("nats-server", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        let url = format!("nats://{in_url}127.0.0.1:{port}/test.calls");
        let with: Vec<(&str, &str)> = env.iter().copied().chain([trusted]).collect();
        passes(&url, &with, || in_stream(&url, &with) >= 20);
        // With tls://, encryption is enforced, and an untrusted client gets nothing.
        let encrypted = url.replace("nats://", "tls://");
        until(&encrypted, || (in_stream(&encrypted, &with) >= 20).then_some(()));
        refused(&url, env, &["certificate", "TLS"]);
        refused(
            &format!("nats://127.0.0.1:{port}/test.calls"),
            &[trusted, ("NATS_TOKEN", "wrong")],
            &["authorization", "Authorization"],
        );
    };
    let named = format!("me:{SECRET}@");
    let alone = format!("{SECRET}@");
    std::thread::scope(|scope| {
        for (who, in_url, env) in [
            (&user, named.as_str(), &[][..]),
            (&user, "me@", &[("NATS_PASSWORD", SECRET)]),
            (&user, "", &[("NATS_USER", "me"), ("NATS_PASSWORD", SECRET)]),
            (&token, &alone, &[]),
            (&token, "", &[("NATS_TOKEN", SECRET)]),
        ] {
            let one = &one;
            scope.spawn(move || one(who, in_url, env));
        }
    });
}

#[test]
fn http_with_tls_tokens_and_passwords() {
    use crate::live_sinks::server::{get, quoted};
    let Some(certificates) = Certificates::new() else { return };
    let (Some(victoria), Some(vmauth)) = (program("victoria-metrics"), program("vmauth")) else { return };
    let (folder, authority) = (tempfile::tempdir().unwrap(), certificates.authority());
    let (behind, port) = (free_port(), free_port());
    let _store = Server::start(
        Command::new(victoria)
            .arg(format!("-storageDataPath={}", folder.path().display()))
            .arg(format!("-httpListenAddr=127.0.0.1:{behind}")),
    );
    let config = folder.path().join("auth.yml");
    let text = format!(
        "users:\n- username: me\n  password: {SECRET}\n  url_prefix: http://127.0.0.1:{behind}\n- bearer_token: {SECRET}\n  url_prefix: http://127.0.0.1:{behind}\n"
    );
    std::fs::write(&config, text).unwrap();
    let _front = Server::start(
        Command::new(vmauth)
            .arg(format!("-auth.config={}", config.display()))
            .arg(format!("-httpListenAddr=127.0.0.1:{port}"))
            .arg("-tls")
            .arg(format!("-tlsCertFile={}", certificates.file("server.pem").display()))
            .arg(format!("-tlsKeyFile={}", certificates.file("server.key").display())),
    );
    until("the servers", || {
        get(behind, "/health")?;
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    let trusted = ("SSL_CERT_FILE", authority.as_str());
    for (in_url, env) in [
        ("", vec![("INFLUX_TOKEN", SECRET)]),
        ("", vec![("INFLUX_USERNAME", "me"), ("INFLUX_PASSWORD", SECRET)]),
        ("me:SECRET@", vec![]),
    ] {
        let to = format!("influx:https://{}127.0.0.1:{port}/write?db=dxt", in_url.replace("SECRET", SECRET));
        let with: Vec<(&str, &str)> = env.iter().copied().chain([trusted]).collect();
        let calls = || {
            get(behind, "/internal/force_flush");
            let series = quoted(r#"dxt_calls{op="write"}"#);
            let text = get(behind, &format!("/api/v1/export?match[]={series}")).unwrap_or_default();
            let of = |line: &str| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["values"].as_array().unwrap().len()
            };
            text.lines().map(of).sum::<usize>()
        };
        let before = calls();
        passes(&to, &with, || calls() > before);
        refused(&to, &env, &["certificate"]);
        let anonymous = format!("influx:https://127.0.0.1:{port}/write");
        let said = refused(&anonymous, &[trusted, ("INFLUX_TOKEN", "an0ther")], &["the server answered 40"]);
        // This server's error message quotes the rejected token.
        assert!(!said.contains("an0ther"), "{said}");
    }
}

/// Tests authentication with InfluxDB itself, if it is installed.
#[test]
fn influxdb_with_tls_and_passwords() {
    let Some(certificates) = Certificates::new() else { return };
    if !have("influxd") || !have("curl") {
        return skip_here("no influxd (package influxdb of Debian 12), or no curl");
    }
    let (folder, authority, port) = (tempfile::tempdir().unwrap(), certificates.authority(), free_port());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let text = format!(
        "reporting-disabled = true\nbind-address = \"127.0.0.1:{}\"\n[meta]\ndir = \"{}\"\n[data]\ndir = \"{}\"\nwal-dir = \"{}\"\n\
         [http]\nbind-address = \"127.0.0.1:{port}\"\nauth-enabled = true\nhttps-enabled = true\n\
         https-certificate = \"{}\"\nhttps-private-key = \"{}\"\n",
        free_port(),
        at("meta"),
        at("data"),
        at("wal"),
        certificates.file("server.pem").display(),
        certificates.file("server.key").display()
    );
    let config = folder.path().join("influxdb.conf");
    std::fs::write(&config, text).unwrap();
    let _server = Server::start(Command::new("influxd").arg("-config").arg(&config));
    let ask = |who: Option<&str>, query: &str| -> Option<String> {
        let mut curl = Command::new("curl");
        curl.args(["-sf", "--cacert", &authority]).args(who.map(|who| ["-u", who]).into_iter().flatten());
        curl.args(["-G", &format!("https://127.0.0.1:{port}/query"), "-X", "POST", "--data-urlencode"])
            .arg(format!("q={query}"));
        let output = curl.output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    let me = format!("me:{SECRET}");
    until("influxd", || ask(None, &format!("CREATE USER me WITH PASSWORD '{SECRET}' WITH ALL PRIVILEGES")));
    ask(Some(&me), "CREATE DATABASE dxt").unwrap();
    let trusted = ("SSL_CERT_FILE", authority.as_str());
    let to = format!("influx:https://127.0.0.1:{port}/write?db=dxt");
    let env = [trusted, ("INFLUX_USERNAME", "me"), ("INFLUX_PASSWORD", SECRET)];
    let calls = || ask(Some(&me), "SELECT sum(calls) FROM dxt.autogen.dxt WHERE op = 'write'").unwrap_or_default();
    passes(&to, &env, || calls().contains(",20]"));
    // A repeated write is stored as one point, also with credentials in the URL.
    let in_url = format!("influx:https://127.0.0.1:{port}/write?db=dxt&u=me&p={SECRET}");
    passes(&in_url, &[trusted], || calls().contains(",40]"));
    let wrong = [trusted, ("INFLUX_USERNAME", "me"), ("INFLUX_PASSWORD", "wrong")];
    refused(&to, &wrong, &["the server answered 401"]);
}

#[test]
fn postgresql_with_tls_and_a_password() {
    use crate::live_sinks::postgres::Cluster;
    let Some(certificates) = Certificates::new() else { return };
    let Some(cluster) = Cluster::new() else { return };
    let server = cluster.start();
    cluster.client().unwrap().batch_execute(&format!("ALTER USER dxt PASSWORD '{SECRET}'")).unwrap();
    server.kill();
    for name in ["server.pem", "server.key"] {
        cluster.put(name, &std::fs::read(certificates.file(name)).unwrap());
    }
    cluster.put("pg_hba.conf", b"hostssl all all 127.0.0.1/32 scram-sha-256\n");
    let settings = ["ssl=on", "ssl_cert_file=server.pem", "ssl_key_file=server.key"];
    let mut server = cluster.start_with(&settings);
    let authority = certificates.authority();
    let ask = |query: &str| -> Option<String> {
        let words = format!(
            "host=127.0.0.1 port={} user=dxt dbname=postgres sslmode=verify-ca sslrootcert={authority}",
            cluster.port
        );
        let psql = Command::new(cluster.programs.join("psql"))
            .args(["-At", "-d", &words, "-c", query])
            .env("PGPASSWORD", SECRET)
            .output()
            .unwrap();
        psql.status.success().then(|| String::from_utf8(psql.stdout).unwrap().trim().to_owned())
    };
    until("PostgreSQL", || {
        // The killed server may still be running.
        if server.0.try_wait().unwrap().is_some() {
            server = cluster.start_with(&settings);
        }
        ask("SELECT 1")
    });
    let trusted = ("SSL_CERT_FILE", authority.as_str());
    let with_password = [trusted, ("PGPASSWORD", SECRET)];
    let place = format!("127.0.0.1:{}/postgres", cluster.port);
    let rows = || ask("SELECT count(*) FROM dxt_events").and_then(|rows| rows.parse().ok()).unwrap_or(0_u64);
    let encrypted = || {
        ask(
            "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND application_name = 'dxt-analyze live'",
        )
    };
    for (mode, in_url, env) in [
        ("require", "dxt".to_owned(), &with_password[..]),
        ("verify-full", "dxt".to_owned(), &with_password[..]),
        ("require", format!("dxt:{SECRET}"), &with_password[..1]),
    ] {
        let before = rows();
        let arrived = || rows() >= before + 20 && encrypted().as_deref() == Some("1");
        passes(&format!("postgres://{in_url}@{place}?sslmode={mode}"), env, arrived);
    }
    let words = format!(
        "postgres:host=127.0.0.1 port={} user=dxt dbname=postgres sslmode=require password={SECRET}",
        cluster.port
    );
    let before = rows();
    passes(&words, &with_password[..1], || rows() >= before + 20);
    // Refused are unencrypted connections, untrusted certificates and wrong passwords.
    refused(&format!("postgres://dxt@{place}"), &with_password, &["no encryption"]);
    let encrypted = format!("postgres://dxt@{place}?sslmode=require");
    refused(&encrypted, &with_password[1..], &["certificate"]);
    refused(&encrypted, &[trusted, ("PGPASSWORD", "wrong")], &["password authentication failed"]);
}

/// A URL is refused if a character in its password would end the host part, so that the password would be sent to another host.
#[test]
fn a_password_that_would_end_the_host_is_refused() {
    for url in ["http://me:sec/ret@127.0.0.1:1/w", "http://me:sec?ret@127.0.0.1:1/w", "http://me@h:a/b@127.0.0.1:1/w"] {
        let said = refused(&format!("influx:{url}"), &[], &["%2F"]);
        assert!(!said.contains("failed to send"), "{said}");
    }
}
