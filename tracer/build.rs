//! Compiles the variadic functions of the library, which stable Rust cannot define. With `cfg(dxt_static)`, for the crate in static/, the
//! same sources become a library to link into programs.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(dxt_static)");
    let is_static = std::env::var_os("CARGO_PKG_NAME").is_some_and(|name| name == "dxt-tracer-static");
    let source = if is_static { "../src/hooks/variadic.c" } else { "src/hooks/variadic.c" };
    println!("cargo:rerun-if-changed={source}");
    let mut build = cc::Build::new();
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
