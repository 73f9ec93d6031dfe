//! Tests of the source code's structure: in all crates, imports between modules form no cycle except those listed, so that a module can be
//! understood from the modules that it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            out.push(path);
        }
    }
}

/// Returns the Rust module path of a source file, such as `topics::stripes::audit`.
fn module(src: &Path, file: &Path) -> String {
    let name = file.strip_prefix(src).unwrap().with_extension("");
    let parts: Vec<&str> = name.iter().map(|part| part.to_str().unwrap()).filter(|part| *part != "mod").collect();
    parts.join("::")
}

/// Returns the paths beginning with `crate` or `super` that a source file uses, with groups in braces expanded; skips unit tests.
fn named(module: &str, text: &str) -> BTreeSet<String> {
    let code = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = lines.join("\n");
    let mut out = BTreeSet::new();
    for root in ["crate::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back().unwrap_or(' ');
            if before.is_alphanumeric() || matches!(before, '_' | ':' | '$') {
                continue;
            }
            take(&base(module, &code[at..]), &code[at..], &mut out);
        }
    }
    out
}

/// Returns the module to which the leading `crate` or `super` of `path` refers.
fn base(module: &str, path: &str) -> Vec<String> {
    let mut base: Vec<String> = module.split("::").map(str::to_owned).collect();
    let mut rest = path;
    if rest.starts_with("crate::") {
        return Vec::new();
    }
    while let Some(behind) = rest.strip_prefix("super::") {
        base.pop();
        rest = behind;
    }
    base
}

fn take(base: &[String], path: &str, out: &mut BTreeSet<String>) {
    let path = path.trim_start_matches("crate::").trim_start_matches("super::");
    let end = path.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(path.len());
    let (plain, behind) = path.split_at(end);
    let mut parts: Vec<String> = base.to_vec();
    parts.extend(plain.split("::").filter(|part| !part.is_empty()).map(str::to_owned));
    if !(plain.is_empty() || plain.ends_with("::")) || !behind.starts_with('{') {
        out.insert(parts.join("::"));
        return;
    }
    let mut depth = 0;
    let inner: String = behind[1..]
        .chars()
        .take_while(|c| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth >= 0
        })
        .collect();
    let mut depth = 0;
    let items = inner.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for item in items {
        take(&parts, item.trim(), out);
    }
}

/// Returns a dependency cycle, if there is one.
fn circle(graph: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn visit(
        at: &str,
        graph: &BTreeMap<String, BTreeSet<String>>,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> bool {
        if let Some(start) = way.iter().position(|seen| seen == at) {
            way.drain(..start);
            way.push(at.to_owned());
            return true;
        }
        if !done.insert(at.to_owned()) {
            return false;
        }
        way.push(at.to_owned());
        let found = graph.get(at).is_some_and(|to| to.iter().any(|next| visit(next, graph, way, done)));
        if !found {
            way.pop();
        }
        found
    }
    let (mut way, mut done) = (Vec::new(), BTreeSet::new());
    graph.keys().any(|start| visit(start, graph, &mut way, &mut done)).then_some(way)
}

/// Crates, with the imports between their modules that close cycles (`from>to`). Delete an entry once its cycle is cut; never add one.
const CRATES: [(&str, &str); 10] = [
    ("dxt-analyze", ""),
    ("dxt-analyze/base", ""),
    ("dxt-analyze/darshan-log", "dxt>fit fit>log text::dxt_rows>text::dxt"),
    ("dxt-analyze/iosig", "access>expand"),
    ("dxt-analyze/live", ""),
    ("dxt-analyze/python", ""),
    ("testdata/synth", "args>patterns"),
    ("trace-format", "limits>columns meta>read"),
    ("tracer/launcher", ""),
    (
        "tracer",
        "buffer::packed>buffer::marks buffer::policy>buffer::min_size buffer::scratch>buffer::marks \
         flush::budget>flush::gather flush::output_filter>flush::gather flush::reduce>flush::collective \
         flush::shared_file>flush::collective flush::shared_file>flush::repair handles::canonical_name>handles::paths \
         handles::canonical_name>handles::resolve handles::tables>handles::descriptors handles::tables>handles::resolve \
         handles::target>handles::description handles::target>handles::descriptors mpi::abi>mpi::datatypes \
         mpi::communicators>mpi::world mpi::errors>mpi::abi registry::file>registry::layouts \
         registry::records>registry::accesses registry::records>registry::memory registry::records>registry::profiles \
         registry::records>registry::stream registry::stream>registry::file registry::stream>registry::memory",
    ),
];

/// Returns the imports (from, to) between the files below `src` as module paths.
fn imports(src: &Path) -> BTreeSet<(String, String)> {
    let mut all = Vec::new();
    files(src, &mut all);
    let texts: BTreeMap<String, String> =
        all.iter().map(|file| (module(src, file), std::fs::read_to_string(file).unwrap())).collect();
    let mut out = BTreeSet::new();
    for (from, text) in &texts {
        for path in named(from, text) {
            let parts: Vec<&str> = path.split("::").collect();
            let to =
                (1..=parts.len()).rev().map(|count| parts[..count].join("::")).find(|path| texts.contains_key(path));
            out.extend(to.filter(|to| to != from).map(|to| (from.clone(), to)));
        }
    }
    out
}

/// Returns a cycle among folders or files that the imports form without the imports in `left`.
fn circle_without(left: &[(&str, &str)], imports: &BTreeSet<(String, String)>) -> Option<Vec<String>> {
    fn top(path: &str) -> &str {
        path.split("::").next().unwrap_or_default()
    }
    let is_parent = |a: &str, b: &str| b.strip_prefix(a).is_some_and(|rest| rest.starts_with("::"));
    let (mut folders, mut files) =
        (BTreeMap::<String, BTreeSet<String>>::new(), BTreeMap::<String, BTreeSet<String>>::new());
    for (from, to) in imports {
        let tops = (top(from), top(to));
        if left.iter().any(|&edge| edge == (from.as_str(), to.as_str()) || edge == tops) {
            continue;
        }
        if tops.0 != tops.1 {
            folders.entry(tops.0.to_owned()).or_default().insert(tops.1.to_owned());
        }
        if !is_parent(from, to) && !is_parent(to, from) {
            files.entry(from.clone()).or_default().insert(to.clone());
        }
    }
    circle(&folders).or_else(|| circle(&files))
}

#[test]
fn no_module_is_needed_by_what_it_needs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (name, left) in CRATES {
        let imports = imports(&root.join(name).join("src"));
        assert!(!imports.is_empty(), "{name}: the files were not read");
        let left: Vec<(&str, &str)> = left.split_whitespace().filter_map(|edge| edge.split_once('>')).collect();
        assert_eq!(circle_without(&left, &imports), None, "{name}: modules need each other");
        for cut in &left {
            let others: Vec<(&str, &str)> = left.iter().copied().filter(|edge| edge != cut).collect();
            assert!(
                circle_without(&others, &imports).is_some(),
                "{name}: {cut:?} closes no circle: delete it from the list"
            );
        }
    }
}

#[test]
fn a_circle_is_seen() {
    let of = |pairs: &[(&str, &str)]| {
        let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        pairs.iter().for_each(|(from, to)| {
            graph.entry((*from).into()).or_default().insert((*to).into());
        });
        circle(&graph)
    };
    assert_eq!(of(&[("a", "b"), ("b", "c")]), None);
    assert_eq!(of(&[("a", "b"), ("b", "c"), ("c", "b")]).map(|way| way.len()), Some(3));
    let text = "use crate::a::{self, b::{C, d}};\nuse super::e;\n";
    let found: Vec<String> = named("x::y", text).into_iter().collect();
    assert_eq!(found, ["a::b::C", "a::b::d", "a::self", "x::e"]);
}

/// No output uses `print!` or similar macros, which panic if writing fails (full disk, closed pipe).
#[test]
fn nothing_is_printed_but_by_what_bears_that_it_cannot_be() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    SOURCES.iter().for_each(|folder| files(&home.join(folder), &mut all));
    let mut found = Vec::new();
    for file in all {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let prints = code.filter(|(_, line)| ["print!(", "println!(", "dbg!("].iter().any(|word| line.contains(word)));
        found.extend(prints.map(|(number, _)| format!("{}:{}", file.display(), number + 1)));
    }
    assert!(
        found.is_empty(),
        "progress::tell and say! write to standard error, writeln! to standard output: {found:?}"
    );
}

/// Sources of the analyzer's crates.
const SOURCES: [&str; 6] = ["src", "base/src", "live/src", "darshan-log/src", "iosig/src", "python/src"];

/// Returns the lines of code that contain one of `words`, per source file, without unit tests.
fn lines_with(words: &[&str]) -> BTreeMap<String, Vec<String>> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    SOURCES.iter().for_each(|folder| files(&home.join(folder), &mut all));
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in all.iter().filter(|file| !file.ends_with("tests.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim_start().starts_with("//") && !line.trim_start().starts_with("use ");
        let found = code.lines().filter(is_code).filter(|line| words.iter().any(|word| line.contains(word)));
        let name = file.strip_prefix(home).unwrap().display().to_string();
        found.for_each(|line| out.entry(name.clone()).or_default().push(line.trim().to_owned()));
    }
    out
}

/// Only `input.rs` opens files for reading, and decides what may be read: opening a FIFO blocks, and reading a device may never end.
#[test]
fn files_are_opened_for_reading_in_one_place() {
    let words = [
        "File::open",
        "fs::read(",
        "fs::read_to_string",
        "OpenOptions::new",
        "File::options",
        "fs::copy",
        "from_path(",
    ];
    let mut found = lines_with(&words.iter().copied().chain(["open_as(", " open(path, "]).collect::<Vec<&str>>());
    // Files below /proc are exempt.
    found.values_mut().for_each(|lines| lines.retain(|line| !line.contains("\"/proc/")));
    found.retain(|_, lines| !lines.is_empty());
    let expected = [
        // A separate library, which receives open files from `input.rs`.
        ("darshan-log/src/log.rs", 1),
        ("base/src/input.rs", 1),
        // Opens files below /proc.
        ("base/src/spools/owner.rs", 2),
        // Opens a directory.
        ("base/src/spools/stale.rs", 1),
        ("base/src/written/access.rs", 1),
        // Opens files for writing, and a directory.
        ("base/src/written/mod.rs", 3),
    ];
    let places: BTreeMap<&str, usize> = found.iter().map(|(file, lines)| (file.as_str(), lines.len())).collect();
    let expected = BTreeMap::from(expected);
    assert_eq!(places, expected, "input::open opens files: {found:#?}");
}

/// Only `written/` creates and replaces output files, and decides what may be replaced: a link or another user's file may exist at the path.
#[test]
fn files_are_made_and_replaced_in_one_place() {
    let found = lines_with(&[
        "File::create",
        "OpenOptions::new",
        "File::options",
        "fs::write",
        "fs::rename",
        "renameat",
        "hard_link",
        "set_permissions",
        "fs::copy",
        "fs::symlink(",
        "OFlags::CREATE",
        "mknod",
        "NamedTempFile",
        "tempfile_in",
        "tempdir_in",
        ".persist(",
    ]);
    let expected = [
        // Moves files between its own directories and the requested one.
        ("src/export/jobs.rs", 1),
        ("src/export/parquet/mod.rs", 3),
        ("src/topics/corpus/days.rs", 6),
        // Writes a state file beside its path, then renames it.
        ("live/src/state.rs", 2),
        ("base/src/written/access.rs", 2),
        ("base/src/written/mod.rs", 10),
    ];
    let places: BTreeMap<&str, usize> = found.iter().map(|(file, lines)| (file.as_str(), lines.len())).collect();
    assert_eq!(places, BTreeMap::from(expected), "written::Target, growing or create_new make files: {found:#?}");
}
