//! End-to-end tests of stripe layouts: a FUSE mount (testdata/workloads/layoutfs.py) serves real `lustre.lov` attributes to traced
//! programs. For each storage target, results of `stripes` must equal a byte-by-byte count over the programs' own log.

use crate::fuse::Mount;
use crate::harness::{Compiler, Launch, Op, Scratch, Traces, read_log, workload_with};
use crate::programs::analyze;
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::meta::{LayoutMoment, LayoutSource};

const INIT: u32 = 0x10;
const STALE: u32 = 1;
const PREFERRED: u32 = 2;
const EXTENSION: u32 = 0x40;
const RAID0: u32 = 1;
const ON_METADATA: u32 = 0x100;
const OVERSTRIPED: u32 = 0x200;
const RELEASED: u32 = 0x8000_0000;
const V1: u32 = 0x0BD1_0BD0;
const V3: u32 = 0x0BD3_0BD0;
const FOREIGN: u32 = 0x0BD7_0BD0;
const COMPOSITE: u32 = 0x0BD6_0BD0;
const SELF_EXTENDING: u32 = 0x0BD8_0BD0;
const END: u64 = u64::MAX;

/// Component of a composite Lustre layout, as set up by the test.
#[derive(Clone)]
struct Part {
    start: u64,
    end: u64,
    mirror: u32,
    flags: u32,
    pattern: u32,
    stripe: u32,
    osts: Vec<u32>,
}

impl Part {
    fn new(start: u64, end: u64, stripe: u32, osts: &[u32]) -> Self {
        Self { start, end, mirror: 0, flags: INIT, pattern: RAID0, stripe, osts: osts.to_vec() }
    }

    /// Returns the component as it is before the first write to it, without OST objects.
    fn without_objects(&self) -> Self {
        Self { flags: self.flags & !INIT, osts: Vec::new(), ..self.clone() }
    }

    /// Encodes the component's stripes as `lov_user_md`; the OST objects may not exist yet.
    fn plain(&self, magic: u32, count: u16) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend(magic.to_le_bytes());
        out.extend(self.pattern.to_le_bytes());
        out.extend([7; 16]); // lmm_oi
        out.extend(self.stripe.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend([0; 2]); // lmm_layout_gen
        if magic == V3 {
            out.extend(b"flash\0\0\0\0\0\0\0\0\0\0\0");
        }
        for ost in &self.osts {
            out.extend([9; 16]); // l_ost_oi
            out.extend([0; 4]); // l_ost_gen
            out.extend(ost.to_le_bytes());
        }
        out
    }
}

fn plain(magic: u32, part: &Part) -> Vec<u8> {
    part.plain(magic, part.osts.len() as u16)
}

fn composite(magic: u32, parts: &[Part]) -> Vec<u8> {
    let bodies: Vec<Vec<u8>> = parts.iter().map(|part| part.plain(V1, part.osts.len().max(1) as u16)).collect();
    let mirrors = parts.iter().map(|part| part.mirror).max().unwrap_or(0);
    let mut out = Vec::new();
    out.extend(magic.to_le_bytes());
    out.extend((32 + 48 * parts.len() as u32 + bodies.iter().map(|body| body.len() as u32).sum::<u32>()).to_le_bytes());
    out.extend(3_u32.to_le_bytes()); // lcm_layout_gen
    out.extend(0_u16.to_le_bytes()); // lcm_flags
    out.extend((parts.len() as u16).to_le_bytes());
    out.extend((mirrors.saturating_sub(1) as u16).to_le_bytes()); // lcm_mirror_count
    out.extend([0; 14]);
    let mut offset = 32 + 48 * parts.len() as u32;
    for (number, (part, body)) in parts.iter().zip(&bodies).enumerate() {
        out.extend((part.mirror << 16 | (number as u32 + 1)).to_le_bytes());
        out.extend(part.flags.to_le_bytes());
        out.extend(part.start.to_le_bytes());
        out.extend(part.end.to_le_bytes());
        out.extend(offset.to_le_bytes());
        out.extend((body.len() as u32).to_le_bytes());
        out.extend([0; 16]); // lcme_layout_gen, lcme_timestamp, padding
        offset += body.len() as u32;
    }
    bodies.iter().for_each(|body| out.extend(body));
    out
}

/// File with its layout attribute at each stage. `stages` are (file size from which on the attribute holds, attribute); `last` is the
/// decoded last attribute.
struct Case {
    name: &'static str,
    stages: Vec<(u64, Vec<u8>)>,
    last: Vec<Part>,
}

fn cases() -> Vec<Case> {
    const KIB: u64 = 1 << 10;
    let case = |name, stages, last: &[Part]| Case { name, stages, last: last.to_vec() };
    let mut out = Vec::new();
    let v1 = Part::new(0, END, 65536, &[4, 9]);
    out.push(case("v1", vec![(0, plain(V1, &v1))], &[v1]));
    let v3 = Part::new(0, END, 131_072, &[3, 1, 7]);
    out.push(case("v3", vec![(0, plain(V3, &v3))], &[v3]));
    // A progressive layout grows with the file.
    let grown = [
        Part::new(0, 256 * KIB, 65536, &[2]),
        Part::new(256 * KIB, 1024 * KIB, 65536, &[5, 6]),
        Part::new(1024 * KIB, END, 131_072, &[1, 8, 9, 10]),
    ];
    let stage = |with: usize| {
        let parts: Vec<Part> =
            (0..3).map(|i| if i < with { grown[i].clone() } else { grown[i].without_objects() }).collect();
        composite(COMPOSITE, &parts)
    };
    let stages = || vec![(0, stage(1)), (256 * KIB, stage(2)), (1024 * KIB + 1, stage(3))];
    out.push(case("grows", stages(), &grown));
    // The file is never closed by the program.
    out.push(case("left_open", stages(), &grown));
    let on_metadata = Part { pattern: ON_METADATA, ..Part::new(0, 64 * KIB, 65536, &[]) };
    let dom = [on_metadata, Part::new(64 * KIB, END, 65536, &[11, 12, 13])];
    out.push(case("dom", vec![(0, composite(COMPOSITE, &dom))], &dom));
    // A write leaves only one mirror current.
    let mirror = |mirror, flags, osts| Part { mirror, flags, ..Part::new(0, END, 65536, osts) };
    let both = [mirror(1, INIT, &[1, 2]), mirror(2, INIT, &[21, 22])];
    let one = [mirror(1, INIT | STALE, &[1, 2]), mirror(2, INIT, &[21, 22])];
    out.push(case("mirrors", vec![(0, composite(COMPOSITE, &both)), (1, composite(COMPOSITE, &one))], &one));
    let preferred = [mirror(1, INIT, &[1, 2]), mirror(2, INIT | PREFERRED, &[21, 22])];
    out.push(case("preferred", vec![(0, composite(COMPOSITE, &preferred))], &preferred));
    let over = Part { pattern: RAID0 | OVERSTRIPED, ..Part::new(0, END, 65536, &[3, 5, 3, 5, 4]) };
    out.push(case("overstriped", vec![(0, plain(V1, &over))], &[over]));
    // A self-extending layout: the component in use grows into the next one.
    let extended = |until| {
        let rest = Part { flags: EXTENSION, ..Part::new(until, END, 65536, &[]) };
        vec![Part::new(0, until, 65536, &[14, 15]), rest]
    };
    let (short, long) = (extended(1024 * KIB), extended(64 * 1024 * KIB));
    out.push(case(
        "extends",
        vec![(0, composite(SELF_EXTENDING, &short)), (1024 * KIB, composite(SELF_EXTENDING, &long))],
        &long,
    ));
    // This attribute is larger than the first buffer for it.
    let osts: Vec<u32> = (0..1000).map(|i| 999 - i).collect();
    let wide = Part::new(0, END, 65536, &osts);
    out.push(case("wide", vec![(0, plain(V1, &wide))], &[wide]));
    // The file's objects are created at the first write.
    let late = Part::new(0, END, 65536, &[16, 17]);
    out.push(case("late", vec![(1, plain(V1, &late))], &[late]));
    let released = Part { pattern: RAID0 | RELEASED, ..Part::new(0, END, 65536, &[18]) };
    out.push(case("released", vec![(0, plain(V1, &released))], &[released]));
    out
}

/// Encodes a foreign layout: `struct lov_foreign_md`.
fn foreign() -> Vec<u8> {
    let mut out = Vec::new();
    for word in [FOREIGN, 4, 1, 0] {
        out.extend(word.to_le_bytes());
    }
    out.extend(b"else");
    out
}

/// Returns the storage target of a byte of the file. Only components with objects that are not stale count; the preferred mirror comes
/// first, else the lowest. The stripe number is counted from the start of the file.
fn target(parts: &[Part], byte: u64) -> Option<u32> {
    let holds = |part: &&Part| {
        part.start <= byte && byte < part.end && part.flags & INIT != 0 && part.flags & (STALE | EXTENSION) == 0
    };
    let mut there: Vec<&Part> = parts.iter().filter(holds).filter(|part| part.pattern & RELEASED == 0).collect();
    there.sort_by_key(|part| (part.flags & PREFERRED == 0, part.mirror));
    let part = there.first()?;
    if part.osts.is_empty() {
        return None;
    }
    Some(part.osts[(byte / u64::from(part.stripe) % part.osts.len() as u64) as usize])
}

/// Returns bytes and operations per storage target, counted over the program's log.
fn expected(case: &Case, log: &[Op], file: &Path) -> BTreeMap<u32, (u64, u64)> {
    let mut out = BTreeMap::new();
    for op in log.iter().filter(|op| op.path == file.to_string_lossy() && matches!(op.name.as_str(), "read" | "write"))
    {
        let mut touched = BTreeMap::new();
        for byte in op.offset as u64..op.offset as u64 + op.length {
            if let Some(ost) = target(&case.last, byte) {
                *touched.entry(ost).or_insert(0_u64) += 1;
            }
        }
        for (ost, bytes) in touched {
            let sum: &mut (u64, u64) = out.entry(ost).or_default();
            *sum = (sum.0 + bytes, sum.1 + 1);
        }
    }
    out
}

fn serve(scratch: &Scratch, cases: &[Case]) -> Option<Mount> {
    let folder = scratch.root().join("layouts");
    std::fs::create_dir_all(&folder).expect("failed to make a directory");
    let put = |name: &str, size: u64, bytes: &[u8]| {
        std::fs::write(folder.join(format!("{name}@{size}")), bytes).expect("failed to write a layout");
    };
    for case in cases {
        case.stages.iter().for_each(|(size, bytes)| put(case.name, *size, bytes));
    }
    put("foreign", 0, &foreign());
    Mount::new(scratch, "lus", "layoutfs.py", &[&scratch.data(), &folder])
}

/// Compares the output of `stripes` with the program's log, file by file.
fn check(scratch: &Scratch, at: &Path, cases: &[Case]) {
    let log = read_log(scratch);
    let found = analyze(scratch, "stripes", &["--top", "1000"], 0);
    let files = found["files"].as_array().expect("files");
    for case in cases {
        let path = at.join(case.name);
        let file = files.iter().find(|file| file["file"] == *path.to_string_lossy());
        let file = file.unwrap_or_else(|| panic!("{} is not in the report", case.name));
        assert_eq!(file["layout"]["origin"], "lustre", "{}", case.name);
        let targets = file["targets"].as_array().expect("targets");
        let number = |value: &serde_json::Value| value.as_u64().expect("a number");
        let reported: BTreeMap<u32, (u64, u64)> = targets
            .iter()
            .filter(|target| !target["ost"].is_null())
            .map(|target| (number(&target["ost"]) as u32, (number(&target["bytes"]), number(&target["operations"]))))
            .collect();
        assert_eq!(reported, expected(case, &log, &path), "{}", case.name);
    }
    check_load(&found, at, cases, &log);
}

/// Asserts that the load over time has the right total bytes per storage target, summed over all files.
fn check_load(found: &serde_json::Value, at: &Path, cases: &[Case], log: &[Op]) {
    let mut own: BTreeMap<u32, u64> = BTreeMap::new();
    for case in cases {
        for (ost, (bytes, _)) in expected(case, log, &at.join(case.name)) {
            *own.entry(ost).or_default() += bytes;
        }
    }
    let targets = found["ost_load"]["targets"].as_array().expect("targets");
    let bytes = |target: &serde_json::Value| {
        target["bytes"].as_array().expect("bytes").iter().map(|bytes| bytes.as_u64().expect("bytes")).sum::<u64>()
    };
    assert_eq!(targets.iter().map(bytes).sum::<u64>(), own.values().sum::<u64>());
    assert_eq!(targets.len(), 257, "256 of more than 1,000 OSTs, and all others together");
    for target in targets.iter().filter(|target| !target["ost"].is_null()) {
        let ost = target["ost"].as_u64().expect("an OST") as u32;
        assert_eq!(bytes(target), own.get(&ost).copied().unwrap_or(0), "OST {ost}");
    }
}

/// Compares `stripes` for a hypothetical layout with a count over the program's log.
fn check_other_layout(scratch: &Scratch) {
    const SIZE: u64 = 70_000;
    let found = analyze(scratch, "stripes", &["--what-if", "size=70000,count=3"], 0);
    let log = read_log(scratch);
    let files = found["what_if"].as_array().expect("files");
    assert_eq!(files.len(), 8);
    for file in files {
        let own = log.iter().filter(|op| op.path == file["file"] && matches!(op.name.as_str(), "read" | "write"));
        let ops: Vec<(u64, u64)> = own.map(|op| (op.offset as u64, op.offset as u64 + op.length)).collect();
        let crossing = ops.iter().filter(|(start, end)| start / SIZE != (end - 1) / SIZE).count();
        let unaligned = ops.iter().filter(|(start, end)| start % SIZE != 0 || end % SIZE != 0).count();
        let touched: u64 = ops.iter().map(|(start, end)| ((end - 1) / SIZE - start / SIZE + 1).min(3)).sum();
        let asked = &file["trials"][1];
        assert_eq!(asked["kind"], "asked");
        assert_eq!(
            (&asked["operations"], &asked["crossing"]),
            (&ops.len().into(), &crossing.into()),
            "{}",
            file["file"]
        );
        assert_eq!(asked["unaligned"], unaligned, "{}", file["file"]);
        assert_eq!(asked["osts_per_operation"], touched as f64 / ops.len() as f64, "{}", file["file"]);
    }
}

/// Asserts that the trace has the last layout that the file system gave, read when the file was closed.
fn check_traces(traces: &Traces, at: &Path, cases: &[Case]) {
    for case in cases {
        let path = at.join(case.name);
        let last = &case.stages.last().expect("a stage").1;
        let of_file = |moment| {
            let processes = traces.processes.iter();
            let defs = processes.flat_map(|process| process.block.layouts.iter().map(move |def| (process, def)));
            let own = defs.filter(|(process, def)| {
                process.paths[def.file as usize] == path.to_string_lossy() && def.moment == moment
            });
            own.map(|(_, def)| def).collect::<Vec<_>>()
        };
        let closed = of_file(LayoutMoment::Close);
        assert!(!closed.is_empty(), "{}", case.name);
        assert!(closed.iter().all(|def| def.source == LayoutSource::Lustre), "{}", case.name);
        assert!(closed.iter().any(|def| def.bytes == *last), "{}", case.name);
        // The attribute at open is the layout before the first write.
        let first = case.stages.iter().find(|(size, _)| *size == 0).map(|(_, bytes)| bytes);
        let opened = of_file(LayoutMoment::Open);
        assert_eq!(opened.iter().any(|def| Some(&def.bytes) == first), first.is_some(), "{}", case.name);
    }
}

#[test]
fn every_form_of_layout_is_read_at_close_and_places_every_byte() {
    let (scratch, cases) = (Scratch::new(), cases());
    let Some(mount) = serve(&scratch, &cases) else { return };
    let program = workload_with("striped", Compiler::Cc, &["-O1"]);
    let names = cases.iter().map(|case| case.name).chain(["foreign", "none"]);
    let launch = names.fold(Launch::new(&scratch, program).arg(&mount.at), Launch::arg);
    let (_, traces) = launch.traced();
    check_traces(&traces, &mount.at, &cases);
    check(&scratch, &mount.at, &cases);
    check_other_layout(&scratch);
    // Components state why they are not in use.
    let found = analyze(&scratch, "stripes", &["--top", "1000"], 0);
    let file = |name: &str| {
        let files = found["files"].as_array().expect("files");
        let path = mount.at.join(name);
        files.iter().find(|file| file["file"] == *path.to_string_lossy()).expect("the file").clone()
    };
    let standing = |name: &str| {
        let parts = file(name)["layout"]["components"].as_array().expect("components").clone();
        parts.iter().map(|part| part["standing"].as_str().expect("words").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(standing("grows"), ["in use", "in use", "in use"]);
    assert_eq!(standing("mirrors"), ["stale", "in use"]);
    assert_eq!(standing("extends"), ["in use", "extension"]);
    assert_eq!(standing("released"), ["released"]);
    assert_eq!(file("preferred")["layout"]["mirrors_in_use"], serde_json::json!([1, 2]));
    assert_eq!(file("overstriped")["layout"]["components"][0]["overstriped"], true);
    assert_eq!(file("v3")["layout"]["components"][0]["pool"], "flash");
    // A foreign layout has no stripes, which is reported; without a layout, the preferred I/O size stands in for the stripe size.
    for (name, problem) in [("foreign", Some("a foreign layout has no stripes")), ("none", None)] {
        assert_eq!(file(name)["layout"]["origin"], "guess", "{name}");
        let said = file(name)["layout_problem"].as_str().unwrap_or_default().to_owned();
        assert!(problem.map_or(said.is_empty(), |problem| said.contains(problem)), "{name}: {said}");
    }
}

#[test]
fn ranks_that_share_files_by_mpi_io() {
    for mpi in [Compiler::Mpich, Compiler::OpenMpi] {
        if !mpi.available() {
            continue;
        }
        let (scratch, cases) = (Scratch::new(), cases());
        let Some(mount) = serve(&scratch, &cases) else { return };
        let program = workload_with("striped", mpi, &["-O1", "-DWITH_MPI"]);
        let names = cases.iter().map(|case| case.name);
        let launch = names.fold(Launch::new(&scratch, program).arg(&mount.at), Launch::arg);
        let (_, traces) = launch.ranks(mpi, 3).traced();
        check_traces(&traces, &mount.at, &cases);
        let found = analyze(&scratch, "stripes", &["--top", "1000"], 0);
        let log = read_log(&scratch);
        for case in &cases {
            let path = mount.at.join(case.name);
            let files = found["files"].as_array().expect("files");
            let file = files.iter().find(|file| file["file"] == *path.to_string_lossy()).expect("the file");
            let targets = file["targets"].as_array().expect("targets").iter().filter(|target| !target["ost"].is_null());
            let reported: BTreeMap<u64, u64> = targets
                .map(|target| (target["ost"].as_u64().expect("an OST"), target["bytes"].as_u64().expect("bytes")))
                .collect();
            let own = expected(case, &log, &path);
            let own: BTreeMap<u64, u64> = own.into_iter().map(|(ost, (bytes, _))| (u64::from(ost), bytes)).collect();
            assert_eq!(reported, own, "{mpi:?}: {}", case.name);
        }
    }
}
