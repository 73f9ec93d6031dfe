//! Sets the commit, if known, and the features of this build for `dxt-analyze --version`.

use std::process::Command;

const FEATURES: [&str; 6] = ["parquet", "serve", "live", "live-http", "postgres", "nats"];

fn main() {
    println!("cargo::rerun-if-changed=COMMIT");
    println!("cargo::rerun-if-env-changed=DXT_COMMIT");
    let variable = |name: &&str| format!("CARGO_FEATURE_{}", name.to_uppercase().replace('-', "_"));
    let on: Vec<&str> = FEATURES.into_iter().filter(|name| std::env::var_os(variable(name)).is_some()).collect();
    println!("cargo::rustc-env=DXT_BUILD_FEATURES={}", if on.is_empty() { "none".to_owned() } else { on.join(" ") });
    println!("cargo::rustc-env=DXT_BUILD_COMMIT={}", commit().unwrap_or_else(|| "unknown".to_owned()));
}

/// Returns the commit: from `DXT_COMMIT`, which packagers set, else from the file COMMIT in a source archive, else from Git in a clone.
fn commit() -> Option<String> {
    if let Ok(reported) = std::env::var("DXT_COMMIT") {
        return Some(reported);
    }
    let archived = std::fs::read_to_string("COMMIT").ok()?;
    if !archived.starts_with('$') {
        return Some(archived.trim().to_owned());
    }
    // Avoids a rebuild after each commit during development.
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return Some("of a build for developers".to_owned());
    }
    println!("cargo::rerun-if-changed=../.git/logs/HEAD");
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let dirty = if changed.is_empty() { "" } else { ", and changes" };
    Some(format!("{}{dirty}", git(&["rev-parse", "--short=12", "HEAD"])?))
}
