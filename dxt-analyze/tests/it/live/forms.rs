//! Tests of events in formats of other tools: LDMS-Darshan connector (JSON and CSV) and Parquet.

use super::{Running, agent, lines, recorded};
use crate::harness::{Compiler, Launch, Scratch, have, skip, workload, workload_with};
use std::collections::BTreeMap;

/// Fields of the LDMS-Darshan connector's messages, in order (darshan-runtime, darshan-ldms.c).
const FIELDS: [&str; 16] = [
    "schema",
    "uid",
    "exe",
    "job_id",
    "rank",
    "ProducerName",
    "file",
    "record_id",
    "module",
    "type",
    "max_byte",
    "switches",
    "flushes",
    "cnt",
    "op",
    "seg",
];
const SEGMENT: [&str; 12] = [
    "data_set",
    "pt_sel",
    "irreg_hslab",
    "reg_hslab",
    "ndims",
    "npoints",
    "off",
    "len",
    "start",
    "dur",
    "total",
    "timestamp",
];
/// First line of the CSV format in the paper on the LDMS-Darshan connector.
const HEAD: &str = "#module,uid,ProducerName,switches,file,rank,flushes,record_id,exe,max_byte,type,job_id,op,cnt,seg:off,seg:pt_sel,seg:dur,\
    seg:len,seg:ndims,seg:reg_hslab,seg:irreg_hslab,seg:data_set,seg:npoints,seg:timestamp,seg:total,seg:start";

#[test]
fn the_connectors_form_is_as_its_code_writes_it() {
    if !have("mpicc.mpich") {
        return skip("mpicc.mpich is not installed");
    }
    let scratch = Scratch::new();
    let to = ["--to", "connector:messages", "--to", "csv:rows.csv", "--until-end"];
    let agent = Running::new(agent(&scratch, &to));
    let program = workload_with("mpiio", Compiler::Mpich, &["-O1"]);
    let launch = Launch::new(&scratch, program).arg(scratch.data()).arg("all").ranks(Compiler::Mpich, 2);
    assert_eq!(launch.env("SLURM_JOB_ID", "4711").run().code, 0);
    let (_, said) = agent.end();
    assert!(said.contains("in the connector's format, which has no name for"), "{said}");
    let text = std::fs::read_to_string(scratch.data().join("messages")).unwrap();
    let mut counts: BTreeMap<(i64, u64, String, String), u64> = BTreeMap::new();
    let mut modules = std::collections::BTreeSet::new();
    for line in text.lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        let at = |name: &str| line.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("no {name}: {line}"));
        assert!(FIELDS.windows(2).all(|two| at(two[0]) < at(two[1])), "{line}");
        assert!(SEGMENT.windows(2).all(|two| at(two[0]) < at(two[1])), "{line}");
        assert_eq!((message.as_object().unwrap().len(), message["seg"][0].as_object().unwrap().len()), (16, 12));
        let word = |name: &str| message[name].as_str().unwrap();
        let opens = word("op") == "open";
        assert_eq!(word("type"), if opens { "MET" } else { "MOD" });
        assert_eq!(word("schema"), if opens { "darshan_data" } else { "N/A" });
        assert_eq!((word("file") == "N/A", word("exe") == "N/A"), (!opens, !opens));
        assert_eq!(message["job_id"], 4711);
        let moves = matches!(word("op"), "read" | "write");
        let is_posix = word("module") == "POSIX";
        assert_eq!(message["max_byte"].as_i64().unwrap() >= 0, moves && is_posix, "{line}");
        assert_eq!(message["switches"].as_i64().unwrap() >= 0, moves && word("module") != "STDIO", "{line}");
        let seg = &message["seg"][0];
        assert!(seg["total"].as_f64().unwrap() >= seg["dur"].as_f64().unwrap() - 1e-6, "{line}");
        // The connector writes as many digits.
        let digits = &line[at("timestamp") + 12..].trim_end_matches("}]}");
        assert_eq!(digits.split_once('.').unwrap().1.len(), 6, "{line}");
        // Calls of a record and operation are numbered consecutively.
        let key = (
            message["rank"].as_i64().unwrap(),
            message["record_id"].as_u64().unwrap(),
            word("module").to_owned(),
            word("op").to_owned(),
        );
        let count = counts.entry(key).or_default();
        *count += 1;
        assert_eq!(message["cnt"].as_u64(), Some(*count), "{line}");
        modules.insert(word("module").to_owned());
    }
    assert!(modules.contains("MPIIO") && modules.contains("POSIX"), "{modules:?}");
    let rows = std::fs::read_to_string(scratch.data().join("rows.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(rows.as_bytes());
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>().join(","), HEAD);
    let messages: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), messages.len());
    for (row, message) in rows.iter().zip(&messages) {
        for (name, value) in HEAD[1..].split(',').zip(row) {
            let reported = name.strip_prefix("seg:").map_or(&message[name], |name| &message["seg"][0][name]);
            let reported = reported.as_str().map_or_else(|| reported.to_string(), str::to_owned);
            assert!(
                value == reported || value.parse::<f64>().ok() == reported.parse::<f64>().ok(),
                "{name}: {value}, {reported}"
            );
        }
    }
}

/// Every call is a row in the Parquet files, regardless of when these files are completed.
#[cfg(feature = "parquet")]
#[test]
fn parquet_has_every_call() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let scratch = Scratch::new();
    let agent = Running::new(agent(&scratch, &["--to", "parquet:files", "--to", "events:events", "--until-end"]));
    std::fs::write(scratch.root().join("go"), "").unwrap();
    Launch::new(&scratch, workload("live")).args(["20000", "2", "go"]).traced();
    agent.end();
    let files: Vec<_> =
        std::fs::read_dir(scratch.data().join("files")).unwrap().map(|file| file.unwrap().path()).collect();
    let rows = |path: &std::path::PathBuf| {
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        reader.metadata().file_metadata().num_rows()
    };
    assert!(files.iter().all(|file| file.extension().unwrap() == "parquet"), "{files:?}");
    assert_eq!(files.iter().map(rows).sum::<i64>(), 40_002);
    assert_eq!(recorded(&scratch).0, 40_002);
    assert_eq!(lines(&scratch, "events").len(), 40_002);
}
