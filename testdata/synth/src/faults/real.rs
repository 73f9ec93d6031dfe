//! Cases with real programs under the tracer: `testdata/workloads/phases.c` with MPICH and Open MPI; `testdata/workloads/delays.c` simulates
//! a slow file system where needed. The true cost of a fault is the run time with the fault minus the run time without.

use super::Choice;
use super::injected::{self as fault, Fault};
use super::truth::{Injected, Truth};
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Case with a program that runs twice, without and with the fault; a healthy case runs once.
struct Real {
    name: &'static str,
    mpi: &'static str,
    ranks: u32,
    /// Delays in both runs, as rules of `delays.c`.
    rules: &'static str,
    args: &'static str,
    /// Additional delays, additional arguments and the fault of the faulty run; `None` for a healthy case.
    sick: Option<(&'static str, &'static str, Fault)>,
    /// Contents of a file for the analyzer's option `--layout`; `None` to run without that option.
    layout: Option<&'static str>,
}

const MPICH: &str = "mpich";
const OPENMPI: &str = "openmpi";
/// Delays that simulate the file system in all cases: times are proportional to bytes, so that only the fault slows down a case.
const WRITES: &str = "op=write,us=100,perkib=16";
const READS: &str = "op=read,us=100,perkib=16";

fn job(name: &'static str, mpi: &'static str, rules: &'static str, args: &'static str) -> Real {
    Real { name, mpi, ranks: 4, rules, args, sick: None, layout: None }
}

impl Real {
    /// Adds a faulty run, which in addition has the delays `rules`, the program arguments `args` and the fault `fault`.
    fn by(self, rules: &'static str, args: &'static str, fault: Fault) -> Self {
        Self { sick: Some((rules, args, fault)), ..self }
    }
}

fn cases() -> Vec<Real> {
    let shared_target =
        Real { layout: Some("* size=256K count=8\n"), ..job("real-slow-ost", MPICH, WRITES, "phases=8") };
    let stalled = job("real-stall", OPENMPI, WRITES, "phases=8 place=own");
    let holes = "api=independent holes=4 transfer=2048 bytes=131072 phases=8";
    vec![
        job("real-slow-rank", MPICH, WRITES, "phases=8 place=own").by(
            "op=write,rank=2,perkib=48",
            "",
            fault::slow_rank(2, 4.0),
        ),
        job("real-slow-rank-ompio", OPENMPI, WRITES, "phases=8 api=independent").by(
            "op=write,rank=1,perkib=48",
            "",
            fault::slow_rank(1, 4.0),
        ),
        shared_target.by("op=write,target=5/8/262144,perkib=120", "", fault::slow_osts(&[5], 8.0)),
        stalled.by("op=write,rank=3,nth=21,us=2000000", "", fault::stall(3, 2, 2.0)),
        job("real-window", MPICH, WRITES, "phases=20 compute=60").by(
            "op=write,from=600,to=1200,perkib=64",
            "",
            fault::window(0.3, 0.6, 5.0),
        ),
        job("real-tail", OPENMPI, READS, "phases=12 op=read").by(
            "op=read,every=61,us=200000",
            "",
            fault::tail(0.016, 50.0),
        ),
        job("real-small-writes", MPICH, "op=write,us=300,perkib=4", "phases=6 bytes=1048576").by(
            "",
            "transfer=4096",
            fault::small_writes(4096),
        ),
        job("real-sync-each", OPENMPI, "op=write,perkib=8;op=sync,us=6000", "phases=8 place=own").by(
            "",
            "sync=1",
            fault::sync_each(),
        ),
        job("real-slow-open", MPICH, WRITES, "phases=8 place=own").by(
            "op=open,rank=1,us=900000",
            "",
            fault::slow_open(1, 0.9),
        ),
        job("real-open-storm", OPENMPI, "op=write,perkib=4;op=open,us=5000", "phases=8").by(
            "",
            "reopen=1",
            fault::open_storm(),
        ),
        job("real-stat-storm", MPICH, "op=write,perkib=8;op=stat,us=400", "phases=8").by(
            "",
            "stats=20",
            fault::stat_storm(20),
        ),
        job("real-late-romio", MPICH, WRITES, "phases=8 api=collective place=turns aggregators=4 transfer=2097152").by(
            "",
            "late=2:150",
            fault::late_rank(2, 2.5),
        ),
        job("real-late-ompio", OPENMPI, WRITES, "phases=8 api=collective place=turns aggregators=4 transfer=2097152")
            .by("", "late=1:150", fault::late_rank(1, 2.5)),
        job(
            "real-one-aggregator-romio",
            MPICH,
            WRITES,
            "phases=8 api=collective place=turns aggregators=4 transfer=2097152",
        )
        .by("", "aggregators=1", fault::one_aggregator()),
        job("real-rank-0-only", MPICH, WRITES, "phases=6").by("", "only0=1", fault::only_rank_0()),
        job("real-serial", OPENMPI, WRITES, "phases=6").by("", "serial=1", fault::serial()),
        job("real-file-locks", MPICH, WRITES, "phases=6").by("", "lock=1", fault::file_locks()),
        job("real-more-data", OPENMPI, WRITES, "phases=8 place=own").by("", "share=3:4", fault::more_data(3, 4)),
        job(
            "real-sieving-romio",
            MPICH,
            "op=write,perkib=20;op=read,perkib=20",
            "phases=8 api=independent bytes=131072 transfer=131072",
        )
        .by("", holes, fault::sieved_writes(4)),
        job(
            "real-flushed-streams",
            MPICH,
            "op=sync,us=1000",
            "phases=8 api=streams place=own bytes=25600 transfer=256",
        )
        .by("", "sync=1", fault::flush_each()),
        job("healthy-real-own-files", MPICH, WRITES, "phases=8 place=own"),
        job("healthy-real-shared-file", OPENMPI, WRITES, "phases=8"),
        job(
            "healthy-real-collective-romio",
            MPICH,
            WRITES,
            "phases=8 api=collective place=turns aggregators=4 transfer=2097152",
        ),
        job(
            "healthy-real-collective-ompio",
            OPENMPI,
            WRITES,
            "phases=8 api=collective place=turns aggregators=4 transfer=2097152",
        ),
        job("healthy-real-independent-romio", MPICH, WRITES, "phases=8 api=independent"),
        job("healthy-real-reads", OPENMPI, READS, "phases=8 op=read place=own"),
        Real { ranks: 1, ..job("healthy-real-threads", MPICH, WRITES, "phases=8 threads=4") },
        job("healthy-real-compute-bound", MPICH, "op=write,perkib=1", "phases=3 compute=1000 place=own"),
    ]
}

/// Runs the selected cases and returns their true faults. The directory `built` contains `phases.mpich`, `phases.openmpi`, `delays.so` and
/// `libdxt_tracer.so`. Cases of a missing MPI are skipped with a message.
pub(super) fn run(built: &Path, folder: &Path, choice: &Choice) -> anyhow::Result<Vec<Truth>> {
    let built = built.canonicalize().with_context(|| format!("failed to find {}", built.display()))?;
    let folder = folder.canonicalize().with_context(|| format!("failed to find {}", folder.display()))?;
    let mut truths = Vec::new();
    for case in cases().into_iter().filter(|case| choice.has(case.name, false)) {
        if built.join(format!("phases.{}", case.mpi)).exists() {
            truths.push(case.run(&built, &folder).with_context(|| format!("failed to run {}", case.name))?);
        } else {
            eprintln!("{}: skipped, there is no phases.{}", case.name, case.mpi);
        }
    }
    Ok(truths)
}

impl Real {
    fn run(&self, built: &Path, folder: &Path) -> anyhow::Result<Truth> {
        let traces = folder.join(self.name);
        let (mut truth_ns, mut faults) = (0, Vec::new());
        let run_ns = match &self.sick {
            None => self.once(built, &traces, "", "")?,
            Some((rules, args, fault)) => {
                let twin = self.once(built, &folder.join(format!("{}.twin", self.name)), "", "")?;
                let run_ns = self.once(built, &traces, rules, args)?;
                truth_ns = run_ns.saturating_sub(twin);
                faults.push(Injected { cause: fault.cause.clone(), truth_ns, right: fault.right.clone() });
                run_ns
            }
        };
        let mut options = Vec::new();
        if let Some(layout) = self.layout {
            let file = folder.join(format!("{}.layout", self.name));
            std::fs::write(&file, layout).with_context(|| format!("failed to write {}", file.display()))?;
            options.extend(["--layout".to_owned(), file.display().to_string()]);
        }
        let (name, barriers) = (self.name.to_owned(), true);
        Ok(Truth { log: name.clone(), name, short: false, barriers, options, run_ns, truth_ns, faults })
    }

    /// Runs the program once with additional delays and arguments, with traces in `traces`; returns the run time in ns.
    fn once(&self, built: &Path, traces: &Path, rules: &str, args: &str) -> anyhow::Result<u64> {
        // A neutral directory name, because findings contain file names.
        let data = traces.with_file_name("scratch");
        for folder in [traces, &data] {
            if folder.exists() {
                std::fs::remove_dir_all(folder).with_context(|| format!("failed to empty {}", folder.display()))?;
            }
            std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
        }
        let mut command = Command::new("timeout");
        command.args(["120", &format!("mpirun.{}", self.mpi), "-n", &self.ranks.to_string()]);
        command.args((self.mpi == OPENMPI).then_some("--oversubscribe"));
        // These variables are set for the ranks only, not for the launcher.
        command
            .arg("env")
            .arg(preload(built))
            .arg("DXT_ENABLE=trace")
            .arg(format!("DXT_OUTPUT_DIR={}", traces.display()));
        command.arg(format!("DELAYS={};{rules}", self.rules)).arg(format!("DELAYS_PATH={}", data.display()));
        command.arg(built.join(format!("phases.{}", self.mpi))).arg(&data);
        command.args(self.args.split_whitespace()).args(args.split_whitespace());
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        // One aggregator per rank, because in Open MPI 4.1.4 several aggregators with data sieving overwrite each other's bytes.
        command.envs([("OMPI_MCA_io_ompio_num_aggregators", "4"), ("OMPI_MCA_fbtl_posix_write_datasieving", "0")]);
        let out = command.output().context("failed to run timeout")?;
        let _ = std::fs::remove_dir_all(&data); // the program's output is no longer needed
        let (said, complained) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        ensure!(out.status.success(), "mpirun.{} ended with {}: {complained}", self.mpi, out.status);
        let line = said.lines().find_map(|line| line.strip_prefix("run_ns="));
        line.and_then(|ns| ns.parse().ok())
            .with_context(|| format!("the program does not say its time: {said}{complained}"))
    }
}

/// Returns the assignment of LD_PRELOAD: first the tracer, then the delays.
fn preload(built: &Path) -> String {
    let of = |name: &str| -> PathBuf { built.join(name) };
    format!("LD_PRELOAD={}:{}", of("libdxt_tracer.so").display(), of("delays.so").display())
}
