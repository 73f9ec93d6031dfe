//! Tests of scientific and everyday programs, with and without MPI: results are as untraced, and recorded bytes equal those in the files.

use crate::harness::{Compiler, Launch, Outcome, Scratch, Traces, have, skip};
use std::path::Path;
use std::process::Command;

/// Returns the launch of a shell script in the data directory. The script itself starts MPI ranks by `$RUN`.
fn script<'a>(scratch: &'a Scratch, text: &str) -> Launch<'a> {
    let text = format!("set -e; cd {}; {text}", scratch.data().display());
    Launch::new(scratch, "/bin/bash").arg("-c").arg(text)
}

/// Runs a program without and with the tracer, and asserts equal results. Returns the contents of the files `results`, the traces, and the
/// scratch directory.
fn twice(
    prepare: impl Fn(&Path),
    launch: impl for<'a> Fn(&'a Scratch) -> Launch<'a>,
    results: &[&str],
) -> (Vec<Vec<u8>>, Traces, Scratch) {
    let scratch = Scratch::new();
    let left = |outcome: Outcome| {
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let read =
            |name: &&str| std::fs::read(scratch.data().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        (outcome, results.iter().map(read).collect::<Vec<_>>())
    };
    prepare(&scratch.data());
    let (plain, expected) = left(launch(&scratch).untraced().run());
    scratch.clear_data();
    prepare(&scratch.data());
    let (traced, found) = left(launch(&scratch).run());
    assert!(expected == found, "the results differ");
    assert_eq!(traced.stderr, plain.stderr);
    let traces = Traces::read(&scratch.traces());
    (found, traces, scratch)
}

/// Returns the bytes that programs wrote to a file through one of the given layers, without nested calls.
fn written(traces: &Traces, layers: &[&str], path: &Path) -> u64 {
    traces.totals(layers, "write", path).1
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).len()
}

const MELT: &str = "units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 6 0 6 0 6\ncreate_box 1 box\n\
    create_atoms 1 box\nmass 1 1.0\nvelocity all create 3.0 87287\npair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.5\n\
    fix 1 all nve\ndump t all custom 20 dump.txt id type x y z\ndump m all atom/mpiio 20 dump.mpiio\n\
    restart 50 restart.a restart.b\nthermo 50\nrun 100\n";

#[test]
fn lammps_on_two_ranks() {
    if !have("lmp") || !Compiler::OpenMpi.available() {
        return skip("lammps is not installed");
    }
    let prepare = |data: &Path| std::fs::write(data.join("in.melt"), MELT).expect("failed to write the input");
    fn launch(scratch: &Scratch) -> Launch<'_> {
        let program = Launch::new(scratch, "/usr/bin/lmp").args(["-in", "in.melt", "-log", "none", "-screen", "none"]);
        program.in_data().ranks(Compiler::OpenMpi, 2)
    }
    let results = ["dump.txt", "dump.mpiio", "restart.a", "restart.b"];
    let (_, traces, scratch) = twice(prepare, launch, &results);
    assert_eq!((traces.files.len(), traces.processes.len()), (1, 2));
    for (name, layer) in [("dump.txt", "STDIO"), ("dump.mpiio", "MPIIO")] {
        let path = scratch.data().join(name);
        assert_eq!(written(&traces, &[layer], &path), size(&path), "{name}");
    }
}

const SILICON: &str = "&control\n calculation='scf', prefix='si', pseudo_dir='.', outdir='.'\n/\n\
    &system\n ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=12.0\n/\n&electrons\n conv_thr=1e-8\n/\n\
    ATOMIC_SPECIES\n Si 28.086 Si.pz-vbc.UPF\nATOMIC_POSITIONS alat\n Si 0.0 0.0 0.0\n Si 0.25 0.25 0.25\n\
    K_POINTS automatic\n 2 2 2 0 0 0\n";

#[test]
fn quantum_espresso_on_two_ranks() {
    let pseudopotential = Path::new("/usr/share/espresso/pseudo/Si.pz-vbc.UPF");
    if !have("pw.x") || !pseudopotential.exists() || !Compiler::OpenMpi.available() {
        return skip("quantum-espresso and its data are not installed");
    }
    let prepare = |data: &Path| {
        std::fs::write(data.join("si.in"), SILICON).expect("failed to write the input");
        std::fs::copy(pseudopotential, data.join("Si.pz-vbc.UPF")).expect("failed to copy the pseudopotential");
    };
    fn launch(scratch: &Scratch) -> Launch<'_> {
        let program = Launch::new(scratch, "/usr/bin/pw.x").args(["-in", "si.in"]).env("OMP_NUM_THREADS", "1");
        program.in_data().ranks(Compiler::OpenMpi, 2)
    }
    let results = ["si.save/charge-density.dat", "si.save/wfc1.dat"];
    let (_, traces, scratch) = twice(prepare, launch, &results);
    assert_eq!(traces.processes.len(), 2);
    for name in ["si.save/wfc1.dat", "si.save/wfc2.dat"] {
        let path = scratch.data().join(name);
        assert_eq!(written(&traces, &["POSIX"], &path), size(&path), "{name}");
    }
    let read = traces.totals(&["POSIX", "STDIO"], "read", &scratch.data().join("Si.pz-vbc.UPF")).1;
    assert!(read >= size(pseudopotential), "{read}");
}

#[test]
fn hmmer() {
    let examples = Path::new("/usr/share/doc/hmmer/examples");
    if !have("hmmbuild") || !examples.exists() {
        return skip("hmmer and its examples are not installed");
    }
    let prepare = |_: &Path| {};
    let text = format!(
        "cp {0}/testsuite/20aa-alitest.sto x.sto; zcat -f {0}/easel/demotic/examples/example.sto* > y.sto; cp {0}/testsuite/20aa-alitest.fa x.fa;\
         hmmbuild --amino -o log --informat stockholm x.hmm x.sto; hmmsearch --tblout x.tbl -o x.out x.hmm x.fa; \
         grep -v '^#' x.tbl > table || true; grep -v '^DATE' x.hmm > model",
        examples.display()
    );
    let (_, traces, scratch) = twice(prepare, |s| script(s, &text), &["table", "model"]);
    for name in ["x.hmm", "x.tbl", "x.out"] {
        let path = scratch.data().join(name);
        assert_eq!(written(&traces, &["STDIO"], &path), size(&path), "{name}");
    }
}

#[test]
fn git_clone() {
    if !have("git") {
        return skip("git is not installed");
    }
    let prepare = |data: &Path| {
        let mut command = Command::new("/bin/bash");
        command.arg("-c").current_dir(data).env("GIT_CONFIG_GLOBAL", "/dev/null").arg(
            "set -e; git init -q source; cd source; git config user.name a; git config user.email a@b; \
             for i in $(seq 50); do seq $((i * 100)) > file$i; git add file$i; \
             GIT_AUTHOR_DATE='2000-01-01T00:00:00Z' GIT_COMMITTER_DATE='2000-01-01T00:00:00Z' git commit -qm $i; done",
        );
        let made = command.output().expect("failed to run bash");
        assert!(made.status.success(), "{made:?}");
    };
    let text = "git clone -q --no-local source clone; cd clone; git fsck --no-progress; git rev-parse HEAD > ../head; \
                git archive --format=tar HEAD > ../tree.tar; cat file* > ../all";
    let (_, traces, scratch) = twice(prepare, |s| script(s, text), &["head", "tree.tar", "all"]);
    let checked_out = scratch.data().join("clone/file50");
    assert_eq!(written(&traces, &["POSIX"], &checked_out), size(&checked_out));
    assert!(traces.processes.len() > 4, "{}", traces.processes.len());
}

#[test]
fn a_build_with_make() {
    if !have("make") || !have("cc") {
        return skip("make and a C compiler are not installed");
    }
    let prepare = |data: &Path| {
        let names: Vec<String> = (0..12).map(|i| format!("f{i}")).collect();
        for (i, name) in names.iter().enumerate() {
            let text = format!("int {name}(int x);\nint {name}(int x) {{ return x * {i} + 1; }}\n");
            std::fs::write(data.join(format!("{name}.c")), text).expect("failed to write a source");
        }
        let calls: String = names.iter().map(|name| format!("int {name}(int);\n")).collect();
        let sum: Vec<String> = names.iter().map(|name| format!("{name}(2)")).collect();
        let main = format!(
            "#include <stdio.h>\n{calls}int main(void) {{ printf(\"%d\\n\", {}); return 0; }}\n",
            sum.join("+")
        );
        std::fs::write(data.join("main.c"), main).expect("failed to write a source");
        let objects: String = names.iter().map(|name| format!(" {name}.o")).collect();
        let makefile = format!("program: main.o{objects}\n\tcc -o program $^\n%.o: %.c\n\tcc -O1 -c -o $@ $<\n");
        std::fs::write(data.join("Makefile"), makefile).expect("failed to write the makefile");
    };
    let text = "make -s -j4; ./program > out";
    let (results, traces, scratch) = twice(prepare, |s| script(s, text), &["out", "main.o", "f3.o"]);
    assert_eq!(results[0], b"144\n");
    // Object files of the assembler are written by many concurrent processes. Gaps in the files are never written.
    for i in 0..12 {
        let object = scratch.data().join(format!("f{i}.o"));
        let path = object.display().to_string();
        let writes =
            traces.segments.iter().map(|segment| &segment.op).filter(|op| op.path == path && op.name == "write");
        let end = writes.map(|op| op.offset as u64 + op.length).max();
        assert_eq!(end, Some(size(&object)), "{path}");
    }
    assert!(traces.processes.len() > 24, "{}", traces.processes.len());
}
