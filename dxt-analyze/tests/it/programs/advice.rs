//! Tests of `advise` on programs that are slow for a known reason: traced by `dxt-run`, advised, run again with `dxt-run --hints`, and
//! compared. A preloaded library (`delays.c`) slows down storage, so the gain depends on number and size of requests.

use crate::common::facts::of_code;
use crate::harness::{Compiler, Scratch, dxt_run, library, skip, skip_here, workload_with};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const RANKS: u64 = 4;
/// Storage delays as rules of `delays.c`: 2 ms per request, and 50 MB/s.
const DELAYS: &str = "op=write,us=2000,perkib=20;op=read,us=2000,perkib=20";
/// Variable that sets slower storage, 10 MB/s: the delays far exceed the time that ranks wait for each other on a busy machine.
const SLOWER: (&str, &str) = ("DELAYS", "op=write,us=2000,perkib=100");

/// MPI program that is slow for a known reason, with the scratch directory of its runs.
struct Sick {
    scratch: Scratch,
    program: PathBuf,
    shim: PathBuf,
    mpi: Compiler,
}

impl Sick {
    fn new(mpi: Compiler) -> Option<Self> {
        let program = mpi.available().then(|| workload_with("mpiio_sick", mpi, &["-O1"]))?;
        let shim = workload_with("delays", Compiler::Cc, &["-O1", "-shared", "-fPIC"]);
        Some(Self { scratch: Scratch::new(), program, shim, mpi })
    }

    fn dir(&self, name: &str) -> PathBuf {
        self.scratch.root().join(name)
    }

    /// Runs variant `variant` of the program under dxt-run with `options`. Returns its trace (`None` if this machine cannot run the
    /// program) and its standard error.
    fn run(&self, variant: &str, to: &str, options: &[&str], variables: &[(&str, &str)]) -> (Option<PathBuf>, String) {
        self.scratch.clear_data();
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", "120"])
            .arg(dxt_run())
            .arg("--lib")
            .arg(library())
            .arg("-o")
            .arg(self.dir(to))
            .args(options);
        match self.mpi {
            Compiler::OpenMpi => command.args(["--", "mpirun.openmpi", "--oversubscribe"]),
            _ => command.args(["--", "mpirun.mpich"]),
        };
        command.args(["-n", &RANKS.to_string()]).arg(&self.program).arg(self.scratch.data()).arg(variant);
        command
            .env_remove("ROMIO_HINTS")
            .env("LD_PRELOAD", &self.shim)
            .env("DELAYS", DELAYS)
            .env("DELAYS_PATH", "data/sick");
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let output = command.envs(variables.iter().copied()).output().expect("failed to run timeout(1)");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() == Some(77) {
            skip_here("host names cannot be set (unshare)");
            return (None, said);
        }
        assert_eq!(output.status.code(), Some(0), "{variant}: {said}");
        // Only the trace of the ranks counts: earlier processes of this name have traces of their own.
        let traces =
            std::fs::read_dir(self.dir(to)).expect("there are traces").filter_map(|entry| Some(entry.ok()?.path()));
        let trace = traces.into_iter().find(|path| path.to_string_lossy().ends_with("_4ranks.dxt"));
        assert!(trace.is_some(), "{said}");
        (trace, said)
    }

    /// Returns the contents of the program's file at the given (offset, length) pairs.
    fn written(&self, at: &[(u64, u64)]) -> Vec<u8> {
        let all = std::fs::read(self.scratch.data().join("sick")).expect("the program wrote its file");
        at.iter().flat_map(|&(from, length)| all[from as usize..(from + length) as usize].to_vec()).collect()
    }

    fn advise(&self, trace: &Path, to: &str) -> Value {
        json(&analyze(&["advise", "--format", "json", "-o"], &[&self.dir(to), trace]))
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir(name)).unwrap_or_default()
    }
}

fn analyze(words: &[&str], paths: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dxt-analyze")).args(words).args(paths).output().expect("failed to run dxt-analyze")
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

/// Returns the number of calls and the time in ns of the operations `names` of one layer, in the run before and in the run after.
fn compared(before: &Path, after: &Path, layer: &str, names: &[&str]) -> [(u64, u64); 2] {
    let found = json(&analyze(&["compare", "--format", "json"], &[before, after]));
    let rows = || found["operations"].as_array().into_iter().flatten();
    let rows = || rows().filter(|row| row["layer"] == layer && names.iter().any(|name| row["op"] == *name));
    ["before", "after"].map(|side| {
        let of = |what: &str| rows().map(|row| row[side][what].as_u64().unwrap_or(0)).sum();
        (of("calls"), of("time_ns"))
    })
}

/// Asserts that each rank gained about the time that the first finding with advice promised. (All ranks wait for the slowest.)
fn assert_gain(advice: &Value, before_ns: u64, after_ns: u64) {
    let first = &advice["advice"][0];
    let of = |name: &str| first[name].as_u64();
    let saves = of("saves_ns").unwrap_or(0);
    let (low, high) = (of("saves_low_ns").unwrap_or(saves / 2), of("saves_high_ns").unwrap_or(saves * 2));
    let gained = before_ns.saturating_sub(after_ns) / RANKS;
    // A busy machine makes each delay a little longer, and phases wait for the slowest rank.
    let room = |ns: u64| ns / 2;
    assert!(
        gained >= low.min(saves / 2) - room(low.min(saves / 2)) && gained <= high.max(saves * 2),
        "{gained} ns, promised {first}"
    );
    assert!(gained * 2 >= saves / 2, "{gained} ns of {saves}");
}

fn lines(advice: &Value, file: Option<&str>) -> Vec<String> {
    let items = advice["advice"].as_array().into_iter().flatten().filter(|item| item["file"].as_str() == file);
    items
        .flat_map(|item| item["lines"].as_array().into_iter().flatten())
        .filter_map(|line| Some(line.as_str()?.to_owned()))
        .collect()
}

#[test]
fn what_the_ranks_write_piece_by_piece_they_write_together() {
    let Some(sick) = Sick::new(Compiler::Mpich) else { return };
    let (Some(before), _) = sick.run("alone", "before", &[], &[]) else { return };
    let all = [(0, 4 * 40 * RANKS * 4096)];
    let alone = sick.written(&all);
    // No hint turns an independent call into a collective one, so there is none to set, but a change of code is advised.
    let advice = sick.advise(&before, "hints");
    assert_eq!(lines(&advice, Some("romio_hints")), Vec::<String>::new());
    let program = lines(&advice, None);
    assert!(program.iter().any(|line| line.starts_with("MPI_File_set_view(")), "{advice}");
    assert!(program.iter().any(|line| line.starts_with("MPI_File_write_at_all(")), "{advice}");
    assert!(!program.iter().any(|line| line.contains("read")), "nothing is read: {advice}");
    let readme = sick.text("hints/README.txt");
    assert!(readme.contains("MPI_File_write_at_all(") && readme.contains("saves"), "{readme}");
    // This variant has the code that the advice suggests.
    let (Some(after), _) = sick.run("together", "after", &[], &[]) else { return };
    assert!(sick.written(&all) == alone);
    let [(calls_before, ns_before), (calls_after, ns_after)] = compared(&before, &after, "POSIX", &["write"]);
    assert_eq!(calls_before, 4 * 40 * RANKS);
    assert!(calls_after <= 4 * RANKS, "{calls_after}");
    assert_gain(&advice, ns_before, ns_after);
}

#[test]
fn what_data_sieving_moves_too_is_left_alone() {
    let Some(sick) = Sick::new(Compiler::Mpich) else { return };
    let (Some(before), _) = sick.run("sieved", "before", &[], &[]) else { return };
    let pieces: Vec<(u64, u64)> = (0..4 * RANKS * 8).map(|number| (number << 20, 65536)).collect();
    let sieved = sick.written(&pieces);
    let advice = sick.advise(&before, "hints");
    assert_eq!(lines(&advice, Some("romio_hints")), ["romio_ds_write disable"], "{advice}");
    let hints = sick.dir("hints");
    let (Some(after), said) = sick.run("sieved", "after", &["--hints", &hints.to_string_lossy()], &[]) else { return };
    assert!(!said.contains("is already set"), "{said}");
    assert!(sick.written(&pieces) == sieved);
    let [(calls_before, ns_before), (calls_after, ns_after)] = compared(&before, &after, "POSIX", &["read", "write"]);
    // Each piece took a read and a write of the surrounding block; all other reads are of the hints file.
    assert!(calls_before >= 2 * 8 * 4 * RANKS, "{calls_before}");
    assert!((8 * 4 * RANKS..8 * 4 * RANKS + 8).contains(&calls_after), "{calls_after}");
    assert_gain(&advice, ns_before, ns_after);
    // Advice that was followed is not repeated.
    let again = sick.advise(&after, "again");
    assert_eq!(lines(&again, Some("romio_hints")), Vec::<String>::new(), "{again}");
}

#[test]
fn one_aggregator_becomes_one_on_each_node_and_other_hints_stay() {
    let Some(sick) = Sick::new(Compiler::Mpich) else { return };
    let own = sick.dir("own_hints");
    std::fs::write(&own, "romio_cb_write enable\ncb_nodes 1\n").expect("failed to write hints");
    let own = own.to_string_lossy().into_owned();
    let (Some(before), _) = sick.run("gathered", "before", &[], &[("ROMIO_HINTS", &own), SLOWER]) else { return };
    let all = [(0, (4 * RANKS) << 20)];
    let by_one = sick.written(&all);
    let advice = sick.advise(&before, "hints");
    assert_eq!(lines(&advice, Some("romio_hints")), ["cb_nodes 4"], "{advice}");
    let text = sick.text("hints/romio_hints");
    assert!(text.lines().any(|line| line == "romio_cb_write enable"), "{text}");
    let hints = sick.dir("hints");
    let options = ["--hints", &hints.to_string_lossy()];
    let (Some(after), _) = sick.run("gathered", "after", &options, &[SLOWER]) else { return };
    assert!(sick.written(&all) == by_one);
    let [(_, ns_before), (_, ns_after)] = compared(&before, &after, "MPIIO", &["write"]);
    assert_gain(&advice, ns_before, ns_after);
    let movers = |trace: &Path| {
        let found = json(&analyze(&["layers", "--format", "json"], &[trace]));
        found["collective_files"][0]["aggregators"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((movers(&before), movers(&after)), (1, 4));
    // Hints that the user has set are kept, with a message.
    let (Some(kept), said) = sick.run("gathered", "kept", &options, &[("ROMIO_HINTS", &own), SLOWER]) else { return };
    assert!(said.contains("ROMIO_HINTS is already set"), "{said}");
    assert_eq!(movers(&kept), 1);
}

#[test]
fn what_open_mpi_s_own_component_heeds_is_advised_where_it_runs() {
    let Some(sick) = Sick::new(Compiler::OpenMpi) else { return };
    let one = ("OMPI_MCA_io_ompio_num_aggregators", "1");
    let (Some(before), _) = sick.run("gathered", "before", &[], &[("OMPI_MCA_io", "ompio"), SLOWER, one]) else {
        return;
    };
    let advice = sick.advise(&before, "hints");
    assert_eq!(lines(&advice, Some("ompi_mca.conf")), ["io_ompio_num_aggregators = 4"], "{advice}");
    assert!(!sick.dir("hints/romio_hints").exists(), "OMPIO ignores ROMIO's hints");
    let found = json(&analyze(&["report", "--format", "json"], &[&before]));
    let asked = of_code(&found, "DXT-V014").expect("the hint is named");
    assert!(asked["about"]["file"].as_str().is_some_and(|file| file.ends_with("/sick")), "{asked}");
    assert_eq!(asked["about"]["processes"], 1, "{asked}");
    let title = asked["title"].as_str().unwrap_or_default();
    let numbers = ["4 ranks", "io_ompio_num_aggregators=1"];
    assert!(numbers.iter().all(|number| title.contains(number)), "{title}");
    let hints = sick.dir("hints");
    let options = ["--hints", &hints.to_string_lossy()];
    let (Some(after), said) = sick.run("gathered", "after", &options, &[("OMPI_MCA_io", "ompio"), SLOWER]) else {
        return;
    };
    assert!(!said.contains("is already set"), "{said}");
    let [(_, ns_before), (_, ns_after)] = compared(&before, &after, "MPIIO", &["write"]);
    assert!(ns_after * 2 < ns_before, "{ns_before} {ns_after}");
    let (_, said) = sick.run("gathered", "kept", &options, &[("OMPI_MCA_io", "ompio"), SLOWER, one]);
    assert!(said.contains("OMPI_MCA_io_ompio_num_aggregators is already set"), "{said}");
    // On ROMIO in Open MPI, the program gets ROMIO's hints: ROMIO cannot be recognized there, so OMPIO's parameters are written as well.
    let component = ["romio341", "romio321", "romio314"].into_iter().find(|name| {
        let known = Command::new("ompi_info").args(["--param", "io", name, "--parsable"]).output();
        known.is_ok_and(|known| String::from_utf8_lossy(&known.stdout).contains(&format!("mca:io:{name}")))
    });
    let Some(component) = component else {
        skip("Open MPI has no ROMIO");
        return;
    };
    let own = sick.dir("own_hints");
    std::fs::write(&own, "romio_cb_write enable\ncb_nodes 1\n").expect("failed to write hints");
    let variables = [("OMPI_MCA_io", component), SLOWER, ("ROMIO_HINTS", &*own.to_string_lossy())];
    let (Some(romio), _) = sick.run("gathered", "romio", &[], &variables) else { return };
    let advice = sick.advise(&romio, "romio_hints");
    assert_eq!(lines(&advice, Some("romio_hints")), ["cb_nodes 4"], "{advice}");
}

#[test]
fn files_of_others_stay_and_earlier_advice_goes() {
    let Some(sick) = Sick::new(Compiler::Mpich) else { return };
    let (Some(before), _) = sick.run("sieved", "before", &[], &[]) else { return };
    let hints = sick.dir("hints");
    std::fs::create_dir(&hints).expect("failed to make a directory");
    std::fs::write(hints.join("romio_hints"), "cb_nodes 7\n").expect("failed to write a file");
    let refused = analyze(&["advise", "-o"], &[&hints, &before]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("was not written by `dxt-analyze advise`"));
    assert_eq!(sick.text("hints/romio_hints"), "cb_nodes 7\n");
    assert_eq!(std::fs::read_dir(&hints).map(Iterator::count).unwrap_or(0), 1, "nothing else was written");
    std::fs::remove_file(hints.join("romio_hints")).expect("failed to remove a file");
    let first = sick.advise(&before, "hints");
    assert_eq!(first["written"].as_array().map(Vec::len), Some(2), "{first}");
    let second = sick.advise(&before, "hints");
    assert_eq!(first, second, "our own files are replaced");
    // A run without the cause removes earlier advice, which would otherwise be used again.
    let (Some(after), _) = sick.run("together", "after", &["--hints", &hints.to_string_lossy()], &[]) else { return };
    let none = analyze(&["advise", "--format", "json", "-o"], &[&hints, &after]);
    let none: Value = serde_json::from_slice(&none.stdout).expect("the report is JSON");
    assert!(!hints.join("romio_hints").exists(), "{none}");
}

#[test]
fn only_what_advice_sets_is_set_and_remarks_are_none() {
    let scratch = Scratch::new();
    let hints = scratch.root().join("hints");
    std::fs::create_dir(&hints).expect("failed to make a directory");
    let write = |name: &str, text: &str| std::fs::write(hints.join(name), text).expect("failed to write a file");
    write(
        "environment",
        "# HDF5_NO=1\nHDF5_A=x y=z\nPATH=/nowhere\nLD_LIBRARY_PATH=/nowhere\nhdf5=2\nMPICH_MPIIO_HINTS=*:cb_nodes=2\n",
    );
    write("ompi_mca.conf", "\n# a = b\nio_ompio_num_aggregators = 3\nfcoll=vulcan\nbad name = 1\n");
    let mut command = Command::new(dxt_run());
    command.arg("--lib").arg(library()).arg("-o").arg(scratch.traces()).arg("--hints").arg(&hints).args(["--", "env"]);
    let output = command.env("OMPI_MCA_fcoll", "individual").output().expect("failed to run dxt-run");
    let (out, said) =
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned());
    let has = |line: &str| out.lines().any(|known| known == line);
    assert!(has("HDF5_A=x y=z") && has("MPICH_MPIIO_HINTS=*:cb_nodes=2"), "{out}");
    assert!(has("OMPI_MCA_io_ompio_num_aggregators=3") && has("OMPI_MCA_fcoll=individual"), "{out}");
    assert!(!out.contains("/nowhere") && !out.contains("HDF5_NO") && !out.contains("ROMIO_HINTS"), "{out}");
    for name in ["PATH", "LD_LIBRARY_PATH", "hdf5"] {
        assert!(said.contains(&format!("{name} is not a variable that advice may set")), "{said}");
    }
    assert!(said.contains("OMPI_MCA_fcoll is already set"), "{said}");
    let mut command = Command::new(dxt_run());
    let none = command.arg("--lib").arg(library()).args(["--hints", "/nonexistent/hints", "--", "true"]).output();
    let none = none.expect("failed to run dxt-run");
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("there is no directory"));
}
