//! Tests of `live --to postgres:...`: each call is stored exactly once, despite repeated transfers and killed servers.

use crate::five_runs::{RUNS, SLOW, calls_of_run, five_runs, question, second_of_slow};
use crate::harness::{Scratch, is_root, skip};
use crate::live_sinks::program::{BLOCK, Traced, agent};
use crate::live_sinks::server::{Server, free_port, open_to_all, until};
use crate::live_sinks::values::{events, outlet};
use dxt_analyze::live::about::Target;
use dxt_analyze::live::event::Event;
use dxt_analyze::live::records::Selected;
use postgres::{Client, NoTls};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trace_format::op::Layer;

/// User ID of `nobody`, who runs the server if the test runs as root: PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;

/// PostgreSQL database cluster, with the port of its server.
pub(crate) struct Cluster {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) programs: PathBuf,
    pub(crate) port: u16,
}

impl Cluster {
    /// Creates a cluster; `None` if PostgreSQL is not installed.
    pub(crate) fn new() -> Option<Self> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let programs = versions.map(|version| version.path().join("bin")).find(|bin| bin.join("initdb").is_file());
        let Some(programs) = programs else {
            skip("no PostgreSQL");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        open_to_all(folder.path());
        let cluster = Self { folder, programs, port: free_port() };
        let args = ["--auth=trust", "--username=dxt", "--no-sync", "--encoding=UTF8", "--locale=C"];
        let output = cluster.command("initdb").args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(cluster)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.arg("-D").arg(self.folder.path().join("data")).current_dir(self.folder.path());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Starts the server and waits until it accepts connections; after a killed server, this may take several attempts.
    pub(crate) fn start(&self) -> Server {
        let start = || self.start_with(&[]);
        let mut server = start();
        until("PostgreSQL", || {
            if server.0.try_wait().unwrap().is_some() {
                server = start();
            }
            self.client()
        });
        server
    }

    pub(crate) fn start_with(&self, settings: &[&str]) -> Server {
        let sockets = format!("unix_socket_directories={}", self.folder.path().display());
        let port = self.port.to_string();
        let mut command = self.command("postgres");
        command.args(["-p", &port, "-c", "listen_addresses=127.0.0.1", "-c", &sockets]);
        settings.iter().for_each(|setting| {
            command.args(["-c", setting]);
        });
        Server::start(&mut command)
    }

    /// Writes a file to the server's data directory, readable only by the server's user.
    #[cfg(all(feature = "live-http", feature = "nats"))]
    pub(crate) fn put(&self, name: &str, content: &[u8]) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.folder.path().join("data").join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        if is_root() {
            std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    pub(crate) fn client(&self) -> Option<Client> {
        Client::connect(&self.url(), NoTls).ok()
    }

    fn url(&self) -> String {
        format!("postgres://dxt@127.0.0.1:{}/postgres", self.port)
    }

    fn to(&self) -> String {
        format!("postgres:{}", self.url())
    }

    /// Returns the number that an SQL query yields; `None` if the table does not exist yet.
    fn number(&self, query: &str) -> Option<i64> {
        self.client()?.query_one(query, &[]).ok().map(|row| row.get(0))
    }
}

/// Tables made by an older version lack columns for HDF5 data sets. The columns are added, and existing rows stay.
#[test]
fn calls_on_data_sets_have_numbers_also_in_a_table_of_before() {
    let Some(cluster) = Cluster::new() else { return };
    let _server = cluster.start();
    let all = events(BEGIN, 1, 2);
    let pass = |some: &[Event]| {
        let mut outlet = outlet(&cluster.to());
        outlet.events(some);
        outlet.end();
        assert_eq!((outlet.dropped(), outlet.is_behind()), (0, false));
    };
    pass(&all[..16]);
    let older = "DROP VIEW dxt_connector; ALTER TABLE dxt_events DROP COLUMN data_set, DROP COLUMN pt_sel, DROP COLUMN irreg_hslab,
        DROP COLUMN reg_hslab, DROP COLUMN ndims, DROP COLUMN npoints; CREATE VIEW dxt_connector AS SELECT file, -1 AS pt_sel FROM dxt_events";
    cluster.client().unwrap().batch_execute(older).unwrap();
    let mut some = all[16..].to_vec();
    let target = Target {
        layer: Layer::Hdf5,
        op: "write".into(),
        file: "/a.h5".into(),
        data_set: Some("/x".into()),
        ..(*some[0].target).clone()
    };
    some[0].target = target.into();
    some[0].so_far.selected =
        Some(Selected { points: 1, irregular: 2, regular: 3, dimensions: 4, elements: 5_000_000_000 });
    pass(&some);
    let numbers = "count(*) FROM dxt_connector WHERE (pt_sel, irreg_hslab, reg_hslab, ndims, npoints)";
    assert_eq!(cluster.number(&format!("SELECT {numbers} = (-1, -1, -1, -1, -1)")), Some(31));
    let one = format!("SELECT {numbers} = (1, 2, 3, 4, 5000000000) AND module = 'H5D' AND file = '/a.h5:/x'");
    assert_eq!(cluster.number(&one), Some(1));
}

/// Other users' views of the connector view, and their grants on it, survive an update by a new version. Rows are stored in any case.
#[test]
fn what_others_made_of_the_view_of_before_stays() {
    let Some(cluster) = Cluster::new() else { return };
    let _server = cluster.start();
    let all = events(BEGIN, 1, 3);
    let pass = |some: &[Event]| {
        let mut outlet = outlet(&cluster.to());
        outlet.events(some);
        outlet.end();
        assert_eq!((outlet.dropped(), outlet.is_behind()), (0, false));
    };
    pass(&all[..16]);
    // The view is that of the previous version.
    let older = "CREATE ROLE grafana; DROP VIEW dxt_connector;
        ALTER TABLE dxt_events DROP COLUMN data_set, DROP COLUMN pt_sel, DROP COLUMN irreg_hslab, DROP COLUMN reg_hslab, DROP COLUMN ndims,
            DROP COLUMN npoints;
        CREATE VIEW dxt_connector AS SELECT uid, exe, job_id, rank, node AS \"ProducerName\", file, record_id, module,
            CASE connector_op WHEN 'open' THEN 'MET' ELSE 'MOD' END AS type, max_byte, switches, flushes, so_far_calls AS cnt,
            connector_op AS op, -1 AS pt_sel, -1 AS irreg_hslab, -1 AS reg_hslab, -1 AS ndims, -1 AS npoints,
            CASE WHEN connector_op IN ('open', 'close') OR module = 'H5D' THEN -1 ELSE \"offset\" END AS off,
            CASE WHEN connector_op IN ('open', 'close') THEN -1 ELSE length END AS len, (start_ns - job_start_ns) / 1e9 AS start,
            (end_ns - start_ns) / 1e9 AS dur, so_far_ns / 1e9 AS total, end_ns / 1e9 AS timestamp
            FROM dxt_events WHERE module IS NOT NULL;
        CREATE VIEW theirs AS SELECT file, npoints FROM dxt_connector;
        GRANT SELECT ON dxt_connector TO grafana";
    cluster.client().unwrap().batch_execute(older).unwrap();
    let mut some = all[16..32].to_vec();
    some[0].target = Target { data_set: Some("/x".into()), ..(*some[0].target).clone() }.into();
    some[0].so_far.selected =
        Some(Selected { points: 1, irregular: 2, regular: 3, dimensions: 4, elements: 5_000_000_000 });
    pass(&some);
    assert_eq!(cluster.number("SELECT count(*) FROM dxt_events"), Some(32));
    assert_eq!(cluster.number("SELECT count(*) FROM theirs WHERE file LIKE '%:/x' AND npoints = 2147483647"), Some(1));
    let granted = "SELECT has_table_privilege('grafana', 'dxt_connector', 'SELECT')::int::bigint";
    assert_eq!(cluster.number(granted), Some(1));
    // A user's own view of that name is left alone.
    let own = "DROP VIEW theirs; DROP VIEW dxt_connector; CREATE VIEW dxt_connector AS SELECT 7::bigint AS mine";
    cluster.client().unwrap().batch_execute(own).unwrap();
    pass(&all[32..]);
    assert_eq!(cluster.number("SELECT count(*) FROM dxt_events"), Some(48));
    assert_eq!(cluster.number("SELECT mine FROM dxt_connector"), Some(7));
}

/// Start of the test run: evening of 2023-11-14, ns since 1970-01-01 UTC.
const BEGIN: i64 = 1_700_000_000_000_000_000;

#[test]
fn each_call_is_there_once_whatever_happens_to_the_server() {
    let Some(cluster) = Cluster::new() else { return };
    let mut server = Some(cluster.start());
    let all = events(BEGIN, 8, 400);
    let mut first = outlet(&cluster.to());
    // The server is killed while in use, absent for a while, and restarted.
    for (number, some) in all.chunks(4000).enumerate() {
        first.events(some);
        match number {
            3 => {
                until("the first rows", || cluster.number("SELECT count(*) FROM dxt_events").filter(|rows| *rows > 0));
                server.take().unwrap().kill();
            }
            7 => server = Some(cluster.start()),
            _ => {}
        }
    }
    first.end();
    let rows = "SELECT count(*) FROM dxt_events";
    assert_eq!((cluster.number(rows), first.dropped(), first.is_behind()), (Some(all.len() as i64), 0, false));
    assert!(first.messages().iter().any(|said| said.contains("accepts data again")));
    // Another agent reads these calls with a slightly better estimate of the clock.
    let mut again = all.clone();
    again.iter_mut().for_each(|event| event.start_unix_ns += 3);
    let mut second = outlet(&cluster.to());
    second.events(&again);
    second.events(&again[..5000]);
    second.end();
    assert_eq!((cluster.number(rows), second.dropped()), (Some(all.len() as i64), 0));
    content(&cluster);
    indexes(&cluster);
    dashboards(&cluster, true);
}

/// Runs every dashboard query. If `is_even` is true (generated calls of uniform duration), asserts that none reports slow calls.
fn dashboards(cluster: &Cluster, is_even: bool) {
    let mut client = cluster.client().unwrap();
    let asked = crate::live_sinks::grafana::sql();
    assert!(asked.len() >= 10);
    for (title, query) in asked {
        let rows = client.query(&query, &[]).unwrap_or_else(|error| panic!("{title}: {error}: {query}"));
        if title.starts_with("Slower than usual") {
            assert!(rows.is_empty() || !is_even, "{title}");
        } else {
            assert!(!rows.is_empty(), "{title}");
        }
    }
}

/// Means over a few runs have Student's confidence interval, and a single run has none. An open by MPI-IO with its nested POSIX open counts once.
#[test]
fn dashboards_know_how_few_runs_there_are_and_count_opens_once() {
    let Some(cluster) = Cluster::new() else { return };
    let _server = cluster.start();
    let mut client = cluster.client().unwrap();
    let rows = "CREATE TEMP TABLE dxt_events AS
        SELECT now() AS time, job, 'n' AS node, '/' AS file_system, 0 AS rank, op, false AS nested, calls::bigint AS stands_for
            FROM (VALUES ('a', 'write', 10), ('b', 'write', 14), ('a', 'read', 5)) AS few (job, op, calls)
        UNION ALL SELECT now(), 'run ' || run, 'n', '/', 0, 'sync', false, run FROM generate_series(1, 31) AS run
        UNION ALL SELECT now(), 'a', 'n', '/', 0, 'open', nested, 1 FROM (VALUES (false), (true)) AS opens (nested)";
    client.batch_execute(rows).unwrap();
    let sql = |title: &str| {
        crate::live_sinks::grafana::sql().into_iter().find(|(known, _)| known.starts_with(title)).unwrap().1
    };
    let found = client.query(&sql("Calls of a run"), &[]).unwrap();
    let interval = |op: &str| found.iter().find(|row| row.get::<_, String>(0) == op).unwrap().get::<_, Option<f64>>(3);
    assert!((interval("write").unwrap() - 12.706 * 2.0).abs() < 1e-3);
    assert!((interval("sync").unwrap() - 2.0423 * (992.0_f64 / 12.0 / 31.0).sqrt()).abs() < 1e-3);
    assert_eq!(interval("read"), None);
    let opens = client
        .query(&format!("SELECT \"Opens\"::bigint FROM ({}) AS all_nodes", sql("Opens and closes")), &[])
        .unwrap();
    assert!(opens.iter().any(|row| row.get::<_, Option<i64>>(0) == Some(1)), "{opens:?}");
}

fn content(cluster: &Cluster) {
    let mut client = cluster.client().unwrap();
    let query = "SELECT file, record_id::text, start_ns, time = timestamptz '2023-11-14 22:13:20.00001+00', tableoid::regclass::text
        FROM dxt_events WHERE job = 'job 2' AND rank = 3 AND \"offset\" = 4096";
    let row = client.query_one(query, &[]).unwrap();
    assert_eq!(row.get::<_, String>(0), "/scratch/a\tb \\. \"c\" ü\n");
    assert_eq!(row.get::<_, String>(1), u64::MAX.to_string());
    assert_eq!((row.get::<_, i64>(2), row.get(3)), (BEGIN + 10_000, true));
    assert_eq!(row.get::<_, String>(4), "dxt_events_20231114");
    // The query uses the view with the connector's column names.
    let query = "SELECT count(*), sum(len)::bigint, max(cnt) FROM dxt_connector
        WHERE job_id = 2 AND module = 'POSIX' AND op = 'write' AND type = 'MOD' AND \"ProducerName\" = 'node1' AND dur = 0.000001";
    let row = client.query_one(query, &[]).unwrap();
    assert_eq!((row.get(0), row.get(1), row.get(2)), (16 * 400_i64, 16 * 400 * 4096_i64, 400_i64));
}

/// Asserts that PostgreSQL's planner uses each index for the query that it was made for.
fn indexes(cluster: &Cluster) {
    let mut client = cluster.client().unwrap();
    client.batch_execute("ANALYZE dxt_events").unwrap();
    let some = "time >= '2023-11-14 22:13:20.002+00' AND time < '2023-11-14 22:13:20.0021+00'";
    let more = "time >= '2023-11-14 22:13:20.002+00' AND time < '2023-11-14 22:13:20.003+00'";
    for (index, query) in [
        ("time_job_rank", format!("SELECT * FROM dxt_events WHERE {some}")),
        ("job_rank_time", "SELECT * FROM dxt_events WHERE job = 'job 1' AND rank = 3 ORDER BY time".to_owned()),
        ("job_time_rank", format!("SELECT * FROM dxt_events WHERE job = 'job 1' AND {more} ORDER BY time")),
    ] {
        let plan: Vec<String> =
            client.query(&format!("EXPLAIN {query}"), &[]).unwrap().iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        assert!(plan.contains(&format!("{index}_idx")), "{query}:\n{plan}");
    }
}

#[test]
fn a_real_programs_calls_are_there_once_also_when_the_agent_is_killed() {
    let Some(cluster) = Cluster::new() else { return };
    let _server = cluster.start();
    let mut traced = Traced::watched(&[&cluster.to()]);
    let writes = "SELECT count(*) FROM dxt_events WHERE op = 'write' AND file LIKE '%/output'";
    traced.write(100);
    until("the first writes", || cluster.number(writes).filter(|writes| *writes == 100));
    traced.write(200);
    traced.kill_agent();
    traced.write(50);
    traced.watch();
    traced.write(50);
    until("the last writes", || cluster.number(writes).filter(|writes| *writes >= 400));
    let said = traced.end();
    assert_eq!(cluster.number(writes), Some(400), "{said}");
    let bytes = "SELECT sum(len)::bigint FROM dxt_connector WHERE op = 'write' AND file LIKE '%/output'";
    assert_eq!(cluster.number(bytes), Some(400 * BLOCK as i64));
    dashboards(&cluster, false);
    let offsets = "SELECT count(DISTINCT \"offset\") FROM dxt_events WHERE op = 'write' AND file LIKE '%/output'";
    assert_eq!(cluster.number(offsets), Some(400));
}

/// The queries in docs/live.md and in the dashboard name the slow run, and the time since when its reads and writes are slow.
#[test]
fn one_question_names_the_slow_run_its_moment_and_its_writes_and_reads() {
    let Some(cluster) = Cluster::new() else { return };
    let _server = cluster.start();
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.spools()).unwrap();
    let mut agent = agent();
    agent.arg(scratch.spools()).args(["--interval", "100ms", "--to", &cluster.to(), "--ready"]);
    let ready = scratch.root().join("ready");
    let agent = Server(agent.arg(&ready).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("the agent", || ready.exists().then_some(()));
    if five_runs(&scratch).is_none() {
        return;
    }
    // The last run is complete once its last call is stored.
    let of_runs = i64::from(RUNS) * calls_of_run();
    let all =
        "SELECT count(*) FROM dxt_events WHERE layer = 'POSIX' AND op IN ('read', 'write') AND file LIKE '%/data/file'";
    until("all calls", || cluster.number(all).filter(|rows| *rows == of_runs));
    drop(agent);
    let dashboards =
        crate::live_sinks::grafana::sql().into_iter().filter(|(title, _)| title.starts_with("Slower than usual"));
    let mut client = cluster.client().unwrap();
    for question in dashboards.map(|(_, query)| query).chain([question(1)]) {
        let rows = client.query(&question, &[]).unwrap();
        // Reads are slower than writes, whose first half was normal; other runs may follow in the result on a busy machine.
        for (row, op) in rows.iter().zip(["read", "write"]) {
            assert_eq!((row.get(0), row.get(1)), (SLOW, op), "{question}");
            let since: std::time::SystemTime = row.get(2);
            let since = since.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
            assert_eq!(since, second_of_slow(&scratch.traces(), op), "{question}");
        }
        assert!(rows.len() >= 2, "{question}");
    }
}

#[test]
fn without_a_server_the_agent_goes_on_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let to = format!("postgres:postgres://me:secret@127.0.0.1:{}/none", free_port());
    let sums = format!("intervals:{}", folder.path().join("sums").display());
    let mut traced = Traced::watched(&[&to, &format!("events:{}", lines(folder.path())), &sums]);
    traced.write(100);
    // Events passed to the other destination are in its file; events that this destination does not accept are counted.
    let text = || std::fs::read_to_string(lines(folder.path())).unwrap_or_default();
    let is_write = |line: &&str| line.contains("\"op\":\"write\"") && line.contains("/output\"");
    until("the writes", || (text().lines().filter(is_write).count() == 100).then_some(()));
    let said = traced.end_with(3);
    let text = text();
    let events = text.lines().count();
    // Events given up only at the end are reported in the last sums.
    let sums = std::fs::read_to_string(folder.path().join("sums")).unwrap();
    let last: serde_json::Value = serde_json::from_str(sums.lines().last().unwrap()).unwrap();
    assert_eq!(last["not_seen"]["dropped"], events, "{last}");
    assert!(said.contains(&format!("{events} events were not accepted")) && !said.contains("secret"), "{said}");
}

fn lines(folder: &Path) -> String {
    folder.join("lines").display().to_string()
}
