//! Compiles the variadic functions of the library: stable Rust has no way to define one. Of the crate in static/ the same sources make
//! a library to link into programs (`cfg(dxt_static)`).

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
        // A call from one wrapped function to another stays in the library: fprintf's goes to this library's vfprintf and to no
        // other one's, which would see the call twice.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    }
}
