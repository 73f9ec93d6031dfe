//! Compiles the variadic functions of the library, which stable Rust cannot define. With `cfg(dxt_static)`, for the crate in static/, the
//! same sources become a library to link into programs.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(dxt_static)");
    let is_static = std::env::var_os("CARGO_PKG_NAME").is_some_and(|name| name == "dxt-tracer-static");
    let source = if is_static { "../src/hooks/variadic.c" } else { "src/hooks/variadic.c" };
    println!("cargo:rerun-if-changed={source}");
    let mut build = cc::Build::new();
    // The unwinder is named to the linker before the library of these sources, which it takes a function from.
    if !is_static && without_libgcc_s() {
        println!("cargo:rerun-if-changed=src/unwinder.c");
        build.file("src/unwinder.c");
    }
    build.file(source).flag("-fvisibility=hidden").flag("-fno-builtin").opt_level(2);
    if is_static {
        println!("cargo:rustc-cfg=dxt_static");
        build.define("DXT_STATIC", None);
    }
    build.compile("dxt_variadic");
    if !is_static {
        // -Bsymbolic-functions: a call from one wrapped function to another stays in this library. Without it, fprintf could call another
        // library's vfprintf, and the call would be recorded twice.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    }
}

/// Links the unwinder that Rust's standard library refers to statically: to load libgcc_s takes every traced process 0.1 ms. Returns false
/// where the C compiler has no static one, or where panics unwind (in the profiles that do not inherit `release`): frames of this library
/// would meet two unwinders if a thread is cancelled.
fn without_libgcc_s() -> bool {
    let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|known| known == value);
    if !is("CARGO_CFG_TARGET_ENV", "gnu") || !is("PROFILE", "release") {
        return false;
    }
    let found = cc::Build::new().get_compiler().to_command().arg("-print-file-name=libgcc_eh.a").output();
    let path = found.ok().and_then(|found| String::from_utf8(found.stdout).ok()).unwrap_or_default();
    let path = std::path::Path::new(path.trim());
    let Some(directory) = path.parent().filter(|_| path.is_absolute() && path.exists()) else { return false };
    println!("cargo:rerun-if-changed={}", path.display());
    println!("cargo:rustc-link-search=native={}", directory.display());
    println!("cargo:rustc-link-lib=static:+whole-archive,-bundle=gcc_eh");
    true
}
