//! Tests of scripts/install.sh: the installed directory suffices to trace programs, requires no more of the system than documented, and
//! contains environment modules.

use crate::harness::{
    Launch, Outcome, Scratch, Traces, analyzer, copy_program, dxt_run, executable, library, skip, skip_here,
    static_library, workload_source,
};
use crate::launcher::unloadable;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Newest version of glibc that a build on Debian 12 may require, as stated in docs/install.md.
const GLIBC: (u32, u32) = (2, 34);

/// Version of glibc that packages require: the oldest version supported by Rust's standard library.
const OLD_GLIBC: (u32, u32) = (2, 17);

/// Installs the build; returns the installation prefix, or `None` if the analyzer was not built.
fn install(scratch: &Scratch) -> Option<PathBuf> {
    let analyze = analyzer();
    if !analyze.exists() {
        skip("dxt-analyze is not built beside the tests (cargo build)");
        return None;
    }
    let built = scratch.root().join("built");
    std::fs::create_dir_all(&built).expect("a directory");
    for file in [library(), static_library(), dxt_run(), &analyze] {
        let link = built.join(file.file_name().expect("a name"));
        if !link.exists() {
            std::os::unix::fs::symlink(file, link).expect("a link");
        }
    }
    let prefix = scratch.root().join("prefix");
    let script = workload_source("../../scripts/install.sh");
    let launch = Launch::new(scratch, script).untraced().arg("--from").arg(&built).arg("--prefix").arg(&prefix);
    let outcome = launch.run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    Some(prefix)
}

fn shell(scratch: &Scratch, script: &str) -> Outcome {
    Launch::new(scratch, "/bin/bash").untraced().without("DXT_OUTPUT_DIR").arg("-c").arg(script).run()
}

#[test]
fn one_directory_holds_all_and_traces_from_there() {
    let scratch = Scratch::new();
    let Some(prefix) = install(&scratch) else { return };
    for file in [
        "bin/dxt-run",
        "bin/dxt-analyze",
        "lib/dxt/libdxt_tracer.so",
        "lib/dxt/libdxt_static.a",
        "share/man/man1/dxt-run.1",
        "share/doc/dxt/LICENSE",
    ] {
        assert!(prefix.join(file).is_file(), "{file}");
    }
    let unit = std::fs::read_to_string(prefix.join("share/dxt/dxt-live.service")).expect("a unit");
    assert!(unit.contains(&format!("ExecStart={}/bin/dxt-analyze live ", prefix.display())), "{unit}");
    std::fs::write(scratch.root().join("input"), "data").expect("a file");
    let run = format!(
        "PATH={0}/bin:$PATH; dxt-run -o {1} -- cat {1}/../input >/dev/null && dxt-analyze --quiet summary {1} | head -n 1",
        prefix.display(),
        scratch.traces().display()
    );
    let outcome = shell(&scratch, &run);
    assert!(outcome.code == 0 && outcome.stdout.contains("I/O takes"), "{outcome:?}");
    assert_eq!(Traces::read(&scratch.traces()).files.len(), 1);
    let run = format!("{}/bin/dxt-run --link-flags", prefix.display());
    let flags = shell(&scratch, &run);
    let library = format!(" {}/lib/dxt/libdxt_static.a ", prefix.display());
    assert!(flags.stdout.contains("--wrap=write,") && flags.stdout.contains(&library), "{flags:?}");
    links_beside_another_zstd(&scratch, &flags.stdout);
    links_lead_somewhere(&prefix.join("share/doc/dxt"));
    packages_list_programs_and_others(&prefix);
    // Installs again over existing files, which may be in use.
    assert_eq!(install(&scratch).as_ref(), Some(&prefix));
    all_is_removed(&scratch, &prefix);
}

/// Asserts that removal as described in docs/install.md leaves no file.
fn all_is_removed(scratch: &Scratch, prefix: &Path) {
    let (_, rest) = include_str!("../../../docs/install.md").split_once("    cd PREFIX && ").expect("how to remove it");
    let (command, _) = rest.split_once("\n\n").expect("an end");
    let outcome = shell(scratch, &format!("cd {} && {command}; find . -type f -o -type l", prefix.display()));
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, ""), "{outcome:?}");
}

/// Asserts that the package manifests list each installed file with its mode, also in folders that contain both programs and other files.
fn packages_list_programs_and_others(prefix: &Path) {
    let manifest = include_str!("../../../dxt-analyze/Cargo.toml");
    for folder in ["lib/dxt", "share/dxt"] {
        for file in std::fs::read_dir(prefix.join(folder)).expect("a directory").flatten() {
            let (name, mode) = (file.file_name(), file.metadata().expect("a file").permissions().mode() & 0o777);
            let source = format!("target/package/root/usr/{folder}/{}\"", name.display());
            let deb = format!("{source}, \"usr/{folder}/\", \"{mode:o}\"]");
            let rpm = format!("{source}, dest = \"/usr/{folder}/\", mode = \"{mode:o}\" }}");
            assert!(manifest.contains(&deb) && manifest.contains(&rpm), "{deb} {rpm}");
        }
    }
}

/// Asserts that links in the installed documentation lead to existing files.
fn links_lead_somewhere(place: &Path) {
    let folders = [place.to_owned(), place.join("docs"), place.join("trace-format")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a directory").flatten());
    let pages: Vec<PathBuf> =
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    assert!(pages.len() > 20, "{pages:?}");
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("text");
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://") && !link.contains('`')) {
            let target = page.parent().expect("a directory").join(link);
            assert!(target.exists(), "{}: {link}", page.display());
        }
    }
}

/// Asserts, by linking a program with `flags`, that the library for static programs exports no names that a program's own libraries might
/// define, such as those of zstd.
fn links_beside_another_zstd(scratch: &Scratch, flags: &str) {
    let (source, program) = (scratch.root().join("zstd.c"), scratch.root().join("zstd"));
    let text = "#include <stdio.h>\nint ZSTD_versionNumber(void);\nint ZSTD_versionNumber(void) { return 7; }\n\
                int main(void) { FILE *file = fopen(\"made\", \"w\"); return fprintf(file, \"%d\", ZSTD_versionNumber()) != 1 || fclose(file) != 0; }\n";
    std::fs::write(&source, text).expect("a file");
    let (source, program) = (source.display(), program.display());
    let run = format!(
        "cc -static {source} -o {program} {flags} && DXT_ENABLE=trace DXT_OUTPUT_DIR={}/linked {program}",
        scratch.root().display()
    );
    let outcome = shell(scratch, &run.replace('\n', " "));
    if outcome.stderr.contains("cannot find -lc") {
        return skip("no static C library");
    }
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let traces = Traces::read(&scratch.root().join("linked"));
    let made: Vec<&str> = traces.segments.iter().map(|seg| seg.op.name.as_str()).collect();
    assert_eq!(made, ["open", "write", "close"]);
}

#[test]
fn modules_and_pkg_config_point_at_it() {
    let scratch = Scratch::new();
    let Some(prefix) = install(&scratch) else { return };
    let place = prefix.display();
    let found =
        shell(&scratch, &format!("PKG_CONFIG_PATH={place}/share/pkgconfig pkg-config --variable=preload dxt-tracer"));
    assert_eq!(found.stdout, format!("{place}/lib/dxt/libdxt_tracer.so\n"), "{found:?}");

    let lmod = std::fs::read_dir("/usr/share/lmod")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("init/bash"));
    let Some(lmod) = lmod.into_iter().find(|path| path.exists()) else { return skip("Lmod is not installed") };
    let tcl = scratch.root().join("tcl/dxt");
    std::fs::create_dir_all(&tcl).expect("a directory");
    for name in [env!("CARGO_PKG_VERSION"), "auto", ".version"] {
        std::fs::copy(prefix.join("share/modulefiles/dxt").join(name), tcl.join(name)).expect("a module of each kind");
    }
    for modules in [prefix.join("share/modulefiles"), tcl.parent().expect("a directory").to_owned()] {
        let script = format!(
            ". {}; unset MANPATH; module use {}; module load dxt; echo $DXT_TRACER; command -v dxt-run; echo ${{LD_PRELOAD:-none}}
             echo \"$MANPATH\" | tr -s :; module unload dxt; echo ${{MANPATH-none}}
             echo ${{DXT_TRACER:-none}}; export ASAN_OPTIONS=detect_leaks=0; module load dxt/auto; echo $LD_PRELOAD $DXT_CONFIG $ASAN_OPTIONS
             module unload dxt/auto; echo ${{LD_PRELOAD:-none}} $ASAN_OPTIONS",
            lmod.display(),
            modules.display()
        );
        let said = shell(&scratch, &script);
        let tracer = format!("{place}/lib/dxt/libdxt_tracer.so");
        // The empty entry of MANPATH stands for the system's manual pages.
        let loaded = format!("{tracer}\n{place}/bin/dxt-run\nnone\n{place}/share/man:\nnone\n");
        let options = "detect_leaks=0";
        let expected = format!(
            "{loaded}none\n{tracer} {place}/etc/dxt/dxt.conf {options}:verify_asan_link_order=0\nnone {options}\n"
        );
        assert_eq!(said.stdout, expected, "{}: {said:?}", modules.display());
    }
    // If the library would keep programs from starting, they must run without it, and nothing may fail.
    let library = prefix.join("lib/dxt/libdxt_tracer.so");
    let missing = |library: &Path| std::fs::remove_file(library).expect("an installed library");
    let of_another_system = |library: &Path| {
        let _ = std::fs::copy(unloadable(&scratch), library).expect("a library");
    };
    for spoil in [&of_another_system as &dyn Fn(&Path), &missing] {
        spoil(&library);
        for modules in [prefix.join("share/modulefiles"), tcl.parent().expect("a directory").to_owned()] {
            let script = format!(
                ". {}; module use {}; module load dxt/auto; /bin/echo ${{LD_PRELOAD:-none}} ${{DXT_CONFIG:-none}} $DXT_TRACER; module unload dxt/auto
                 /bin/echo ${{DXT_TRACER:-none}}",
                lmod.display(),
                modules.display()
            );
            let said = shell(&scratch, &script);
            assert_eq!(
                said.stdout,
                format!("none none {}\nnone\n", library.display()),
                "{}: {said:?}",
                modules.display()
            );
            assert!(said.stderr.contains("dxt/auto: programs are not traced:"), "{}: {said:?}", modules.display());
        }
    }
}

#[test]
fn it_runs_where_the_documentation_says() {
    let analyze = analyzer();
    for file in [library(), dxt_run(), &analyze].into_iter().filter(|file| file.exists()) {
        let Some(needed) = needs(file) else { return skip_here("objdump cannot read a library") };
        assert!(needed <= GLIBC, "{} asks for glibc {needed:?}", file.display());
    }
    let docs = include_str!("../../../docs/install.md");
    assert!(docs.contains(&format!("{}.{} if it is made on Debian 12", GLIBC.0, GLIBC.1)));
}

/// Packages are linked for old systems: a program that uses many functions renamed in later glibc versions requires no newer glibc, and runs here.
#[test]
fn packages_are_linked_for_older_systems() {
    let scratch = Scratch::new();
    let place = scratch.root().join("glibc");
    let made =
        shell(&scratch, &format!("{} {}", workload_source("../../scripts/older-glibc.sh").display(), place.display()));
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return skip_here("glibc's oldest versions are known for two processors only");
    }
    assert!(made.code == 0 && made.stderr.is_empty(), "{made:?}");
    let (source, program) = (scratch.root().join("old.c"), scratch.root().join("old"));
    std::fs::write(&source, OF_MANY_AGES).expect("a file");
    let link = |more: &str| {
        let (source, program, place) = (source.display(), program.display(), place.display());
        shell(&scratch, &format!("PATH={place}/bin:$PATH; cc {more} {source} -o {program} -lpthread -lm -ldl"))
    };
    let linked = link("");
    assert_eq!(linked.code, 0, "{linked:?}");
    let Some(needed) = needs(&program) else { return skip_here("objdump cannot read a program") };
    assert!(needed <= OLD_GLIBC, "it asks for glibc {needed:?}");
    let run = shell(&scratch, &program.display().to_string());
    assert_eq!((run.code, run.stdout.as_str()), (0, "5\n"), "{run:?}");
    let newer = link("-DNEWER");
    assert!(
        newer.code != 0 && newer.stderr.contains("getrandom"),
        "what old ones have not cannot be linked: {newer:?}"
    );
    let docs = include_str!("../../../docs/install.md");
    assert!(docs.contains(&format!("packages ask for glibc {}.{}", OLD_GLIBC.0, OLD_GLIBC.1)));
}

/// Packaging tools must be installed before the build, and linked with this machine's glibc: compilers for older systems cannot link them,
/// and a failure after the build would cost minutes.
#[test]
fn tools_for_packages_come_before_the_build() {
    let scratch = Scratch::new();
    let (tools, calls) = (scratch.root().join("tools"), scratch.root().join("calls"));
    std::fs::create_dir_all(&tools).expect("a directory");
    // Stand-in for cargo that reports its arguments and build directory, and fails.
    let cargo =
        "#!/bin/sh\necho \"$* in ${CARGO_TARGET_DIR:-target}, $(command -v cc)\" >>\"${0%/*}/../calls\"\nexit 1\n";
    executable(&tools.join("cargo"), cargo);
    for (kind, tool) in [("deb", "cargo-deb"), ("rpm", "cargo-generate-rpm")] {
        let run = format!(
            "CARGO_HOME={0}/none PATH={0}:/usr/bin:/bin CARGO_TARGET_DIR={0}/target {1} {kind}",
            tools.display(),
            workload_source("../../scripts/package.sh").display()
        );
        assert_ne!(shell(&scratch, &run).code, 0);
        let called = std::fs::read_to_string(&calls).expect("what cargo was called with");
        let first = format!("install --quiet --locked {tool} in {}/target, /usr/bin/cc\n", tools.display());
        if called.is_empty() {
            return skip_here(&format!("{tool} is installed"));
        }
        assert_eq!(called, first);
        std::fs::remove_file(&calls).expect("a file");
    }
}

/// The required Rust version must be stated before the build starts. Cargo's own message about a manifest that is too new states neither
/// the required nor the installed version.
#[test]
fn install_says_which_rust_it_needs() {
    let scratch = Scratch::new();
    let tools = scratch.root().join("tools");
    std::fs::create_dir_all(&tools).expect("a directory");
    let tool = |name: &str, says: &str| executable(&tools.join(name), &format!("#!/bin/sh\n{says}\n"));
    let script = workload_source("../../scripts/install.sh");
    let install = |more: &str| {
        let (tools, script) = (tools.display(), script.display());
        let place = format!("CARGO_HOME={tools}/none PATH={tools}:/usr/bin:/bin CARGO_TARGET_DIR={tools}/target");
        shell(&scratch, &format!("{place} {script} --prefix {tools}/prefix {more}"))
    };
    tool("cargo", "echo \"builds in $CARGO_TARGET_DIR with $(command -v cc)\"; exit 1");
    tool("rustc", "echo 'rustc 1.65.0 (of a distribution)'");
    let said = install("");
    let needed =
        concat!("Rust ", env!("CARGO_PKG_RUST_VERSION"), " or newer is needed (found: 1.65.0): scripts/setup.sh");
    assert!(said.code == 1 && said.stderr.contains(needed) && said.stdout.is_empty(), "{said:?}");
    tool("rustc", "echo 'rustc 99.0.0'");
    assert_eq!(install("").stdout, format!("builds in {0}/target with /usr/bin/cc\n", tools.display()));
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        // Builds with other libraries have their own directory, since cargo would take existing objects as up to date.
        let older = format!("{}/target/older", tools.display());
        assert_eq!(install("--older-glibc").stdout, format!("builds in {older} with {older}/glibc/bin/cc\n"));
    }
}

const OF_MANY_AGES: &str = r#"#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
static int constructed;
__attribute__((constructor)) static void construct(void) { constructed = 1; }
static void *thread(void *arg) { return arg; }
int main(int argc, char **argv) {
    struct stat of;
    pthread_t made;
    sigset_t set;
#ifdef NEWER
    if (getrandom(&set, 1, 0) != 1) return 1;
#endif
    if (!constructed || sigemptyset(&set) || pthread_sigmask(SIG_BLOCK, &set, NULL)) return 2;
    if (stat(argv[0], &of) || fstat(0, &of) || lstat("/", &of) || !S_ISDIR(of.st_mode)) return 3;
    if (pthread_create(&made, NULL, thread, NULL) || pthread_join(made, NULL)) return 4;
    Dl_info info;
    if (!dlsym(RTLD_DEFAULT, "puts") || !dladdr(dlsym(RTLD_DEFAULT, "puts"), &info)) return 5;
    return printf("%g\n", hypot(3 * argc, pow(2, argc + 1))) != 2;
}
"#;

/// Returns the newest glibc version that a file's symbols require. Weak symbols do not count.
fn needs(file: &Path) -> Option<(u32, u32)> {
    let output = Command::new("objdump").arg("-T").arg(file).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let strong = text.lines().filter(|line| line.contains("*UND*") && !line.contains(" w "));
    let versions = strong.filter_map(|line| line.split("GLIBC_").nth(1)?.split(')').next());
    let number = |version: &str| {
        let mut parts = version.split('.').map(str::parse);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    };
    versions.filter_map(number).max()
}

/// Package recipes in packaging/ must name existing versions, and change existing settings of the site configuration.
#[test]
fn recipes_name_what_is_there() {
    let read =
        |name: &str| std::fs::read_to_string(workload_source("../..").join(name)).expect("a file of the project");
    let version = env!("CARGO_PKG_VERSION");
    let (spack, conf) = (read("packaging/spack/package.py"), read("scripts/site/dxt.conf"));
    assert!(
        spack.contains(&format!("version(\"{version}\")")) && spack.contains(&format!("dxt-tracer-{version}.tar.xz"))
    );
    let settings: Vec<&str> =
        spack.lines().filter_map(|line| line.split_once("filter_file(r\"^")?.1.split('=').next()).collect();
    assert_eq!(settings, ["DXT_OUTPUT_DIR", "DXT_TRACE_MODE"]);
    for name in settings {
        assert_eq!(conf.lines().filter(|line| line.starts_with(&format!("{name}="))).count(), 1, "{name}");
    }
    let easybuild = read(&format!("packaging/easybuild/DXT-tracer-{version}-GCCcore-14.3.0.eb"));
    assert!(easybuild.contains(&format!("version = '{version}'")));
}

#[test]
fn version_is_the_projects_whatever_is_installed_beside_it() {
    let scratch = Scratch::new();
    let version = Launch::new(&scratch, dxt_run()).untraced().arg("--lib").arg(library()).arg("--version").run();
    let expected = format!("dxt-run {}\ntracer ", env!("CARGO_PKG_VERSION"));
    assert!(version.code == 0 && version.stdout.starts_with(&expected), "{version:?}");
    // Runs a copy of the binary alone.
    let copy = scratch.root().join("dxt-run");
    copy_program(dxt_run(), &copy);
    let alone = Launch::new(&scratch, copy).untraced().arg("-V").run();
    assert!(alone.code == 0 && alone.stdout.starts_with(&expected), "{alone:?}");
}

#[test]
fn the_script_of_a_clone_runs_what_was_built() {
    let scratch = Scratch::new();
    let (scripts, target) = (scratch.root().join("scripts"), scratch.root().join("target"));
    std::fs::create_dir(&scripts).expect("a directory");
    let script = scripts.join("dxt-run");
    copy_program(workload_source("../../scripts/dxt-run"), &script);
    let run =
        |variables: &str| shell(&scratch, &format!("unset CARGO_TARGET_DIR; {variables} {} -V", script.display()));
    let none = run("");
    assert!(none.code == 2 && none.stderr.contains("cargo build"), "{none:?}");
    for (variables, place) in
        [("", target.join("demo")), ("CARGO_TARGET_DIR=elsewhere", scratch.root().join("elsewhere/release"))]
    {
        std::fs::create_dir_all(&place).expect("a directory");
        std::os::unix::fs::symlink(dxt_run(), place.join("dxt-run")).expect("a link");
        let outcome = run(variables);
        assert!(outcome.code == 0 && outcome.stdout.starts_with("dxt-run "), "{outcome:?}");
    }
}
