//! Tests that docs/coverage.md lists exactly the functions that the library intercepts.

use crate::harness::{have, library, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Returns the functions named in the tables of docs/coverage.md (in backticks, or with the prefix MPI_), with the number of rows that name
/// each function.
fn in_the_document() -> BTreeMap<String, usize> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/coverage.md");
    let text = std::fs::read_to_string(path).expect("failed to read docs/coverage.md");
    let mut rows = BTreeMap::new();
    for row in text.lines().filter_map(|line| line.strip_prefix("| ")) {
        let cell = row.split('|').next().unwrap_or_default();
        // Every second piece between backticks is quoted.
        let quoted = cell.split('`').skip(1).step_by(2).map(str::to_owned);
        let of_mpi = cell.split(|character: char| character != '_' && !character.is_ascii_alphanumeric());
        let of_mpi = of_mpi.filter(|word| word.starts_with("MPI_")).map(str::to_owned);
        for name in quoted.chain(of_mpi) {
            *rows.entry(name).or_default() += 1;
        }
    }
    rows
}

/// Returns the functions that the library exports. MPI functions are listed without their PMPI names.
fn in_the_library() -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output().expect("failed to run nm");
    let listed = String::from_utf8(output.stdout).expect("symbols are text");
    let functions = listed.lines().filter_map(|line| line.split_once(" T ")).map(|(_, name)| name.trim());
    // The library also exports a name for sanitizers (__tsan_...).
    functions.filter(|name| !name.starts_with("PMPI_") && !name.starts_with("__tsan_")).map(str::to_owned).collect()
}

#[test]
fn each_function_is_in_one_row() {
    if !have("nm") {
        return skip("nm is not installed");
    }
    let (rows, exported) = (in_the_document(), in_the_library());
    assert!(exported.len() > 300, "{}", exported.len());
    let missing: Vec<&String> = exported.iter().filter(|name| !rows.contains_key(*name)).collect();
    let unknown: Vec<&String> = rows.keys().filter(|name| !exported.contains(*name)).collect();
    let repeated: Vec<&String> = rows.iter().filter(|(_, count)| **count > 1).map(|(name, _)| name).collect();
    assert!(missing.is_empty(), "exported, but in no table of docs/coverage.md: {missing:?}");
    assert!(unknown.is_empty(), "in a table of docs/coverage.md, but not exported: {unknown:?}");
    assert!(repeated.is_empty(), "in several rows of docs/coverage.md: {repeated:?}");
}
