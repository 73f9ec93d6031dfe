//! Tests of the Grafana dashboards: each query runs on a database filled by `live`. Rendering is not tested.

use serde_json::Value;
use std::path::Path;

fn dashboard(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/grafana/dashboards");
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// Returns title and text of each query of dashboard `name`; `field` is the JSON field that holds the text.
fn queries(name: &str, field: &str) -> Vec<(String, String)> {
    let board = dashboard(name);
    let panels = board["panels"].as_array().unwrap().iter();
    let of = |panel: &Value| {
        let title = panel["title"].as_str().unwrap().to_owned();
        let targets = panel["targets"].as_array().cloned().unwrap_or_default();
        let texts = targets.into_iter().filter_map(|target| Some(target[field].as_str()?.to_owned()));
        texts.map(|text| (title.clone(), text)).collect::<Vec<_>>()
    };
    panels.flat_map(of).collect()
}

/// Returns title and text of all PostgreSQL queries (panels and dashboard variables), with each variable replaced by all of its values.
#[cfg(feature = "postgres")]
pub(crate) fn sql() -> Vec<(String, String)> {
    let board = dashboard("runs.json");
    let variables = board["templating"]["list"].as_array().unwrap().iter();
    let of_variables = variables.filter(|variable| variable["type"] == "query");
    let of_variables =
        of_variables.map(|one| (one["name"].as_str().unwrap().to_owned(), one["query"].as_str().unwrap().to_owned()));
    let filled = |(title, text): (String, String)| {
        let all = |column: &str| format!("SELECT DISTINCT {column} FROM dxt_events");
        let text = text.replace("$__timeFilter(time)", "time > '-infinity'").replace("$bin", "1");
        let text = text.replace("${job:sqlstring}", &all("job")).replace("${node:sqlstring}", &all("node"));
        let text = text.replace("${file_system:sqlstring}", &all("file_system")).replace("${op:sqlstring}", &all("op"));
        // The choices of this variable are the results of a query.
        let groups = "SELECT DISTINCT CASE WHEN rank < 0 THEN '-' ELSE rank / 32 * 32 || '-' || rank / 32 * 32 + 31 END FROM dxt_events";
        (title, text.replace("${ranks:sqlstring}", groups))
    };
    queries("runs.json", "rawSql").into_iter().chain(of_variables).map(filled).collect()
}

/// Returns title and text of the Prometheus queries: those on metrics of node_exporter if `of_nodes` is true, else those on metrics of `live`.
pub(crate) fn promql(of_nodes: bool) -> Vec<(String, String)> {
    let filled = |(title, text): (String, String)| {
        let variables = ["$cluster", "$job", "$node", "$ranks", "$file_system", "$op"];
        let text = variables.iter().fold(text, |text, variable| text.replace(&format!("\"{variable}\""), "\".*\""));
        (title, text.replace("$__rate_interval", "1m"))
    };
    let all = queries("now.json", "expr").into_iter().map(filled);
    all.filter(|(_, text)| text.contains("dxt_") != of_nodes).collect()
}

/// Both dashboards let the user select among existing values, and link to a job's report.
#[test]
fn dashboards_have_their_variables_and_a_link_to_the_report() {
    for name in ["now.json", "runs.json"] {
        let board = dashboard(name);
        let variables: Vec<&str> =
            board["templating"]["list"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        for variable in ["cluster", "job", "node", "ranks", "file_system", "op", "report"] {
            assert!(variables.contains(&variable), "{name}: {variables:?}");
        }
        assert_eq!(board["links"][0]["url"], "${report}/${job}.html", "{name}");
    }
}
