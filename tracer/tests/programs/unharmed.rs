//! Tests of transparency: output, errors, descriptor numbers, signals and exit code are as untraced, in every tracing mode.

use crate::harness::{Launch, Outcome, Scratch, workload};

/// Function that changes the launch of a program, for example by setting variables.
type Change = fn(Launch<'_>) -> Launch<'_>;

fn outcome(change: impl FnOnce(Launch<'_>) -> Launch<'_>) -> Outcome {
    let scratch = Scratch::new();
    change(Launch::new(&scratch, workload("unharmed")).arg(scratch.data())).run()
}

#[test]
fn output_errors_and_exit_code_are_the_same() {
    let untraced = outcome(|launch| launch.untraced());
    assert_eq!(untraced.code, 42);
    assert!(untraced.stdout.lines().count() > 100, "{}", untraced.stdout);
    let modes: [(&str, Change); 7] = [
        ("trace", |launch| launch),
        ("counters", |launch| launch.env("DXT_ENABLE", "counters")),
        ("off", |launch| launch.env("DXT_ENABLE", "off")),
        ("unset", |launch| launch.without("DXT_ENABLE")),
        ("small buffer", |launch| launch.env("DXT_BUFFER_MAX", "16K")),
        ("no output directory", |launch| launch.env("DXT_OUTPUT_DIR", "/proc/nowhere/at/all")),
        ("directory that is a file", |launch| launch.env("DXT_OUTPUT_DIR", "/etc/passwd")),
    ];
    for (name, mode) in modes {
        let traced = outcome(mode);
        assert_eq!((traced.code, &traced.stdout), (untraced.code, &untraced.stdout), "{name}");
        let lines = traced.stderr.lines().count();
        let may_speak = name.contains("directory");
        assert!(lines == 0 || may_speak && lines == 1, "{name}: {}", traced.stderr);
    }
}
